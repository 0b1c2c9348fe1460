#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "halyard/base/result.h"
#include "halyard/hal/plugin.h"

namespace halyard::hal {

class Device;

/// A 64-bit counter that only grows, raised by work or by the host. Every queue has one; others are made
/// here, or imported from another interface (an exported semaphore). Safe from any thread.
class Timeline {
 public:
  /// With an `owner` (a queue's handle) the timeline belongs to it and keeps it alive; without one it is
  /// destroyed here.
  Timeline(std::shared_ptr<Device> device, HyTimeline* handle, std::shared_ptr<void> owner);
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  static Result<std::shared_ptr<Timeline>> create(const std::shared_ptr<Device>& device,
                                                  std::uint64_t initial = 0);
  static Result<std::shared_ptr<Timeline>> import_from(const std::shared_ptr<Device>& device,
                                                       const HyHandle& handle);
  Result<HyHandle> export_as(std::uint32_t handle_kind) const;

  /// Raises the counter from the host.
  Status signal(std::uint64_t value);
  /// Blocks until the value is reached, the work that would reach it failed (its error), or the timeout
  /// passes
  /// (`timeout`). Without a timeout it waits for good; a lost device fails it, so it never hangs.
  Status wait(std::uint64_t value, std::optional<std::chrono::nanoseconds> timeout = std::nullopt) const;
  /// The highest value reached; failed work counts as reached.
  Result<std::uint64_t> value() const;
  /// Why the work that reached this value failed, or success.
  Status outcome(std::uint64_t value) const;

  const std::shared_ptr<Device>& device() const { return device_; }
  HyTimeline* handle() const { return handle_; }

 private:
  std::shared_ptr<Device> device_;
  HyTimeline* handle_;
  std::shared_ptr<void> owner_;
};

/// A value of a timeline: the end of a submission. Default-constructed it is always reached. A small value;
/// keeps its timeline alive. Safe from any thread.
struct SyncPoint {
  std::shared_ptr<Timeline> timeline;
  std::uint64_t value = 0;

  /// See Timeline::wait.
  Status wait(std::optional<std::chrono::nanoseconds> timeout = std::nullopt) const;
  /// Whether the work ended, well or not. Never blocks.
  bool reached() const;
};

}  // namespace halyard::hal
