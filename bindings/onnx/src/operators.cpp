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

/// The determinants of square matrices [..., n, n], by elimination with the largest pivot of each column.
Results det(ImportContext& c) {
  const ops::Shape shape = c.shape(0);
  const std::size_t rank = shape.rank();
  constexpr std::int64_t largest = 32;  // each column is written out
  if (rank < 2 || shape[rank - 1] != shape[rank - 2] || !is_float(c.element(0)))
    return fail(ErrorCode::corrupt_data,
                fmt::format("{}{} are no square matrices of floats", name(c.element(0)), shape.text()));
  const std::int64_t n = shape[rank - 1];
  if (n > largest)
    return fail(ErrorCode::unsupported,
                fmt::format("matrices of {0} x {0}; up to {1} x {1} are read", n, largest));
  std::vector<std::int64_t> matrices(shape.extents().begin(), shape.extents().end() - 2);
  std::int64_t count = 1;
  for (std::int64_t extent : matrices) count *= extent;
  const auto part = [&](const Term& x, std::int64_t axis, std::int64_t from, std::int64_t to) {
    return x.then([&](NodeId id) { return c.builder.slice_axis(id, axis, from, to); });
  };
  Term left = c.term(0).then([&](NodeId id) { return c.builder.reshape(id, {count, n, n}); });
  Term det(c.builder, c.builder.full(c.element(0), ops::Shape({count, 1, 1}), 1));
  for (std::int64_t m = n; m > 0; --m) {
    const Term column = part(left, 2, 0, 1);
    const Term place = column.unary(Primitive::abs).then([&](NodeId id) {
      return c.builder.argument(Primitive::argmax, id, 1, true);
    });
    const Term row(c.builder, c.builder.iota(ElementType::i64, ops::Shape({1, m, 1}), 1));
    const Term is_pivot = row.binary(Primitive::eq, place);
    const auto of_pivot = [&](const Term& x) {
      return select(is_pivot, x, 0).reduce(Primitive::reduce_sum, {1});
    };
    const Term pivot = of_pivot(column);
    // The row moves to the top past as many as stand above it, each of which changes the sign.
    const Term is_odd = place.binary(Primitive::rem, 2).binary(Primitive::eq, 1);
    det = det * select(is_odd, -pivot, pivot);
    if (m == 1) break;
    const Term divisor = select(pivot.binary(Primitive::eq, 0), pivot + 1, pivot);
    const Term remains = part(left - column / divisor * of_pivot(left), 2, 1, m);
    left = select(part(row, 1, 0, m - 1).binary(Primitive::lt, place), part(remains, 1, 0, m - 1),
                  part(remains, 1, 1, m));
  }
  return one(det.then([&](NodeId id) { return c.builder.reshape(id, matrices); }));
}

const std::map<std::string_view, OperatorRow>& table() {
  static const std::map<std::string_view, OperatorRow> rows = [] {
    std::map<std::string_view, OperatorRow> made;
    for (const auto& group :
         {activation_operators(), control_operators(), elementwise_operators(), indexing_operators(),
          loss_operators(), movement_operators(), normalization_operators(), other_operators(),
          quantization_operators(), recurrent_operators(), reduction_operators(), resize_operators(),
          sampling_operators(), signal_operators(), text_operators(), training_operators(),
          window_operators()})
      for (const OperatorRow& row : group) made.emplace(row.name, row);
    return made;
  }();
  return rows;
}

}  // namespace

std::vector<OperatorRow> other_operators() {
  return {
      {"Constant", constant, 0}, {"Det", det},     {"Einsum", einsum}, {"Gemm", gemm, 2},
      {"MatMul", matmul, 2},     {"Shape", shape}, {"Size", size},
  };
}

std::vector<std::string_view> operator_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, row] : table()) names.push_back(name);
  return names;
}

const OperatorRow* find_operator(std::string_view domain, std::string_view name) {
  auto found = table().find(name);
  const bool is_found = found != table().end() && found->second.domain == (domain == "ai.onnx" ? "" : domain);
  return is_found ? &found->second : nullptr;
}

}  // namespace halyard::onnx
