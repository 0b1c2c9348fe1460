#include "unrepeat_products.h"

#include <algorithm>
#include <optional>
#include "rewrite_graph.h"

namespace halyard::fusion {
namespace {

using ops::GraphBuilder;
using ops::Node;
using ops::NodeId;
using ops::Primitive;

/// Whether a node's elements are equal all along an axis: a broadcast stretched it, under permutes perhaps.
bool repeats(const GraphBuilder& builder, NodeId id, std::size_t axis) {
  const Node& node = builder.node(id);
  if (node.shape[axis] <= 1) return false;
  if (node.primitive == Primitive::permute)
    return repeats(builder, node.operands[0], static_cast<std::size_t>(node.attributes.axes[axis]));
  if (node.primitive != Primitive::broadcast) return false;
  // A uniform constant is a weight: it is laid out in memory, on all of its axes.
  if (builder.node(node.operands[0]).primitive == Primitive::constant) return false;
  const ops::Shape& from = builder.shape(node.operands[0]);
  const std::size_t added = node.shape.rank() - from.rank();
  return axis < added || from[axis - added] == 1;
}

std::vector<std::size_t> free_axes(std::size_t rank, const std::vector<std::int64_t>& batch,
                                   const std::vector<std::int64_t>& contracting) {
  std::vector<std::size_t> axes;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const auto is = [axis](std::int64_t other) { return static_cast<std::size_t>(other) == axis; };
    if (std::none_of(batch.begin(), batch.end(), is) &&
        std::none_of(contracting.begin(), contracting.end(), is))
      axes.push_back(axis);
  }
  return axes;
}

/// Axes of each operand along which the result repeats.
struct Repeats {
  std::vector<std::size_t> lhs, rhs;
  bool none() const { return lhs.empty() && rhs.empty(); }
};
Repeats repeats_of(const GraphBuilder& builder, const Node& product, std::span<const NodeId> operands) {
  const ops::DotDimensions& dot = product.attributes.dot;
  Repeats found;
  for (std::size_t i = 0; i < dot.lhs_batch.size(); ++i) {
    const auto left = static_cast<std::size_t>(dot.lhs_batch[i]),
               right = static_cast<std::size_t>(dot.rhs_batch[i]);
    if (!repeats(builder, operands[0], left) || !repeats(builder, operands[1], right)) continue;
    found.lhs.push_back(left);
    found.rhs.push_back(right);
  }
  for (std::size_t axis : free_axes(builder.shape(operands[0]).rank(), dot.lhs_batch, dot.lhs_contracting))
    if (repeats(builder, operands[0], axis)) found.lhs.push_back(axis);
  for (std::size_t axis : free_axes(builder.shape(operands[1]).rank(), dot.rhs_batch, dot.rhs_contracting))
    if (repeats(builder, operands[1], axis)) found.rhs.push_back(axis);
  return found;
}

Result<NodeId> once(GraphBuilder& builder, NodeId operand, const std::vector<std::size_t>& axes) {
  for (std::size_t axis : axes) {
    HALYARD_ASSIGN(operand, builder.slice_axis(operand, static_cast<std::int64_t>(axis), 0, 1));
  }
  return operand;
}

Result<std::optional<NodeId>> replacement(GraphBuilder& builder, const Node& node,
                                          std::span<const NodeId> operands) {
  if (node.primitive != Primitive::dot_general) return std::nullopt;
  const Repeats found = repeats_of(builder, node, operands);
  if (found.none()) return std::nullopt;
  HALYARD_ASSIGN(NodeId lhs, once(builder, operands[0], found.lhs));
  HALYARD_ASSIGN(NodeId rhs, once(builder, operands[1], found.rhs));
  HALYARD_ASSIGN(NodeId product,
                 builder.graph().append(Primitive::dot_general, {lhs, rhs}, node.attributes, node.name));
  HALYARD_ASSIGN(NodeId spread, builder.broadcast(product, node.shape));
  return spread;
}

}  // namespace

Result<ops::Graph> unrepeat_products(const ops::Graph& graph) {
  const auto is_product = [](const Node& node) { return node.primitive == Primitive::dot_general; };
  if (std::none_of(graph.nodes().begin(), graph.nodes().end(), is_product)) return graph;
  return rewrite_graph(graph, replacement);
}

}  // namespace halyard::fusion
