#include <algorithm>
#include <atomic>
#include <cstring>

#include "faults.h"

namespace halyard::faulty {
namespace {

/// A copy of a dispatch that may be altered, in its place.
HyDispatch& own(Commands& commands, HyCommand& command) {
  commands.dispatches.push_back(*command.dispatch);
  command.dispatch = &commands.dispatches.back();
  return commands.dispatches.back();
}

/// Appends a fill of four bytes.
void write_word(Commands& commands, const HySlice& where, std::uint64_t offset) {
  HyFill fill{};
  fill.destination = where;
  fill.destination.offset = offset;
  fill.destination.bytes = 4;
  fill.pattern = 0x7fc0ffee;
  fill.pattern_bytes = 4;
  commands.fills.push_back(fill);
  HyCommand command{};
  command.size = sizeof command;
  command.kind = HY_COMMAND_FILL;
  command.fill = &commands.fills.back();
  commands.list.push_back(command);
}

template <class Act>
void for_dispatches(Commands& commands, const Act& act) {
  const std::size_t count = commands.list.size();
  for (std::size_t i = 0; i < count; ++i)
    if (commands.list[i].kind == HY_COMMAND_DISPATCH) act(commands.list[i]);
}

}  // namespace

void drop_tail(Commands& commands) {
  for_dispatches(commands, [&](HyCommand& command) {
    HyDispatch& dispatch = own(commands, command);
    if (dispatch.grid[0] > 1) --dispatch.grid[0];
  });
}

void swap_strides(Commands& commands) {
  for_dispatches(commands, [&](HyCommand& command) {
    if (command.dispatch->scalar_bytes < 16) return;
    HyDispatch& dispatch = own(commands, command);
    const auto* from = static_cast<const std::byte*>(dispatch.scalars);
    commands.scalars.emplace_back(from, from + dispatch.scalar_bytes);
    std::vector<std::byte>& block = commands.scalars.back();
    std::swap_ranges(block.begin(), block.begin() + 4, block.begin() + 4);
    dispatch.scalars = block.data();
  });
}

void write_past_end(Commands& commands) {
  for_dispatches(commands, [&](HyCommand& command) {
    if (command.dispatch->buffer_count == 0) return;
    const HySlice& last = command.dispatch->buffers[command.dispatch->buffer_count - 1];
    write_word(commands, last, (last.offset + last.bytes + 3) / 4 * 4);
  });
}

void write_into_input(Commands& commands) {
  for_dispatches(commands, [&](HyCommand& command) {
    if (command.dispatch->buffer_count > 1 && command.dispatch->buffers[0].bytes >= 4)
      write_word(commands, command.dispatch->buffers[0], command.dispatch->buffers[0].offset);
  });
}

void lose_dispatches(Commands& commands) {
  static std::atomic<int> number{0};
  std::erase_if(commands.list, [](const HyCommand& command) {
    return command.kind == HY_COMMAND_DISPATCH && ++number % 5 == 0;
  });
}

void misplace_copies(Commands& commands) {
  for (HyCommand& command : commands.list) {
    if (command.kind != HY_COMMAND_COPY || command.copy->source.bytes <= 64) continue;
    commands.copies.push_back(*command.copy);
    HyCopy& copy = commands.copies.back();
    for (HySlice* slice : {&copy.source, &copy.destination}) slice->bytes -= 4;
    copy.destination.offset += 4;
    command.copy = &copy;
  }
}

void shorten_fills(Commands& commands) {
  for (HyCommand& command : commands.list) {
    if (command.kind != HY_COMMAND_FILL || command.fill->destination.bytes < 2 * command.fill->pattern_bytes)
      continue;
    commands.fills.push_back(*command.fill);
    commands.fills.back().destination.bytes -= command.fill->pattern_bytes;
    command.fill = &commands.fills.back();
  }
}

}  // namespace halyard::faulty
