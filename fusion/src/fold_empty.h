#pragma once

#include <halyard/ops/graph.h>
#include <halyard/ops/numeric_class.h>

namespace halyard::fusion {

/// The graph without computation on empty tensors, which no kernel need know then: a node without elements
/// becomes an empty constant, a sum or product over an empty axis its neutral element, and a concatenation
/// loses its empty parts. Inputs and outputs keep their order; a graph without empty tensors comes back as it
/// is.
Result<ops::Graph> fold_empty(const ops::Graph& graph, const ops::NumericClass& numeric);

}  // namespace halyard::fusion
