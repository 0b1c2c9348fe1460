#include "expand_compounds.h"

#include <algorithm>
#include "rewrite_graph.h"

namespace halyard::fusion {
namespace {

using Expansion = Result<ops::NodeId> (*)(ops::GraphBuilder&, const ops::Node&, std::span<const ops::NodeId>);

/// Null for what has kernels of its own.
Expansion expansion_of(const ops::Node& node) {
  switch (ops::row(node.primitive).kind) {
    case ops::Kind::scan:
      return expand_scan;
    case ops::Kind::sort:
      return expand_sort;
    case ops::Kind::scatter:
      return expand_scatter;
    default:
      return nullptr;
  }
}

}  // namespace

Result<ops::Graph> expand_compounds(const ops::Graph& graph) {
  if (std::none_of(graph.nodes().begin(), graph.nodes().end(), expansion_of)) return graph;
  return rewrite_graph(graph,
                       [](ops::GraphBuilder& builder, const ops::Node& node,
                          std::span<const ops::NodeId> operands) -> Result<std::optional<ops::NodeId>> {
                         const Expansion expand = expansion_of(node);
                         if (expand == nullptr) return std::nullopt;
                         HALYARD_ASSIGN(ops::NodeId made, expand(builder, node, operands));
                         return made;
                       });
}

}  // namespace halyard::fusion
