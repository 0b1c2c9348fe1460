#pragma once

#include <halyard/onnx/model.h>
#include <halyard/ops/host_tensor.h>

#include <string>
#include <vector>

namespace halyard::tools {

/// The values of `--input`: NAME=FILE.npy, or NAME=random:SHAPE with SHAPE like 8x128. Random floats are
/// uniform in
/// [-1, 1), random integers 0 or 1, the same at every run. In the order of the model's inputs.
Result<std::vector<ops::HostTensor>> read_inputs(const onnx::Model& model,
                                                 const std::vector<std::string>& arguments);

/// The same for shapes alone (`explain` needs no values): NAME=SHAPE is accepted too. An open dimension
/// of an input that is not given has the extent that a given input has for the same name; else 1 if it is the
/// first of its input, and `otherwise`.
Result<onnx::InputShapes> input_shapes(const onnx::Model& model, const std::vector<std::string>& arguments,
                                       std::int64_t otherwise);

/// The graph of FILE.onnx with its open dimensions as `input_shapes` has them; ends the command where it
/// cannot be read.
ops::Graph load_graph(const std::string& path, const std::vector<std::string>& inputs,
                      std::int64_t open_extent);

onnx::InputShapes shapes_of(const onnx::Model& model, const std::vector<ops::HostTensor>& inputs);

}  // namespace halyard::tools
