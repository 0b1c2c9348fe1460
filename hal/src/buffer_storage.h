#pragma once

#include <memory>
#include <mutex>

#include "buffer_uses.h"
#include "halyard/hal/buffer.h"

namespace halyard::hal {

struct PoolBlock;

/// What a Buffer stands on: a block of the pool, an allocation of its own, or an import.
class BufferStorage {
 public:
  std::shared_ptr<Device> device;
  Memory memory = Memory::device;
  std::uint64_t size = 0;
  HyBuffer* handle = nullptr;  ///< null for an empty buffer
  std::uint64_t offset = 0;
  std::byte* host_pointer = nullptr;
  bool imported = false;
  PoolBlock* block = nullptr;        ///< null: `handle` is this buffer's alone
  std::shared_ptr<void> keep_alive;  ///< of imports

  mutable std::mutex mutex;
  BufferUses uses;
};

}  // namespace halyard::hal
