#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "halyard/base/result.h"
#include "halyard/hal/command_graph.h"
#include "halyard/hal/plugin.h"
#include "halyard/hal/queue.h"

namespace halyard::hal {

/// Commands in the form that backends take, with the arrays they point to. Checks what would otherwise reach
/// into another buffer of the pool: bounds, devices, argument counts. The C++ commands must outlive the list.
class CommandList {
 public:
  explicit CommandList(const Device& device) : device_(device) {}
  CommandList(const CommandList&) = delete;
  CommandList& operator=(const CommandList&) = delete;

  Status add(const Command& command);
  /// A graph's command: slices name slots.
  Status add(const GraphCommand& command, std::span<const std::uint32_t> dependencies);
  /// A graph's command with its slots filled in.
  Status add(const GraphCommand& command, std::span<const BufferSlice> buffers,
             std::span<const std::vector<std::byte>> scalars);

  std::span<const HyCommand> commands() const { return commands_; }
  /// Notes on every buffer that the commands use it until `point`.
  void used_until(const SyncPoint& point) const;
  /// The modules of the commands, each once.
  std::vector<std::shared_ptr<const void>> modules() const { return modules_; }

 private:
  HyDispatch& add_dispatch(const Kernel& kernel);
  HyCommand& add_command(std::uint32_t kind);
  std::vector<HySlice>& new_slices(std::size_t count);
  Result<HySlice> resolve(const BufferSlice& slice, const char* role);
  Result<HySlice> resolve(const SlotSlice& slice, std::span<const BufferSlice> buffers, const char* role);
  Status check_dispatch(const Kernel& kernel, std::size_t buffers, std::size_t scalar_bytes) const;
  Error error_of(std::string text) const;

  const Device& device_;
  std::vector<HyCommand> commands_;
  std::deque<HyDispatch> dispatches_;  // deques: the commands point into them
  std::deque<HyCopy> copies_;
  std::deque<HyFill> fills_;
  std::deque<std::vector<HySlice>> slices_;
  std::vector<const Buffer*> buffers_;
  std::vector<std::shared_ptr<const void>> modules_;
};

/// One slice for a backend; `invalid_argument` unless it lies within its buffer and the device can reach it.
Result<HySlice> resolve_slice(const Device& device, const BufferSlice& slice, const std::string& subject);

}  // namespace halyard::hal
