#include <fmt/format.h>
#include <halyard/ops/compositions.h>
#include <halyard/ops/indexing.h>

#include <algorithm>

#include "importer.h"

/// Reading and writing at computed places, sorting, and masks.
namespace halyard::onnx {
namespace {

Results gather(ImportContext& c) {
  HALYARD_ASSIGN(std::int64_t axis, c.attributes.integer("axis", 0));
  return one(c.builder.take(*c.operands[0], *c.operands[1], axis));
}

Results gather_elements(ImportContext& c) {
  HALYARD_ASSIGN(std::int64_t axis, c.attributes.integer("axis", 0));
  return one(ops::take_along(c.builder, *c.operands[0], *c.operands[1], axis));
}

Results gather_nd(ImportContext& c) {
  HALYARD_ASSIGN(std::int64_t batch, c.attributes.integer("batch_dims", 0));
  return one(ops::gather_nd(c.builder, *c.operands[0], *c.operands[1], batch));
}

Result<Primitive> scatter_of(const ImportContext& c) {
  HALYARD_ASSIGN(std::string reduction, c.attributes.text("reduction", "none"));
  if (reduction == "none") return Primitive::scatter_set;
  if (reduction == "add") return Primitive::scatter_add;
  if (reduction == "mul") return Primitive::scatter_prod;
  if (reduction == "min") return Primitive::scatter_min;
  if (reduction == "max") return Primitive::scatter_max;
  return fail(ErrorCode::corrupt_data, fmt::format("reduction '{}' is unknown", reduction));
}

Results scatter_elements(ImportContext& c) {
  HALYARD_ASSIGN(std::int64_t axis, c.attributes.integer("axis", 0));
  HALYARD_ASSIGN(Primitive scatter, scatter_of(c));
  return one(ops::scatter_along(c.builder, scatter, *c.operands[0], *c.operands[1], *c.operands[2], axis));
}

Results scatter_nd(ImportContext& c) {
  HALYARD_ASSIGN(Primitive scatter, scatter_of(c));
  return one(ops::scatter_nd(c.builder, scatter, *c.operands[0], *c.operands[1], *c.operands[2]));
}

Results top_k(ImportContext& c) {
  HALYARD_ASSIGN(std::int64_t axis, c.attributes.integer("axis", -1));
  HALYARD_ASSIGN(std::int64_t greatest, c.attributes.integer("largest", 1));
  HALYARD_ASSIGN(std::int64_t k, c.attributes.integer("k", 0));  // before version 10
  if (c.has(1)) {
    HALYARD_ASSIGN(k, c.known_integer(1, 0));
  }
  HALYARD_ASSIGN(ops::TopK top, ops::top_k(c.builder, *c.operands[0], k, axis, greatest != 0));
  return std::vector{top.values, top.indices};
}

/// Those rows along an axis (of the flattened operand without one) whose condition is true; it must be known.
Results compress(ImportContext& c) {
  HALYARD_ASSIGN(ops::HostTensor condition, c.known(1));
  NodeId x = *c.operands[0];
  std::int64_t axis = 0;
  if (c.attributes.has("axis")) {
    HALYARD_ASSIGN(axis, c.attributes.integer("axis", 0));
  } else {
    HALYARD_ASSIGN(x, c.builder.reshape(x, {-1}));
  }
  HALYARD_ASSIGN(axis, ops::normalize_axis(axis, c.builder.shape(x).rank()));
  const std::int64_t extent = c.builder.shape(x)[static_cast<std::size_t>(axis)];
  Extents chosen;
  for (std::int64_t i = 0; i < std::min(condition.count(), extent); ++i)
    if (condition.bits_at(i) != 0) chosen.push_back(i);
  HALYARD_ASSIGN(ops::HostTensor list, ops::HostTensor::from_values<std::int64_t>(
                                           {static_cast<std::int64_t>(chosen.size())}, chosen));
  return one(c.builder.take(x, c.builder.constant(std::move(list)), axis));
}

/// The positions of what is not 0, of a tensor that must be known: its number decides a shape.
Results non_zero(ImportContext& c) {
  HALYARD_ASSIGN(ops::HostTensor x, c.known(0));
  const auto extents = x.shape().extents();
  std::vector<Extents> columns(extents.size());
  for (std::int64_t i = 0; i < x.count(); ++i) {
    if (x.at(i) == 0) continue;
    std::int64_t rest = i;
    for (std::size_t axis = extents.size(); axis-- > 0; rest /= extents[axis])
      columns[axis].push_back(rest % extents[axis]);
  }
  Extents flat;
  for (const Extents& column : columns) flat.insert(flat.end(), column.begin(), column.end());
  const auto count = columns.empty() ? 0 : static_cast<std::int64_t>(columns[0].size());
  HALYARD_ASSIGN(ops::HostTensor result, ops::HostTensor::from_values<std::int64_t>(
                                             {static_cast<std::int64_t>(columns.size()), count}, flat));
  return std::vector{c.builder.constant(std::move(result))};
}

/// A negative index counts from the end; elsewhere, and beyond both ends, all are off.
Results one_hot(ImportContext& c) {
  HALYARD_ASSIGN(std::int64_t axis, c.attributes.integer("axis", -1));
  HALYARD_ASSIGN(std::int64_t depth, c.known_integer(1, 0));
  HALYARD_ASSIGN(axis, ops::normalize_axis(axis, c.rank(0) + 1));
  const Term index = c.term(0).cast(ElementType::i64);
  const Term resolved =
      select(index.binary(Primitive::lt, 0), index + static_cast<double>(depth), index).then([&](NodeId id) {
        return c.builder.unsqueeze(id, {axis});
      });
  Extents line(c.rank(0) + 1, 1);
  line[static_cast<std::size_t>(axis)] = depth;
  HALYARD_ASSIGN(ops::Shape shape, ops::Shape::create(line));
  const Term place(c.builder, c.builder.iota(ElementType::i64, shape, axis));
  const auto value = [&](std::int64_t number) {
    return c.term(2)
        .then([&](NodeId id) { return c.builder.slice_axis(id, 0, number, number + 1); })
        .then([&](NodeId id) { return c.builder.reshape(id, {}); });
  };
  return one(select(resolved.binary(Primitive::eq, place), value(1), value(0)));
}

/// The upper or the lower triangle of each matrix, 0 elsewhere.
Results triangle(ImportContext& c) {
  HALYARD_ASSIGN(std::int64_t upper, c.attributes.integer("upper", 1));
  HALYARD_ASSIGN(std::int64_t diagonal, c.known_integer(1, 0));
  const std::size_t rank = c.rank(0);
  if (rank < 2) return fail(ErrorCode::corrupt_data, "the operand needs two axes");
  const std::int64_t last = diagonal - (upper ? 1 : 0);
  const Term lower(c.builder,
                   ops::lower_triangle(c.builder, c.shape(0)[rank - 2], c.shape(0)[rank - 1], last));
  return one(select(upper ? lower.unary(Primitive::logical_not) : lower, c.term(0), 0));
}

Results eye_like(ImportContext& c) {
  HALYARD_ASSIGN(std::int64_t diagonal, c.attributes.integer("k", 0));
  HALYARD_ASSIGN(std::int64_t type, c.attributes.integer("dtype", 0));
  ElementType element = c.element(0);
  if (type != 0) {
    HALYARD_ASSIGN(element, element_type(static_cast<std::int32_t>(type)));
  }
  if (c.rank(0) != 2) return fail(ErrorCode::corrupt_data, "the operand must be a matrix");
  const Term row(c.builder, c.builder.iota(ElementType::i64, c.shape(0), 0));
  const Term column(c.builder, c.builder.iota(ElementType::i64, c.shape(0), 1));
  return one(column.binary(Primitive::eq, row + static_cast<double>(diagonal)).cast(element));
}

/// The first `sequence_lens` elements of each sequence in opposite order.
Results reverse_sequence(ImportContext& c) {
  HALYARD_ASSIGN(std::int64_t time, c.attributes.integer("time_axis", 0));
  HALYARD_ASSIGN(std::int64_t batch, c.attributes.integer("batch_axis", 1));
  HALYARD_ASSIGN(time, ops::normalize_axis(time, c.rank(0)));
  HALYARD_ASSIGN(batch, ops::normalize_axis(batch, c.rank(0)));
  Extents line(c.rank(0), 1);
  line[static_cast<std::size_t>(batch)] = -1;
  const Term length = c.term(1).then([&](NodeId id) { return c.builder.reshape(id, line); });
  const Term at(c.builder, c.builder.iota(c.element(1), c.shape(0), time));
  const Term place = select(at.binary(Primitive::lt, length), length - at - 1, at);
  return one(place.then([&](NodeId id) { return ops::take_along(c.builder, *c.operands[0], id, time); }));
}

}  // namespace

std::vector<OperatorRow> indexing_operators() {
  return {
      {"Compress", compress, 2},
      {"EyeLike", eye_like},
      {"Gather", gather, 2},
      {"GatherElements", gather_elements, 2},
      {"GatherND", gather_nd, 2},
      {"NonZero", non_zero},
      {"OneHot", one_hot, 3},
      {"ReverseSequence", reverse_sequence, 2},
      {"Scatter", scatter_elements, 3},
      {"ScatterElements", scatter_elements, 3},
      {"ScatterND", scatter_nd, 3},
      {"TopK", top_k},
      {"Trilu", triangle},
  };
}

}  // namespace halyard::onnx
