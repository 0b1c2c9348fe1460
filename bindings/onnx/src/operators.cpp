#include <fmt/format.h>
#include <halyard/ops/compositions.h>

#include <algorithm>
#include <map>

#include "importer.h"

namespace halyard::onnx {
namespace {

Results constant(ImportContext& c) {
  HALYARD_ASSIGN(const ::onnx::TensorProto* tensor, c.attributes.tensor("value"));
  if (tensor) {
    HALYARD_ASSIGN(ops::HostTensor value, read_tensor(*tensor, {}));
    return std::vector{c.builder.constant(std::move(value))};
  }
  for (const char* name : {"value_int", "value_ints"}) {
    if (!c.attributes.has(name)) continue;
    if (std::string_view(name) == "value_int") {
      HALYARD_ASSIGN(std::int64_t value, c.attributes.integer(name, 0));
      HALYARD_ASSIGN(ops::HostTensor scalar,
                     ops::HostTensor::from_values<std::int64_t>({}, std::vector{value}));
      return std::vector{c.builder.constant(std::move(scalar))};
    }
    HALYARD_ASSIGN(std::vector<std::int64_t> values, c.attributes.integers(name));
    HALYARD_ASSIGN(ops::HostTensor list, ops::HostTensor::from_values<std::int64_t>(
                                             {static_cast<std::int64_t>(values.size())}, values));
    return std::vector{c.builder.constant(std::move(list))};
  }
  if (c.attributes.has("value_float")) {
    HALYARD_ASSIGN(double value, c.attributes.number("value_float", 0));
    return std::vector{c.builder.scalar(ElementType::f32, value)};
  }
  if (c.attributes.has("value_floats")) {
    HALYARD_ASSIGN(std::vector<double> values, c.attributes.numbers("value_floats"));
    std::vector<float> floats(values.begin(), values.end());
    HALYARD_ASSIGN(ops::HostTensor list,
                   ops::HostTensor::from_values<float>({static_cast<std::int64_t>(floats.size())}, floats));
    return std::vector{c.builder.constant(std::move(list))};
  }
  return fail(ErrorCode::unsupported, "only tensor, integer and float values are read");
}

Results shape(ImportContext& c) {
  HALYARD_ASSIGN(std::int64_t start, c.attributes.integer("start", 0));
  const auto rank = static_cast<std::int64_t>(c.rank(0));
  HALYARD_ASSIGN(std::int64_t end, c.attributes.integer("end", rank));
  auto clamp = [&](std::int64_t at) { return std::clamp(at < 0 ? at + rank : at, std::int64_t{0}, rank); };
  const auto extents = c.shape(0).extents();
  std::vector<std::int64_t> values;
  for (std::int64_t i = clamp(start); i < clamp(end); ++i)
    values.push_back(extents[static_cast<std::size_t>(i)]);
  HALYARD_ASSIGN(ops::HostTensor list, ops::HostTensor::from_values<std::int64_t>(
                                           {static_cast<std::int64_t>(values.size())}, values));
  return std::vector{c.builder.constant(std::move(list))};
}

Results matmul(ImportContext& c) {
  return one(c.builder.matmul(*c.operands[0], *c.operands[1]));
}

Results gemm(ImportContext& c) {
  NodeId a = *c.operands[0];
  NodeId b = *c.operands[1];
  HALYARD_ASSIGN(double alpha, c.attributes.number("alpha", 1));
  HALYARD_ASSIGN(double beta, c.attributes.number("beta", 1));
  HALYARD_ASSIGN(std::int64_t transpose_a, c.attributes.integer("transA", 0));
  HALYARD_ASSIGN(std::int64_t transpose_b, c.attributes.integer("transB", 0));
  if (c.rank(0) != 2 || c.rank(1) != 2) return fail(ErrorCode::corrupt_data, "operands must be matrices");
  if (transpose_a) {
    HALYARD_ASSIGN(a, c.builder.transpose(a, 0, 1));
  }
  if (transpose_b) {
    HALYARD_ASSIGN(b, c.builder.transpose(b, 0, 1));
  }
  HALYARD_ASSIGN(NodeId y, c.builder.matmul(a, b));
  if (alpha != 1) {
    HALYARD_ASSIGN(y, c.builder.binary(Primitive::mul, y, alpha));
  }
  if (!c.has(2)) return std::vector{y};
  NodeId addend = *c.operands[2];
  if (beta != 1) {
    HALYARD_ASSIGN(addend, c.builder.binary(Primitive::mul, addend, beta));
  }
  return one(c.builder.binary(Primitive::add, y, addend));
}

Results size(ImportContext& c) {
  HALYARD_ASSIGN(ops::HostTensor count,
                 ops::HostTensor::from_values<std::int64_t>({}, std::vector{c.shape(0).count()}));
  return std::vector{c.builder.constant(std::move(count))};
}

/// A known condition decides which branch is read.
Results either_branch(ImportContext& c) {
  HALYARD_ASSIGN(double condition, c.known_number(0, 0));
  HALYARD_ASSIGN(const ::onnx::GraphProto* branch,
                 c.attributes.graph(condition != 0 ? "then_branch" : "else_branch"));
  if (branch == nullptr) return fail(ErrorCode::corrupt_data, "a branch is missing");
  return c.importer.branch(*branch);
}

const std::map<std::string_view, OperatorRow>& table() {
  static const std::map<std::string_view, OperatorRow> rows = [] {
    std::map<std::string_view, OperatorRow> made;
    for (const auto& group :
         {activation_operators(), elementwise_operators(), indexing_operators(), loss_operators(),
          movement_operators(), normalization_operators(), other_operators(), quantization_operators(),
          recurrent_operators(), reduction_operators(), resize_operators(), signal_operators(),
          window_operators()})
      for (const OperatorRow& row : group) made.emplace(row.name, row);
    return made;
  }();
  return rows;
}

}  // namespace

std::vector<OperatorRow> other_operators() {
  return {
      {"Constant", constant, 0}, {"Einsum", einsum}, {"Gemm", gemm, 2}, {"If", either_branch},
      {"MatMul", matmul, 2},     {"Shape", shape},   {"Size", size},
  };
}

std::vector<std::string_view> operator_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, row] : table()) names.push_back(name);
  return names;
}

const OperatorRow* find_operator(std::string_view domain, std::string_view name) {
  if (!domain.empty() && domain != "ai.onnx") return nullptr;
  auto found = table().find(name);
  return found == table().end() ? nullptr : &found->second;
}

}  // namespace halyard::onnx
