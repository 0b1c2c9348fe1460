#include "timeline.h"
#include "error.h"
#include "queue.h"

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
    if (timeline->owner)
      return fail(ErrorCode::invalid_argument,
                  "cpu: a queue's own timeline is raised by its submissions alone");
    return timeline->advance(value);
  });
}

HyStatus timeline_wait(HyTimeline* timeline, std::uint64_t value, std::uint64_t timeout_ns, HyError* error) {
  return at_border(error, [&]() -> Status {
    if (timeline->value() < value) {
      if (timeout_ns == 0) return timeline->not_reached(value, timeout_ns);
      auto deadline = HyTimeline::deadline_after(timeout_ns);
      // Running the queue's work here saves two switches between threads.
      if (HyQueue* queue = timeline->owner) queue->help(value, deadline);
      spin(*timeline, value);
      if (!timeline->wait(value, deadline)) return timeline->not_reached(value, timeout_ns);
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
