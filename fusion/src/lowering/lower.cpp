#include <fmt/format.h>
#include <halyard/fusion/lower.h>
#include <utility>

#include "lowering/patterns.h"

namespace halyard::fusion {
namespace {

std::string_view name(Pattern pattern) {
  constexpr std::string_view names[] = {"map", "rows", "columns", "contraction", "attention"};
  return names[static_cast<std::size_t>(pattern)];
}

struct Door {
  Pattern pattern;
  std::vector<Schedule> (*schedules)(const TileProgram&, const Binding&, const DeviceProfile&);
  Result<LoweredKernel> (*lower)(const TileProgram&, const Binding&, const Schedule&, const DeviceProfile&);
};

constexpr Door doors[] = {
    {Pattern::map, lowering::map_schedules, lowering::lower_map},
    {Pattern::rows, lowering::row_schedules, lowering::lower_rows},
    {Pattern::columns, lowering::column_schedules, lowering::lower_columns},
    {Pattern::contraction, lowering::contraction_schedules, lowering::lower_contraction},
    {Pattern::attention, lowering::attention_schedules, lowering::lower_attention},
};

Result<const Door*> door_for(const TileProgram& program, Pattern pattern) {
  for (const Door& door : doors)
    if (door.pattern == pattern) return &door;
  return fail(ErrorCode::unsupported, fmt::format("kernel {}: the {} pattern is not lowered by this build",
                                                  program.name, name(pattern)));
}

}  // namespace

std::string to_text(const Schedule& schedule) {
  std::string text = fmt::format("{}: vector {}, lanes {}, unroll {}", name(schedule.pattern),
                                 schedule.vector, schedule.lanes, schedule.unroll);
  if (schedule.block_rows != 1) text += fmt::format(", {} rows per workgroup", schedule.block_rows);
  if (schedule.pattern == Pattern::contraction || schedule.pattern == Pattern::attention)
    text += fmt::format(", tile {}x{}, block {}x{}, unroll k {}", schedule.tile_m, schedule.tile_n,
                        schedule.block_m, schedule.block_n, schedule.unroll_k);
  else if (schedule.block_n != 1)
    text += fmt::format(", block {}", schedule.block_n);
  if (schedule.stage_rows) text += ", rows staged on chip";
  if (schedule.packed_b) text += ", b packed";
  return text;
}

Result<std::vector<Schedule>> candidate_schedules(const TileProgram& program, const Binding& binding,
                                                  const DeviceProfile& profile) {
  HALYARD_ASSIGN(Pattern pattern, classify(program));
  HALYARD_TRY(verify(program, binding));
  HALYARD_ASSIGN(const Door* door, door_for(program, pattern));
  std::vector<Schedule> schedules = door->schedules(program, binding, profile);
  if (schedules.empty())
    return fail(ErrorCode::unsupported,
                fmt::format("kernel {}: as one {} kernel it does not fit on {}, whose workgroups share "
                            "{} bytes",
                            program.name, name(pattern), profile.name, profile.shared_bytes));
  return schedules;
}

Result<LoweredKernel> lower(const TileProgram& program, const Binding& binding, const Schedule& schedule,
                            const DeviceProfile& profile) {
  HALYARD_TRY(verify(program, binding));
  HALYARD_ASSIGN(const Door* door, door_for(program, schedule.pattern));
  return door->lower(program, binding, schedule, profile);
}

}  // namespace halyard::fusion
