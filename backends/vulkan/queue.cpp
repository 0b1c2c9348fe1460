#include "queue.h"
#include <fmt/format.h>
#include <algorithm>
#include "error.h"

using halyard::Error;
using halyard::ErrorCode;
using halyard::Result;
using halyard::Status;
using halyard::vulkan::CommandList;
using halyard::vulkan::CommandPool;
using halyard::vulkan::QueueUse;
using halyard::vulkan::Submission;

Status HyQueue::start() {
  HALYARD_ASSIGN(pool_, CommandPool::create(device));
  HALYARD_TRY(halyard::vulkan::start_timeline(timeline, 0));
  std::lock_guard lock(device.submission_mutex);
  device.queues.push_back(this);
  return {};
}

HyQueue::~HyQueue() {
  {
    std::lock_guard lock(device.submission_mutex);
    std::erase(device.queues, this);
    // What still waits for points that nobody has submitted never will run.
    for (const Submission& submission : deferred_)
      finish_failed(submission, {ErrorCode::invalid_argument,
                                 "vulkan: the queue was destroyed while a submission "
                                 "waited for a point that nothing had submitted"});
    deferred_.clear();
  }
  if (timeline.semaphore) {
    QueueUse use(vulkan_queue);
    (void)device.vk.QueueWaitIdle(vulkan_queue.handle);
  }
  in_flight_.clear();
  idle_lists_.clear();
  halyard::vulkan::end_timeline(timeline);
}

Result<std::shared_ptr<CommandList>> HyQueue::take_list() {
  {
    std::lock_guard lock(device.submission_mutex);
    retire();
    if (!idle_lists_.empty()) {
      auto list = std::move(idle_lists_.back());
      idle_lists_.pop_back();
      return list;
    }
  }
  return CommandList::create(pool_);
}

/// Sets aside what has ended. Lists that nobody else holds (a graph holds its own) are recorded again.
/// Semaphores are held until a later submission has ended too: Mesa's submitting thread (22.3.6, 25.0.7)
/// still touches those that a submission waited for after everybody can see that it has ended.
void HyQueue::retire() {
  auto reached = timeline.counter();
  if (!reached) return;
  for (InFlight& ended : in_flight_) {
    if (ended.value > *reached) break;
    auto list = std::move(ended.commands);
    if (list && list->is_from(pool_) && list.use_count() == 1 && idle_lists_.size() < 16)
      idle_lists_.push_back(std::move(list));
  }
  while (!in_flight_.empty() && in_flight_.front().value < *reached) in_flight_.pop_front();
}

Result<std::uint64_t> HyQueue::accept(Submission submission) {
  if (device.fault_fires(HY_FAULT_DEVICE_LOST)) {
    submission.injected_fault = Error{ErrorCode::device_lost, "vulkan: simulated loss of the device"};
    submission.loses_device = true;
  } else if (device.fault_fires(HY_FAULT_SUBMISSION_FAILS)) {
    submission.injected_fault = Error{ErrorCode::internal, "vulkan: simulated failure of a submission"};
  }
  std::lock_guard lock(device.submission_mutex);
  HALYARD_TRY(device.status());
  std::uint64_t value = submission.value = ++timeline.promised;
  for (const HySyncPoint& point : submission.signals)
    point.timeline->promised = std::max(point.timeline->promised, point.value);
  deferred_.push_back(std::move(submission));
  halyard::vulkan::flush_deferred(device);
  return value;
}

bool HyQueue::is_ready(const Submission& submission) const {
  return std::all_of(submission.waits.begin(), submission.waits.end(), [](const HySyncPoint& point) {
    return point.timeline->is_foreign || point.timeline->submitted >= point.value;
  });
}

bool HyQueue::flush() {
  bool progressed = false;
  while (!deferred_.empty() && is_ready(deferred_.front())) {
    Submission submission = std::move(deferred_.front());
    deferred_.pop_front();
    give(submission);
    progressed = true;
    if (device.is_lost()) break;  // `lose` has dropped the rest
  }
  return progressed;
}

