#pragma once

#include <halyard/fusion/device_profile.h>
#include <halyard/fusion/tile_program.h>
#include <cstdint>
#include <optional>
#include <vector>

/// Questions about a program's axes and accesses that more than one pattern asks.
namespace halyard::fusion::lowering {

/// The members of a set, outermost (lowest number) first.
std::vector<Axis> members(AxisSet set, std::size_t axis_count);

/// Which values the given ones need, themselves included.
std::vector<bool> reachable(const TileProgram& tiles, const std::vector<TileId>& roots);

/// Of `candidates`, the axis along which vectors of `lanes` elements meet the most accesses well (unit
/// stride, or no dependence), of those that `roots` need; the last of equals. Nothing if there is no
/// candidate of extent > 1.
std::optional<Axis> best_vector_axis(const TileProgram& tiles, const Binding& binding,
                                     const std::vector<TileId>& roots, const std::vector<Axis>& candidates,
                                     std::int64_t lanes);

/// The axis along which an access lies densely in memory that vectors along `vector_axis` only scatter over:
/// a transpose. Nothing if there is none.
std::optional<Axis> crossing_axis(const TileProgram& tiles, const Binding& binding,
                                  const std::vector<TileId>& roots, Axis vector_axis, std::int64_t lanes);

/// Lanes of an explicit vector that fit a register: by the widest type that is computed in (16-bit floats
/// compute in f32), at most 64.
std::uint32_t natural_vector(const TileProgram& tiles, const DeviceProfile& profile);

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace halyard::fusion::lowering
