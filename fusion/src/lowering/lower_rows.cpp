#include <fmt/format.h>
#include <algorithm>
#include <utility>

#include "lowering/axes.h"
#include "lowering/lowering.h"
#include "lowering/patterns.h"
#include "lowering/row_passes.h"

/// The rows pattern: any number of reductions over the last logical axes, with whatever stands before,
/// between and after them, in as many passes over the row as they depend on each other.
namespace halyard::fusion::lowering {
namespace {

std::uint32_t team_size(const DeviceProfile& profile) {
  return profile.model == ExecutionModel::lanes && profile.subgroup_shuffle
             ? std::min(profile.subgroup_size, 128u)
             : 1;
}

/// The widest vector not above `wanted` that a team can use on these rows. Teams of lanes have no masks: a
/// row's end must not fall within a vector.
std::uint16_t fitting_vector(const ReductionPlan& plan, const Binding& binding, const DeviceProfile& profile,
                             std::uint32_t wanted) {
  bool lanes = profile.model == ExecutionModel::lanes;
  std::uint32_t team = team_size(profile);
  std::int64_t last = 1;
  for (Axis axis : plan.reduced)
    if (binding.extents[index(axis)] != 1) last = binding.extents[index(axis)];
  std::uint16_t vector = 1;
  while (vector * 2u <= wanted && team * vector * 2 <= 128 && (!lanes || last % (2 * vector) == 0))
    vector = static_cast<std::uint16_t>(2 * vector);
  return vector;
}

class RowLowering {
 public:
  RowLowering(const TileProgram& tiles, const Binding& binding, const Schedule& schedule,
              const DeviceProfile& profile, ReductionPlan plan)
      : l_(tiles, binding, profile), b_(l_.builder), schedule_(schedule), plan_(std::move(plan)) {}

  Result<LoweredKernel> run() {
    bool lanes = l_.profile.model == ExecutionModel::lanes;
    std::uint32_t team_lanes = team_size(l_.profile);
    std::uint32_t workgroup = lanes ? std::max(schedule_.lanes / team_lanes, 1u) * team_lanes : 1;
    std::uint32_t teams = workgroup / team_lanes;
    std::int64_t rows = l_.extent_of(plan_.outer);
    if (rows > 0) emit(team_lanes, teams, rows);
    std::int64_t groups = rows > 0 ? ceil_div(rows, rows_per_team_ * teams) : 1;
    return l_.finish({static_cast<std::uint32_t>(groups), 1, 1}, workgroup, team_lanes > 1 ? team_lanes : 0,
                     Lowering::compiled_in(schedule_));
  }

 private:
  RowPasses::Team team_of(std::uint32_t team_lanes, std::uint32_t teams) {
    RowPasses::Team team;
    team.size = team_lanes;
    team.vector = fitting_vector(plan_, l_.binding, l_.profile, schedule_.vector);
    team.unroll = 1;
    while (team.unroll * 2 <= schedule_.unroll && team.unroll * 2 * team_lanes * team.vector <= 128)
      team.unroll *= 2;
    team.lane = l_.literal(0);
    team.number = l_.literal(0);
    if (team_lanes > 1) {
      team.lane = l_.builtin(program::Builtin::subgroup_lane);
      if (teams > 1) team.number = l_.builtin(program::Builtin::subgroup);
    } else if (teams > 1) {
      team.number = l_.builtin(program::Builtin::lane);
    }
    return team;
  }

  void emit(std::uint32_t team_lanes, std::uint32_t teams, std::int64_t rows) {
    RowPasses::Team team = team_of(team_lanes, teams);
    RowPasses passes(l_, plan_, team, teams);
    choose_rows_per_team(team, teams, rows);
    ValueId row_count = l_.count(plan_.outer);
    ValueId per_team = l_.number("rows_per_team", rows_per_team_, l_.known(row_count) == 1);
    ValueId team_index = l_.builtin(program::Builtin::workgroup_x);
    if (teams > 1) team_index = l_.add(l_.mul(team_index, teams), team.number);
    ValueId first = l_.mul(team_index, per_team);
    ValueId trips = l_.min(per_team, l_.sub(row_count, first));
    b_.for_loop(l_.literal(0), trips, l_.literal(1), {}, [&](ValueId i, auto) {
      Frame row = l_.root();
      l_.decompose(row, plan_.outer, l_.add(first, i));
      passes.run(row);
      l_.when(b_.compare(program::Op::eq, team.lane, l_.literal(0)), {}, [&] {
        Frame frame = row.inner();
        for (TileId store : plan_.outer_stores) l_.store_once(store, frame, plan_.outer);
        return std::vector<ValueId>{};
      });
      return std::vector<ValueId>{};
    });
  }

