#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lowering/lowering.h"

namespace halyard::fusion::lowering {

/// A space of independent elements and how it is dealt out to workgroups: all axes but one flattened, and one
/// walked in vectors.
///
/// tasks: a task takes a block of rows (the flattened axes) times a block of the vectorized axis, walks it in
/// groups of `unroll` vectors, then single vectors, then a masked one.
/// lanes: vectors are numbered through; lane l of a workgroup takes every `lanes`-th from its block's l-th
/// on. A row's end never falls within a vector: where the extent is not divisible, vectors are narrower.
struct VectorNest {
  std::vector<Axis> outer;
  std::optional<Axis> vector_axis;
  std::string suffix;  ///< tells apart the numbers of several nests of one kernel
};

/// One vector of the nest: its first position on the vectorized axis.
struct VectorPart {
  ValueId base = program::no_value;
  std::uint16_t lanes = 1;
  ValueId mask = program::no_value;
};

/// A frame for `part` in the row at `row`.
Frame frame_of(const VectorNest& nest, const Frame& row, const VectorPart& part);

/// What to do with some vectors (one, or a group of `unroll`) of the row whose outer coordinates are set.
using VectorBody = std::function<void(Frame& row, std::span<const VectorPart> parts)>;

/// Emits the nest; gives the number of workgroups it needs (a grid may have more). `trips_per_vector`: loop
/// iterations that the body runs, for devices that bound them.
std::int64_t deal_out(Lowering& lowering, const VectorNest& nest, const Schedule& schedule,
                      const std::vector<TileId>& roots, std::int64_t trips_per_vector,
                      const VectorBody& body);

}  // namespace halyard::fusion::lowering
