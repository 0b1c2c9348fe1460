#include "timeline.h"

#include "error.h"

namespace halyard::interpreter {

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
    if (!timeline->wait(value, HyTimeline::deadline_after(timeout_ns)))
      return timeline->not_reached(value, timeout_ns);
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
