#include "buffer.h"

#include <memory>

#include "device.h"
#include "error.h"

namespace halyard::interpreter {

HyStatus buffer_create(HyDevice* device, const HyBufferDesc* desc, HyBuffer** buffer, HyError* error) {
  return at_border(error, [&]() -> Status {
    HALYARD_TRY(device->status());
    const HyBufferDesc known = read_sized(desc);
    if (known.bytes == 0)
      return fail(ErrorCode::invalid_argument, "interpreter: buffer_create: a buffer has at least 1 byte");
    const std::string asked = "interpreter: buffer_create: " + std::to_string(known.bytes) + " bytes ";
    if (device->fault_fires(HY_FAULT_OUT_OF_MEMORY))
      return fail(ErrorCode::out_of_memory, asked + "refused (an injected fault)");
    HyDeviceInfo info{};
    info.size = sizeof info;
    device_info(device, &info, nullptr);
    auto made = std::make_unique<HyBuffer>();
    made->bytes = known.bytes;
    if (known.bytes <= info.max_allocation_bytes) {
      made->allocated =
          (known.bytes + Model::storage_alignment - 1) / Model::storage_alignment * Model::storage_alignment;
      made->memory = static_cast<std::byte*>(
          host()->allocate(host()->user_data, made->allocated, Model::storage_alignment));
    }
    if (!made->memory)
      return fail(ErrorCode::out_of_memory, asked + "cannot be had; one buffer has at most " +
                                                std::to_string(info.max_allocation_bytes) +
                                                ": use smaller ones");
    *buffer = made.release();
    return {};
  });
}

void buffer_destroy(HyBuffer* buffer) {
  if (!buffer) return;
  if (buffer->allocated)
    host()->release(host()->user_data, buffer->memory, buffer->allocated, Model::storage_alignment);
  delete buffer;
}

HyStatus buffer_map(HyBuffer* buffer, void** pointer, HyError*) {
  *pointer = buffer->memory;
  return HY_OK;
}

HyStatus buffer_import(HyDevice* device, const HyHandle* handle, HyBuffer** buffer, HyError* error) {
  return at_border(error, [&]() -> Status {
    HALYARD_TRY(device->status());
    const HyHandle known = read_sized(handle);
    if (known.kind != HY_HANDLE_HOST_POINTER)
      return fail(ErrorCode::unsupported,
                  "interpreter: buffer_import: only host pointers can be imported: map the memory first");
    if (known.value == 0 || known.bytes == 0)
      return fail(ErrorCode::invalid_argument, "interpreter: buffer_import: a null pointer or no bytes");
    *buffer = new HyBuffer{reinterpret_cast<std::byte*>(known.value + known.offset), known.bytes, 0};
    return {};
  });
}

}  // namespace halyard::interpreter
