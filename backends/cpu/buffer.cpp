#include "buffer.h"
#include <fmt/format.h>
#include <sys/mman.h>
#include <memory>
#include <new>
#include "device.h"
#include "error.h"

namespace halyard::cpu {
namespace {

constexpr std::size_t plain_alignment = 64;
constexpr std::uint64_t huge_page = std::uint64_t{2} << 20;

void* allocate(std::size_t bytes, std::size_t alignment) {
  const HyHost* from = host();
  if (from && from->allocate) return from->allocate(from->user_data, bytes, alignment);
  return ::operator new(bytes, std::align_val_t{alignment}, std::nothrow);
}

void release(void* memory, std::size_t bytes, std::size_t alignment) {
  const HyHost* from = host();
  if (from && from->allocate && from->release)
    return from->release(from->user_data, memory, bytes, alignment);
  ::operator delete(memory, std::align_val_t{alignment});
}

}  // namespace

HyStatus buffer_create(HyDevice* device, const HyBufferDesc* desc, HyBuffer** buffer, HyError* error) {
  return at_border(error, [&]() -> Status {
    HALYARD_TRY(device->status());
    if (desc->bytes == 0)
      return fail(ErrorCode::invalid_argument, "cpu: buffer_create: a buffer has at least 1 byte");
    if ((read_sized(desc).export_kinds & ~(1u << HY_HANDLE_HOST_POINTER)) != 0)
      return fail(ErrorCode::unsupported,
                  "cpu: buffer_create: memory is given out as a host pointer only; import one of another "
                  "interface instead");
    if (device->fault_fires(HY_FAULT_OUT_OF_MEMORY))
      return fail(ErrorCode::out_of_memory,
                  fmt::format("cpu: buffer_create: {} bytes refused (an injected fault)", desc->bytes));
    // Linux promises more memory than it has; what could never be backed is refused here.
    std::uint64_t most = device->facts.info.max_allocation_bytes;
    auto made = std::make_unique<HyBuffer>();
    made->device = device;
    made->bytes = desc->bytes;
    if (desc->bytes <= most) {
      bool large = desc->bytes >= 2 * huge_page;
      made->alignment = large ? huge_page : plain_alignment;
      made->allocated = (desc->bytes + plain_alignment - 1) / plain_alignment * plain_alignment;
      made->memory = static_cast<std::byte*>(allocate(made->allocated, made->alignment));
      if (made->memory && large)
        madvise(made->memory, made->allocated / huge_page * huge_page, MADV_HUGEPAGE);
    }
    if (!made->memory)
      return fail(
          ErrorCode::out_of_memory,
          fmt::format(
              "cpu: buffer_create: {} bytes asked, {} available of {}: free buffers or use smaller ones",
              desc->bytes, available_memory_bytes(), most));
    *buffer = made.release();
    return {};
  });
}

void buffer_destroy(HyBuffer* buffer) {
  if (!buffer) return;
  if (buffer->allocated) release(buffer->memory, buffer->allocated, buffer->alignment);
  delete buffer;
}

HyStatus buffer_map(HyBuffer* buffer, void** pointer, HyError*) {
  *pointer = buffer->memory;
  return HY_OK;
}

HyStatus buffer_import(HyDevice* device, const HyHandle* handle, HyBuffer** buffer, HyError* error) {
  return at_border(error, [&]() -> Status {
    HALYARD_TRY(device->status());
    if (handle->kind != HY_HANDLE_HOST_POINTER && handle->kind != HY_HANDLE_DEVICE_POINTER)
      return fail(
          ErrorCode::unsupported,
          fmt::format("cpu: buffer_import: handles of kind {} are not known; map the memory and import the "
                      "pointer",
                      handle->kind));
    std::uint64_t address = handle->value + handle->offset;
    if (handle->value == 0 || handle->bytes == 0)
      return fail(ErrorCode::invalid_argument, "cpu: buffer_import: null pointer or no bytes");
    if (address % plain_alignment != 0)
      return fail(
          ErrorCode::invalid_argument,
          fmt::format(
              "cpu: buffer_import: the address {:#x} is not a multiple of {}, which kernels count on: "
              "copy the data into a buffer instead",
              address, plain_alignment));
    auto made = std::make_unique<HyBuffer>();
    made->device = device;
    made->memory = reinterpret_cast<std::byte*>(address);
    made->bytes = handle->bytes;
    *buffer = made.release();
    return {};
  });
}

HyStatus buffer_export(HyBuffer* buffer, HyHandle* handle, HyError* error) {
  return at_border(error, [&]() -> Status {
    if (handle->kind != HY_HANDLE_HOST_POINTER && handle->kind != HY_HANDLE_DEVICE_POINTER)
      return fail(ErrorCode::unsupported,
                  fmt::format("cpu: buffer_export: only pointers can be given out, not handles of kind {}",
                              handle->kind));
    handle->fd = -1;
    handle->value = reinterpret_cast<std::uint64_t>(buffer->memory);
    handle->bytes = buffer->bytes;
    handle->offset = 0;
    return {};
  });
}

}  // namespace halyard::cpu
