#include "command_list.h"
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include "buffer.h"
#include "device.h"
#include "error.h"
#include "floating_point_mode.h"

namespace halyard::cpu {
namespace {

/// Work that one thread ends sooner than another could be woken and waited for.
constexpr double shared_work_ns = 20000;
/// What each further thread must have to do to be worth waking.
constexpr double participant_work_ns = 10000;
constexpr std::uint64_t move_block = std::uint64_t{128} << 10;  // bytes per unit of a shared copy or fill

Result<MemorySlice> resolve(const HySlice& slice, std::uint32_t buffer_slots) {
  MemorySlice resolved;
  resolved.bytes = slice.bytes;
  if (!slice.buffer) {
    if (slice.slot >= buffer_slots)
      return fail(ErrorCode::invalid_argument,
                  fmt::format("a slice has no buffer and names slot {} of {}", slice.slot, buffer_slots));
    resolved.slot = slice.slot;
    resolved.offset = slice.offset;
    return resolved;
  }
  if (slice.offset > slice.buffer->bytes || slice.bytes > slice.buffer->bytes - slice.offset)
    return fail(ErrorCode::invalid_argument,
                fmt::format("bytes {} to {} of a buffer of {} bytes", slice.offset,
                            slice.offset + slice.bytes, slice.buffer->bytes));
  resolved.memory = slice.buffer->memory + slice.offset;
  return resolved;
}

Status record_dispatch(const HyDispatch& dispatch, std::uint32_t buffer_slots, std::uint32_t scalar_slots,
                       RecordedCommand* recorded) {
  if (!dispatch.module || dispatch.kernel >= dispatch.module->kernels.size())
    return fail(ErrorCode::invalid_argument,
                fmt::format("a dispatch of kernel {}, which its module does not have", dispatch.kernel));
  const Kernel& kernel = dispatch.module->kernels[dispatch.kernel];
  recorded->kernel = &kernel;
  std::copy_n(dispatch.grid, 3, recorded->grid);
  if (dispatch.buffer_count != kernel.buffer_count)
    return fail(ErrorCode::invalid_argument,
                fmt::format("kernel {} takes {} buffers, {} are given", kernel.entry, kernel.buffer_count,
                            dispatch.buffer_count));
  for (std::uint32_t i = 0; i < dispatch.buffer_count; ++i) {
    HALYARD_ASSIGN(MemorySlice slice, resolve(dispatch.buffers[i], buffer_slots));
    recorded->slices.push_back(slice);
  }
  if (dispatch.scalar_slot != HY_NO_SLOT && scalar_slots > 0) {
    if (dispatch.scalar_slot >= scalar_slots)
      return fail(ErrorCode::invalid_argument, fmt::format("kernel {}: scalar slot {} of {}", kernel.entry,
                                                           dispatch.scalar_slot, scalar_slots));
    recorded->scalar_slot = dispatch.scalar_slot;
    return {};
  }
  if (dispatch.scalar_bytes < kernel.scalar_bytes)
    return fail(ErrorCode::invalid_argument,
                fmt::format("kernel {} takes {} bytes of scalars, {} are given", kernel.entry,
                            kernel.scalar_bytes, dispatch.scalar_bytes));
  recorded->scalars = copy_scalars(dispatch.scalars, dispatch.scalar_bytes);
  return {};
}

Status record_copy(const HyCopy& copy, std::uint32_t buffer_slots, RecordedCommand* recorded) {
  if (copy.source.bytes != copy.destination.bytes)
    return fail(ErrorCode::invalid_argument,
                fmt::format("a copy of {} bytes to {}", copy.source.bytes, copy.destination.bytes));
  for (const HySlice* slice : {&copy.source, &copy.destination}) {
    HALYARD_ASSIGN(MemorySlice resolved, resolve(*slice, buffer_slots));
    recorded->slices.push_back(resolved);
  }
  return {};
}

Status record_fill(const HyFill& fill, std::uint32_t buffer_slots, RecordedCommand* recorded) {
  std::uint32_t size = fill.pattern_bytes;
  if ((size != 1 && size != 2 && size != 4) || fill.destination.bytes % size != 0)
    return fail(ErrorCode::invalid_argument,
                fmt::format("a fill of {} bytes with a pattern of {}", fill.destination.bytes, size));
  HALYARD_ASSIGN(MemorySlice destination, resolve(fill.destination, buffer_slots));
  recorded->slices.push_back(destination);
  recorded->pattern = fill.pattern;
  recorded->pattern_bytes = size;
  return {};
}

std::byte* address_of(const MemorySlice& slice, const Arguments& arguments) {
  return slice.slot == HY_NO_SLOT ? slice.memory : arguments.buffers[slice.slot].memory + slice.offset;
}

/// Calls the kernel for the workgroups [begin, end), as one task. Compiled kernels carry no record of their
/// type before their code, which is where clang's check of calls through pointers would look for it.
#ifdef __clang__
__attribute__((no_sanitize("function")))
#endif
void run_task(HyDevice& device, const Kernel& kernel, HyCpuKernelArgs args, std::uint64_t begin,
              std::uint64_t end) {
  ScratchPool::Block scratch(device.scratch, kernel.scratch_bytes);
  FloatingPointMode mode;
  args.scratch = scratch.data();
  args.begin = begin;
  args.end = end;
  kernel.function(&args);
}

void execute_dispatch(HyDevice& device, const RecordedCommand& command, const Arguments& arguments) {
  const Kernel& kernel = *command.kernel;
  std::uint64_t workgroups = std::uint64_t{command.grid[0]} * command.grid[1] * command.grid[2];
  if (workgroups == 0) return;
  std::array<void*, 16> few;
  std::vector<void*> many;
  void** buffers = few.data();
  if (command.slices.size() > few.size()) {
    many.resize(command.slices.size());
    buffers = many.data();
  }
  for (std::size_t i = 0; i < command.slices.size(); ++i)
    buffers[i] = address_of(command.slices[i], arguments);
  const ScalarBlock& scalars =
      command.scalar_slot == HY_NO_SLOT ? command.scalars : arguments.scalars[command.scalar_slot];
  HyCpuKernelArgs args{};
  args.buffers = buffers;
  args.scalars = scalars.lines.data();
  std::copy_n(command.grid, 3, args.grid);

  double known = kernel.workgroup_ns.load(std::memory_order_relaxed);
  double expected = known * static_cast<double>(workgroups);
  unsigned participants = device.pool.threads();
  if (workgroups == 1 || (known > 0 && expected < shared_work_ns))
    participants = 1;
  else if (known > 0)
    participants =
        static_cast<unsigned>(std::clamp(expected / participant_work_ns, 1.0, double(participants)));
  participants = static_cast<unsigned>(std::min<std::uint64_t>(participants, workgroups));

  auto before = std::chrono::steady_clock::now();
  if (participants == 1)
    run_task(device, kernel, args, 0, workgroups);
  else
    device.pool.for_range(workgroups, participants, [&](std::uint64_t begin, std::uint64_t end) {
      run_task(device, kernel, args, begin, end);
    });
  std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - before;
  double sample = std::max(took.count() * participants / static_cast<double>(workgroups), 1e-3);
  if (known > 0) sample = std::min(sample, 4 * known);  // a thread that was switched out tells little
  kernel.workgroup_ns.store(static_cast<float>(known > 0 ? 0.75 * known + 0.25 * sample : sample),
                            std::memory_order_relaxed);
}

/// Cuts `bytes` into blocks and gives them to as many threads as pay.
void for_blocks(HyDevice& device, std::uint64_t bytes,
                const std::function<void(std::uint64_t offset, std::uint64_t bytes)>& body) {
  std::uint64_t blocks = (bytes + move_block - 1) / move_block;
  auto participants = static_cast<unsigned>(std::min<std::uint64_t>(device.pool.threads(), (blocks + 3) / 4));
  device.pool.for_range(blocks, participants, [&](std::uint64_t begin, std::uint64_t end) {
    body(begin * move_block, std::min(end * move_block, bytes) - begin * move_block);
  });
}

void execute_fill(HyDevice& device, const RecordedCommand& command, const Arguments& arguments) {
  std::byte* destination = address_of(command.slices[0], arguments);
  std::array<std::byte, 4> pattern;
  std::memcpy(pattern.data(), &command.pattern, 4);
  std::uint32_t size = command.pattern_bytes;
  for (std::uint32_t i = size; i < 4; ++i) pattern[i] = pattern[i % size];
  std::uint32_t word = 0;
  std::memcpy(&word, pattern.data(), 4);
  // Blocks begin at multiples of four bytes, so every block begins with the pattern's first byte.
  for_blocks(device, command.slices[0].bytes, [&](std::uint64_t offset, std::uint64_t bytes) {
    std::byte* to = destination + offset;
    std::uint64_t words = bytes / 4;
    for (std::uint64_t i = 0; i < words; ++i) std::memcpy(to + 4 * i, &word, 4);
    std::memcpy(to + 4 * words, &word, bytes - 4 * words);
  });
}

}  // namespace

ScalarBlock copy_scalars(const void* data, std::uint64_t bytes) {
  ScalarBlock block;
  block.bytes = static_cast<std::uint32_t>(bytes);
  block.lines.resize((bytes + 15) / 16);
  if (bytes) std::memcpy(block.lines.data(), data, bytes);
  return block;
}

Result<RecordedCommand> record(const HyCommand& command, std::uint32_t buffer_slots,
                               std::uint32_t scalar_slots) {
  RecordedCommand recorded;
  recorded.kind = command.kind;
  if (command.kind == HY_COMMAND_DISPATCH && command.dispatch) {
    HALYARD_TRY(record_dispatch(read_sized(command.dispatch), buffer_slots, scalar_slots, &recorded));
  } else if (command.kind == HY_COMMAND_COPY && command.copy) {
    HALYARD_TRY(record_copy(*command.copy, buffer_slots, &recorded));
  } else if (command.kind == HY_COMMAND_FILL && command.fill) {
    HALYARD_TRY(record_fill(*command.fill, buffer_slots, &recorded));
  } else {
    return fail(ErrorCode::unsupported, fmt::format("a command of kind {} is not known", command.kind));
  }
  return recorded;
}

Result<CommandList> record_all(const HyCommand* commands, std::uint32_t count, std::uint32_t buffer_slots,
                               std::uint32_t scalar_slots) {
  CommandList list;
  list.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    auto recorded = record(element_of(commands, i), buffer_slots, scalar_slots);
    if (!recorded)
      return fail(recorded.error().code, fmt::format("cpu: command {}: {}", i, recorded.error().message));
    list.push_back(std::move(*recorded));
  }
  return list;
}

