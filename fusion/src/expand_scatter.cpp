#include <limits>
#include "expand_compounds.h"

/// Scatters without a kernel of their own: each row of the base looks at all updates. That costs rows ×
/// updates, needs no atomics, and gives the canonical order.
namespace halyard::fusion {
namespace {

using ops::GraphBuilder;
using ops::NodeId;
using ops::Primitive;

/// base [batch, rows(, inner)], indices [batch, updates], updates [batch, updates(, inner)].
struct Operands {
  NodeId base, indices, updates;
  std::int64_t batch, rows, count;
  std::optional<std::int64_t> inner;

  /// `extents`, and `last` where there are inner axes.
  std::vector<std::int64_t> with_inner(std::vector<std::int64_t> extents, std::int64_t last) const {
    if (inner) extents.push_back(last);
    return extents;
  }
};

Result<Operands> flattened(GraphBuilder& b, const ops::Node& node, std::span<const NodeId> operands) {
  const auto axis = static_cast<std::size_t>(node.attributes.axes[0]);
  const std::int64_t inner = node.shape.row_major_strides()[axis];
  Operands o{.batch = node.shape.count() / (inner * node.shape[axis]),
             .rows = node.shape[axis],
             .count = b.shape(operands[1])[axis]};
  if (axis + 1 < node.shape.rank()) o.inner = inner;
  HALYARD_ASSIGN(o.base, b.reshape(operands[0], o.with_inner({o.batch, o.rows}, inner)));
  HALYARD_ASSIGN(o.indices, b.reshape(operands[1], {o.batch, o.count}));
  HALYARD_ASSIGN(o.updates, b.reshape(operands[2], o.with_inner({o.batch, o.count}, inner)));
  return o;
}

/// bool [batch, rows, updates]: whether the update goes to the row.
Result<NodeId> goes_there(GraphBuilder& b, const Operands& o) {
  NodeId index = o.indices;
  if (o.rows > std::numeric_limits<std::int32_t>::max()) {
    HALYARD_ASSIGN(index, b.cast(index, ElementType::i64));
  }
  HALYARD_ASSIGN(NodeId is_negative, b.binary(Primitive::lt, index, 0));
  HALYARD_ASSIGN(NodeId from_end, b.binary(Primitive::add, index, static_cast<double>(o.rows)));
  HALYARD_ASSIGN(index, b.select(is_negative, from_end, index));
  HALYARD_ASSIGN(index, b.reshape(index, {o.batch, 1, o.count}));
  HALYARD_ASSIGN(NodeId row, b.iota(b.element(index), {1, o.rows, 1}, 1));
  return b.binary(Primitive::eq, index, row);
}

Result<NodeId> set(GraphBuilder& b, const Operands& o, NodeId there) {
  const ElementType index =
      o.batch <= std::numeric_limits<std::int32_t>::max() / o.count ? ElementType::i32 : ElementType::i64;
  HALYARD_ASSIGN(NodeId number, b.iota(index, {1, 1, o.count}, 2));
  HALYARD_ASSIGN(NodeId chosen, b.select(there, number, b.scalar(index, -1)));
  HALYARD_ASSIGN(NodeId last, b.reduce(Primitive::reduce_max, chosen, {2}));
  HALYARD_ASSIGN(NodeId is_named, b.binary(Primitive::ge, last, 0));
  HALYARD_ASSIGN(NodeId batch, b.iota(index, {o.batch, 1}, 0));
  HALYARD_ASSIGN(NodeId first, b.binary(Primitive::mul, batch, static_cast<double>(o.count)));
  HALYARD_ASSIGN(NodeId at, b.binary(Primitive::max, last, 0));
  HALYARD_ASSIGN(at, b.binary(Primitive::add, at, first));
  HALYARD_ASSIGN(NodeId flat, b.reshape(o.updates, o.with_inner({o.batch * o.count}, o.inner.value_or(1))));
  HALYARD_ASSIGN(NodeId values, b.take(flat, at, 0));
  HALYARD_ASSIGN(is_named, b.reshape(is_named, o.with_inner({o.batch, o.rows}, 1)));
  return b.select(is_named, values, o.base);
}

Primitive reduction_with(Primitive combiner) {
  switch (combiner) {
    case Primitive::mul:
      return Primitive::reduce_prod;
    case Primitive::min:
      return Primitive::reduce_min;
    case Primitive::max:
      return Primitive::reduce_max;
    default:
      return Primitive::reduce_sum;
  }
}

Result<NodeId> merged(GraphBuilder& b, const Operands& o, NodeId there, Primitive combiner) {
  const ElementType element = b.element(o.base), wide = ops::accumulator(element);
  const Primitive reduction = reduction_with(combiner);
  const NodeId identity =
      b.constant(ops::HostTensor::scalar_bits(wide, ops::reduction_identity(reduction, wide)));
  HALYARD_ASSIGN(NodeId updates, b.cast(o.updates, wide));
  HALYARD_ASSIGN(updates, b.reshape(updates, o.with_inner({o.batch, 1, o.count}, o.inner.value_or(1))));
  HALYARD_ASSIGN(NodeId mask, b.reshape(there, o.with_inner({o.batch, o.rows, o.count}, 1)));
  HALYARD_ASSIGN(NodeId terms, b.select(mask, updates, identity));
  HALYARD_ASSIGN(NodeId total, b.reduce(reduction, terms, {2}));
  HALYARD_ASSIGN(NodeId base, b.cast(o.base, wide));
  HALYARD_ASSIGN(NodeId result, b.binary(combiner, base, total));
  HALYARD_ASSIGN(NodeId is_named, b.reduce(Primitive::reduce_any, there, {2}));
  HALYARD_ASSIGN(is_named, b.reshape(is_named, o.with_inner({o.batch, o.rows}, 1)));
  HALYARD_ASSIGN(result, b.cast(result, element));
  return b.select(is_named, result, o.base);
}

}  // namespace

Result<NodeId> expand_scatter(GraphBuilder& b, const ops::Node& node, std::span<const NodeId> operands) {
  HALYARD_ASSIGN(Operands flat, flattened(b, node, operands));
  HALYARD_ASSIGN(NodeId there, goes_there(b, flat));
  const std::optional<Primitive> combiner = ops::row(node.primitive).combiner;
  HALYARD_ASSIGN(NodeId result, combiner ? merged(b, flat, there, *combiner) : set(b, flat, there));
  return b.reshape(result, node.shape.vector());
}

}  // namespace halyard::fusion
