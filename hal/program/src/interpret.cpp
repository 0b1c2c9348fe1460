#include <fmt/format.h>
#include <halyard/program/interpret.h>
#include <halyard/program/op_facts.h>
#include <halyard/program/text.h>
#include <halyard/program/verify.h>
#include <cfenv>
#include <cstring>
#include <limits>
#include <new>

#include "interpret_frame.h"

namespace halyard::program {
namespace {

/// Round to nearest even, subnormals kept, no traps; the caller's mode comes back at the end.
class FloatingPointMode {
 public:
  FloatingPointMode() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatingPointMode() { std::fesetenv(&saved_); }
  FloatingPointMode(const FloatingPointMode&) = delete;
  FloatingPointMode& operator=(const FloatingPointMode&) = delete;

 private:
  std::fenv_t saved_;
};

void copy_values(Frame& frame, const std::vector<Copy>& copies) {
  const std::uint32_t lanes = frame.plan.workgroup_lanes;
  for (const Copy& copy : copies) {
    if (!frame.active) {
      std::memcpy(frame.arena + copy.to, frame.arena + copy.from, lanes * copy.bytes_per_lane);
      continue;
    }
    for (std::uint32_t lane = 0; lane < lanes; ++lane)
      if (frame.active[lane])
        std::memcpy(frame.arena + copy.to + lane * copy.bytes_per_lane,
                    frame.arena + copy.from + lane * copy.bytes_per_lane, copy.bytes_per_lane);
  }
}

// ---- control

/// Which lanes are below their bound, of those in `outer`; gives how many. Loops as plain as these vectorize.
template <class Index>
std::uint32_t lanes_below(const Index* induction, const Index* upper, const std::uint8_t* outer,
                          std::uint8_t* mask, std::uint32_t lanes) {
  for (std::uint32_t lane = 0; lane < lanes; ++lane) mask[lane] = induction[lane] < upper[lane];
  if (outer)
    for (std::uint32_t lane = 0; lane < lanes; ++lane) mask[lane] &= outer[lane];
  std::uint32_t count = 0;
  for (std::uint32_t lane = 0; lane < lanes; ++lane) count += mask[lane];
  return count;
}

/// An induction variable that would overflow has passed every upper bound.
template <class Index>
void advance(Index* induction, const Index* stride, const std::uint8_t* mask, std::uint32_t lanes) {
  using Unsigned = std::make_unsigned_t<Index>;
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    auto next =
        static_cast<Index>(static_cast<Unsigned>(induction[lane]) + static_cast<Unsigned>(stride[lane]));
    if (next < induction[lane]) next = std::numeric_limits<Index>::max();
    induction[lane] = mask[lane] ? next : induction[lane];
  }
}

template <class Index>
bool run_loop_of(Frame& frame, const Step& step) {
  const LoopPlan& loop = *step.loop;
  const std::uint32_t lanes = frame.plan.workgroup_lanes;
  const std::uint8_t* outer = frame.active;
  auto* induction = frame.at<Index>(loop.induction);
  auto* mask = frame.at<std::uint8_t>(loop.mask);
  const auto* upper = frame.at<Index>(loop.upper);
  const auto* stride = frame.at<Index>(loop.step);
  std::memcpy(induction, frame.at<Index>(loop.lower), lanes * sizeof(Index));
  copy_values(frame, loop.initial);
  for (std::uint32_t lane = 0; lane < lanes; ++lane)
    if (frame.is_active(lane) && stride[lane] <= 0)
      return frame.refuse(step, lane,
                          fmt::format("the loop's step is {}, but must be positive", stride[lane]));

  bool good = true;
  while (std::uint32_t count = lanes_below(induction, upper, outer, mask, lanes)) {
    frame.active = count == lanes ? nullptr : mask;
    good = run_steps(frame, step.blocks[0]);
    if (!good) break;
    copy_values(frame, loop.stage);
    copy_values(frame, loop.carry);
    advance(induction, stride, mask, lanes);
  }
  frame.active = outer;
  if (good) copy_values(frame, loop.finish);
  return good;
}

bool run_branch(Frame& frame, const Step& step) {
  const BranchPlan& branch = *step.branch;
  const std::uint32_t lanes = frame.plan.workgroup_lanes;
  const std::uint8_t* outer = frame.active;
  const auto* condition = frame.at<std::uint8_t>(branch.condition);
  std::uint8_t* masks[2] = {frame.at<std::uint8_t>(branch.masks[0]), frame.at<std::uint8_t>(branch.masks[1])};
  std::uint32_t counts[2] = {0, 0};
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    masks[0][lane] = condition[lane] != 0;
    masks[1][lane] = condition[lane] == 0;
  }
  if (outer)
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      masks[0][lane] &= outer[lane];
      masks[1][lane] &= outer[lane];
    }
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    counts[0] += masks[0][lane];
    counts[1] += masks[1][lane];
  }
  bool good = true;
  for (std::size_t side = 0; side < 2 && good; ++side) {
    if (counts[side] == 0) continue;
    frame.active = counts[side] == lanes ? nullptr : masks[side];
    good = run_steps(frame, step.blocks[side]);
    if (good) copy_values(frame, branch.yields[side]);
  }
  frame.active = outer;
  return good;
}

