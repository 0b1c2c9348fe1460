#pragma once

#include <halyard/ops/graph.h>
#include <string>

namespace halyard::fusion {

/// Equal for graphs that compute the same: primitives, operands, attributes, types, shapes and constants'
/// bits. Names of nodes do not take part. Bytes, not text.
std::string graph_key(const ops::Graph& graph);

/// Appends all attributes as bytes; no two sets of attributes append the same.
void append_attributes(std::string& key, const ops::Attributes& attributes);

}  // namespace halyard::fusion
