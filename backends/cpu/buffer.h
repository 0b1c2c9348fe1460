#pragma once

#include <halyard/hal/plugin.h>
#include <cstddef>
#include <cstdint>

/// Host memory that kernels use. Immutable but for its contents.
struct HyBuffer {
  HyDevice* device = nullptr;
  std::byte* memory = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t allocated = 0;  // 0: imported, the memory stays its owner's
  std::size_t alignment = 0;
};

namespace halyard::cpu {

HyStatus buffer_create(HyDevice* device, const HyBufferDesc* desc, HyBuffer** buffer, HyError* error);
void buffer_destroy(HyBuffer* buffer);
HyStatus buffer_map(HyBuffer* buffer, void** pointer, HyError* error);
HyStatus buffer_import(HyDevice* device, const HyHandle* handle, HyBuffer** buffer, HyError* error);
HyStatus buffer_export(HyBuffer* buffer, HyHandle* handle, HyError* error);

}  // namespace halyard::cpu
