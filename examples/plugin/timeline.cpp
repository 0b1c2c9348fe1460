#include "timeline.h"

#include "error.h"

using halyard::Error;
using halyard::ErrorCode;
using halyard::Status;

Status HyTimeline::advance(std::uint64_t value, const Error* failure) {
  std::lock_guard lock(mutex_);
  if (value <= value_)
    return halyard::fail(ErrorCode::invalid_argument, "interpreter: a timeline only grows: it is at " +
                                                          std::to_string(value_) + ", which is not below " +
                                                          std::to_string(value));
  if (failure) failures_.push_back({value_, value, *failure});
  value_ = value;
  changed_.notify_all();  // under the lock: a waiter may destroy the timeline once it sees the value
  return {};
}

bool HyTimeline::wait(std::uint64_t value, std::optional<Clock::time_point> deadline) {
  std::unique_lock lock(mutex_);
  auto reached = [&] { return value_ >= value; };
  if (deadline) return changed_.wait_until(lock, *deadline, reached);
  changed_.wait(lock, reached);
  return true;
}

std::uint64_t HyTimeline::value() const {
  std::lock_guard lock(mutex_);
  return value_;
}

Status HyTimeline::outcome(std::uint64_t value) const {
  std::lock_guard lock(mutex_);
  for (const Failure& failure : failures_)
    if (value > failure.after && value <= failure.last) return tl::unexpected<Error>(failure.error);
  return {};
}

namespace halyard::interpreter {
namespace {

/// Nothing for waits too long to name their end.
std::optional<HyTimeline::Clock::time_point> deadline_after(std::uint64_t timeout_ns) {
  constexpr std::uint64_t century = 100ull * 365 * 24 * 3600 * 1000000000ull;
  if (timeout_ns >= century) return std::nullopt;
  return HyTimeline::Clock::now() + std::chrono::nanoseconds(timeout_ns);
}

}  // namespace

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
    if (timeline->of_queue)
      return fail(ErrorCode::invalid_argument,
                  "interpreter: a queue's own timeline is raised by its submissions alone");
    return timeline->advance(value);
  });
}

HyStatus timeline_wait(HyTimeline* timeline, std::uint64_t value, std::uint64_t timeout_ns, HyError* error) {
  return at_border(error, [&]() -> Status {
    if (!timeline->wait(value, deadline_after(timeout_ns)))
      return fail(ErrorCode::timeout, "interpreter: timeline_wait: " + std::to_string(timeline->value()) +
                                          " after " + std::to_string(timeout_ns) + " ns, not " +
                                          std::to_string(value) + ": wait longer");
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

}  // namespace halyard::interpreter