// ---- vectors

template <std::size_t bytes>
void run_splat(Frame& frame, const Step& step) {
  std::byte* out = frame.at<std::byte>(step.result);
  const std::byte* in = frame.at<std::byte>(step.operands[0]);
  for (std::uint32_t lane = 0; lane < frame.plan.workgroup_lanes; ++lane)
    for (std::uint32_t i = 0; i < step.lanes; ++i, out += bytes) std::memcpy(out, in + lane * bytes, bytes);
}

template <std::size_t bytes>
void run_extract(Frame& frame, const Step& step) {
  std::byte* out = frame.at<std::byte>(step.result);
  const std::byte* in = frame.at<std::byte>(step.operands[0]) + step.instruction->immediate * bytes;
  for (std::uint32_t lane = 0; lane < frame.plan.workgroup_lanes; ++lane)
    std::memcpy(out + lane * bytes, in + std::size_t{lane} * step.source_lanes * bytes, bytes);
}

template <std::size_t bytes>
void run_insert(Frame& frame, const Step& step) {
  std::byte* out = frame.at<std::byte>(step.result);
  std::memcpy(out, frame.at<std::byte>(step.operands[0]), step.count * bytes);
  out += step.instruction->immediate * bytes;
  const std::byte* scalar = frame.at<std::byte>(step.operands[1]);
  for (std::uint32_t lane = 0; lane < frame.plan.workgroup_lanes; ++lane)
    std::memcpy(out + std::size_t{lane} * step.lanes * bytes, scalar + lane * bytes, bytes);
}

template <std::size_t bytes>
void run_shuffle(Frame& frame, const Step& step) {
  std::byte* out = frame.at<std::byte>(step.result);
  const std::size_t source_bytes = step.source_lanes * bytes;
  const std::byte* sources[2] = {frame.at<std::byte>(step.operands[0]),
                                 frame.at<std::byte>(step.operands[1])};
  for (std::uint32_t lane = 0; lane < frame.plan.workgroup_lanes; ++lane)
    for (std::int32_t from : step.instruction->indices) {
      bool second = from >= step.source_lanes;
      std::size_t position = static_cast<std::size_t>(second ? from - step.source_lanes : from);
      std::memcpy(out, sources[second] + lane * source_bytes + position * bytes, bytes);
      out += bytes;
    }
}

template <std::size_t bytes>
void run_vector(Frame& frame, const Step& step) {
  switch (step.instruction->op) {
    case Op::splat:
      return run_splat<bytes>(frame, step);
    case Op::extract:
      return run_extract<bytes>(frame, step);
    case Op::insert:
      return run_insert<bytes>(frame, step);
    default:
      return run_shuffle<bytes>(frame, step);
  }
}

// ---- cooperation

bool run_barrier(Frame& frame, const Step& step) {
  const std::uint32_t lanes = frame.plan.workgroup_lanes;
  auto scope = static_cast<Scope>(step.instruction->immediate);
  if (frame.active) {
    std::uint32_t group = scope == Scope::workgroup ? lanes : frame.program.subgroup_size;
    for (std::uint32_t lane = 0; lane < lanes; ++lane)
      if (frame.active[lane] != frame.active[lane / group * group])
        return frame.refuse(step, lane, "only some of the lanes reach this barrier");
  }
  frame.watch.barrier(scope);
  return true;
}

