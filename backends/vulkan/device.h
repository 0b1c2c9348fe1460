#pragma once

#include <halyard/base/result.h>
#include <halyard/hal/backend/device_health.h>
#include <halyard/hal/plugin.h>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>
#include "device_info.h"
#include "instance.h"
#include "vulkan_functions.h"

namespace halyard::vulkan {

/// One VkQueue. Vulkan wants its callers one at a time; several HyQueues may share it, or a host program.
struct VulkanQueue {
  VkQueue handle = VK_NULL_HANDLE;
  std::mutex mutex;
  void (*lock)(void*) = nullptr;
  void (*unlock)(void*) = nullptr;
  void* user_data = nullptr;
};

/// Holds a VkQueue for one call, the host program's lock included.
class QueueUse {
 public:
  explicit QueueUse(VulkanQueue& queue) : queue_(queue), guard_(queue.mutex) {
    if (queue_.lock) queue_.lock(queue_.user_data);
  }
  ~QueueUse() {
    if (queue_.unlock) queue_.unlock(queue_.user_data);
  }
  QueueUse(const QueueUse&) = delete;
  QueueUse& operator=(const QueueUse&) = delete;

 private:
  VulkanQueue& queue_;
  std::lock_guard<std::mutex> guard_;
};

}  // namespace halyard::vulkan

/// An opened device, and what all its objects share. Thread-safe.
struct HyDevice : halyard::hal::backend::DeviceHealth {
  HyDevice() = default;
  ~HyDevice();
  HyDevice(const HyDevice&) = delete;
  HyDevice& operator=(const HyDevice&) = delete;

  std::shared_ptr<halyard::vulkan::Instance> instance;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkDevice handle = VK_NULL_HANDLE;
  bool is_ours = false;
  bool debug = false;
  halyard::vulkan::DeviceFunctions vk;
  halyard::vulkan::DeviceFacts facts;
  std::vector<std::unique_ptr<halyard::vulkan::VulkanQueue>> vulkan_queues;
  std::atomic<std::uint32_t> next_queue{0};
  HyBuffer* empty_buffer = nullptr;  ///< stands in for slices of no bytes, which a descriptor cannot be
  std::atomic<std::uint64_t> next_id{1};

  /// Guards the order of submissions: the deferred ones of all queues, what timelines were promised, and
  /// loss.
  std::mutex submission_mutex;
  std::vector<HyQueue*> queues;
  std::vector<HyTimeline*> timelines;

  /// With `submission_mutex` held. Every point not reached by now fails with `reason`.
  void lose(const halyard::Error& reason);
  /// As `lose`, taking the mutex, if `result` says that the device is lost. Gives the failure to report.
  tl::unexpected<halyard::Error> failure(std::string_view call, VkResult result);
  /// `failure` for a result that is none is success.
  halyard::Status check(std::string_view call, VkResult result) {
    if (result >= VK_SUCCESS) return {};
    return failure(call, result);
  }
};

namespace halyard::vulkan {

HyStatus enumerate(HyDeviceSummary* summaries, std::uint32_t capacity, std::uint32_t* count, HyError* error);
HyStatus device_open(const HyDeviceDesc* desc, HyDevice** device, HyError* error);
void device_close(HyDevice* device);
HyStatus device_info(HyDevice* device, HyDeviceInfo* info, HyError* error);
HyStatus device_property(HyDevice* device, const char* key, HyProperty* property, HyError* error);
HyStatus device_status(HyDevice* device, HyError* error);
const HyFaultInjection* fault_injection();

}  // namespace halyard::vulkan
