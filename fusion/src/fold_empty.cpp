#include "fold_empty.h"

#include <fmt/format.h>
#include <halyard/ops/reference.h>
#include <algorithm>
#include "rewrite_graph.h"

namespace halyard::fusion {
namespace {

using ops::GraphBuilder;
using ops::HostTensor;
using ops::Node;
using ops::NodeId;
using ops::Primitive;

/// The value that every element of the result has, since no element of an operand takes part in it: computed
/// on operands whose other extents are 1.
Result<HostTensor> value_over_nothing(const GraphBuilder& builder, const Node& node,
                                      std::span<const NodeId> operands, const ops::NumericClass& numeric) {
  std::vector<HostTensor> small;
  for (NodeId operand : operands) {
    std::vector<std::int64_t> extents = builder.shape(operand).vector();
    for (std::int64_t& extent : extents) extent = std::min<std::int64_t>(extent, 1);
    HALYARD_ASSIGN(HostTensor value, HostTensor::allocate(builder.element(operand), ops::Shape(extents)));
    small.push_back(std::move(value));
  }
  HALYARD_ASSIGN(HostTensor value, ops::evaluate_primitive(node.primitive, small, node.attributes, numeric));
  return value.reshaped({});
}

Result<std::optional<NodeId>> replacement(GraphBuilder& builder, const Node& node,
                                          std::span<const NodeId> operands,
                                          const ops::NumericClass& numeric) {
  const auto is_empty = [&](NodeId id) { return builder.shape(id).is_empty(); };
  if (node.shape.is_empty()) {
    HALYARD_ASSIGN(HostTensor nothing, HostTensor::allocate(node.element, node.shape));
    return builder.constant(std::move(nothing), node.name);
  }
  if (std::none_of(operands.begin(), operands.end(), is_empty)) return std::nullopt;
  const ops::Kind kind = ops::row(node.primitive).kind;
  if (kind == ops::Kind::reduction || kind == ops::Kind::contraction) {
    HALYARD_ASSIGN(HostTensor value, value_over_nothing(builder, node, operands, numeric));
    HALYARD_ASSIGN(NodeId spread,
                   builder.broadcast(builder.constant(std::move(value), node.name), node.shape));
    return spread;
  }
  if (kind == ops::Kind::scatter) return operands[0];  // no updates
  if (node.primitive == Primitive::concat) {
    std::vector<NodeId> parts;
    std::copy_if(operands.begin(), operands.end(), std::back_inserter(parts), std::not_fn(is_empty));
    if (parts.size() == 1) return parts.front();
    HALYARD_ASSIGN(NodeId joined,
                   builder.graph().append(Primitive::concat, std::move(parts), node.attributes, node.name));
    return joined;
  }
  // A padded empty tensor: nothing but the padding.
  std::vector<HostTensor> values;
  for (NodeId operand : operands) {
    const Node& source = builder.node(operand);
    if (!is_empty(operand) && source.primitive != Primitive::constant)
      return fail(
          ErrorCode::unsupported,
          fmt::format("plan: {} of an empty tensor and a computed one has no kernel; compute it apart",
                      ops::row(node.primitive).name));
    if (source.primitive == Primitive::constant) {
      values.push_back(*source.value);
      continue;
    }
    HALYARD_ASSIGN(HostTensor nothing, HostTensor::allocate(source.element, source.shape));
    values.push_back(std::move(nothing));
  }
  HALYARD_ASSIGN(HostTensor value, ops::evaluate_primitive(node.primitive, values, node.attributes, numeric));
  return builder.constant(std::move(value), node.name);
}

}  // namespace

Result<ops::Graph> fold_empty(const ops::Graph& graph, const ops::NumericClass& numeric) {
  const auto is_empty = [](const Node& node) { return node.shape.is_empty(); };
  if (std::none_of(graph.nodes().begin(), graph.nodes().end(), is_empty)) return graph;
  return rewrite_graph(graph, [&](GraphBuilder& builder, const Node& node, std::span<const NodeId> operands) {
    return replacement(builder, node, operands, numeric);
  });
}

}  // namespace halyard::fusion