bool run_exchange(Frame& frame, const Step& step) {
  const std::uint32_t size = frame.program.subgroup_size;
  const std::size_t bytes = std::size_t{step.lanes} * step.element_bytes;
  std::byte* out = frame.at<std::byte>(step.result);
  const std::byte* in = frame.at<std::byte>(step.operands[0]);
  const auto immediate = static_cast<std::uint32_t>(step.instruction->immediate);
  for (std::uint32_t lane = 0; lane < frame.plan.workgroup_lanes; ++lane) {
    if (!frame.is_active(lane)) continue;
    std::uint32_t within = immediate;
    if (step.instruction->op == Op::shuffle_xor)
      within = (lane % size) ^ immediate;
    else if (step.instruction->op == Op::shuffle_lane)
      within = static_cast<std::uint32_t>(frame.at<std::int32_t>(step.operands[1])[lane]);
    if (within >= size)
      return frame.refuse(
          step, lane,
          fmt::format("asks for lane {} of a subgroup of {}", static_cast<std::int32_t>(within), size));
    std::uint32_t source = lane / size * size + within;
    if (!frame.is_active(source))
      return frame.refuse(step, lane, fmt::format("reads from lane {}, which is not active here", source));
    std::memcpy(out + lane * bytes, in + source * bytes, bytes);
  }
  return true;
}

// ---- one step

bool check_division(Frame& frame, const Step& step) {
  ElementType element = step.instruction->type.element;
  const std::byte* dividend = frame.at<std::byte>(step.operands[0]);
  const std::byte* divisor = frame.at<std::byte>(step.operands[1]);
  for (std::size_t from = 0; from < step.count;) {
    std::size_t skip = from * step.element_bytes;
    std::size_t found =
        from + find_undefined_division(element, dividend + skip, divisor + skip, step.count - from);
    if (found == step.count) return true;
    auto lane = static_cast<std::uint32_t>(found / step.lanes);
    if (frame.is_active(lane))
      return frame.refuse(step, lane, "divides by zero, or the smallest integer by -1: guard the divisor");
    from = found + 1;
  }
  return true;
}

void run_vector_step(Frame& frame, const Step& step) {
  switch (step.element_bytes) {
    case 1:
      return run_vector<1>(frame, step);
    case 2:
      return run_vector<2>(frame, step);
    case 4:
      return run_vector<4>(frame, step);
    default:
      return run_vector<8>(frame, step);
  }
}

bool run_step(Frame& frame, const Step& step) {
  if (step.compute) {
    if (step.checks_division && !check_division(frame, step)) return false;
    step.compute(frame.arena + step.result, frame.arena + step.operands[0], frame.arena + step.operands[1],
                 frame.arena + step.operands[2], step.count);
    return true;
  }
  switch (step.instruction->op) {
    case Op::load:
    case Op::store:
    case Op::gather:
    case Op::scatter:
      return run_memory(frame, step);
    case Op::for_loop:
      return step.loop->wide ? run_loop_of<std::int64_t>(frame, step)
                             : run_loop_of<std::int32_t>(frame, step);
    case Op::if_else:
      return run_branch(frame, step);
    case Op::barrier:
      return run_barrier(frame, step);
    case Op::shuffle_xor:
    case Op::shuffle_lane:
    case Op::broadcast_lane:
      return run_exchange(frame, step);
    case Op::bitcast:
      std::memcpy(frame.arena + step.result, frame.arena + step.operands[0], step.count * step.element_bytes);
      return true;
    default:
      run_vector_step(frame, step);
      return true;
  }
}

// ---- values from outside

template <class T>
void fill(Frame& frame, Slot slot, std::size_t count, T value) {
  auto* out = frame.at<T>(slot);
  for (std::size_t i = 0; i < count; ++i) out[i] = value;
}

void fill_bits(Frame& frame, const Preset& preset, std::uint64_t bits) {
  std::size_t count = std::size_t{frame.plan.workgroup_lanes} * preset.type.lanes;
  switch (byte_size(preset.type.element)) {
    case 1:
      return fill(frame, preset.slot, count, static_cast<std::uint8_t>(bits));
    case 2:
      return fill(frame, preset.slot, count, static_cast<std::uint16_t>(bits));
    case 4:
      return fill(frame, preset.slot, count, static_cast<std::uint32_t>(bits));
    default:
      return fill(frame, preset.slot, count, bits);
  }
}

