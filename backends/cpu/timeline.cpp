#include "timeline.h"
#include <fmt/format.h>
#include "error.h"
#include "queue.h"

using halyard::Error;
using halyard::ErrorCode;
using halyard::Status;

Status HyTimeline::advance(std::uint64_t value, const Error* failure) {
  std::lock_guard lock(mutex_);
  std::uint64_t before = value_.load(std::memory_order_relaxed);
  if (value <= before)
    return halyard::fail(
        ErrorCode::invalid_argument,
        fmt::format("cpu: a timeline only grows: it is at {}, {} was signaled", before, value));
  if (failure) failures_.push_back({before, value, *failure});
  value_.store(value, std::memory_order_release);
  // Under the lock: a waiter may destroy the timeline as soon as it can see the value.
  reached_.notify_all();
  return {};
}

bool HyTimeline::wait(std::uint64_t value, std::optional<Clock::time_point> deadline) {
  std::unique_lock lock(mutex_);
  auto is_reached = [&] { return value_.load(std::memory_order_relaxed) >= value; };
  if (deadline) return reached_.wait_until(lock, *deadline, is_reached);
  reached_.wait(lock, is_reached);
  return true;
}

Status HyTimeline::outcome(std::uint64_t value) const {
  std::lock_guard lock(mutex_);
  for (const Failure& failure : failures_)
    if (value > failure.after && value <= failure.last) return tl::unexpected<Error>(failure.error);
  return {};
}

namespace halyard::cpu {

namespace {

/// Looks for a few microseconds before going to sleep: small work ends sooner than a thread could be woken.
void spin(const HyTimeline& timeline, std::uint64_t value) {
  constexpr std::chrono::microseconds patience{15};
  auto end = HyTimeline::Clock::now() + patience;
  while (timeline.value() < value && HyTimeline::Clock::now() < end) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
}

}  // namespace

std::optional<HyTimeline::Clock::time_point> deadline_after(std::uint64_t timeout_ns) {
  auto now = HyTimeline::Clock::now();
  auto most =
      std::chrono::duration_cast<std::chrono::nanoseconds>(HyTimeline::Clock::time_point::max() - now);
  if (timeout_ns >= static_cast<std::uint64_t>(most.count())) return std::nullopt;
  return now + std::chrono::nanoseconds(timeout_ns);
}

HyStatus timeline_create(HyDevice*, std::uint64_t initial, HyTimeline** timeline, HyError* error) {
  return at_border(error, [&]() -> Status {
    *timeline = new HyTimeline(initial);
    return {};
  });
}

void timeline_destroy(HyTimeline* timeline) {
  delete timeline;
}

HyStatus timeline_signal(HyTimeline* timeline, std::uint64_t value, HyError* error) {
  return at_border(error, [&]() -> Status {
    if (timeline->owner())
      return fail(ErrorCode::invalid_argument,
                  "cpu: a queue's own timeline is raised by its submissions alone");
    return timeline->advance(value);
  });
}

HyStatus timeline_wait(HyTimeline* timeline, std::uint64_t value, std::uint64_t timeout_ns, HyError* error) {
  return at_border(error, [&]() -> Status {
    if (timeline->value() < value) {
      if (timeout_ns == 0)
        return fail(ErrorCode::timeout, fmt::format("cpu: the timeline has not reached {} yet", value));
      auto deadline = deadline_after(timeout_ns);
      // Running the queue's work here saves two switches between threads.
      if (HyQueue* queue = timeline->owner()) queue->help(value, deadline);
      spin(*timeline, value);
      if (!timeline->wait(value, deadline))
        return fail(ErrorCode::timeout,
                    fmt::format("cpu: the timeline is at {} after {} ns and has not reached {}",
                                timeline->value(), timeout_ns, value));
    }
    return timeline->outcome(value);
  });
}

HyStatus timeline_query(HyTimeline* timeline, std::uint64_t* value, HyError*) {
  *value = timeline->value();
  return HY_OK;
}

HyStatus timeline_error(HyTimeline* timeline, std::uint64_t value, HyError* error) {
  return at_border(error, [&] { return timeline->outcome(value); });
}

}  // namespace halyard::cpu
