#pragma once

#include <halyard/base/result.h>
#include <halyard/hal/plugin.h>
#include <cstddef>
#include <cstdint>
#include <vector>
#include "module.h"

namespace halyard::cpu {

/// A range of host memory, or of what a replay gives for a slot.
struct MemorySlice {
  std::byte* memory = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;  // into the slot's slice
  std::uint32_t slot = HY_NO_SLOT;
};

/// A block of scalars, zero-padded to whole 16 bytes and so aligned.
struct ScalarBlock {
  struct alignas(16) Line {
    std::byte bytes[16];
  };
  std::vector<Line> lines;
  std::uint32_t bytes = 0;
};
ScalarBlock copy_scalars(const void* data, std::uint64_t bytes);

/// What a replay puts into the slots of a list.
struct Arguments {
  std::vector<MemorySlice> buffers;
  std::vector<ScalarBlock> scalars;
};

/// One command, copied from the caller's description.
struct RecordedCommand {
  std::uint32_t kind = 0;  // HY_COMMAND_…
  // dispatch
  const Kernel* kernel = nullptr;
  std::uint32_t grid[3] = {0, 0, 0};
  std::vector<MemorySlice> slices;  // of a dispatch; source and destination of a copy; destination of a fill
  ScalarBlock scalars;
  std::uint32_t scalar_slot = HY_NO_SLOT;
  // fill
  std::uint32_t pattern = 0;
  std::uint32_t pattern_bytes = 0;
};

using CommandList = std::vector<RecordedCommand>;

/// Copies and checks a command; slots must be below the counts. Errors name the command.
Result<RecordedCommand> record(const HyCommand& command, std::uint32_t buffer_slots,
                               std::uint32_t scalar_slots);
Result<CommandList> record_all(const HyCommand* commands, std::uint32_t count, std::uint32_t buffer_slots,
                               std::uint32_t scalar_slots);

/// Checks that a replay's slices are large enough for every command.
Status check_arguments(const CommandList& list, const Arguments& arguments);

/// Runs one command to its end, on this thread and the device's pool.
void execute(HyDevice& device, const RecordedCommand& command, const Arguments& arguments);

}  // namespace halyard::cpu
