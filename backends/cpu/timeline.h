#pragma once

#include <halyard/hal/backend/host_timeline.h>
#include <halyard/hal/plugin.h>
#include <cstdint>

/// The C interface's HyTimeline: one that threads of the host raise.
struct HyTimeline : halyard::hal::backend::HostTimeline {
  explicit HyTimeline(std::uint64_t initial, HyQueue* of = nullptr) : HostTimeline(initial), owner(of) {}

  HyQueue* const owner;  ///< the queue whose own timeline this is, or null
};

namespace halyard::cpu {

HyStatus timeline_create(HyDevice* device, std::uint64_t initial, HyTimeline** timeline, HyError* error);
void timeline_destroy(HyTimeline* timeline);
HyStatus timeline_signal(HyTimeline* timeline, std::uint64_t value, HyError* error);
HyStatus timeline_wait(HyTimeline* timeline, std::uint64_t value, std::uint64_t timeout_ns, HyError* error);
HyStatus timeline_query(HyTimeline* timeline, std::uint64_t* value, HyError* error);
HyStatus timeline_error(HyTimeline* timeline, std::uint64_t value, HyError* error);

}  // namespace halyard::cpu
