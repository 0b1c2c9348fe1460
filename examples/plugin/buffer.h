#pragma once

#include <halyard/hal/plugin.h>
#include <cstddef>
#include <cstdint>

/// Host memory that kernels read and write.
struct HyBuffer {
  std::byte* memory = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t allocated = 0;  ///< 0: imported, not ours to release
};

namespace halyard::interpreter {

HyStatus buffer_create(HyDevice* device, const HyBufferDesc* desc, HyBuffer** buffer, HyError* error);
void buffer_destroy(HyBuffer* buffer);
HyStatus buffer_map(HyBuffer* buffer, void** pointer, HyError* error);
HyStatus buffer_import(HyDevice* device, const HyHandle* handle, HyBuffer** buffer, HyError* error);

}  // namespace halyard::interpreter
