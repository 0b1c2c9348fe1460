#pragma once

#include <halyard/base/result.h>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>
#include "vulkan_functions.h"

namespace halyard::vulkan {

/// The name under which a module's compiled form travels: its SPIR-V and what the driver kept of the
/// pipelines made from it. Halyard's disk cache holds it, with its checksum, bound and eviction.
inline constexpr const char* native_format = "vulkan-pipelines";

struct PipelineImage {
  std::vector<std::uint32_t> words;    ///< SPIR-V
  std::vector<std::byte> driver_data;  ///< of vkGetPipelineCacheData
};
std::vector<std::byte> pack_image(std::span<const std::uint32_t> words,
                                  std::span<const std::byte> driver_data);
/// `corrupt_data` if the lengths do not fit, or the driver's data is of another driver (its
/// pipelineCacheUUID).
Result<PipelineImage> unpack_image(std::span<const std::byte> bytes,
                                   const VkPhysicalDeviceProperties& properties);

/// A VkPipelineCache while one module's pipelines are made. Not thread-safe.
class PipelineCache {
 public:
  PipelineCache(VkDevice device, const DeviceFunctions& vk) : device_(device), vk_(vk) {}
  ~PipelineCache();
  PipelineCache(const PipelineCache&) = delete;
  PipelineCache& operator=(const PipelineCache&) = delete;

  /// Begins with what a driver kept earlier; may be empty.
  VkResult open(std::span<const std::byte> kept);
  VkPipelineCache handle() const { return handle_; }
  /// What the driver keeps of the pipelines made so far; empty if it cannot say.
  std::vector<std::byte> data() const;

 private:
  VkDevice device_;
  const DeviceFunctions& vk_;
  VkPipelineCache handle_ = VK_NULL_HANDLE;
};

}  // namespace halyard::vulkan
