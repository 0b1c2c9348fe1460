#include <fmt/format.h>
#include <cstring>

#include "interpret_frame.h"

namespace halyard::program {
namespace {

/// The memory object of one step.
struct Target {
  std::byte* data = nullptr;
  std::uint64_t count = 0;  ///< elements
  std::size_t bytes = 0;    ///< of an element
  ElementType element = ElementType::i32;
  bool watched = false;
  std::uint32_t array = 0;
};

Target target_of(Frame& frame, const Step& step) {
  const MemoryRef memory = step.instruction->memory;
  Target target{
      .bytes = step.element_bytes, .element = step.instruction->type.element, .array = memory.index};
  if (memory.space == MemoryRef::Space::buffer) {
    const BufferView& view = frame.buffers[memory.index];
    target.data = static_cast<std::byte*>(view.data);
    target.count = view.bytes / target.bytes;
  } else {
    target.data = frame.shared[memory.index];
    target.count = frame.program.shared[memory.index].count;
    target.watched = frame.watch.active();
  }
  return target;
}

std::int64_t index_at(Frame& frame, const Step& step, std::size_t position) {
  Slot slot = step.operands[0];
  return step.wide_index ? frame.at<std::int64_t>(slot)[position] : frame.at<std::int32_t>(slot)[position];
}

bool out_of_bounds(Frame& frame, const Step& step, std::uint32_t lane, std::int64_t first,
                   std::uint32_t lanes, const Target& target) {
  const MemoryRef memory = step.instruction->memory;
  bool is_buffer = memory.space == MemoryRef::Space::buffer;
  const std::string& name =
      is_buffer ? frame.program.buffers[memory.index].name : frame.program.shared[memory.index].name;
  std::string elements = lanes == 1 ? fmt::format("element {}", first)
                                    : fmt::format("elements {} to {}", first, first + lanes - 1);
  return frame.refuse(
      step, lane,
      fmt::format("{} of {} `{}` out of bounds: it holds {} elements of {}", elements,
                  is_buffer ? "buffer" : "shared array", name, target.count, halyard::name(target.element)));
}

bool in_bounds(std::int64_t first, std::uint64_t lanes, const Target& target) {
  return first >= 0 && lanes <= target.count && static_cast<std::uint64_t>(first) <= target.count - lanes;
}

bool aligned(Frame& frame, const Step& step, std::uint32_t lane, std::int64_t first, const Target& target) {
  std::uint32_t alignment = step.instruction->alignment;
  if (alignment <= target.bytes || static_cast<std::uint64_t>(first) * target.bytes % alignment == 0)
    return true;
  return frame.refuse(
      step, lane,
      fmt::format("element {} is not aligned to {} bytes as the instruction promises", first, alignment));
}

bool note_access(Frame& frame, const Step& step, std::uint32_t lane, std::int64_t element,
                 const Target& target, bool writes) {
  auto at = static_cast<std::uint64_t>(element);
  std::string fault =
      writes ? frame.watch.write(target.array, at, lane) : frame.watch.read(target.array, at, lane);
  return fault.empty() || frame.refuse(step, lane, std::move(fault));
}

/// A byte that is neither 0 nor 1 in a buffer of booleans counts as true.
void normalize_booleans(std::byte* values, std::size_t count) {
  auto* bytes = reinterpret_cast<std::uint8_t*>(values);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = bytes[i] != 0;
}

template <bool writes>
void move_elements(std::byte* memory, std::byte* values, std::size_t bytes) {
  if constexpr (writes)
    std::memcpy(memory, values, bytes);
  else
    std::memcpy(values, memory, bytes);
}

/// One scalar per lane, or one whole vector per lane without a mask: a check and a copy.
template <bool writes, std::size_t element_bytes>
bool run_consecutive(Frame& frame, const Step& step, const Target& target, std::byte* values) {
  const std::size_t vector_bytes = step.lanes * element_bytes;
  for (std::uint32_t lane = 0; lane < frame.plan.workgroup_lanes; ++lane) {
    if (!frame.is_active(lane)) continue;
    std::int64_t first = index_at(frame, step, lane);
    if (!in_bounds(first, step.lanes, target))
      return out_of_bounds(frame, step, lane, first, step.lanes, target);
    if (step.instruction->alignment && !aligned(frame, step, lane, first, target)) return false;
    if (target.watched)
      for (std::uint32_t i = 0; i < step.lanes; ++i)
        if (!note_access(frame, step, lane, first + i, target, writes)) return false;
    std::byte* memory = target.data + static_cast<std::uint64_t>(first) * element_bytes;
    if (step.lanes == 1)
      move_elements<writes>(memory, values + lane * element_bytes, element_bytes);
    else
      move_elements<writes>(memory, values + lane * vector_bytes, vector_bytes);
  }
  return true;
}

/// Element by element: masked accesses, gathers and scatters.
template <bool writes, std::size_t element_bytes>
bool run_elements(Frame& frame, const Step& step, const Target& target, std::byte* values) {
  const Op op = step.instruction->op;
  const bool indexed = op == Op::gather || op == Op::scatter;
  const std::uint8_t* mask = step.masked ? frame.at<std::uint8_t>(step.operands[writes ? 2 : 1]) : nullptr;
  for (std::uint32_t lane = 0; lane < frame.plan.workgroup_lanes; ++lane) {
    if (!frame.is_active(lane)) continue;
    std::int64_t base = indexed ? 0 : index_at(frame, step, lane);
    if (!indexed && step.instruction->alignment && base >= 0 && !aligned(frame, step, lane, base, target))
      return false;
    for (std::uint32_t i = 0; i < step.lanes; ++i) {
      std::size_t position = std::size_t{lane} * step.lanes + i;
      std::byte* value = values + position * element_bytes;
      if (mask && !mask[position]) {
        if (!writes) std::memset(value, 0, element_bytes);
        continue;
      }
      std::int64_t element = 0;
      if (indexed)
        element = index_at(frame, step, position);
      else if (__builtin_add_overflow(base, static_cast<std::int64_t>(i), &element))
        element = -1;
      if (!in_bounds(element, 1, target)) return out_of_bounds(frame, step, lane, element, 1, target);
      if (target.watched && !note_access(frame, step, lane, element, target, writes)) return false;
      move_elements<writes>(target.data + static_cast<std::uint64_t>(element) * element_bytes, value,
                            element_bytes);
    }
  }
  return true;
}

/// One scalar per lane and nothing else to check: the most common access by far, so the loop is kept bare.
/// False, with nothing reported, if a lane is out of bounds; stores before it have taken effect then, as they
/// would have in `run_consecutive`, which goes on to report.
template <bool writes, std::size_t element_bytes, class Index>
bool run_scalars(Frame& frame, const Step& step, const Target& target, std::byte* values) {
  const auto* indices = frame.template at<Index>(step.operands[0]);
  const std::uint8_t* active = frame.active;
  const std::uint32_t lanes = frame.plan.workgroup_lanes;
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    if (active && !active[lane]) continue;
    auto element = static_cast<std::uint64_t>(static_cast<std::int64_t>(indices[lane]));
    if (element >= target.count) return false;
    move_elements<writes>(target.data + element * element_bytes, values + lane * element_bytes,
                          element_bytes);
  }
  return true;
}

template <bool writes, std::size_t element_bytes>
bool run_bare(Frame& frame, const Step& step, const Target& target, std::byte* values) {
  if (step.lanes != 1 || target.watched || step.instruction->alignment > element_bytes) return false;
  return step.wide_index ? run_scalars<writes, element_bytes, std::int64_t>(frame, step, target, values)
                         : run_scalars<writes, element_bytes, std::int32_t>(frame, step, target, values);
}

template <bool writes, std::size_t element_bytes>
bool run_access(Frame& frame, const Step& step, const Target& target) {
  std::byte* values = frame.at<std::byte>(writes ? step.operands[1] : step.result);
  const Op op = step.instruction->op;
  bool consecutive = !step.masked && (op == Op::load || op == Op::store);
  bool good = consecutive ? run_bare<writes, element_bytes>(frame, step, target, values) ||
                                run_consecutive<writes, element_bytes>(frame, step, target, values)
                          : run_elements<writes, element_bytes>(frame, step, target, values);
  if (good && !writes && target.element == ElementType::boolean) normalize_booleans(values, step.count);
  return good;
}

template <bool writes>
bool run_direction(Frame& frame, const Step& step) {
  Target target = target_of(frame, step);
  switch (target.bytes) {
    case 1:
      return run_access<writes, 1>(frame, step, target);
    case 2:
      return run_access<writes, 2>(frame, step, target);
    case 4:
      return run_access<writes, 4>(frame, step, target);
    default:
      return run_access<writes, 8>(frame, step, target);
  }
}

}  // namespace

