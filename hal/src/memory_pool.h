#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>
#include <vector>

#include "buffer_storage.h"
#include "halyard/base/result.h"
#include "halyard/hal/buffer.h"
#include "halyard/hal/device_info.h"
#include "halyard/hal/pool.h"

namespace halyard::hal {

struct PoolChunk;

/// A range of a chunk: in use, or free (perhaps still needed by submitted work).
struct PoolBlock {
  PoolChunk* chunk = nullptr;
  std::uint64_t offset = 0, bytes = 0;
  bool free = false;
  BufferUses uses;
};

/// One allocation of the backend, cut into blocks that cover it without gaps.
struct PoolChunk {
  HyBuffer* handle = nullptr;
  std::byte* host_pointer = nullptr;
  std::uint64_t bytes = 0;
  std::size_t shelf = 0;
  std::map<std::uint64_t, PoolBlock> blocks;  // by offset
};

/// The caching allocator that serves every backend: best fit with splitting and merging over chunks, in three
/// size classes per kind of memory. The sizes follow PyTorch's CUDACachingAllocator. A block whose last work
/// is on another queue waits for that work; on the same queue it is reused at once. Safe from any thread.
class Pool {
 public:
  Pool(const HyBackend& backend, HyDevice* device, const DeviceInfo& info, bool caching);
  ~Pool();  ///< all buffers are gone and all work is over
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Fills memory, size, handle, offset, host pointer and block.
  Status allocate(const BufferDesc& desc, const Timeline* first_timeline, BufferStorage& storage);
  void release(BufferStorage& storage);
  void trim();
  PoolStatistics statistics() const;

 private:
  struct Deferred {
    HyBuffer* handle;
    BufferUses uses;
    std::shared_ptr<void> keep_alive;
    std::uint64_t counted_bytes;
  };
  using FreeEntry = std::tuple<std::uint64_t, PoolChunk*, std::uint64_t>;  // bytes, chunk, offset

  PoolBlock* find_free(std::size_t shelf, std::uint64_t bytes, const Timeline* first_timeline);
  PoolBlock* take(PoolBlock& block, std::uint64_t bytes);
  void give_back(PoolBlock& block);
  PoolBlock* wait_for_any(std::size_t shelf, std::uint64_t bytes, std::unique_lock<std::mutex>& lock);
  Result<PoolChunk*> new_chunk(std::size_t shelf, Memory memory, std::uint64_t bytes);
  Result<PoolBlock*> grow(std::size_t shelf, Memory memory, std::uint64_t bytes,
                          std::unique_lock<std::mutex>& lock);
  Result<HyBuffer*> create(Memory memory, std::uint64_t bytes, std::uint32_t export_kinds = 0);
  Result<HyBuffer*> create_after_trimming(const BufferDesc& desc, std::uint64_t bytes,
                                          std::unique_lock<std::mutex>& lock);
  std::byte* map(HyBuffer* handle, Memory memory) const;
  void trim_locked(std::vector<std::shared_ptr<void>>& dropped);
  void count_use(std::uint64_t bytes);
  Error out_of_memory(std::uint64_t asked, const std::string& reason) const;

  const HyBackend& backend_;
  HyDevice* device_;
  const DeviceInfo& info_;
  bool caching_;
  std::uint64_t granule_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<PoolChunk>> chunks_;
  std::array<std::set<FreeEntry>, 9> free_;  // per shelf: kind of memory × size class
  std::vector<Deferred> deferred_;
  PoolStatistics statistics_;
};

}  // namespace halyard::hal
