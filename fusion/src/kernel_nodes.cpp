#include "kernel_nodes.h"

#include <algorithm>
#include "cluster_to_tile.h"

namespace halyard::fusion {

using ops::NodeId;

namespace {

std::size_t summed_axes(const TileProgram& program) {
  std::size_t count = 0;
  for (const TileValue& value : program.values)
    if (value.op == TileOp::reduce || value.op == TileOp::dot) count += value.axes_list.size();
  return count;
}

}  // namespace

KernelNodes::KernelNodes(const ops::Graph& graph)
    : graph_(graph),
      is_kernel_(graph.size(), false),
      materialized_(graph.size(), false),
      uses_(graph.size()),
      sources_(graph.size()) {
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    ops::Primitive primitive = graph.node(NodeId{i}).primitive;
    is_kernel_[i] = !is_view(primitive) && !is_source(primitive);
  }
  for (const ops::GraphOutput& output : graph.outputs()) {
    std::uint32_t i = ops::index(output.node);
    if (is_view(graph.node(output.node).primitive)) materialized_[i] = true;
    is_kernel_[i] = true;
  }
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    if (!is_kernel_[i] || is_source(graph.node(NodeId{i}).primitive)) continue;
    for (NodeId operand : graph.node(NodeId{i}).operands)
      if (is_view(graph.node(operand).primitive) && !materialized_[ops::index(operand)] &&
          must_materialize(NodeId{i}, operand)) {
        materialized_[ops::index(operand)] = true;
        is_kernel_[ops::index(operand)] = true;
      }
  }
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    if (!is_kernel_[i]) continue;
    nodes_.push_back(NodeId{i});
    for (NodeId operand : graph.node(NodeId{i}).operands) add_sources(NodeId{i}, operand);
  }
  for (const ops::GraphOutput& output : graph.outputs())
    uses_[ops::index(output.node)].push_back({.output = true});
}

/// Whether `reader` cannot look through `view`, or would have to sum over more axes if it did.
bool KernelNodes::must_materialize(NodeId reader, NodeId view) {
  ClusterSpec alone{{reader}, {reader}};
  auto folded = cluster_to_tile(graph_, alone, materialized_);
  materialized_[ops::index(view)] = true;
  auto loaded = cluster_to_tile(graph_, alone, materialized_);
  materialized_[ops::index(view)] = false;
  if (!loaded) return false;
  return !folded || summed_axes(folded->program) > summed_axes(loaded->program);
}

void KernelNodes::add_sources(NodeId reader, NodeId operand) {
  while (!is_kernel_[ops::index(operand)] && is_view(graph_.node(operand).primitive))
    operand = graph_.node(operand).operands[0];
  // An input or constant that is an output too stays what it is for its readers.
  if (is_source(graph_.node(operand).primitive)) return;
  auto& sources = sources_[ops::index(reader)];
  if (std::find(sources.begin(), sources.end(), operand) != sources.end()) return;
  sources.push_back(operand);
  uses_[ops::index(operand)].push_back({.consumer = reader});
}

}  // namespace halyard::fusion