void HyQueue::give(Submission& submission) {
  retire();
  std::optional<Error> error = std::move(submission.injected_fault);
  for (const HySyncPoint& point : submission.waits) {
    if (Status outcome = point.timeline->outcome(point.value); !outcome && !error)
      error = Error{outcome.error().code, fmt::format("vulkan: a submission waited for work that failed: {}",
                                                      outcome.error().message)};
  }
  if (submission.loses_device) {
    {
      QueueUse use(vulkan_queue);
      (void)device.vk.QueueWaitIdle(vulkan_queue.handle);  // what came before still succeeds
    }
    device.lose(*error);
    return;
  }
  if (error) {
    finish_failed(submission, *error);
    return;
  }
  VkResult result = submit_to_vulkan(submission, true);
  if (result == VK_SUCCESS) {
    timeline.submitted = submission.value;
    for (const HySyncPoint& point : submission.signals)
      point.timeline->submitted = std::max(point.timeline->submitted, point.value);
    return;
  }
  auto failed = halyard::vulkan::vulkan_failure("vkQueueSubmit", result);
  if (result == VK_ERROR_DEVICE_LOST)
    device.lose(failed.value());
  else
    finish_failed(submission, failed.value());
}

/// Raises the timelines in their order, with nothing run, and remembers why.
void HyQueue::finish_failed(const Submission& submission, const Error& error) {
  if (device.is_lost()) return;
  auto note = [&](HyTimeline& failed, std::uint64_t value) {
    failed.failures.push_back({std::min(failed.submitted, value - 1), value, error});
    failed.submitted = std::max(failed.submitted, value);
  };
  note(timeline, submission.value);
  for (const HySyncPoint& point : submission.signals) note(*point.timeline, point.value);
  VkResult result = submit_to_vulkan(submission, false);
  if (result != VK_SUCCESS) device.lose(halyard::vulkan::vulkan_failure("vkQueueSubmit", result).value());
}

