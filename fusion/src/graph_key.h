#pragma once

#include <halyard/ops/graph.h>
#include <string>

namespace halyard::fusion {

/// Equal for graphs that compute the same: primitives, operands, attributes, types, shapes and constants'
/// bits. Names of nodes do not take part.
std::string graph_key(const ops::Graph& graph);

/// All attributes as text, for keys.
std::string attribute_text(const ops::Attributes& attributes);

}  // namespace halyard::fusion
