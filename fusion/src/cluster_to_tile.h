#pragma once

#include <halyard/fusion/tile_program.h>
#include <halyard/ops/graph.h>
#include <cstdint>
#include <span>
#include <vector>

namespace halyard::fusion {

/// What one kernel is to compute: the member nodes (everything that is not just a view), and the nodes it
/// stores, which may be views of members.
struct ClusterSpec {
  std::vector<ops::NodeId> members;  ///< ascending
  std::vector<ops::NodeId> stores;   ///< ascending
};

/// A cluster as a tile program, and which graph node each operand of it is.
struct ClusterTile {
  TileProgram program;
  Binding binding;
  std::vector<ops::NodeId> operands;
};

/// Which nodes have elements in memory that any kernel may load. Views are materialized only on purpose.
class Materialized {
 public:
  explicit Materialized(const ops::Graph& graph);
  void add_view(ops::NodeId view) { views_[ops::index(view)] = true; }
  bool is_materialized_view(ops::NodeId view) const { return views_[ops::index(view)]; }
  /// The node whose elements a chain of views shows.
  ops::NodeId base(ops::NodeId node) const { return bases_[ops::index(node)]; }

 private:
  std::vector<bool> views_;
  std::vector<ops::NodeId> bases_;
};

/// reshape, permute, broadcast, slice, reverse: nothing but index arithmetic.
bool is_view(ops::Primitive primitive);
/// Nodes that cost nothing anywhere: inputs, constants, iota.
bool is_source(ops::Primitive primitive);
/// A constant whose elements are all the same bits: a literal.
bool is_uniform_constant(const ops::Node& node);

/// Folds the views between, before and after the members into index maps and writes the rest as a canonical
/// tile program, so that kernels of equal structure get equal programs. `unsupported` says which index map
/// cannot be expressed.
Result<ClusterTile> cluster_to_tile(const ops::Graph& graph, const ClusterSpec& cluster,
                                    const Materialized& materialized);

/// Collapses contiguous axes and numbers axes by memory order. Changes no value.
void canonicalize(TileProgram& program, Binding& binding);

}  // namespace halyard::fusion
