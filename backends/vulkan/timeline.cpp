#include "timeline.h"
#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <memory>
#include "device.h"
#include "error.h"
#include "queue.h"

using halyard::Error;
using halyard::ErrorCode;
using halyard::Result;
using halyard::Status;

Result<std::uint64_t> HyTimeline::counter() const {
  std::uint64_t value = 0;
  VkResult result = device.vk.GetSemaphoreCounterValue(device.handle, semaphore->handle, &value);
  if (result != VK_SUCCESS) return halyard::vulkan::vulkan_failure("vkGetSemaphoreCounterValue", result);
  return value;
}

Status HyTimeline::outcome(std::uint64_t value) const {
  for (const Failure& failure : failures)
    if (value > failure.after && value <= failure.last) return tl::unexpected<Error>(failure.error);
  return {};
}

void HyTimeline::fail_from_here(const Error& error) {
  auto reached = counter();
  failures.push_back({reached ? *reached : 0, UINT64_MAX, error});
  submitted = promised;
}

namespace halyard::vulkan {
namespace {

using Clock = std::chrono::steady_clock;

/// While blocked in Vulkan a waiter looks this often whether the device was lost by another's doing.
constexpr std::uint64_t lost_poll_ns = 20'000'000;

Status wait_until_reached(HyTimeline& timeline, std::uint64_t value, std::uint64_t timeout_ns) {
  HyDevice& device = timeline.device;
  auto start = Clock::now();
  while (!device.is_lost()) {
    auto reached = timeline.counter();
    if (!reached) return device.failure("vkGetSemaphoreCounterValue", VK_ERROR_DEVICE_LOST);
    if (*reached >= value) return {};
    auto spent = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
    if (spent >= timeout_ns)
      return fail(ErrorCode::timeout,
                  fmt::format("vulkan: the timeline is at {} after {} ns and has not reached {}", *reached,
                              timeout_ns, value));
    VkSemaphoreWaitInfo info{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                             .semaphoreCount = 1,
                             .pSemaphores = &timeline.semaphore->handle,
                             .pValues = &value};
    VkResult result =
        device.vk.WaitSemaphores(device.handle, &info, std::min(lost_poll_ns, timeout_ns - spent));
    if (result < VK_SUCCESS) return device.failure("vkWaitSemaphores", result);
  }
  return {};
}

Status check_descriptors(const HyDevice& device, std::string_view call) {
  if (device.facts.timelines_as_fd && device.vk.GetSemaphoreFdKHR && device.vk.ImportSemaphoreFdKHR)
    return {};
  return fail(
      ErrorCode::unsupported,
      fmt::format("vulkan: {}: {} does not share timeline semaphores by descriptor; wait on the host instead",
                  call, device.facts.name));
}

Result<std::shared_ptr<Semaphore>> create_semaphore(HyDevice& device, const VkSemaphoreCreateInfo& info) {
  VkSemaphore made = VK_NULL_HANDLE;
  HALYARD_TRY(
      device.check("vkCreateSemaphore", device.vk.CreateSemaphore(device.handle, &info, nullptr, &made)));
  return std::make_shared<Semaphore>(device, made);
}

/// A semaphore of this device with the payload that the descriptor names; takes the descriptor over.
Result<std::shared_ptr<Semaphore>> import_descriptor(HyDevice& device, const HyHandle& handle) {
  HALYARD_TRY(check_descriptors(device, "timeline_import"));
  VkSemaphoreTypeCreateInfo type{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                 .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  const VkSemaphoreCreateInfo info{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
  HALYARD_ASSIGN(std::shared_ptr<Semaphore> semaphore, create_semaphore(device, info));
  const VkImportSemaphoreFdInfoKHR import{.sType = VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR,
                                          .semaphore = semaphore->handle,
                                          .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT,
                                          .fd = handle.fd};
  HALYARD_TRY(device.check("vkImportSemaphoreFdKHR", device.vk.ImportSemaphoreFdKHR(device.handle, &import)));
  return semaphore;
}

Status export_descriptor(const HyTimeline& timeline, HyHandle& handle) {
  HyDevice& device = timeline.device;
  HALYARD_TRY(check_descriptors(device, "timeline_export"));
  const VkSemaphoreGetFdInfoKHR info{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR,
                                     .semaphore = timeline.semaphore->handle,
                                     .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
  return device.check("vkGetSemaphoreFdKHR", device.vk.GetSemaphoreFdKHR(device.handle, &info, &handle.fd));
}

}  // namespace

Semaphore::~Semaphore() {
  if (is_ours) device.vk.DestroySemaphore(device.handle, handle, nullptr);
}

Status start_timeline(HyTimeline& timeline, std::uint64_t initial) {
  HyDevice& device = timeline.device;
  // Whether it will be given out is not known yet; Vulkan must be told when it is made.
  const VkExportSemaphoreCreateInfo shared{.sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO,
                                           .handleTypes = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
  VkSemaphoreTypeCreateInfo type{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                 .pNext = device.facts.timelines_as_fd ? &shared : nullptr,
                                 .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
                                 .initialValue = initial};
  VkSemaphoreCreateInfo info{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
  HALYARD_ASSIGN(timeline.semaphore, create_semaphore(device, info));
  timeline.promised = timeline.submitted = initial;
  std::lock_guard lock(device.submission_mutex);
  device.timelines.push_back(&timeline);
  return {};
}

void end_timeline(HyTimeline& timeline) {
  std::lock_guard lock(timeline.device.submission_mutex);
  std::erase(timeline.device.timelines, &timeline);
}

HyStatus timeline_create(HyDevice* device, std::uint64_t initial, HyTimeline** timeline, HyError* error) {
  return at_border(error, [&]() -> Status {
    HALYARD_TRY(device->status());
    auto made = std::make_unique<HyTimeline>(*device, nullptr);
    HALYARD_TRY(start_timeline(*made, initial));
    *timeline = made.release();
    return {};
  });
}

void timeline_destroy(HyTimeline* timeline) {
  end_timeline(*timeline);
  delete timeline;
}

HyStatus timeline_signal(HyTimeline* timeline, std::uint64_t value, HyError* error) {
  return at_border(error, [&]() -> Status {
    HyDevice& device = timeline->device;
    if (timeline->owner)
      return fail(ErrorCode::invalid_argument,
                  "vulkan: a queue's own timeline is raised by its submissions alone");
    HALYARD_TRY(device.status());
    std::unique_lock lock(device.submission_mutex);
    if (value <= timeline->promised && !timeline->is_foreign)
      return fail(ErrorCode::invalid_argument,
                  fmt::format("vulkan: a timeline only grows: {} was promised or reached, {} was signaled",
                              timeline->promised, value));
    VkSemaphoreSignalInfo info{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO,
                               .semaphore = timeline->semaphore->handle,
                               .value = value};
    VkResult result = device.vk.SignalSemaphore(device.handle, &info);
    if (result != VK_SUCCESS) {
      auto failed = vulkan_failure("vkSignalSemaphore", result);
      if (result == VK_ERROR_DEVICE_LOST) device.lose(failed.value());
      return failed;
    }
    timeline->promised = timeline->submitted = value;
    flush_deferred(device);
    return {};
  });
}

HyStatus timeline_wait(HyTimeline* timeline, std::uint64_t value, std::uint64_t timeout_ns, HyError* error) {
  return at_border(error, [&]() -> Status {
    HALYARD_TRY(wait_until_reached(*timeline, value, timeout_ns));
    std::lock_guard lock(timeline->device.submission_mutex);
    return timeline->outcome(value);
  });
}

HyStatus timeline_query(HyTimeline* timeline, std::uint64_t* value, HyError* error) {
  return at_border(error, [&]() -> Status {
    std::lock_guard lock(timeline->device.submission_mutex);
    if (timeline->device.is_lost()) {
      *value = timeline->promised;
      return {};
    }
    HALYARD_ASSIGN(*value, timeline->counter());
    return {};
  });
}

HyStatus timeline_error(HyTimeline* timeline, std::uint64_t value, HyError* error) {
  return at_border(error, [&]() -> Status {
    std::lock_guard lock(timeline->device.submission_mutex);
    return timeline->outcome(value);
  });
}

HyStatus timeline_import(HyDevice* device, const HyHandle* handle, HyTimeline** timeline, HyError* error) {
  return at_border(error, [&]() -> Status {
    HALYARD_TRY(device->status());
    auto made = std::make_unique<HyTimeline>(*device, nullptr);
    if (handle->kind == HY_HANDLE_OPAQUE_FD) {
      HALYARD_ASSIGN(made->semaphore, import_descriptor(*device, *handle));
    } else if (handle->kind == HY_HANDLE_VENDOR_OBJECT && handle->value) {
      made->semaphore =
          std::make_shared<Semaphore>(*device, reinterpret_cast<VkSemaphore>(handle->value), false);
    } else {
      return fail(
          ErrorCode::unsupported,
          "vulkan: timeline_import takes a timeline VkSemaphore as vendor object or opaque descriptor");
    }
    made->is_foreign = true;
    std::lock_guard lock(device->submission_mutex);
    device->timelines.push_back(made.get());
    *timeline = made.release();
    return {};
  });
}

HyStatus timeline_export(HyTimeline* timeline, HyHandle* handle, HyError* error) {
  return at_border(error, [&]() -> Status {
    if (handle->kind == HY_HANDLE_OPAQUE_FD) return export_descriptor(*timeline, *handle);
    if (handle->kind != HY_HANDLE_VENDOR_OBJECT)
      return fail(ErrorCode::unsupported,
                  "vulkan: timeline_export gives the VkSemaphore as vendor object or opaque descriptor only");
    handle->value = reinterpret_cast<std::uint64_t>(timeline->semaphore->handle);
    return {};
  });
}

}  // namespace halyard::vulkan
