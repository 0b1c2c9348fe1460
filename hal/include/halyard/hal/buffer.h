#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "halyard/base/result.h"
#include "halyard/hal/plugin.h"

namespace halyard::hal {

class Device;
class Queue;
class BufferStorage;
struct SyncPoint;

/// Where a buffer's bytes lie.
enum class Memory : std::uint8_t {
  device = HY_MEMORY_DEVICE,      ///< fastest for kernels; mapped only where the device says so
  upload = HY_MEMORY_UPLOAD,      ///< pinned host memory that the host writes and the device reads
  readback = HY_MEMORY_READBACK,  ///< pinned host memory that the device writes and the host reads
};

/// A range of bytes that kernels of one device can read and write. Made by `Device`. Shared ownership: work
/// that was submitted keeps its memory from being reused until it is done, so a buffer may be dropped at any
/// time. Threads: all members are safe to call at once; the bytes themselves are not guarded.
class Buffer {
 public:
  explicit Buffer(std::unique_ptr<BufferStorage> storage);
  ~Buffer();  ///< gives the memory back to the pool, or forgets an import
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::uint64_t size() const;  ///< bytes asked for
  Memory memory() const;
  bool imported() const;
  const std::shared_ptr<Device>& device() const;

  /// The first byte for the host, or nullptr if this memory is not mapped. Unchanging. The host may touch the
  /// bytes only while no submitted work does.
  std::byte* host_pointer() const;
  /// Gives the buffer's memory to another interface. Pooled memory is shared with other buffers: allocate
  /// with `BufferDesc::export_kinds` what is to be exported. A file descriptor given out is the caller's to
  /// close.
  Result<HyHandle> export_memory(std::uint32_t handle_kind) const;

  /// For backends' objects and the layers inside hal: the backend's buffer and where this one begins in it.
  HyBuffer* backend_buffer() const;
  std::uint64_t backend_offset() const;
  /// Records that work up to `point` uses this buffer. Called by Queue; others need it only for work that
  /// goes around hal on imported queues.
  void used_until(const SyncPoint& point) const;
  /// Whether no submitted work uses it any more.
  bool idle() const;

 private:
  std::unique_ptr<BufferStorage> storage_;
};

struct BufferDesc {
  std::uint64_t bytes = 0;  ///< 0 is legal: such a buffer has only empty slices
  Memory memory = Memory::device;
  bool dedicated = false;  ///< not cut from the pool: for very long life
  /// Handles for which `Buffer::export_memory` will be called: bits 1u << HY_HANDLE_…. Descriptors must be
  /// announced; the buffer is then dedicated. `unsupported` if the device cannot give memory out so.
  std::uint32_t export_kinds = 0;
  /// The queue that will use it first. Memory whose last use is on this queue can then be reused without
  /// waiting.
  const Queue* first_queue = nullptr;
};

/// A range of a buffer. For kernels `offset` is a multiple of the device's `storage_alignment`.
struct BufferSlice {
  std::shared_ptr<Buffer> buffer;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;

  BufferSlice() = default;
  BufferSlice(std::shared_ptr<Buffer> whole) : buffer(std::move(whole)) {
    bytes = buffer ? buffer->size() : 0;
  }
  BufferSlice(std::shared_ptr<Buffer> of, std::uint64_t begin, std::uint64_t count)
      : buffer(std::move(of)), offset(begin), bytes(count) {}
};

}  // namespace halyard::hal
