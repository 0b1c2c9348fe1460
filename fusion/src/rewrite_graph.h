#pragma once

#include <halyard/ops/graph_builder.h>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace halyard::fusion {

/// A copy of `graph` in which `replace(builder, node, operands)` may give another node of the copy in place
/// of one that is neither input nor constant: it returns `Result<std::optional<ops::NodeId>>`, nothing to
/// keep the node. `operands` are the node's in the copy. Inputs and outputs keep their order and names.
template <class Replace>
Result<ops::Graph> rewrite_graph(const ops::Graph& graph, const Replace& replace) {
  ops::Graph result;
  ops::GraphBuilder builder(result);
  std::vector<ops::NodeId> map;
  for (const ops::Node& node : graph.nodes()) {
    ops::NodeId made{};
    if (node.primitive == ops::Primitive::input) {
      HALYARD_ASSIGN(made, result.input(node.name, node.element, node.shape));
    } else if (node.primitive == ops::Primitive::constant) {
      made = result.constant(*node.value, node.name);
    } else {
      std::vector<ops::NodeId> operands;
      for (ops::NodeId operand : node.operands) operands.push_back(map[ops::index(operand)]);
      HALYARD_ASSIGN(std::optional<ops::NodeId> other,
                     replace(builder, node, std::span<const ops::NodeId>(operands)));
      if (other) {
        made = *other;
      } else {
        HALYARD_ASSIGN(made, result.append(node.primitive, std::move(operands), node.attributes, node.name));
      }
    }
    map.push_back(made);
  }
  for (const ops::GraphOutput& output : graph.outputs())
    HALYARD_TRY(result.output(map[ops::index(output.node)], output.name));
  return result;
}

}  // namespace halyard::fusion