Status check_arguments(const CommandList& list, const Arguments& arguments) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    for (const MemorySlice& slice : list[i].slices) {
      if (slice.slot == HY_NO_SLOT) continue;
      std::uint64_t given = slice.slot < arguments.buffers.size() ? arguments.buffers[slice.slot].bytes : 0;
      if (slice.offset > given || slice.bytes > given - slice.offset)
        return fail(
            ErrorCode::invalid_argument,
            fmt::format("cpu: command {} of the graph uses bytes {} to {} of slot {}, for which {} are given",
                        i, slice.offset, slice.offset + slice.bytes, slice.slot, given));
    }
    if (list[i].scalar_slot == HY_NO_SLOT) continue;
    bool enough = list[i].scalar_slot < arguments.scalars.size() &&
                  arguments.scalars[list[i].scalar_slot].bytes >= list[i].kernel->scalar_bytes;
    if (!enough)
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("cpu: command {} of the graph, kernel {}, takes {} bytes of scalars from slot {}, for "
                      "which fewer are given",
                      i, list[i].kernel->entry, list[i].kernel->scalar_bytes, list[i].scalar_slot));
  }
  return {};
}

void execute(HyDevice& device, const RecordedCommand& command, const Arguments& arguments) {
  if (command.kind == HY_COMMAND_DISPATCH) return execute_dispatch(device, command, arguments);
  if (command.kind == HY_COMMAND_FILL) return execute_fill(device, command, arguments);
  const std::byte* source = address_of(command.slices[0], arguments);
  std::byte* destination = address_of(command.slices[1], arguments);
  for_blocks(device, command.slices[0].bytes, [&](std::uint64_t offset, std::uint64_t bytes) {
    std::memcpy(destination + offset, source + offset, bytes);
  });
}

}  // namespace halyard::cpu
