#pragma once

#include <halyard/base/result.h>
#include <halyard/hal/plugin.h>
#include <cstdint>
#include <memory>
#include <vector>
#include "vulkan_functions.h"

namespace halyard::vulkan {

/// A VkSemaphore, destroyed with its last holder: its timeline, or a queue whose driver may not be done with
/// it (HyQueue::retire).
struct Semaphore {
  Semaphore(HyDevice& the_device, VkSemaphore the_handle, bool is_owned = true)
      : device(the_device), handle(the_handle), is_ours(is_owned) {}
  ~Semaphore();
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  HyDevice& device;
  const VkSemaphore handle;
  const bool is_ours;
};

}  // namespace halyard::vulkan

/// A timeline semaphore, and which of its values were reached by work that failed. What is not const is
/// guarded by the device's submission_mutex.
struct HyTimeline {
  HyTimeline(HyDevice& the_device, HyQueue* the_owner) : device(the_device), owner(the_owner) {}

  HyDevice& device;
  HyQueue* const owner;                                   ///< the queue whose own timeline this is, or null
  std::shared_ptr<halyard::vulkan::Semaphore> semaphore;  ///< null until the timeline has started
  /// Signaled by others as well: what was submitted is not known, and it never holds back a submission.
  bool is_foreign = false;
  std::uint64_t promised = 0;   ///< the highest value that accepted work or the host will have raised it to
  std::uint64_t submitted = 0;  ///< the same of work that Vulkan has been given

  struct Failure {
    std::uint64_t after, last;  ///< values in (after, last]
    halyard::Error error;
  };
  std::vector<Failure> failures;

  /// The semaphore's counter. Fails if the device is lost.
  halyard::Result<std::uint64_t> counter() const;
  halyard::Status outcome(std::uint64_t value) const;
  /// Everything not reached by now has failed.
  void fail_from_here(const halyard::Error& error);
};

namespace halyard::vulkan {

/// Makes the semaphore and registers the timeline with its device.
Status start_timeline(HyTimeline& timeline, std::uint64_t initial);
void end_timeline(HyTimeline& timeline);

HyStatus timeline_create(HyDevice* device, std::uint64_t initial, HyTimeline** timeline, HyError* error);
void timeline_destroy(HyTimeline* timeline);
HyStatus timeline_signal(HyTimeline* timeline, std::uint64_t value, HyError* error);
HyStatus timeline_wait(HyTimeline* timeline, std::uint64_t value, std::uint64_t timeout_ns, HyError* error);
HyStatus timeline_query(HyTimeline* timeline, std::uint64_t* value, HyError* error);
HyStatus timeline_error(HyTimeline* timeline, std::uint64_t value, HyError* error);
HyStatus timeline_import(HyDevice* device, const HyHandle* handle, HyTimeline** timeline, HyError* error);
HyStatus timeline_export(HyTimeline* timeline, HyHandle* handle, HyError* error);

}  // namespace halyard::vulkan