  void choose_rows_per_team(const RowPasses::Team& team, std::uint32_t teams, std::int64_t rows) {
    rows_per_team_ = std::clamp<std::int64_t>(schedule_.block_rows, 1, rows);
    while (ceil_div(rows, rows_per_team_ * teams) > l_.profile.max_grid) rows_per_team_ *= 2;
    std::int64_t limit = l_.profile.max_loop_trips;
    if (limit == 0) return;
    std::int64_t trips = 1 + RowPasses::trips_per_row(plan_, l_.extent_of(plan_.reduced),
                                                      std::int64_t{team.size} * team.vector, team.unroll);
    while (rows_per_team_ > 1 && rows_per_team_ * trips > limit &&
           ceil_div(rows, (rows_per_team_ / 2) * teams) <= l_.profile.max_grid)
      rows_per_team_ /= 2;
    if (rows_per_team_ * trips > limit)
      l_.complain(ErrorCode::unsupported,
                  fmt::format("kernel {}: rows of {} elements need more loop iterations than {} allows ({})",
                              l_.tiles.name, l_.extent_of(plan_.reduced), l_.profile.name, limit));
  }

  Lowering l_;
  Builder& b_;
  const Schedule& schedule_;
  ReductionPlan plan_;
  std::int64_t rows_per_team_ = 1;
};

}  // namespace

Result<LoweredKernel> lower_rows(const TileProgram& tiles, const Binding& binding, const Schedule& schedule,
                                 const DeviceProfile& profile) {
  HALYARD_ASSIGN(ReductionPlan plan, plan_reductions(tiles, schedule.stage_rows));
  return RowLowering(tiles, binding, schedule, profile, std::move(plan)).run();
}

std::vector<Schedule> row_schedules(const TileProgram& tiles, const Binding& binding,
                                    const DeviceProfile& profile) {
  Result<ReductionPlan> staged = plan_reductions(tiles, true);
  if (!staged) return {};
  std::int64_t row = 1;
  for (Axis axis : staged->reduced) row *= binding.extents[index(axis)];
  std::int64_t rows = 1;
  for (Axis axis : staged->outer) rows *= binding.extents[index(axis)];

  Schedule base;
  base.pattern = Pattern::rows;
  bool lanes = profile.model == ExecutionModel::lanes;
  std::uint32_t team = team_size(profile);
  base.vector =
      fitting_vector(*staged, binding, profile, std::min(natural_vector(tiles, profile), lanes ? 4u : 64u));
  if (lanes)
    base.lanes = profile.cheap_barriers ? std::max(team, std::min(profile.max_workgroup_lanes, 256u)) : team;
  std::uint32_t teams = std::max(base.lanes / team, 1u);
  // Enough elements per workgroup to pay for its start, and a few workgroups per thread to even out.
  std::int64_t enough = lanes ? (profile.cheap_barriers ? 1 : 8192) : 16384;
  std::int64_t per_team = std::clamp<std::int64_t>(enough / std::max<std::int64_t>(row, 1), 1, 1024);
  std::int64_t fair = rows / (4 * std::int64_t{profile.threads} * teams);
  base.block_rows = static_cast<std::uint32_t>(std::max<std::int64_t>(std::min(per_team, fair), 1));

  std::int64_t bytes = RowPasses::staged_bytes(tiles, *staged, row, std::int64_t{team} * base.vector) * teams;
  bool can_stage = !staged->staged.empty() && bytes <= static_cast<std::int64_t>(profile.shared_bytes);
  // The lanes of a software driver are a vector already: more in flight only spills.
  std::vector<std::uint32_t> unrolls{8, 4, 16};
  if (lanes)
    unrolls = profile.cheap_barriers ? std::vector<std::uint32_t>{4, 1} : std::vector<std::uint32_t>{1, 4};
  std::vector<Schedule> schedules;
  for (bool stage : {true, false}) {
    if (stage && !can_stage) continue;
    for (std::uint32_t unroll : unrolls) {
      Schedule schedule = base;
      schedule.stage_rows = stage;
      schedule.unroll = unroll;
      std::int64_t trips =
          1 + RowPasses::trips_per_row(*staged, row, std::int64_t{team} * base.vector, unroll);
      if (profile.max_loop_trips && trips > profile.max_loop_trips) continue;
      schedules.push_back(schedule);
    }
  }
  return schedules;
}

}  // namespace halyard::fusion::lowering
