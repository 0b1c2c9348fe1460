#pragma once

#include <halyard/base/result.h>
#include <halyard/hal/plugin.h>
#include <halyard/program/interpret.h>
#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace halyard::interpreter {

/// One command, copied from the caller's description.
struct RecordedCommand {
  std::uint32_t kind = 0;                   ///< HY_COMMAND_…
  std::vector<program::BufferView> slices;  ///< dispatch: all; copy: source, destination; fill: destination
  std::shared_ptr<const program::Interpreter> kernel;
  std::array<std::uint32_t, 3> grid{};
  std::vector<std::byte> scalars;
  std::uint32_t pattern = 0;
  std::uint32_t pattern_bytes = 0;
};

/// Copies and checks what was submitted; errors name the command.
Result<std::vector<RecordedCommand>> record_all(const HyCommand* commands, std::uint32_t count);

/// Runs one command to its end on this thread.
Status execute(const RecordedCommand& command);

}  // namespace halyard::interpreter
