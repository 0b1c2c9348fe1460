#pragma once

#include <halyard/base/result.h>
#include <halyard/program/program.h>
#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "interpret_lane_wise.h"

namespace halyard::program {

/// Where a value, a mask or a temporary lies: a byte offset in the arena of a run.
using Slot = std::size_t;

struct Step;
using Steps = std::vector<Step>;

/// Moves a value of the workgroup, lane by lane where lanes are masked off.
struct Copy {
  Slot to = 0;
  Slot from = 0;
  std::size_t bytes_per_lane = 0;
};

struct LoopPlan {
  bool wide = false;  ///< i64 bounds, else i32
  Slot lower = 0, upper = 0, step = 0, induction = 0;
  Slot mask = 0;              ///< a byte per lane: still looping
  std::vector<Copy> initial;  ///< initial values -> carried arguments
  std::vector<Copy> stage;    ///< yields that another carry would overwrite -> temporaries
  std::vector<Copy> carry;    ///< yields or temporaries -> carried arguments
  std::vector<Copy> finish;   ///< carried arguments -> results
};

struct BranchPlan {
  Slot condition = 0;
  std::array<Slot, 2> masks{};
  std::array<std::vector<Copy>, 2> yields;
};

/// One instruction, ready to run.
struct Step {
  const Instruction* instruction = nullptr;
  LaneWise compute = nullptr;  ///< lane-wise operations, comparisons, select, casts
  bool checks_division = false;
  std::uint8_t element_bytes = 0;  ///< of the result, or of the value stored
  std::uint16_t lanes = 1;         ///< vector lanes of the result, or of the value stored
  std::uint16_t source_lanes = 1;  ///< vector lanes of the first operand
  bool wide_index = false;         ///< memory: i64 indices
  bool masked = false;             ///< memory: the last operand is a mask
  std::size_t count = 0;           ///< elements of the result over the workgroup
  Slot result = 0;
  std::array<Slot, 3> operands{};
  std::unique_ptr<LoopPlan> loop;
  std::unique_ptr<BranchPlan> branch;
  std::array<Steps, 2> blocks;
};

/// A value that is filled in before the steps run, once per run or once per workgroup.
struct Preset {
  const Instruction* instruction = nullptr;
  Slot slot = 0;
  Type type;
};

struct Plan {
  std::uint32_t workgroup_lanes = 1;
  std::vector<Preset> per_run;        ///< constants, iotas, parameters, grid sizes, lane numbers
  std::vector<Preset> per_workgroup;  ///< workgroup coordinates
  Steps steps;
  std::size_t arena_bytes = 0;
};

/// Plans a verified program; `program` must outlive the plan. Slots are reused once a value's last use is
/// past, so that what is live stays in the cache.
Result<Plan> make_plan(const Program& program);

}  // namespace halyard::program
