#pragma once

#include <onnx/onnx_pb.h>

#include <halyard/onnx/model.h>
#include <halyard/ops/host_tensor.h>
#include <map>

namespace halyard::onnx {

struct Model::Contents {
  ::onnx::ModelProto proto;
  std::int64_t opset = 0;
  std::map<std::string, ops::HostTensor> initializers;
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
};

/// Decodes a tensor. External data is looked for in `folder`; an empty folder refuses it.
Result<ops::HostTensor> read_tensor(const ::onnx::TensorProto& proto, const std::filesystem::path& folder);

/// Our type for ONNX's number, or `unsupported`.
Result<ElementType> element_type(std::int32_t onnx_type);

}  // namespace halyard::onnx
