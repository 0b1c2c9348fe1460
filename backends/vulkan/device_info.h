#pragma once

#include <halyard/base/result.h>
#include <halyard/hal/plugin.h>
#include <string>
#include <vector>
#include "instance.h"
#include "vulkan_functions.h"

namespace halyard::vulkan {

/// Optional features as they are (to be) enabled on the VkDevice.
struct Features {
  bool int16 = false, int64 = false, float64 = false;
  bool int8 = false, float16 = false;
  bool storage8 = false, storage16 = false;
  bool timeline_semaphore = false;
  bool device_address = false;
  bool subgroup_size_control = false, full_subgroups = false;
  bool host_query_reset = false;
};

/// Optional extensions that are (to be) enabled.
struct Extensions {
  bool push_descriptor = false;
  bool external_memory_fd = false;
  bool external_memory_dma_buf = false;
  bool memory_budget = false;
  bool external_memory_host = false;
  bool external_semaphore_fd = false;
  bool subgroup_size_control = false;
};

/// Everything known of a physical device, with the strings that `info` points to. Not moved once `info` is
/// filled.
struct DeviceFacts {
  VkPhysicalDeviceProperties properties{};
  VkPhysicalDeviceMemoryProperties memory{};
  Features features;
  Extensions extensions;
  /// Storage buffers can be given out, and taken, as DMA-buf descriptors.
  bool buffers_as_dma_buf = false;
  /// Timeline semaphores can be given out, and taken, as opaque file descriptors.
  bool timelines_as_fd = false;
  std::uint32_t compute_family = 0;
  std::uint32_t compute_queue_count = 1;
  std::uint32_t timestamp_bits = 0;
  std::uint32_t subgroup_size_min = 0, subgroup_size_max = 0;
  bool subgroup_size_in_compute = false;
  std::uint32_t max_push_descriptors = 0;
  std::uint64_t host_pointer_alignment = 0;
  std::uint32_t memory_types[3] = {0, 0, 0};  ///< by HY_MEMORY_…
  std::string name, vendor, driver, driver_version, architecture, alias;
  HyDeviceInfo info{};

  bool is_mappable(std::uint32_t memory_type) const {
    constexpr VkMemoryPropertyFlags needed =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    return (memory.memoryTypes[memory_type].propertyFlags & needed) == needed;
  }
};

/// The feature structs of a vkCreateDevice call, linked. Not moved once linked.
struct FeatureChain {
  VkPhysicalDeviceFeatures2 core{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  VkPhysicalDeviceVulkan11Features vulkan11{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES};
  VkPhysicalDeviceVulkan12Features vulkan12{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceSubgroupSizeControlFeaturesEXT subgroup_size{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES_EXT};
  void link(bool with_subgroup_size);
};

/// What the device offers.
Status describe_device(const Instance& instance, VkPhysicalDevice physical, DeviceFacts& facts);

/// What a host program enabled on the device that it made: `chain` is the VkPhysicalDeviceFeatures2 that it
/// gave to vkCreateDevice (or null), `names` its extensions. Call after `describe_device`.
void restrict_to_enabled(const void* chain, const char* const* names, std::uint32_t name_count,
                         DeviceFacts& facts);

/// Fills `facts.info` from the rest.
void fill_info(DeviceFacts& facts);

/// Sets the structs to exactly what `facts.features` names.
void request_features(const Features& features, FeatureChain& chain);

/// The device as listings show it.
HyDeviceSummary summarize(const DeviceFacts& facts);

}  // namespace halyard::vulkan
