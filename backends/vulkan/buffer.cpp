#include "buffer.h"
#include <fmt/format.h>
#include <algorithm>
#include <memory>
#include "device.h"
#include "error.h"

namespace halyard::vulkan {
namespace {

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t step) {
  return (value + step - 1) / step * step;
}

struct BufferCloser {
  void operator()(HyBuffer* buffer) const { buffer_destroy(buffer); }
};
using OwnedBuffer = std::unique_ptr<HyBuffer, BufferCloser>;

VkBufferUsageFlags usage(const HyDevice& device) {
  VkBufferUsageFlags flags = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                             VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  if (device.facts.features.device_address) flags |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  return flags;
}

OwnedBuffer new_buffer(HyDevice& device, std::uint64_t bytes) {
  OwnedBuffer buffer(new HyBuffer);
  buffer->device = &device;
  buffer->id = device.next_id++;
  buffer->bytes = buffer->usable_bytes = bytes;
  return buffer;
}

Status make_vulkan_buffer(HyBuffer& buffer, std::uint64_t bytes, const void* chain) {
  HyDevice& device = *buffer.device;
  VkBufferCreateInfo info{.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                          .pNext = chain,
                          .size = bytes,
                          .usage = usage(device),
                          .sharingMode = VK_SHARING_MODE_EXCLUSIVE};
  return device.check("vkCreateBuffer",
                      device.vk.CreateBuffer(device.handle, &info, nullptr, &buffer.handle));
}

/// Allocates (or, by `chain`, imports) memory and binds it.
Status attach_memory(HyBuffer& buffer, std::uint64_t bytes, std::uint32_t type, const void* chain) {
  HyDevice& device = *buffer.device;
  VkMemoryAllocateFlagsInfo flags{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                  .pNext = chain,
                                  .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
  VkMemoryAllocateInfo info{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                            .pNext = device.facts.features.device_address ? &flags : chain,
                            .allocationSize = bytes,
                            .memoryTypeIndex = type};
  VkResult result = device.vk.AllocateMemory(device.handle, &info, nullptr, &buffer.memory);
  if (result != VK_SUCCESS) {
    auto failed = device.failure("vkAllocateMemory", result);
    failed.value().message += fmt::format(" ({} bytes asked of memory type {})", bytes, type);
    return failed;
  }
  HALYARD_TRY(device.check("vkBindBufferMemory",
                           device.vk.BindBufferMemory(device.handle, buffer.handle, buffer.memory, 0)));
  if (device.facts.features.device_address) {
    VkBufferDeviceAddressInfo address{.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                      .buffer = buffer.handle};
    buffer.address = device.vk.GetBufferDeviceAddress(device.handle, &address) + buffer.base;
  }
  return {};
}

Status map(HyBuffer& buffer) {
  HyDevice& device = *buffer.device;
  void* first = nullptr;
  HALYARD_TRY(device.check("vkMapMemory",
                           device.vk.MapMemory(device.handle, buffer.memory, 0, VK_WHOLE_SIZE, 0, &first)));
  buffer.host = static_cast<char*>(first) + buffer.base;
  return {};
}

/// A memory type among `allowed`, preferably the one of device buffers.
Result<std::uint32_t> memory_type_among(const HyDevice& device, std::uint32_t allowed) {
  for (std::uint32_t preferred : device.facts.memory_types)
    if (allowed & (1u << preferred)) return preferred;
  for (std::uint32_t i = 0; i < device.facts.memory.memoryTypeCount; ++i)
    if (allowed & (1u << i)) return i;
  return fail(ErrorCode::unsupported, "vulkan: no memory type takes this import");
}

Result<HyBuffer*> import_host_pointer(HyDevice& device, const HyHandle& handle) {
  if (!device.facts.extensions.external_memory_host || !device.vk.GetMemoryHostPointerPropertiesEXT)
    return fail(ErrorCode::unsupported,
                "vulkan: buffer_import of host memory needs VK_EXT_external_memory_host; copy instead");
  std::uint64_t step = device.facts.host_pointer_alignment;
  std::uint64_t begin = handle.value + handle.offset;
  std::uint64_t first = handle.value / step * step;
  if (first != handle.value)
    return fail(ErrorCode::invalid_argument,
                fmt::format("vulkan: buffer_import: a host pointer must be aligned to {} bytes", step));
  std::uint64_t whole = round_up(handle.offset + handle.bytes, step);
  constexpr auto type = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
  auto* pointer = reinterpret_cast<void*>(first);
  VkMemoryHostPointerPropertiesEXT properties{.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
  HALYARD_TRY(
      device.check("vkGetMemoryHostPointerPropertiesEXT",
                   device.vk.GetMemoryHostPointerPropertiesEXT(device.handle, type, pointer, &properties)));
  OwnedBuffer buffer = new_buffer(device, handle.bytes);
  buffer->base = begin - first;
  buffer->usable_bytes = whole - buffer->base;
  VkExternalMemoryBufferCreateInfo external{.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
                                            .handleTypes = type};
  HALYARD_TRY(make_vulkan_buffer(*buffer, whole, &external));
  VkMemoryRequirements requirements;
  device.vk.GetBufferMemoryRequirements(device.handle, buffer->handle, &requirements);
  HALYARD_ASSIGN(std::uint32_t memory_type,
                 memory_type_among(device, properties.memoryTypeBits & requirements.memoryTypeBits));
  VkImportMemoryHostPointerInfoEXT import{.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
                                          .handleType = type,
                                          .pHostPointer = pointer};
  HALYARD_TRY(attach_memory(*buffer, whole, memory_type, &import));
  buffer->host = reinterpret_cast<void*>(begin);
  return buffer.release();
}

VkExternalMemoryHandleTypeFlagBits descriptor_type(std::uint32_t handle_kind) {
  return handle_kind == HY_HANDLE_DMA_BUF_FD ? VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT
                                             : VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
}

/// The kind of descriptor that `export_kinds` announces, 0 for none.
Result<VkExternalMemoryHandleTypeFlags> announced_descriptor(const HyDevice& device, std::uint32_t memory,
                                                             std::uint32_t export_kinds) {
  const bool opaque = (export_kinds & (1u << HY_HANDLE_OPAQUE_FD)) != 0;
  const bool dma_buf = (export_kinds & (1u << HY_HANDLE_DMA_BUF_FD)) != 0;
  if (!opaque && !dma_buf) return 0;
  const bool offered = dma_buf ? device.facts.buffers_as_dma_buf : device.facts.extensions.external_memory_fd;
  if (memory != HY_MEMORY_DEVICE || !offered || (opaque && dma_buf))
    return fail(
        ErrorCode::unsupported,
        fmt::format("vulkan: buffer_create: {} gives out device memory as one kind of descriptor: an "
                    "opaque one ({}) or a DMA-buf ({}); copy instead",
                    device.facts.name, device.facts.extensions.external_memory_fd ? "offered" : "not offered",
                    device.facts.buffers_as_dma_buf ? "offered" : "not offered"));
  return descriptor_type(dma_buf ? HY_HANDLE_DMA_BUF_FD : HY_HANDLE_OPAQUE_FD);
}

Result<HyBuffer*> import_descriptor(HyDevice& device, const HyHandle& handle) {
  if (!device.facts.extensions.external_memory_fd)
    return fail(ErrorCode::unsupported,
                "vulkan: buffer_import of a descriptor needs VK_KHR_external_memory_fd");
  const bool dma_buf = handle.kind == HY_HANDLE_DMA_BUF_FD;
  if (dma_buf && (!device.facts.buffers_as_dma_buf || !device.vk.GetMemoryFdPropertiesKHR))
    return fail(ErrorCode::unsupported,
                fmt::format("vulkan: buffer_import: {} takes no DMA-buf as storage buffer; give an opaque "
                            "descriptor or copy",
                            device.facts.name));
  if (handle.fd < 0 || !handle.bytes)
    return fail(ErrorCode::invalid_argument,
                fmt::format("vulkan: buffer_import: descriptor {} of {} bytes; give an open one and the "
                            "buffer's extent",
                            handle.fd, handle.bytes));
  const auto type = descriptor_type(handle.kind);
  std::uint64_t whole = round_up(handle.offset + handle.bytes, 16);  // as `create_buffer` made it
  OwnedBuffer buffer = new_buffer(device, handle.bytes);
  buffer->base = handle.offset;
  VkExternalMemoryBufferCreateInfo external{.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
                                            .handleTypes = type};
  HALYARD_TRY(make_vulkan_buffer(*buffer, whole, &external));
  VkMemoryRequirements requirements;
  device.vk.GetBufferMemoryRequirements(device.handle, buffer->handle, &requirements);
  std::uint32_t allowed = requirements.memoryTypeBits;
  if (dma_buf) {  // an opaque one is of the type that its maker chose, which the same driver chooses again
    VkMemoryFdPropertiesKHR properties{.sType = VK_STRUCTURE_TYPE_MEMORY_FD_PROPERTIES_KHR};
    HALYARD_TRY(device.check("vkGetMemoryFdPropertiesKHR", device.vk.GetMemoryFdPropertiesKHR(
                                                               device.handle, type, handle.fd, &properties)));
    allowed &= properties.memoryTypeBits;
  }
  HALYARD_ASSIGN(std::uint32_t memory_type, memory_type_among(device, allowed));
  VkImportMemoryFdInfoKHR import{
      .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR, .handleType = type, .fd = handle.fd};
  HALYARD_TRY(attach_memory(*buffer, requirements.size, memory_type, &import));
  if (device.facts.is_mappable(memory_type)) HALYARD_TRY(map(*buffer));
  return buffer.release();
}

Result<HyBuffer*> import_vulkan_buffer(HyDevice& device, const HyHandle& handle) {
  if (!handle.value || !handle.bytes)
    return fail(ErrorCode::invalid_argument,
                "vulkan: buffer_import of a VkBuffer needs it in `value` and its extent in `bytes`");
  OwnedBuffer buffer = new_buffer(device, handle.bytes);
  buffer->handle = reinterpret_cast<VkBuffer>(handle.value);
  buffer->is_ours = false;
  buffer->base = handle.offset;
  return buffer.release();
}

}  // namespace

Result<HyBuffer*> create_buffer(HyDevice& device, std::uint64_t bytes, std::uint32_t memory,
                                VkExternalMemoryHandleTypeFlags exported_as) {
  // Drivers may accept more than their limits and fail later (lavapipe does): the limit is checked here.
  if (bytes > device.facts.info.max_allocation_bytes)
    return fail(
        ErrorCode::out_of_memory,
        fmt::format("vulkan: buffer_create of {} bytes: {} allocates at most {} at once; split the buffer",
                    bytes, device.facts.name, device.facts.info.max_allocation_bytes));
  OwnedBuffer buffer = new_buffer(device, bytes);
  buffer->usable_bytes = round_up(bytes, 16);
  VkExternalMemoryBufferCreateInfo external{.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
                                            .handleTypes = exported_as};
  VkExportMemoryAllocateInfo exported{.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
                                      .handleTypes = exported_as};
  buffer->exported_as = exported_as;
  HALYARD_TRY(make_vulkan_buffer(*buffer, buffer->usable_bytes, exported_as ? &external : nullptr));
  VkMemoryRequirements requirements;
  device.vk.GetBufferMemoryRequirements(device.handle, buffer->handle, &requirements);
  std::uint32_t type = device.facts.memory_types[memory];
  if (!(requirements.memoryTypeBits & (1u << type))) {
    HALYARD_ASSIGN(type, memory_type_among(device, requirements.memoryTypeBits));
  }
  HALYARD_TRY(attach_memory(*buffer, requirements.size, type, exported_as ? &exported : nullptr));
  if (device.facts.is_mappable(type)) HALYARD_TRY(map(*buffer));
  return buffer.release();
}

HyStatus buffer_create(HyDevice* device, const HyBufferDesc* desc, HyBuffer** buffer, HyError* error) {
  return at_border(error, [&]() -> Status {
    HALYARD_TRY(device->status());
    if (desc->bytes == 0 || desc->memory > HY_MEMORY_READBACK)
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("vulkan: buffer_create: {} bytes of memory kind {}", desc->bytes, desc->memory));
    if (device->fault_fires(HY_FAULT_OUT_OF_MEMORY))
      return fail(ErrorCode::out_of_memory,
                  fmt::format("vulkan: buffer_create of {} bytes: simulated lack of memory", desc->bytes));
    std::uint32_t exports = read_sized(desc).export_kinds;
    HALYARD_ASSIGN(const auto exported_as, announced_descriptor(*device, desc->memory, exports));
    HALYARD_ASSIGN(*buffer, create_buffer(*device, desc->bytes, desc->memory, exported_as));
    return {};
  });
}

void buffer_destroy(HyBuffer* buffer) {
  const DeviceFunctions& vk = buffer->device->vk;
  if (buffer->is_ours && buffer->handle) vk.DestroyBuffer(buffer->device->handle, buffer->handle, nullptr);
  if (buffer->memory) vk.FreeMemory(buffer->device->handle, buffer->memory, nullptr);
  delete buffer;
}

HyStatus buffer_map(HyBuffer* buffer, void** pointer, HyError* error) {
  return at_border(error, [&]() -> Status {
    if (!buffer->host)
      return fail(ErrorCode::unsupported,
                  "vulkan: this memory cannot be mapped; copy through an upload or readback buffer");
    *pointer = buffer->host;
    return {};
  });
}

HyStatus buffer_import(HyDevice* device, const HyHandle* handle, HyBuffer** buffer, HyError* error) {
  return at_border(error, [&]() -> Status {
    HALYARD_TRY(device->status());
    switch (handle->kind) {
      case HY_HANDLE_HOST_POINTER: {
        HALYARD_ASSIGN(*buffer, import_host_pointer(*device, *handle));
        return {};
      }
      case HY_HANDLE_OPAQUE_FD:
      case HY_HANDLE_DMA_BUF_FD: {
        HALYARD_ASSIGN(*buffer, import_descriptor(*device, *handle));
        return {};
      }
      case HY_HANDLE_VENDOR_OBJECT: {
        HALYARD_ASSIGN(*buffer, import_vulkan_buffer(*device, *handle));
        return {};
      }
      default:
        return fail(ErrorCode::unsupported,
                    fmt::format("vulkan: buffer_import takes host pointers, file descriptors and VkBuffers, "
                                "not handles of kind {}",
                                handle->kind));
    }
  });
}

HyStatus buffer_export(HyBuffer* buffer, HyHandle* handle, HyError* error) {
  return at_border(error, [&]() -> Status {
    handle->bytes = buffer->bytes;
    handle->offset = 0;
    if (handle->kind == HY_HANDLE_VENDOR_OBJECT) {
      handle->value = reinterpret_cast<std::uint64_t>(buffer->handle);
      handle->offset = buffer->base;
      return {};
    }
    const bool descriptor = handle->kind == HY_HANDLE_OPAQUE_FD || handle->kind == HY_HANDLE_DMA_BUF_FD;
    if (descriptor && buffer->exported_as == descriptor_type(handle->kind)) {
      HyDevice& device = *buffer->device;
      VkMemoryGetFdInfoKHR info{.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
                                .memory = buffer->memory,
                                .handleType = descriptor_type(handle->kind)};
      return device.check("vkGetMemoryFdKHR", device.vk.GetMemoryFdKHR(device.handle, &info, &handle->fd));
    }
    if (handle->kind == HY_HANDLE_HOST_POINTER && buffer->host) {
      handle->value = reinterpret_cast<std::uint64_t>(buffer->host);
      return {};
    }
    if (handle->kind == HY_HANDLE_DEVICE_POINTER && buffer->address) {
      handle->value = buffer->address;
      return {};
    }
    return fail(
        ErrorCode::unsupported,
        fmt::format("vulkan: buffer_export: this buffer has no handle of kind {}; a VkBuffer always can be "
                    "had, a host pointer where it is mapped, an address where the device has them, a "
                    "descriptor where "
                    "HyBufferDesc::export_kinds asked for it",
                    handle->kind));
  });
}

}  // namespace halyard::vulkan
