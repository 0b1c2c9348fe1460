#pragma once

#include <halyard/ops/graph.h>

namespace halyard::fusion {

/// A copy of `graph` in which a product that is the same all along one of its axes, since its operands are
/// broadcast along it, is computed once there and broadcast itself: fewer operations, and a kernel's stores
/// then live on the axes that it computes. The bits stay: one element's order knows no other element.
Result<ops::Graph> unrepeat_products(const ops::Graph& graph);

}  // namespace halyard::fusion
