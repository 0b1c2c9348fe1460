#pragma once

#include <halyard/ops/graph.h>
#include <halyard/ops/host_tensor.h>
#include <filesystem>
#include <string>
#include <vector>

/// The tests that ONNX ships for each of its operators: a folder with a model and, as tensors, what goes in
/// and what must come out (github.com/onnx/onnx, docs/OnnxBackendTest.md).
namespace halyard::onnx {

struct NodeTest {
  ops::Graph graph;
  std::vector<ops::HostTensor> inputs;    ///< the graph's, in its order
  std::vector<ops::HostTensor> expected;  ///< the graph's outputs
};

/// Reads `folder`/model.onnx and `folder`/test_data_set_0. An input whose value the model needs while it is
/// compiled is fixed to the test's. Errors as those of `Model`; `unsupported` for what is no tensor.
Result<NodeTest> read_node_test(const std::filesystem::path& folder);

}  // namespace halyard::onnx