template <class T>
void fill_iota(Frame& frame, const Preset& preset) {
  auto* out = frame.at<T>(preset.slot);
  for (std::uint32_t lane = 0; lane < frame.plan.workgroup_lanes; ++lane)
    for (std::uint32_t i = 0; i < preset.type.lanes; ++i)
      *out++ = static_cast<T>(preset.instruction->immediate + i);
}

void fill_iota(Frame& frame, const Preset& preset) {
  switch (byte_size(preset.type.element)) {
    case 1:
      return fill_iota<std::uint8_t>(frame, preset);
    case 2:
      return fill_iota<std::uint16_t>(frame, preset);
    case 4:
      return fill_iota<std::uint32_t>(frame, preset);
    default:
      return fill_iota<std::uint64_t>(frame, preset);
  }
}

std::int32_t lane_builtin(const Program& program, Builtin which, std::uint32_t lane) {
  std::uint32_t size = program.subgroup_size ? program.subgroup_size : 1;
  if (which == Builtin::subgroup_lane) lane %= size;
  if (which == Builtin::subgroup) lane /= size;
  return static_cast<std::int32_t>(lane);
}

void fill_per_run(Frame& frame, const std::array<std::uint32_t, 3>& grid,
                  std::span<const std::byte> scalars) {
  const std::vector<std::uint32_t> offsets = scalar_offsets(frame.program);
  for (const Preset& preset : frame.plan.per_run) {
    const Instruction& instruction = *preset.instruction;
    if (instruction.op == Op::constant) {
      fill_bits(frame, preset, instruction.immediate);
    } else if (instruction.op == Op::iota) {
      fill_iota(frame, preset);
    } else if (instruction.op == Op::parameter) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, scalars.data() + offsets[instruction.immediate], byte_size(preset.type.element));
      if (preset.type.element == ElementType::boolean) bits = bits != 0;
      fill_bits(frame, preset, bits);
    } else {
      auto which = static_cast<Builtin>(instruction.immediate);
      auto* out = frame.at<std::int32_t>(preset.slot);
      for (std::uint32_t lane = 0; lane < frame.plan.workgroup_lanes; ++lane) {
        bool of_grid = which == Builtin::grid_x || which == Builtin::grid_y || which == Builtin::grid_z;
        auto axis =
            static_cast<std::size_t>(instruction.immediate) - static_cast<std::size_t>(Builtin::grid_x);
        out[lane] =
            of_grid ? static_cast<std::int32_t>(grid[axis]) : lane_builtin(frame.program, which, lane);
      }
    }
  }
}

void begin_workgroup(Frame& frame, const std::array<std::uint32_t, 3>& grid, std::uint64_t workgroup) {
  const std::uint64_t coordinates[3] = {workgroup % grid[0], workgroup / grid[0] % grid[1],
                                        workgroup / grid[0] / grid[1]};
  for (const Preset& preset : frame.plan.per_workgroup)
    fill_bits(frame, preset, coordinates[preset.instruction->immediate]);
  for (std::size_t i = 0; i < frame.shared.size(); ++i) {
    const SharedArray& array = frame.program.shared[i];
    std::memset(frame.shared[i], 0xff, array.count * byte_size(array.element));
  }
  frame.watch.begin_workgroup();
}

struct AlignedDelete {
  void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{64}); }
};
using Arena = std::unique_ptr<std::byte[], AlignedDelete>;

}  // namespace

bool run_steps(Frame& frame, const Steps& steps) {
  for (const Step& step : steps)
    if (!run_step(frame, step)) return false;
  return true;
}

struct Interpreter::State {
  Program program;
  InterpreterOptions options;
  Plan plan;

  Status check_arguments(const std::array<std::uint32_t, 3>& grid, std::span<const BufferView> buffers,
                         std::span<const std::byte> scalars, const std::optional<Range>& range) const;
};

Result<Interpreter> Interpreter::prepare(Program program, InterpreterOptions options) {
  HALYARD_TRY(verify(program));
  auto state = std::make_shared<State>();
  state->program = std::move(program);
  state->options = options;
  HALYARD_ASSIGN(state->plan, make_plan(state->program));
  return Interpreter(std::move(state));
}

