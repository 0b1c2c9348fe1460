#include "host_memory.h"

#include <halyard/hal/device.h>

namespace halyard::fusion {
namespace {

/// Whether the device's memory is the host's: mapping it is no window to another card.
bool computes_in_host_memory(const hal::DeviceInfo& info) {
  return info.type == hal::DeviceType::cpu && info.host_visible_device_memory;
}

/// The tensor's own memory as a buffer; an error where the device cannot use it (its alignment, say).
Result<std::shared_ptr<hal::Buffer>> in_place(const ops::HostTensor& tensor, hal::Device& device) {
  // A software driver makes an object of its own for each import, which costs more than a small copy.
  if (!computes_in_host_memory(device.info()) || device.info().software)
    return fail(ErrorCode::unsupported, "the device has memory of its own");
  const HyHandle handle{.size = sizeof handle,
                        .kind = HY_HANDLE_HOST_POINTER,
                        .value = reinterpret_cast<std::uint64_t>(tensor.data()),
                        .bytes = tensor.byte_count()};
  return device.import_memory(handle, std::make_shared<ops::HostTensor>(tensor));
}

}  // namespace

Result<DeviceTensor> to_device(const ops::HostTensor& tensor, hal::Queue& queue) {
  DeviceTensor result{tensor.element(), tensor.shape(), {}};
  if (tensor.byte_count() > 0) {
    if (auto shared = in_place(tensor, *queue.device())) {
      result.slice = hal::BufferSlice(std::move(*shared));
      return result;
    }
  }
  HALYARD_ASSIGN(auto buffer, queue.device()->allocate(
                                  hal::BufferDesc{.bytes = tensor.byte_count(), .first_queue = &queue}));
  result.slice = hal::BufferSlice(std::move(buffer));
  if (tensor.byte_count() == 0) return result;
  auto uploaded = queue.upload(tensor.bytes(), result.slice);
  if (!uploaded) return tl::unexpected<Error>(uploaded.error());
  return result;
}

Result<ops::HostTensor> to_host(const DeviceTensor& tensor, hal::Queue& queue) {
  const hal::BufferSlice& slice = tensor.slice;
  const std::byte* mapped = slice.bytes > 0 ? slice.buffer->host_pointer() : nullptr;
  if (mapped && computes_in_host_memory(queue.device()->info())) {
    HALYARD_TRY(queue.wait_idle());
    return ops::HostTensor::wrap(tensor.element, tensor.shape, slice.buffer, mapped + slice.offset);
  }
  HALYARD_ASSIGN(ops::HostTensor host, ops::HostTensor::allocate(tensor.element, tensor.shape));
  if (host.byte_count() > 0) HALYARD_TRY(queue.download(slice, {host.mutable_data(), host.byte_count()}));
  return host;
}

}  // namespace halyard::fusion
