#pragma once

#include <halyard/ops/graph.h>

namespace halyard::fusion {

/// The graph with every scan (`cumulative_sum` and the like) written out in primitives that have kernels, in
/// the canonical order (groups of 16, a tree of steps 1, 2, 4, 8, group totals by the same rule;
/// halyard/ops/reduction_order.h), so with the same bits. Inputs and outputs keep their order; a graph
/// without scans comes back as it is.
Result<ops::Graph> expand_scans(const ops::Graph& graph);

}  // namespace halyard::fusion
