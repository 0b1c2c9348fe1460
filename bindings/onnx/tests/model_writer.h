#pragma once

#include <halyard/onnx/model.h>
#include <onnx/onnx_pb.h>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace halyard::onnx::testing {

/// Writes small models as exporters do.
class ModelWriter {
 public:
  explicit ModelWriter(int opset = 14) {
    model_.set_ir_version(7);
    model_.add_opset_import()->set_version(opset);
    model_.mutable_graph()->set_name("test");
  }

  ModelWriter& input(const char* name, int type, const std::vector<std::int64_t>& dimensions) {
    declare(*model_.mutable_graph()->add_input(), name, type, dimensions);
    return *this;
  }
  ModelWriter& output(const char* name, int type, const std::vector<std::int64_t>& dimensions) {
    declare(*model_.mutable_graph()->add_output(), name, type, dimensions);
    return *this;
  }
  ModelWriter& integers(const char* name, std::vector<std::int64_t> values, bool scalar = false) {
    ::onnx::TensorProto& tensor = *model_.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(::onnx::TensorProto::INT64);
    if (!scalar) tensor.add_dims(static_cast<std::int64_t>(values.size()));
    tensor.set_raw_data(values.data(), values.size() * sizeof(std::int64_t));
    return *this;
  }
  ModelWriter& floats(const char* name, const std::vector<float>& values,
                      const std::vector<std::int64_t>& dimensions) {
    ::onnx::TensorProto& tensor = *model_.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(::onnx::TensorProto::FLOAT);
    for (std::int64_t extent : dimensions) tensor.add_dims(extent);
    for (float value : values) tensor.add_float_data(value);
    return *this;
  }
  ::onnx::NodeProto& node(const char* type, const std::vector<const char*>& inputs,
                          const std::vector<const char*>& outputs) {
    ::onnx::NodeProto& made = *model_.mutable_graph()->add_node();
    made.set_op_type(type);
    made.set_name(std::string("the_") + type);
    for (const char* input : inputs) made.add_input(input);
    for (const char* output : outputs) made.add_output(output);
    return made;
  }
  static void attribute(::onnx::NodeProto& node, const char* name, std::int64_t value) {
    ::onnx::AttributeProto& made = *node.add_attribute();
    made.set_name(name);
    made.set_type(::onnx::AttributeProto::INT);
    made.set_i(value);
  }
  static void attribute(::onnx::NodeProto& node, const char* name, const std::vector<std::int64_t>& values) {
    ::onnx::AttributeProto& made = *node.add_attribute();
    made.set_name(name);
    made.set_type(::onnx::AttributeProto::INTS);
    for (std::int64_t value : values) made.add_ints(value);
  }

  ::onnx::ModelProto& proto() { return model_; }
  std::string bytes() const { return model_.SerializeAsString(); }
  Result<Model> parse() const {
    std::string text = bytes();
    return Model::parse(std::as_bytes(std::span(text.data(), text.size())));
  }

 private:
  static void declare(::onnx::ValueInfoProto& info, const char* name, int type,
                      const std::vector<std::int64_t>& dimensions) {
    info.set_name(name);
    auto& tensor = *info.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    for (std::int64_t extent : dimensions) {
      auto& dimension = *tensor.mutable_shape()->add_dim();
      if (extent >= 0)
        dimension.set_dim_value(extent);
      else
        dimension.set_dim_param("batch");
    }
  }
  ::onnx::ModelProto model_;
};

}  // namespace halyard::onnx::testing
