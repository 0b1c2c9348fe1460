#pragma once

#include <halyard/base/result.h>
#include <halyard/hal/plugin.h>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

/// A counter that only grows. Failed work counts as reached; `outcome` tells why it failed. Thread-safe.
struct HyTimeline {
 public:
  using Clock = std::chrono::steady_clock;

  explicit HyTimeline(std::uint64_t initial, bool of_queue = false) : of_queue(of_queue), value_(initial) {}

  /// Raises the counter; with `failure` the values passed on the way failed.
  halyard::Status advance(std::uint64_t value, const halyard::Error* failure = nullptr);
  /// Blocks until `value` is reached or the deadline (nothing: for good). Whether it was reached.
  bool wait(std::uint64_t value, std::optional<Clock::time_point> deadline);
  std::uint64_t value() const;
  /// Success, or why the work that reached `value` failed.
  halyard::Status outcome(std::uint64_t value) const;

  const bool of_queue;  ///< raised by its queue's submissions alone

 private:
  struct Failure {
    std::uint64_t after, last;  // values in (after, last]
    halyard::Error error;
  };
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t value_;
  std::vector<Failure> failures_;
};

namespace halyard::interpreter {

HyStatus timeline_create(HyDevice* device, std::uint64_t initial, HyTimeline** timeline, HyError* error);
void timeline_destroy(HyTimeline* timeline);
HyStatus timeline_signal(HyTimeline* timeline, std::uint64_t value, HyError* error);
HyStatus timeline_wait(HyTimeline* timeline, std::uint64_t value, std::uint64_t timeout_ns, HyError* error);
HyStatus timeline_query(HyTimeline* timeline, std::uint64_t* value, HyError* error);
HyStatus timeline_error(HyTimeline* timeline, std::uint64_t value, HyError* error);

}  // namespace halyard::interpreter
