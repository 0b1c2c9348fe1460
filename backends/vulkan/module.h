#pragma once

#include <halyard/base/result.h>
#include <halyard/hal/plugin.h>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>
#include "vulkan_functions.h"

namespace halyard::vulkan {

/// One pipeline and what a dispatch of it must bind.
struct Kernel {
  std::string entry;
  std::uint32_t workgroup_size[3] = {1, 1, 1};
  std::uint32_t buffer_count = 0;
  std::uint32_t scalar_bytes = 0;
  std::uint64_t written_buffers = 0, read_buffers = 0;
  bool by_address = false;         ///< slices are addresses in the push constants
  bool scalars_by_buffer = false;  ///< the scalar block is the storage buffer at binding `buffer_count`
  std::uint32_t push_bytes = 0;
  std::uint32_t descriptor_count = 0;
  bool push_descriptors = false;
  VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkPipeline pipeline = VK_NULL_HANDLE;

  bool writes(std::uint32_t buffer) const { return buffer >= 64 || (written_buffers >> buffer & 1); }
};

}  // namespace halyard::vulkan

/// Loaded SPIR-V and its pipelines. Immutable once made.
struct HyModule {
  explicit HyModule(HyDevice& the_device) : device(the_device) {}
  ~HyModule();
  HyModule(const HyModule&) = delete;
  HyModule& operator=(const HyModule&) = delete;

  HyDevice& device;
  std::vector<halyard::vulkan::Kernel> kernels;
  std::vector<std::byte> native;  ///< what module_get_native gives: see pipeline_cache.h
};

namespace halyard::vulkan {

HyStatus module_create(HyDevice* device, const HyModuleDesc* desc, HyModule** module, HyError* error);
void module_destroy(HyModule* module);
HyStatus module_get_native(HyModule* module, const char** format, const void** bytes, std::size_t* byte_count,
                           HyError* error);

}  // namespace halyard::vulkan
