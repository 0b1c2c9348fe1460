#include <fmt/format.h>
#include <halyard/ops/compositions.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "importer.h"

namespace halyard::onnx {
namespace {

using ops::NodeId;
using ops::Primitive;
using Results = Result<std::vector<NodeId>>;

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

/// Before version 13 softmax normalized over all axes from `axis` on, taken together.
Results softmax(ImportContext& c) {
  NodeId x = *c.operands[0];
  HALYARD_ASSIGN(std::int64_t axis, c.attributes.integer("axis", c.opset < 13 ? 1 : -1));
  HALYARD_ASSIGN(axis, ops::normalize_axis(axis, c.rank(0)));
  if (c.opset >= 13 || axis + 1 == static_cast<std::int64_t>(c.rank(0)))
    return one(ops::softmax(c.builder, x, axis));
  const auto extents = c.shape(0).vector();
  auto flat = std::vector<std::int64_t>(extents.begin(), extents.begin() + axis);
  flat.push_back(
      std::accumulate(extents.begin() + axis, extents.end(), std::int64_t{1}, std::multiplies<>()));
  HALYARD_ASSIGN(NodeId rows, c.builder.reshape(x, flat));
  HALYARD_ASSIGN(NodeId y, ops::softmax(c.builder, rows, -1));
  return one(c.builder.reshape(y, extents));
}

Results layer_normalization(ImportContext& c) {
  HALYARD_ASSIGN(std::int64_t axis, c.attributes.integer("axis", -1));
  HALYARD_ASSIGN(axis, ops::normalize_axis(axis, c.rank(0)));
  HALYARD_ASSIGN(double epsilon, c.attributes.number("epsilon", 1e-5));
  std::optional<NodeId> bias;
  if (c.has(2)) bias = c.operands[2];
  return one(ops::layer_norm(c.builder, *c.operands[0], c.operands[1], bias, epsilon,
                             static_cast<int>(c.rank(0)) - static_cast<int>(axis)));
}

enum class Average : bool { no, yes };

Results reduce(ImportContext& c, Primitive primitive, Average average) {
  NodeId x = *c.operands[0];
  HALYARD_ASSIGN(std::int64_t keep, c.attributes.integer("keepdims", 1));
  HALYARD_ASSIGN(std::int64_t empty_means_none, c.attributes.integer("noop_with_empty_axes", 0));
  HALYARD_ASSIGN(std::vector<std::int64_t> axes, c.axes(1));
  if (axes.empty() && empty_means_none) return std::vector{x};
  if (average == Average::yes) return one(ops::mean(c.builder, x, axes, keep != 0));
  return one(c.builder.reduce(primitive, x, axes, keep != 0));
}

Results reduce_mean(ImportContext& c) {
  return reduce(c, Primitive::reduce_sum, Average::yes);
}
Results reduce_sum(ImportContext& c) {
  return reduce(c, Primitive::reduce_sum, Average::no);
}
Results reduce_max(ImportContext& c) {
  return reduce(c, Primitive::reduce_max, Average::no);
}
Results reduce_min(ImportContext& c) {
  return reduce(c, Primitive::reduce_min, Average::no);
}
Results reduce_prod(ImportContext& c) {
  return reduce(c, Primitive::reduce_prod, Average::no);
}

Results argument(ImportContext& c, Primitive primitive) {
  HALYARD_ASSIGN(std::int64_t axis, c.attributes.integer("axis", 0));
  HALYARD_ASSIGN(std::int64_t keep, c.attributes.integer("keepdims", 1));
  HALYARD_ASSIGN(std::int64_t last, c.attributes.integer("select_last_index", 0));
  if (last) return fail(ErrorCode::unsupported, "select_last_index = 1 is not supported");
  return one(c.builder.argument(primitive, *c.operands[0], axis, keep != 0));
}

Results argmax(ImportContext& c) {
  return argument(c, Primitive::argmax);
}
Results argmin(ImportContext& c) {
  return argument(c, Primitive::argmin);
}

Results cumulative_sum(ImportContext& c) {
  HALYARD_ASSIGN(std::vector<std::int64_t> axis, c.known_integers(1));
  HALYARD_ASSIGN(std::int64_t exclusive, c.attributes.integer("exclusive", 0));
  HALYARD_ASSIGN(std::int64_t reverse, c.attributes.integer("reverse", 0));
  if (axis.size() != 1 || reverse) return fail(ErrorCode::unsupported, "needs one axis and reverse = 0");
  return one(c.builder.cumulative_sum(*c.operands[0], axis[0], exclusive != 0));
}

const std::map<std::string_view, OperatorRow>& table() {
  static const std::map<std::string_view, OperatorRow> rows = [] {
    std::map<std::string_view, OperatorRow> made;
    for (const auto& group : {elementwise_operators(), movement_operators(), other_operators()})
      for (const OperatorRow& row : group) made.emplace(row.name, row);
    return made;
  }();
  return rows;
}

}  // namespace

std::vector<OperatorRow> other_operators() {
  return {
      {"ArgMax", argmax},
      {"ArgMin", argmin},
      {"Constant", constant, 0},
      {"CumSum", cumulative_sum, 2},
      {"Gemm", gemm, 2},
      {"LayerNormalization", layer_normalization, 2},
      {"MatMul", matmul, 2},
      {"ReduceMax", reduce_max},
      {"ReduceMean", reduce_mean},
      {"ReduceMin", reduce_min},
      {"ReduceProd", reduce_prod},
      {"ReduceSum", reduce_sum},
      {"Shape", shape},
      {"Softmax", softmax},
  };
}

const OperatorRow* find_operator(std::string_view domain, std::string_view name) {
  if (!domain.empty() && domain != "ai.onnx") return nullptr;
  auto found = table().find(name);
  return found == table().end() ? nullptr : &found->second;
}

}  // namespace halyard::onnx
