#include "expand_scans.h"

#include <halyard/ops/reduction_order.h>
#include <algorithm>
#include "rewrite_graph.h"

namespace halyard::fusion {
namespace {

using ops::GraphBuilder;
using ops::NodeId;
using ops::Primitive;
using ops::order::scan_group;

/// x moved by `by` along its last axis, zeros in front.
Result<NodeId> moved(GraphBuilder& b, NodeId x, std::int64_t by) {
  ops::Shape shape = b.shape(x);
  std::size_t last = shape.rank() - 1;
  HALYARD_ASSIGN(NodeId kept, b.slice_axis(x, static_cast<std::int64_t>(last), 0, shape[last] - by));
  std::vector<std::int64_t> before(shape.rank(), 0), after(shape.rank(), 0);
  before[last] = by;
  return b.pad(kept, before, after, 0);
}

/// a + x where the position along the last axis is at least `from`, x elsewhere: +0 + x would lose a -0.
Result<NodeId> added_from(GraphBuilder& b, NodeId a, NodeId x, std::int64_t from) {
  ops::Shape shape = b.shape(x);
  HALYARD_ASSIGN(NodeId position,
                 b.iota(ElementType::i32, shape, static_cast<std::int64_t>(shape.rank()) - 1));
  HALYARD_ASSIGN(NodeId late, b.binary(Primitive::ge, position, static_cast<double>(from)));
  HALYARD_ASSIGN(NodeId sum, b.binary(Primitive::add, a, x));
  return b.select(late, sum, x);
}

/// Inclusive sums along the last axis of [rows, n].
Result<NodeId> scan(GraphBuilder& b, NodeId x) {
  std::int64_t rows = b.shape(x)[0], n = b.shape(x)[1];
  std::int64_t groups = (n + scan_group - 1) / scan_group;
  std::int64_t width = groups == 1 ? n : scan_group;
  if (groups > 1 && n % scan_group != 0) {
    HALYARD_ASSIGN(x, b.pad(x, {0, 0}, {0, groups * scan_group - n}, 0));
  }
  HALYARD_ASSIGN(x, b.reshape(x, {rows, groups, width}));
  for (std::int64_t step = 1; step < std::min(scan_group, width); step *= 2) {
    HALYARD_ASSIGN(NodeId shifted, moved(b, x, step));
    HALYARD_ASSIGN(x, added_from(b, shifted, x, step));
  }
  if (groups > 1) {
    HALYARD_ASSIGN(NodeId totals, b.slice_axis(x, 2, width - 1, width));
    HALYARD_ASSIGN(totals, b.reshape(totals, {rows, groups}));
    HALYARD_ASSIGN(totals, scan(b, totals));
    HALYARD_ASSIGN(totals, moved(b, totals, 1));
    HALYARD_ASSIGN(totals, b.reshape(totals, {rows, groups, 1}));
    HALYARD_ASSIGN(NodeId sum, b.binary(Primitive::add, totals, x));
    HALYARD_ASSIGN(NodeId group, b.iota(ElementType::i32, {rows, groups, width}, 1));
    HALYARD_ASSIGN(NodeId later, b.binary(Primitive::ge, group, 1.0));
    HALYARD_ASSIGN(x, b.select(later, sum, x));
  }
  HALYARD_ASSIGN(x, b.reshape(x, {rows, groups * width}));
  return b.slice_axis(x, 1, 0, n);
}

Result<NodeId> expanded(GraphBuilder& b, NodeId x, const ops::Attributes& attributes) {
  ops::Shape shape = b.shape(x);
  ElementType element = b.element(x);
  std::int64_t axis = attributes.axes[0], last = static_cast<std::int64_t>(shape.rank()) - 1;
  HALYARD_ASSIGN(NodeId wide, b.cast(x, ops::accumulator(element)));
  HALYARD_ASSIGN(wide, b.transpose(wide, axis, last));
  ops::Shape turned = b.shape(wide);
  std::int64_t n = turned[static_cast<std::size_t>(last)];
  HALYARD_ASSIGN(wide, b.reshape(wide, {shape.count() / n, n}));
  HALYARD_ASSIGN(wide, scan(b, wide));
  if (attributes.exclusive) {
    HALYARD_ASSIGN(wide, moved(b, wide, 1));
  }
  HALYARD_ASSIGN(wide, b.reshape(wide, turned.vector()));
  HALYARD_ASSIGN(wide, b.transpose(wide, axis, last));
  return b.cast(wide, element);
}

}  // namespace

Result<ops::Graph> expand_scans(const ops::Graph& graph) {
  bool any = std::any_of(graph.nodes().begin(), graph.nodes().end(),
                         [](const ops::Node& node) { return node.primitive == Primitive::cumulative_sum; });
  if (!any) return graph;
  return rewrite_graph(graph,
                       [](GraphBuilder& builder, const ops::Node& node,
                          std::span<const NodeId> operands) -> Result<std::optional<NodeId>> {
                         if (node.primitive != Primitive::cumulative_sum) return std::nullopt;
                         HALYARD_ASSIGN(NodeId made, expanded(builder, operands[0], node.attributes));
                         return made;
                       });
}

}  // namespace halyard::fusion