bool run_memory(Frame& frame, const Step& step) {
  bool writes = step.instruction->op == Op::store || step.instruction->op == Op::scatter;
  return writes ? run_direction<true>(frame, step) : run_direction<false>(frame, step);
}

SharedWatch::SharedWatch(const Program& program, InterpreterOptions options)
    : options_(options), subgroup_size_(program.subgroup_size) {
  if (!active()) return;
  for (const SharedArray& array : program.shared) arrays_.emplace_back(array.count);
}

void SharedWatch::begin_workgroup() {
  for (std::vector<Element>& array : arrays_) array.assign(array.size(), Element{});
  workgroup_phase_ = subgroup_phase_ = 0;
}

void SharedWatch::barrier(Scope scope) {
  (scope == Scope::workgroup ? workgroup_phase_ : subgroup_phase_)++;
}

bool SharedWatch::same_subgroup(std::uint32_t a, std::uint32_t b) const {
  return a != several && b != several && subgroup_size_ != 0 && a / subgroup_size_ == b / subgroup_size_;
}

/// Whether nothing orders the earlier access before this one. A subgroup's barrier orders its own lanes only.
bool SharedWatch::collides(const Touch& before, std::uint32_t lane) const {
  if (before.lane == nobody || before.workgroup_phase != workgroup_phase_) return false;
  if (before.lane == lane && !before.many) return false;
  return !same_subgroup(before.lane, lane) || before.subgroup_phase == subgroup_phase_;
}

