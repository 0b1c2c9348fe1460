#include "halyard/hal/buffer.h"

#include "backend_call.h"
#include "buffer_storage.h"
#include "halyard/hal/device.h"
#include "memory_pool.h"

namespace halyard::hal {

Buffer::Buffer(std::unique_ptr<BufferStorage> storage) : storage_(std::move(storage)) {}

Buffer::~Buffer() {
  // The device may die with its last buffer, so it must outlive the pool's work here.
  const std::shared_ptr<Device> device = storage_->device;
  device->pool().release(*storage_);
  storage_.reset();
}

std::uint64_t Buffer::size() const {
  return storage_->size;
}
Memory Buffer::memory() const {
  return storage_->memory;
}
bool Buffer::imported() const {
  return storage_->imported;
}
const std::shared_ptr<Device>& Buffer::device() const {
  return storage_->device;
}
std::byte* Buffer::host_pointer() const {
  return storage_->host_pointer;
}
HyBuffer* Buffer::backend_buffer() const {
  return storage_->handle;
}
std::uint64_t Buffer::backend_offset() const {
  return storage_->offset;
}

void Buffer::used_until(const SyncPoint& point) const {
  std::lock_guard lock(storage_->mutex);
  storage_->uses.add(point);
}

bool Buffer::idle() const {
  std::lock_guard lock(storage_->mutex);
  return storage_->uses.ended();
}

Result<HyHandle> Buffer::export_memory(std::uint32_t handle_kind) const {
  const Device& device = *storage_->device;
  if (device.backend().buffer_export == nullptr)
    return tl::unexpected<Error>(missing_function(device.info().uri, "export memory"));
  if (storage_->handle == nullptr)
    return fail(ErrorCode::invalid_argument, device.info().uri + ": export memory: the buffer is empty");
  HyHandle handle{};
  handle.size = sizeof handle;
  handle.kind = handle_kind;
  BackendError error;
  HALYARD_TRY(to_status(device.backend().buffer_export(storage_->handle, &handle, &error), error,
                        device.info().uri, "export memory"));
  // The backend speaks of its whole allocation; this buffer is a part of it.
  handle.offset += storage_->offset;
  if (handle_kind == HY_HANDLE_HOST_POINTER || handle_kind == HY_HANDLE_DEVICE_POINTER) {
    handle.value += storage_->offset;
    handle.offset = 0;
    handle.bytes = storage_->size;
  }
  return handle;
}

}  // namespace halyard::hal
