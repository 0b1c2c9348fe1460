#pragma once

#include <halyard/base/result.h>
#include <halyard/hal/plugin.h>
#include <cstdint>
#include "vulkan_functions.h"

/// A range of a VkBuffer. Immutable once made.
struct HyBuffer {
  HyDevice* device = nullptr;
  VkBuffer handle = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  bool is_ours = true;                              ///< false: the caller's VkBuffer
  VkExternalMemoryHandleTypeFlags exported_as = 0;  ///< the kind of descriptor it was announced for
  std::uint64_t id = 0;                             ///< never used again, unlike an address
  std::uint64_t base = 0;                           ///< where the range begins in the VkBuffer
  std::uint64_t bytes = 0;                          ///< as asked for
  std::uint64_t usable_bytes =
      0;                      ///< what descriptors may span from `base`: `bytes` rounded up where it is ours
  std::uint64_t address = 0;  ///< of the range's first byte; 0 if it has none
  void* host = nullptr;       ///< of the range's first byte; null if not mapped
};

namespace halyard::vulkan {

Result<HyBuffer*> create_buffer(HyDevice& device, std::uint64_t bytes, std::uint32_t memory,
                                VkExternalMemoryHandleTypeFlags exported_as = 0);
HyStatus buffer_create(HyDevice* device, const HyBufferDesc* desc, HyBuffer** buffer, HyError* error);
void buffer_destroy(HyBuffer* buffer);
HyStatus buffer_map(HyBuffer* buffer, void** pointer, HyError* error);
HyStatus buffer_import(HyDevice* device, const HyHandle* handle, HyBuffer** buffer, HyError* error);
HyStatus buffer_export(HyBuffer* buffer, HyHandle* handle, HyError* error);

}  // namespace halyard::vulkan
