#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "halyard/base/result.h"
#include "halyard/hal/plugin.h"

namespace halyard::hal::backend {

/// A timeline that the host's threads raise, for devices whose work runs on them: a counter that only grows.
/// Failed work counts as reached, and `outcome` tells why it failed. Thread-safe.
class HostTimeline {
 public:
  using Clock = std::chrono::steady_clock;

  explicit HostTimeline(std::uint64_t initial) : value_(initial) {}

  /// Raises the counter and wakes waiters; with `failure` the values passed on the way failed. Error:
  /// `invalid_argument` if the counter would not grow.
  Status advance(std::uint64_t value, const Error* failure = nullptr) {
    std::lock_guard lock(mutex_);
    const std::uint64_t before = value_.load(std::memory_order_relaxed);
    if (value <= before)
      return fail(ErrorCode::invalid_argument, "a timeline only grows: it is at " + std::to_string(before) +
                                                   ", and " + std::to_string(value) + " was signaled");
    if (failure) failures_.push_back({before, value, *failure});
    value_.store(value, std::memory_order_release);
    // Under the lock: a waiter may destroy the timeline as soon as it can see the value.
    reached_.notify_all();
    return {};
  }

  /// Blocks until the value is reached, or the deadline (nothing: for good). Whether it was reached.
  bool wait(std::uint64_t value, std::optional<Clock::time_point> deadline) {
    std::unique_lock lock(mutex_);
    const auto is_reached = [&] { return value_.load(std::memory_order_relaxed) >= value; };
    if (deadline) return reached_.wait_until(lock, *deadline, is_reached);
    reached_.wait(lock, is_reached);
    return true;
  }

  std::uint64_t value() const { return value_.load(std::memory_order_acquire); }

  /// Success, or why the work that reached `value` failed.
  Status outcome(std::uint64_t value) const {
    std::lock_guard lock(mutex_);
    for (const Failure& failure : failures_)
      if (value > failure.after && value <= failure.last) return tl::unexpected<Error>(failure.error);
    return {};
  }

  /// The moment `timeout_ns` from now, or nothing for UINT64_MAX and what overflows the clock.
  static std::optional<Clock::time_point> deadline_after(std::uint64_t timeout_ns) {
    const auto now = Clock::now();
    const auto most = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::time_point::max() - now);
    if (timeout_ns >= static_cast<std::uint64_t>(most.count())) return std::nullopt;
    return now + std::chrono::nanoseconds(timeout_ns);
  }

  /// The answer of a wait that ran out of time.
  Status not_reached(std::uint64_t value, std::uint64_t timeout_ns) const {
    return fail(ErrorCode::timeout, "the timeline is at " + std::to_string(this->value()) + " after " +
                                        std::to_string(timeout_ns) + " ns and has not reached " +
                                        std::to_string(value));
  }

 private:
  struct Failure {
    std::uint64_t after, last;  // values in (after, last]
    Error error;
  };
  std::atomic<std::uint64_t> value_;
  mutable std::mutex mutex_;
  std::condition_variable reached_;
  std::vector<Failure> failures_;
};

/// Begin and end of each command, for the same devices, by `HostTimeline::Clock`.
struct HostTimeStamps {
  std::vector<HyTimeSpan> spans;

  static std::uint64_t now() {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(HostTimeline::Clock::now().time_since_epoch())
            .count());
  }
  /// time_stamps_read.
  Status read(std::uint32_t first, std::uint32_t count, HyTimeSpan* out) const {
    if (first > spans.size() || count > spans.size() - first)
      return fail(ErrorCode::invalid_argument, std::to_string(count) + " time stamps from " +
                                                   std::to_string(first) + " of " +
                                                   std::to_string(spans.size()));
    std::copy_n(spans.begin() + first, count, out);
    return {};
  }
};

}  // namespace halyard::hal::backend
