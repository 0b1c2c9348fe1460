#include <fmt/format.h>
#include <algorithm>
#include <utility>

#include "lowering/axes.h"
#include "lowering/lowering.h"
#include "lowering/patterns.h"
#include "lowering/vector_nest.h"

/// The map pattern: no reductions. Stores over the same axes share one nest; each nest's elements are dealt
/// out to workgroups on their own.
namespace halyard::fusion::lowering {
namespace {

struct MapNest {
  VectorNest space;
  bool crosses = false;  ///< some access is dense along the last of the outer axes instead of the vector's
  std::vector<TileId> stores;
};

std::vector<MapNest> nests_of(const TileProgram& tiles, const Binding& binding, std::int64_t lanes) {
  std::vector<MapNest> nests;
  std::vector<AxisSet> spaces;
  for (std::size_t v = 0; v < tiles.values.size(); ++v) {
    if (tiles.values[v].op != TileOp::store) continue;
    AxisSet space = tiles.values[v].axes;
    auto found = std::find(spaces.begin(), spaces.end(), space);
    if (found == spaces.end()) {
      spaces.push_back(space);
      nests.emplace_back();
      found = spaces.end() - 1;
    }
    nests[static_cast<std::size_t>(found - spaces.begin())].stores.push_back(static_cast<TileId>(v));
  }
  for (std::size_t n = 0; n < nests.size(); ++n) {
    VectorNest& space = nests[n].space;
    std::vector<Axis> axes = members(spaces[n], tiles.axes.size());
    space.vector_axis = best_vector_axis(tiles, binding, nests[n].stores, axes, lanes);
    std::optional<Axis> crossing;
    if (space.vector_axis)
      crossing = crossing_axis(tiles, binding, nests[n].stores, *space.vector_axis, lanes);
    for (Axis axis : axes)
      if (axis != space.vector_axis && axis != crossing) space.outer.push_back(axis);
    if (crossing) space.outer.push_back(*crossing);
    nests[n].crosses = crossing.has_value();
    if (n > 0) space.suffix = fmt::format("_{}", n);
  }
  return nests;
}

}  // namespace

Result<LoweredKernel> lower_map(const TileProgram& tiles, const Binding& binding, const Schedule& schedule,
                                const DeviceProfile& profile) {
  Lowering lowering(tiles, binding, profile);
  std::int64_t groups = 1;
  for (const MapNest& nest : nests_of(tiles, binding, schedule.vector)) {
    auto body = [&](Frame& row, std::span<const VectorPart> parts) {
      for (const VectorPart& part : parts) {
        Frame frame = frame_of(nest.space, row, part);
        for (TileId store : nest.stores) lowering.store(store, frame);
      }
    };
    groups = std::max(groups, deal_out(lowering, nest.space, schedule, nest.stores, 0, body));
  }
  std::uint32_t lanes = profile.model == ExecutionModel::tasks ? 1 : schedule.lanes;
  return lowering.finish({static_cast<std::uint32_t>(groups), 1, 1}, lanes, 0,
                         Lowering::compiled_in(schedule));
}

namespace {

/// Elements of the largest store, and of its vectorized axis.
struct MapSize {
  std::int64_t elements = 1;
  std::int64_t columns = 1;
  bool crosses = false;
};

MapSize size_of(const TileProgram& tiles, const Binding& binding, std::int64_t lanes) {
  MapSize size;
  for (const MapNest& nest : nests_of(tiles, binding, lanes)) {
    const VectorNest& space = nest.space;
    std::int64_t columns = space.vector_axis ? binding.extents[index(*space.vector_axis)] : 1;
    std::int64_t elements = columns;
    for (Axis axis : space.outer) elements *= binding.extents[index(axis)];
    if (elements >= size.elements) size = {elements, std::max<std::int64_t>(columns, 1), nest.crosses};
  }
  return size;
}

std::uint32_t bounded(std::int64_t value) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, 1, 1 << 30));
}

}  // namespace

std::vector<Schedule> map_schedules(const TileProgram& tiles, const Binding& binding,
                                    const DeviceProfile& profile) {
  std::vector<Schedule> schedules;
  Schedule base;
  base.pattern = Pattern::map;
  base.vector = natural_vector(tiles, profile);
  MapSize size = size_of(tiles, binding, base.vector);
  if (profile.model == ExecutionModel::tasks) {
    // Some 10 µs of work at least per task, and a few tasks per thread to even out.
    for (std::uint32_t unroll : {4u, 2u, 1u}) {
      base.unroll = unroll;
      std::int64_t elements =
          std::clamp<std::int64_t>(size.elements / (4 * std::int64_t{profile.threads}), 8192, 65536);
      base.block_n = bounded(elements);
      base.block_rows = bounded(elements / size.columns);
      if (size.crosses) {
        // A transpose: walk down narrow columns, so that the lines which one access scatters over are met
        // again.
        base.unroll = unroll == 4 ? 1 : unroll == 2 ? 2 : 4;
        base.block_n = base.vector * base.unroll;
        base.block_rows = bounded(elements / base.block_n);
      }
      schedules.push_back(base);
    }
    return schedules;
  }
  std::uint32_t widest = std::min<std::uint32_t>(base.vector, 4);
  for (std::uint32_t unroll : {1u, 2u}) {
    for (std::uint32_t vector = widest; vector > 0; vector = vector > 1 ? 1 : 0) {
      Schedule schedule = base;
      schedule.vector = vector;
      schedule.unroll = unroll;
      schedule.lanes = std::min(profile.max_workgroup_lanes, std::max(256u, profile.subgroup_size));
      // One vector per lane and no loop: what a lane of a software driver does under a loop's mask costs
      // twice.
      std::int64_t block = std::int64_t{unroll} * vector * schedule.lanes;
      schedule.block_n = bounded(block);
      schedules.push_back(schedule);
    }
  }
  return schedules;
}

}  // namespace halyard::fusion::lowering
