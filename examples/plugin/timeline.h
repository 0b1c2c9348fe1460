#pragma once

#include <halyard/hal/backend/host_timeline.h>
#include <halyard/hal/plugin.h>
#include <cstdint>

/// The C interface's HyTimeline: one that threads of the host raise.
struct HyTimeline : halyard::hal::backend::HostTimeline {
  explicit HyTimeline(std::uint64_t initial, bool is_queues = false)
      : HostTimeline(initial), of_queue(is_queues) {}

  const bool of_queue;  ///< raised by its queue's submissions alone
};

namespace halyard::interpreter {

HyStatus timeline_create(HyDevice* device, std::uint64_t initial, HyTimeline** timeline, HyError* error);
void timeline_destroy(HyTimeline* timeline);
HyStatus timeline_signal(HyTimeline* timeline, std::uint64_t value, HyError* error);
HyStatus timeline_wait(HyTimeline* timeline, std::uint64_t value, std::uint64_t timeout_ns, HyError* error);
HyStatus timeline_query(HyTimeline* timeline, std::uint64_t* value, HyError* error);
HyStatus timeline_error(HyTimeline* timeline, std::uint64_t value, HyError* error);

}  // namespace halyard::interpreter