const Program& Interpreter::program() const {
  return state_->program;
}

Status Interpreter::State::check_arguments(const std::array<std::uint32_t, 3>& grid,
                                           std::span<const BufferView> buffers,
                                           std::span<const std::byte> scalars,
                                           const std::optional<Range>& range) const {
  auto refuse = [&](std::string what) {
    return fail(ErrorCode::invalid_argument, fmt::format("interpret `{}`: {}", program.name, what));
  };
  if (buffers.size() != program.buffers.size())
    return refuse(fmt::format("{} buffers were given for {}", buffers.size(), program.buffers.size()));
  if (std::uint32_t needed = scalar_offsets(program).back(); scalars.size() < needed)
    return refuse(fmt::format("{} scalar bytes were given, {} are needed", scalars.size(), needed));
  unsigned __int128 workgroups = static_cast<unsigned __int128>(grid[0]) * grid[1] * grid[2];
  if (workgroups > std::numeric_limits<std::uint64_t>::max()) return refuse("the grid is too large");
  if (range && (range->begin > range->end || range->end > static_cast<std::uint64_t>(workgroups)))
    return refuse(fmt::format("workgroups [{}, {}) are not in a grid of {}", range->begin, range->end,
                              static_cast<std::uint64_t>(workgroups)));
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (!buffers[i].data && buffers[i].bytes)
      return refuse(fmt::format("buffer `{}` is null", program.buffers[i].name));
    for (std::size_t j = 0; j < i; ++j) {
      auto a = reinterpret_cast<std::uintptr_t>(buffers[i].data);
      auto b = reinterpret_cast<std::uintptr_t>(buffers[j].data);
      bool overlap = a < b + buffers[j].bytes && b < a + buffers[i].bytes;
      bool both_read = program.buffers[i].access == Access::read && program.buffers[j].access == Access::read;
      if (overlap && !both_read)
        return refuse(fmt::format("buffers `{}` and `{}` overlap, and one of them is written",
                                  program.buffers[j].name, program.buffers[i].name));
    }
  }
  return {};
}

Status Interpreter::run(std::array<std::uint32_t, 3> grid, std::span<const BufferView> buffers,
                        std::span<const std::byte> scalars, std::optional<Range> range) const {
  HALYARD_TRY(state_->check_arguments(grid, buffers, scalars, range));
  const std::uint64_t begin = range ? range->begin : 0;
  const std::uint64_t end = range ? range->end : std::uint64_t{grid[0]} * grid[1] * grid[2];
  if (begin == end) return {};

  const Program& program = state_->program;
  const std::size_t values_bytes = (state_->plan.arena_bytes + 63) / 64 * 64;
  const std::size_t arena_bytes = values_bytes + static_cast<std::size_t>(shared_bytes(program)) + 64;
  Arena arena(new (std::align_val_t{64}, std::nothrow) std::byte[arena_bytes]);
  if (!arena)
    return fail(
        ErrorCode::out_of_memory,
        fmt::format("interpret `{}`: {} bytes for its values and shared memory", program.name, arena_bytes));
  std::memset(arena.get(), 0, values_bytes);
  Frame frame{program,     state_->plan, state_->options, buffers,
              arena.get(), {},           nullptr,         SharedWatch(program, state_->options),
              {}};
  std::byte* next = arena.get() + values_bytes;
  for (const SharedArray& array : program.shared) {
    frame.shared.push_back(next);
    next += (array.count * byte_size(array.element) + 63) / 64 * 64;
  }

  FloatingPointMode mode;
  fill_per_run(frame, grid, scalars);
  for (std::uint64_t workgroup = begin; workgroup < end; ++workgroup) {
    begin_workgroup(frame, grid, workgroup);
    if (run_steps(frame, frame.plan.steps)) continue;
    return fail(ErrorCode::invalid_argument,
                fmt::format("interpret `{}`: `{}`: workgroup ({}, {}, {}), lane {}: {}", program.name,
                            to_text(program, *frame.fault.instruction), workgroup % grid[0],
                            workgroup / grid[0] % grid[1], workgroup / grid[0] / grid[1], frame.fault.lane,
                            frame.fault.what));
  }
  return {};
}

}  // namespace halyard::program