/// Readers since the workgroup's last barrier, as far as a later writer must know them.
SharedWatch::Touch SharedWatch::add_reader(const Touch& before, std::uint32_t lane) const {
  Touch now{lane, false, workgroup_phase_, subgroup_phase_};
  if (before.lane == nobody || before.workgroup_phase != workgroup_phase_) return now;
  if (before.lane != lane && !same_subgroup(before.lane, lane)) now.lane = several;
  now.many = before.subgroup_phase == subgroup_phase_ && (before.many || before.lane != lane);
  return now;
}

std::string SharedWatch::read(std::uint32_t array, std::uint64_t element, std::uint32_t lane) {
  Element& state = arrays_[array][element];
  if (options_.report_uninitialized_shared && state.written.lane == nobody)
    return fmt::format("reads element {} of shared memory, which no lane has written", element);
  if (options_.report_shared_races && collides(state.written, lane))
    return fmt::format("races: lane {} wrote element {} and no barrier stands between", state.written.lane,
                       element);
  state.read = add_reader(state.read, lane);
  return "";
}

std::string SharedWatch::write(std::uint32_t array, std::uint64_t element, std::uint32_t lane) {
  Element& state = arrays_[array][element];
  if (options_.report_shared_races) {
    if (collides(state.written, lane))
      return fmt::format("races: lane {} wrote element {} and no barrier stands between", state.written.lane,
                         element);
    if (collides(state.read, lane))
      return fmt::format(
          "races: {} read element {} and no barrier stands between",
          state.read.lane == several ? std::string("other lanes") : fmt::format("lane {}", state.read.lane),
          element);
  }
  state.written = {lane, false, workgroup_phase_, subgroup_phase_};
  return "";
}

}  // namespace halyard::program
