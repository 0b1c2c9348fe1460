#include <fmt/format.h>

#include "importer.h"

namespace halyard::onnx {

using ::onnx::AttributeProto;

const AttributeProto* NodeAttributes::find(std::string_view name) const {
  for (const AttributeProto& attribute : node_.attribute())
    if (attribute.name() == name) return &attribute;
  return nullptr;
}

Result<const AttributeProto*> NodeAttributes::find(std::string_view name,
                                                   AttributeProto::AttributeType type) const {
  const AttributeProto* attribute = find(name);
  if (attribute && attribute->type() != type)
    return fail(ErrorCode::corrupt_data,
                fmt::format("attribute '{}' has type {}, not {}", name, static_cast<int>(attribute->type()),
                            static_cast<int>(type)));
  return attribute;
}

Result<std::int64_t> NodeAttributes::integer(std::string_view name, std::int64_t otherwise) const {
  HALYARD_ASSIGN(const AttributeProto* attribute, find(name, AttributeProto::INT));
  return attribute ? attribute->i() : otherwise;
}

Result<double> NodeAttributes::number(std::string_view name, double otherwise) const {
  HALYARD_ASSIGN(const AttributeProto* attribute, find(name, AttributeProto::FLOAT));
  return attribute ? static_cast<double>(attribute->f()) : otherwise;
}

Result<std::string> NodeAttributes::text(std::string_view name, const std::string& otherwise) const {
  HALYARD_ASSIGN(const AttributeProto* attribute, find(name, AttributeProto::STRING));
  return attribute ? attribute->s() : otherwise;
}

Result<std::vector<std::int64_t>> NodeAttributes::integers(std::string_view name,
                                                           std::vector<std::int64_t> otherwise) const {
  HALYARD_ASSIGN(const AttributeProto* attribute, find(name, AttributeProto::INTS));
  if (!attribute) return otherwise;
  return std::vector<std::int64_t>(attribute->ints().begin(), attribute->ints().end());
}

Result<std::vector<double>> NodeAttributes::numbers(std::string_view name) const {
  HALYARD_ASSIGN(const AttributeProto* attribute, find(name, AttributeProto::FLOATS));
  if (!attribute) return std::vector<double>{};
  return std::vector<double>(attribute->floats().begin(), attribute->floats().end());
}

Result<const ::onnx::TensorProto*> NodeAttributes::tensor(std::string_view name) const {
  HALYARD_ASSIGN(const AttributeProto* attribute, find(name, AttributeProto::TENSOR));
  return attribute ? &attribute->t() : nullptr;
}

Result<const ::onnx::GraphProto*> NodeAttributes::graph(std::string_view name) const {
  HALYARD_ASSIGN(const AttributeProto* attribute, find(name, AttributeProto::GRAPH));
  return attribute ? &attribute->g() : nullptr;
}

}  // namespace halyard::onnx