VkResult HyQueue::submit_to_vulkan(const Submission& submission, bool with_work) {
  std::vector<VkSemaphore> wait_semaphores, signal_semaphores{timeline.semaphore->handle};
  std::vector<std::uint64_t> wait_values, signal_values{submission.value};
  std::vector<std::shared_ptr<halyard::vulkan::Semaphore>> held{timeline.semaphore};
  for (const HySyncPoint& point : submission.waits) {
    if (!with_work || point.timeline == &timeline) continue;
    held.push_back(point.timeline->semaphore);
    wait_semaphores.push_back(point.timeline->semaphore->handle);
    wait_values.push_back(point.value);
  }
  for (const HySyncPoint& point : submission.signals) {
    held.push_back(point.timeline->semaphore);
    signal_semaphores.push_back(point.timeline->semaphore->handle);
    signal_values.push_back(point.value);
  }
  std::vector<VkPipelineStageFlags> stages(wait_semaphores.size(), VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
  VkTimelineSemaphoreSubmitInfo values{
      .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
      .waitSemaphoreValueCount = static_cast<std::uint32_t>(wait_values.size()),
      .pWaitSemaphoreValues = wait_values.data(),
      .signalSemaphoreValueCount = static_cast<std::uint32_t>(signal_values.size()),
      .pSignalSemaphoreValues = signal_values.data()};
  VkCommandBuffer commands =
      with_work && submission.commands ? submission.commands->handle() : VK_NULL_HANDLE;
  VkSubmitInfo info{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                    .pNext = &values,
                    .waitSemaphoreCount = static_cast<std::uint32_t>(wait_semaphores.size()),
                    .pWaitSemaphores = wait_semaphores.data(),
                    .pWaitDstStageMask = stages.data(),
                    .commandBufferCount = commands ? 1u : 0u,
                    .pCommandBuffers = &commands,
                    .signalSemaphoreCount = static_cast<std::uint32_t>(signal_semaphores.size()),
                    .pSignalSemaphores = signal_semaphores.data()};
  QueueUse use(vulkan_queue);
  VkResult result = device.vk.QueueSubmit(vulkan_queue.handle, 1, &info, VK_NULL_HANDLE);
  if (result == VK_SUCCESS)
    in_flight_.push_back({submission.value, with_work ? submission.commands : nullptr, std::move(held)});
  return result;
}

namespace halyard::vulkan {

void flush_deferred(HyDevice& device) {
  bool progressed = true;
  while (progressed && !device.is_lost()) {
    progressed = false;
    for (HyQueue* queue : device.queues) progressed = queue->flush() || progressed;
  }
}

Result<Submission> copy_submission(HyQueue& queue, const HySubmission& from) {
  Submission submission;
  if (from.wait_count) submission.waits.assign(from.waits, from.waits + from.wait_count);
  if (from.signal_count) submission.signals.assign(from.signals, from.signals + from.signal_count);
  for (const HySyncPoint& point : submission.waits)
    if (&point.timeline->device != &queue.device)
      return fail(ErrorCode::unsupported,
                  "vulkan: a submission waits for another device's timeline; let the host wait for it first");
  for (const HySyncPoint& point : submission.signals)
    if (&point.timeline->device != &queue.device || point.timeline->owner)
      return fail(
          ErrorCode::invalid_argument,
          "vulkan: a submission signals timelines of its device made by timeline_create or timeline_import");
  return submission;
}

HyStatus queue_create(HyDevice* device, const HyQueueDesc* desc, HyQueue** queue, HyError* error) {
  return at_border(error, [&]() -> Status {
    HALYARD_TRY(device->status());
    std::unique_ptr<VulkanQueue> own;
    VulkanQueue* target = nullptr;
    if (desc && desc->foreign_queue) {
      if (desc->foreign_queue_family != device->facts.compute_family)
        return fail(
            ErrorCode::invalid_argument,
            fmt::format("vulkan: queue_create: the foreign queue is of family {}, the device was opened for "
                        "family {}",
                        desc->foreign_queue_family, device->facts.compute_family));
      own = std::make_unique<VulkanQueue>();
      own->handle = static_cast<VkQueue>(desc->foreign_queue);
      own->lock = desc->lock;
      own->unlock = desc->unlock;
      own->user_data = desc->user_data;
      target = own.get();
    } else {
      if (device->vulkan_queues.empty())
        return fail(ErrorCode::invalid_argument,
                    "vulkan: queue_create: on a foreign VkDevice give the VkQueue to use in foreign_queue");
      target = device->vulkan_queues[device->next_queue++ % device->vulkan_queues.size()].get();
    }
    auto made = std::make_unique<HyQueue>(*device, *target);
    made->own_queue = std::move(own);
    HALYARD_TRY(made->start());
    *queue = made.release();
    return {};
  });
}

void queue_destroy(HyQueue* queue) {
  delete queue;
}

HyTimeline* queue_timeline(HyQueue* queue) {
  return &queue->timeline;
}

HyStatus queue_submit(HyQueue* queue, const HySubmission* submission, std::uint64_t* value, HyError* error) {
  std::uint32_t failed = UINT32_MAX;
  HyStatus status = at_border(error, [&]() -> Status {
    HALYARD_TRY(queue->device.status());
    HALYARD_ASSIGN(Submission accepted, copy_submission(*queue, *submission));
    if (submission->command_count > 0) {
      HALYARD_ASSIGN(accepted.commands, queue->take_list());
      HALYARD_TRY(accepted.commands->record({submission->commands, submission->command_count}, {},
                                            submission->time_stamps, false, &failed));
    }
    HALYARD_ASSIGN(*value, queue->accept(std::move(accepted)));
    return {};
  });
  if (error && failed != UINT32_MAX) error->node = failed;
  return status;
}

}  // namespace halyard::vulkan
