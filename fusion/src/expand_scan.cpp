#include "expand_compounds.h"

#include <halyard/ops/reduction_order.h>
#include <algorithm>

namespace halyard::fusion {
namespace {

using ops::GraphBuilder;
using ops::NodeId;
using ops::Primitive;
using ops::order::scan_group;

/// Writes one scan out.
class Scan {
 public:
  Scan(GraphBuilder& builder, Primitive scan, ElementType element)
      : b_(builder), combiner_(*ops::row(scan).combiner), identity_(ops::reduction_identity(scan, element)) {}

  /// Inclusive, along the last axis of [rows, n].
  Result<NodeId> inclusive(NodeId x);
  /// x moved by `by` along its last axis, the identity in front.
  Result<NodeId> moved(NodeId x, std::int64_t by);

 private:
  Result<NodeId> padded(NodeId x, std::int64_t before, std::int64_t after);
  /// a merged with x where the position along `axis` is at least `from`, x elsewhere: +0 + x would lose a −0.
  Result<NodeId> merged_from(NodeId a, NodeId x, std::int64_t axis, std::int64_t from);

  GraphBuilder& b_;
  Primitive combiner_;
  std::uint64_t identity_;
};

Result<NodeId> Scan::padded(NodeId x, std::int64_t before, std::int64_t after) {
  const std::size_t rank = b_.shape(x).rank();
  ops::Attributes attributes;
  attributes.starts.assign(rank, 0);
  attributes.ends.assign(rank, 0);
  attributes.starts.back() = before;
  attributes.ends.back() = after;
  attributes.value_bits = identity_;
  return b_.graph().append(Primitive::pad, {x}, std::move(attributes));
}

Result<NodeId> Scan::moved(NodeId x, std::int64_t by) {
  const ops::Shape shape = b_.shape(x);
  const std::size_t last = shape.rank() - 1;
  HALYARD_ASSIGN(NodeId kept, b_.slice_axis(x, static_cast<std::int64_t>(last), 0, shape[last] - by));
  return padded(kept, by, 0);
}

Result<NodeId> Scan::merged_from(NodeId a, NodeId x, std::int64_t axis, std::int64_t from) {
  HALYARD_ASSIGN(NodeId position, b_.iota(ElementType::i32, b_.shape(x), axis));
  HALYARD_ASSIGN(NodeId late, b_.binary(Primitive::ge, position, static_cast<double>(from)));
  HALYARD_ASSIGN(NodeId merged, b_.binary(combiner_, a, x));
  return b_.select(late, merged, x);
}

Result<NodeId> Scan::inclusive(NodeId x) {
  std::int64_t rows = b_.shape(x)[0], n = b_.shape(x)[1];
  std::int64_t groups = (n + scan_group - 1) / scan_group;
  std::int64_t width = groups == 1 ? n : scan_group;
  if (groups > 1 && n % scan_group != 0) {
    HALYARD_ASSIGN(x, padded(x, 0, groups * scan_group - n));
  }
  HALYARD_ASSIGN(x, b_.reshape(x, {rows, groups, width}));
  for (std::int64_t step = 1; step < std::min(scan_group, width); step *= 2) {
    HALYARD_ASSIGN(NodeId shifted, moved(x, step));
    HALYARD_ASSIGN(x, merged_from(shifted, x, 2, step));
  }
  if (groups > 1) {
    HALYARD_ASSIGN(NodeId totals, b_.slice_axis(x, 2, width - 1, width));
    HALYARD_ASSIGN(totals, b_.reshape(totals, {rows, groups}));
    HALYARD_ASSIGN(totals, inclusive(totals));
    HALYARD_ASSIGN(totals, moved(totals, 1));
    HALYARD_ASSIGN(totals, b_.reshape(totals, {rows, groups, 1}));
    HALYARD_ASSIGN(x, merged_from(totals, x, 1, 1));
  }
  HALYARD_ASSIGN(x, b_.reshape(x, {rows, groups * width}));
  return b_.slice_axis(x, 1, 0, n);
}

}  // namespace

Result<NodeId> expand_scan(GraphBuilder& b, const ops::Node& node, std::span<const NodeId> operands) {
  const NodeId x = operands[0];
  ops::Shape shape = b.shape(x);
  ElementType element = b.element(x);
  std::int64_t axis = node.attributes.axes[0], last = static_cast<std::int64_t>(shape.rank()) - 1;
  Scan scan(b, node.primitive, ops::accumulator(element));
  HALYARD_ASSIGN(NodeId wide, b.cast(x, ops::accumulator(element)));
  HALYARD_ASSIGN(wide, b.transpose(wide, axis, last));
  ops::Shape turned = b.shape(wide);
  std::int64_t n = turned[static_cast<std::size_t>(last)];
  HALYARD_ASSIGN(wide, b.reshape(wide, {shape.count() / n, n}));
  HALYARD_ASSIGN(wide, scan.inclusive(wide));
  if (node.attributes.exclusive) {
    HALYARD_ASSIGN(wide, scan.moved(wide, 1));
  }
  HALYARD_ASSIGN(wide, b.reshape(wide, turned.vector()));
  HALYARD_ASSIGN(wide, b.transpose(wide, axis, last));
  return b.cast(wide, element);
}

}  // namespace halyard::fusion
