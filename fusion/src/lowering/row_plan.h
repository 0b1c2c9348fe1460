#pragma once

#include <halyard/fusion/lower.h>
#include <vector>

/// How reductions along rows (or columns) fall into passes over the reduced axes.
namespace halyard::fusion::lowering {

struct ReductionPass {
  std::vector<TileId> reductions;
  std::vector<TileId> stores;  ///< of elements, as soon as their value can be had
  std::vector<TileId> writes;  ///< values kept on chip for later passes
  std::vector<TileId> reads;   ///< kept values that this pass needs
  /// The values evaluated per element: what is reduced, stored, kept.
  std::vector<TileId> roots(const TileProgram& tiles) const;
};

struct ReductionPlan {
  std::vector<Axis> reduced;  ///< in logical order
  std::vector<Axis> outer;    ///< all other axes, outermost first
  std::vector<ReductionPass> passes;
  std::vector<TileId> outer_stores;  ///< stores without reduced axes, after the last pass
  std::vector<TileId> staged;
};

/// Assigns reductions and stores to passes: a pass needs only the results of earlier ones. `stage`: values
/// that cost more than a load and are needed again are kept. Fails for stores along only a part of the
/// reduced axes.
Result<ReductionPlan> plan_reductions(const TileProgram& tiles, bool stage);

}  // namespace halyard::fusion::lowering
