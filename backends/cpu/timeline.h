#pragma once

#include <halyard/base/result.h>
#include <halyard/hal/plugin.h>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

/// A counter that only grows; the C interface's HyTimeline. Failed work counts as reached, and `outcome`
/// tells why it failed. Thread-safe.
struct HyTimeline {
 public:
  using Clock = std::chrono::steady_clock;

  explicit HyTimeline(std::uint64_t initial, HyQueue* owner = nullptr) : owner_(owner), value_(initial) {}

  /// Raises the counter and wakes waiters; with `failure` the values passed on the way failed. Error:
  /// `invalid_argument` if the counter would not grow.
  halyard::Status advance(std::uint64_t value, const halyard::Error* failure = nullptr);

  /// Blocks until the value is reached, or the deadline (nothing: for good). Whether it was reached.
  bool wait(std::uint64_t value, std::optional<Clock::time_point> deadline);

  std::uint64_t value() const { return value_.load(std::memory_order_acquire); }
  /// Success, or why the work that reached `value` failed.
  halyard::Status outcome(std::uint64_t value) const;
  /// The queue whose own timeline this is, or null.
  HyQueue* owner() const { return owner_; }

 private:
  struct Failure {
    std::uint64_t after, last;  // values in (after, last]
    halyard::Error error;
  };
  HyQueue* owner_;
  std::atomic<std::uint64_t> value_;
  mutable std::mutex mutex_;
  std::condition_variable reached_;
  std::vector<Failure> failures_;
};

namespace halyard::cpu {

/// The moment `timeout_ns` from now, or nothing for UINT64_MAX and what overflows.
std::optional<HyTimeline::Clock::time_point> deadline_after(std::uint64_t timeout_ns);

HyStatus timeline_create(HyDevice* device, std::uint64_t initial, HyTimeline** timeline, HyError* error);
void timeline_destroy(HyTimeline* timeline);
HyStatus timeline_signal(HyTimeline* timeline, std::uint64_t value, HyError* error);
HyStatus timeline_wait(HyTimeline* timeline, std::uint64_t value, std::uint64_t timeout_ns, HyError* error);
HyStatus timeline_query(HyTimeline* timeline, std::uint64_t* value, HyError* error);
HyStatus timeline_error(HyTimeline* timeline, std::uint64_t value, HyError* error);

}  // namespace halyard::cpu
