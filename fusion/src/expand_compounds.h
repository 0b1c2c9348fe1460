#pragma once

#include <halyard/ops/graph_builder.h>
#include <span>

namespace halyard::fusion {

/// The graph with every scan, sort and scatter written out in primitives that have kernels, in the canonical
/// orders (halyard/ops/reduction_order.h), so with the same bits. Inputs and outputs keep their order; a
/// graph without any comes back as it is.
Result<ops::Graph> expand_compounds(const ops::Graph& graph);

// ---- one node each; `operands` are the node's in the new graph, none of them empty
Result<ops::NodeId> expand_scan(ops::GraphBuilder& builder, const ops::Node& node,
                                std::span<const ops::NodeId> operands);
Result<ops::NodeId> expand_sort(ops::GraphBuilder& builder, const ops::Node& node,
                                std::span<const ops::NodeId> operands);
Result<ops::NodeId> expand_scatter(ops::GraphBuilder& builder, const ops::Node& node,
                                   std::span<const ops::NodeId> operands);

}  // namespace halyard::fusion
