#pragma once

#include <halyard/fusion/planner.h>
#include <halyard/fusion/tile_program.h>
#include <halyard/ops/graph.h>
#include <cstdint>
#include <span>
#include <vector>

namespace halyard::fusion {

/// reshape, permute, broadcast, slice, reverse: nothing but index arithmetic.
bool is_view(ops::Primitive primitive);
/// Nodes that cost nothing anywhere: inputs, constants, iota.
bool is_source(ops::Primitive primitive);
/// A constant whose elements are all the same bits: a literal.
bool is_uniform_constant(const ops::Node& node);

/// Folds the views between, before and after the members into index maps and writes the rest as a canonical
/// tile program, so that kernels of equal structure get equal programs. `materialized[i]` marks the views
/// whose elements are in memory and may be loaded when they are no members. `unsupported` says which index
/// map cannot be expressed.
Result<ClusterTile> cluster_to_tile(const ops::Graph& graph, const ClusterSpec& cluster,
                                    const std::vector<bool>& materialized);

/// Collapses contiguous axes and numbers axes by memory order. Changes no value.
void canonicalize(TileProgram& program, Binding& binding);

}  // namespace halyard::fusion
