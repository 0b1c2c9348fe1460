#pragma once

#include <halyard/base/result.h>
#include <halyard/hal/plugin.h>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>
#include "command_list.h"
#include "device.h"
#include "timeline.h"
#include "vulkan_functions.h"

namespace halyard::vulkan {

/// A submission that was accepted and perhaps not yet given to Vulkan.
struct Submission {
  std::uint64_t value = 0;  ///< of the queue's own timeline at its end
  std::vector<HySyncPoint> waits, signals;
  std::shared_ptr<CommandList> commands;  ///< null: none
  std::optional<Error> injected_fault;
  bool loses_device = false;
};

}  // namespace halyard::vulkan

/// An in-order queue on a VkQueue. Recording is externally synchronized; what follows it is guarded by the
/// device's submission_mutex.
///
/// A submission is given to Vulkan only once everything it waits for has been given to Vulkan (or reached, or
/// failed): several queues may share one VkQueue, on which waiting before signaling would block for good; and
/// whether a wait failed is known by then.
struct HyQueue {
  HyQueue(HyDevice& the_device, halyard::vulkan::VulkanQueue& the_queue)
      : device(the_device), vulkan_queue(the_queue), timeline(the_device, this) {}
  ~HyQueue();
  HyQueue(const HyQueue&) = delete;
  HyQueue& operator=(const HyQueue&) = delete;

  HyDevice& device;
  halyard::vulkan::VulkanQueue& vulkan_queue;
  std::unique_ptr<halyard::vulkan::VulkanQueue> own_queue;  ///< a foreign queue's record
  HyTimeline timeline;

  halyard::Status start();
  /// A list to record into, used before if possible.
  halyard::Result<std::shared_ptr<halyard::vulkan::CommandList>> take_list();
  halyard::Result<std::uint64_t> accept(halyard::vulkan::Submission submission);
  /// With the mutex held: gives Vulkan what has become ready, in order. True if there was any.
  bool flush();
  /// With the mutex held, after the device was lost: nothing deferred will run.
  void abandon() { deferred_.clear(); }

 private:
  bool is_ready(const halyard::vulkan::Submission& submission) const;
  void give(halyard::vulkan::Submission& submission);
  void finish_failed(const halyard::vulkan::Submission& submission, const halyard::Error& error);
  VkResult submit_to_vulkan(const halyard::vulkan::Submission& submission, bool with_work);
  void retire();

  struct InFlight {
    std::uint64_t value;
    std::shared_ptr<halyard::vulkan::CommandList> commands;
    std::vector<std::shared_ptr<halyard::vulkan::Semaphore>> semaphores;
  };
  std::shared_ptr<halyard::vulkan::CommandPool> pool_;
  std::deque<halyard::vulkan::Submission> deferred_;
  std::deque<InFlight> in_flight_;
  std::vector<std::shared_ptr<halyard::vulkan::CommandList>> idle_lists_;
};

namespace halyard::vulkan {

/// With the mutex held: gives Vulkan whatever has become ready on any queue.
void flush_deferred(HyDevice& device);
/// Copies waits and signals; checks that they belong to the queue's device.
Result<Submission> copy_submission(HyQueue& queue, const HySubmission& from);

HyStatus queue_create(HyDevice* device, const HyQueueDesc* desc, HyQueue** queue, HyError* error);
void queue_destroy(HyQueue* queue);
HyTimeline* queue_timeline(HyQueue* queue);
HyStatus queue_submit(HyQueue* queue, const HySubmission* submission, std::uint64_t* value, HyError* error);

}  // namespace halyard::vulkan
