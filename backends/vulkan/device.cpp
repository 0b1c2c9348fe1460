#include "device.h"
#include <fmt/format.h>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include "buffer.h"
#include "error.h"
#include "queue.h"
#include "timeline.h"

using halyard::Error;
using halyard::ErrorCode;
using halyard::Status;

HyDevice::~HyDevice() {
  if (empty_buffer) halyard::vulkan::buffer_destroy(empty_buffer);
  if (is_ours && handle) vk.DestroyDevice(handle, nullptr);
}

void HyDevice::lose(const Error& reason) {
  if (is_lost()) return;
  DeviceHealth::lose(reason);
  Error lost{ErrorCode::device_lost, reason.message};
  for (HyTimeline* timeline : timelines) timeline->fail_from_here(lost);
  for (HyQueue* queue : queues) queue->abandon();
}

tl::unexpected<Error> HyDevice::failure(std::string_view call, VkResult result) {
  auto failed = halyard::vulkan::vulkan_failure(call, result);
  if (result == VK_ERROR_DEVICE_LOST) {
    std::lock_guard lock(submission_mutex);
    lose(failed.value());
  }
  return failed;
}

namespace halyard::vulkan {
namespace {

Status load_functions(HyDevice& device) {
  PFN_vkGetDeviceProcAddr get = device.instance->vk().GetDeviceProcAddr;
#define HALYARD_REQUIRED(name)                                                     \
  device.vk.name = reinterpret_cast<PFN_vk##name>(get(device.handle, "vk" #name)); \
  if (!device.vk.name)                                                             \
    return fail(ErrorCode::not_found,                                              \
                "vulkan: the device has no vk" #name ": update its driver to Vulkan 1.2 or newer");
#define HALYARD_OPTIONAL(name) \
  device.vk.name = reinterpret_cast<PFN_vk##name>(get(device.handle, "vk" #name));
  HALYARD_VULKAN_DEVICE_FUNCTIONS(HALYARD_REQUIRED, HALYARD_OPTIONAL)
#undef HALYARD_REQUIRED
#undef HALYARD_OPTIONAL
  return {};
}

std::vector<const char*> extension_names(const Extensions& extensions) {
  std::vector<const char*> names;
  if (extensions.push_descriptor) names.push_back(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME);
  if (extensions.memory_budget) names.push_back(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  if (extensions.external_memory_fd) names.push_back(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
  if (extensions.external_memory_dma_buf) names.push_back(VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME);
  if (extensions.external_memory_host) names.push_back(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
  if (extensions.external_semaphore_fd) names.push_back(VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME);
  if (extensions.subgroup_size_control) names.push_back(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
  return names;
}

/// Creates the VkDevice and its queues.
Status make_device(HyDevice& device) {
  constexpr std::uint32_t most_queues = 4;
  std::uint32_t queues = std::min(most_queues, device.facts.compute_queue_count);
  std::vector<float> priorities(queues, 1.0f);
  VkDeviceQueueCreateInfo queue_info{.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueFamilyIndex = device.facts.compute_family,
                                     .queueCount = queues,
                                     .pQueuePriorities = priorities.data()};
  FeatureChain features;
  request_features(device.facts.features, features);
  auto names = extension_names(device.facts.extensions);
  VkDeviceCreateInfo info{.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                          .pNext = &features.core,
                          .queueCreateInfoCount = 1,
                          .pQueueCreateInfos = &queue_info,
                          .enabledExtensionCount = static_cast<std::uint32_t>(names.size()),
                          .ppEnabledExtensionNames = names.data()};
  HALYARD_TRY(check("vkCreateDevice",
                    device.instance->vk().CreateDevice(device.physical, &info, nullptr, &device.handle)));
  device.is_ours = true;
  HALYARD_TRY(load_functions(device));
  for (std::uint32_t i = 0; i < queues; ++i) {
    auto queue = std::make_unique<VulkanQueue>();
    device.vk.GetDeviceQueue(device.handle, device.facts.compute_family, i, &queue->handle);
    device.vulkan_queues.push_back(std::move(queue));
  }
  return {};
}

Status adopt_device(HyDevice& device, const HyForeignContext& foreign) {
  if (foreign.kind != HY_FOREIGN_VULKAN || !foreign.context || !foreign.instance || !foreign.physical_device)
    return fail(ErrorCode::invalid_argument,
                "vulkan: device_open: a foreign context needs kind HY_FOREIGN_VULKAN, a VkInstance, a "
                "VkPhysicalDevice and a VkDevice");
  HALYARD_ASSIGN(device.instance,
                 Instance::wrap(static_cast<VkInstance>(foreign.instance),
                                foreign.api_version ? foreign.api_version : VK_API_VERSION_1_2,
                                reinterpret_cast<PFN_vkGetInstanceProcAddr>(foreign.get_proc_address)));
  device.physical = static_cast<VkPhysicalDevice>(foreign.physical_device);
  HALYARD_TRY(describe_device(*device.instance, device.physical, device.facts));
  restrict_to_enabled(foreign.features, foreign.extensions, foreign.extension_count, device.facts);
  device.facts.compute_family = foreign.queue_family;
  if (!device.facts.features.timeline_semaphore)
    return fail(
        ErrorCode::unsupported,
        "vulkan: device_open: the foreign VkDevice was made without timelineSemaphore; enable it (every "
        "Vulkan 1.2 device has it) and pass the feature chain in HyForeignContext::features");
  device.handle = static_cast<VkDevice>(foreign.context);
  return load_functions(device);
}

bool wants_validation() {
  const char* value = std::getenv("HALYARD_VALIDATE");
  return value && std::string_view(value) != "0" && *value;
}

Status open(const HyDeviceDesc& desc, HyDevice& device) {
#ifdef NDEBUG
  device.debug = desc.debug || wants_validation();
#else
  device.debug = true;
#endif
  if (desc.foreign && desc.foreign->kind != HY_FOREIGN_NONE) {
    HALYARD_TRY(adopt_device(device, *desc.foreign));
  } else {
    bool layer = desc.debug || wants_validation();
    HALYARD_ASSIGN(device.instance, layer ? Instance::create(true) : Instance::shared());
    HALYARD_ASSIGN(auto physical, device.instance->physical_devices());
    if (desc.ordinal >= physical.size())
      return fail(ErrorCode::not_found, fmt::format("vulkan: device_open: there is no device {}; {} exist",
                                                    desc.ordinal, physical.size()));
    device.physical = physical[desc.ordinal];
    HALYARD_TRY(describe_device(*device.instance, device.physical, device.facts));
    HALYARD_TRY(make_device(device));
  }
  fill_info(device.facts);
  HALYARD_ASSIGN(device.empty_buffer, create_buffer(device, 256, HY_MEMORY_DEVICE));
  return {};
}

/// What this process may still allocate of the heap of device buffers: its budget less what it has allocated.
Result<std::int64_t> free_bytes(const HyDevice& device) {
  if (!device.facts.extensions.memory_budget)
    return fail(ErrorCode::unsupported,
                "vulkan: memory.free_bytes needs VK_EXT_memory_budget, which this device or its maker does "
                "not give");
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
  VkPhysicalDeviceMemoryProperties2 memory{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2,
                                           .pNext = &budget};
  device.instance->vk().GetPhysicalDeviceMemoryProperties2(device.physical, &memory);
  std::uint32_t type = device.facts.memory_types[HY_MEMORY_DEVICE];
  std::uint32_t heap = memory.memoryProperties.memoryTypes[type].heapIndex;
  std::uint64_t all = budget.heapBudget[heap], used = budget.heapUsage[heap];
  return static_cast<std::int64_t>(all - std::min(all, used));
}

std::int64_t as_integer(const void* handle) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(handle));
}

}  // namespace

HyStatus enumerate(HyDeviceSummary* summaries, std::uint32_t capacity, std::uint32_t* count, HyError* error) {
  return at_border(error, [&]() -> Status {
    *count = 0;
    HALYARD_ASSIGN(auto instance, Instance::shared());
    HALYARD_ASSIGN(auto physical, instance->physical_devices());
    if (physical.empty())
      return fail(ErrorCode::not_found,
                  "no Vulkan 1.2 driver found: install your GPU's driver, or a software one (Debian: "
                  "mesa-vulkan-drivers)");
    *count = static_cast<std::uint32_t>(physical.size());
    for (std::uint32_t i = 0; i < std::min(capacity, *count); ++i) {
      DeviceFacts facts;
      if (Status described = describe_device(*instance, physical[i], facts); !described) continue;
      write_sized(summarize(facts), &summaries[i]);
    }
    return {};
  });
}

HyStatus device_open(const HyDeviceDesc* desc, HyDevice** device, HyError* error) {
  return at_border(error, [&]() -> Status {
    auto opened = std::make_unique<HyDevice>();
    HALYARD_TRY(open(*desc, *opened));
    *device = opened.release();
    return {};
  });
}

void device_close(HyDevice* device) {
  delete device;
}

HyStatus device_info(HyDevice* device, HyDeviceInfo* info, HyError* error) {
  return at_border(error, [&]() -> Status {
    write_sized(device->facts.info, info);
    return {};
  });
}

HyStatus device_property(HyDevice* device, const char* key, HyProperty* property, HyError* error) {
  return at_border(error, [&]() -> Status {
    std::string_view name = key;
    property->kind = HY_PROPERTY_INTEGER;
    if (name == "vulkan.device")
      property->integer = as_integer(device->handle);
    else if (name == "vulkan.instance")
      property->integer = as_integer(device->instance->handle());
    else if (name == "vulkan.physical_device")
      property->integer = as_integer(device->physical);
    else if (name == "vulkan.queue_family")
      property->integer = device->facts.compute_family;
    else if (name == "memory.free_bytes") {
      HALYARD_ASSIGN(property->integer, free_bytes(*device));
    } else if (name == "vulkan.validation_layer")
      property->integer = device->instance->has_validation_layer();
    else if (name == "vulkan.validation_messages")
      property->integer = device->instance->validation_messages();
    else
      return fail(
          ErrorCode::not_found,
          fmt::format(
              "vulkan: no property \"{}\"; there are memory.free_bytes, vulkan.device, vulkan.instance, "
              "vulkan.physical_device, vulkan.queue_family, vulkan.validation_layer, "
              "vulkan.validation_messages",
              name));
    return {};
  });
}

HyStatus device_status(HyDevice* device, HyError* error) {
  return at_border(error, [&] { return device->status(); });
}

const HyFaultInjection* fault_injection() {
  static const HyFaultInjection table{
      sizeof(HyFaultInjection), 0,
      [](HyDevice* device, std::uint32_t fault, std::uint32_t after) { return device->arm(fault, after); }};
  return &table;
}

}  // namespace halyard::vulkan
