#include "memory_pool.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend_call.h"
#include "byte_text.h"

namespace halyard::hal {
namespace {

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;

/// Requests up to `most` are cut from chunks of `chunk` bytes; beyond the last row each has a chunk of its
/// own, rounded to 2 MiB. A remainder of at least `split` bytes is kept as a free block.
struct SizeClass {
  std::uint64_t most, chunk, split;
};
constexpr std::array<SizeClass, 3> size_classes{{
    {mebibyte, 2 * mebibyte, 256},
    {10 * mebibyte, 32 * mebibyte, 64 * 1024},
    {UINT64_MAX, 2 * mebibyte, mebibyte},
}};

std::size_t size_class(std::uint64_t bytes) {
  std::size_t i = 0;
  while (bytes > size_classes[i].most) ++i;
  return i;
}

std::size_t shelf_of(Memory memory, std::uint64_t bytes) {
  return static_cast<std::size_t>(memory) * size_classes.size() + size_class(bytes);
}

std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

Pool::Pool(const HyBackend& backend, HyDevice* device, const DeviceInfo& info, bool caching)
    : backend_(backend),
      device_(device),
      info_(info),
      caching_(caching),
      granule_(std::max<std::uint64_t>(256, info.storage_alignment)) {}

Pool::~Pool() {
  for (Deferred& entry : deferred_) backend_.buffer_destroy(entry.handle);
  for (const auto& chunk : chunks_) backend_.buffer_destroy(chunk->handle);
}

Status Pool::allocate(const BufferDesc& desc, const Timeline* first_timeline, BufferStorage& storage) {
  storage.memory = desc.memory;
  storage.size = desc.bytes;
  std::unique_lock lock(mutex_);
  ++statistics_.allocations;
  ++statistics_.live_buffers;
  const auto forget = [&](Error error) -> Status {
    --statistics_.live_buffers;
    storage.size = 0;
    return tl::unexpected<Error>(std::move(error));
  };
  if (desc.bytes > UINT64_MAX / 2) return forget(out_of_memory(desc.bytes, "no device has so much"));
  // An empty buffer has memory too: a kernel's argument must point somewhere.
  const std::uint64_t bytes = round_up(std::max<std::uint64_t>(desc.bytes, 1), granule_);
  if (desc.dedicated || desc.export_kinds != 0 || !caching_) {
    auto handle = create_after_trimming(desc, bytes, lock);
    if (!handle) return forget(std::move(handle).error());
    storage.handle = *handle;
    storage.host_pointer = map(*handle, desc.memory);
    statistics_.held_bytes += bytes;
    count_use(bytes);
    return {};
  }
  const std::size_t shelf = shelf_of(desc.memory, bytes);
  // The host may write to upload memory at once, so work still under way is never overtaken there.
  const Timeline* in_order = desc.memory == Memory::device ? first_timeline : nullptr;
  PoolBlock* block = find_free(shelf, bytes, in_order);
  if (block != nullptr) {
    ++statistics_.reuses;
  } else {
    auto grown = grow(shelf, desc.memory, bytes, lock);
    if (!grown) return forget(std::move(grown).error());
    block = *grown;
  }
  block = take(*block, bytes);
  count_use(block->bytes);
  storage.block = block;
  storage.uses = block->uses;  // what is left is work on the queue that uses it first
  storage.handle = block->chunk->handle;
  storage.offset = block->offset;
  if (block->chunk->host_pointer != nullptr)
    storage.host_pointer = block->chunk->host_pointer + block->offset;
  return {};
}

void Pool::count_use(std::uint64_t bytes) {
  statistics_.used_bytes += bytes;
  statistics_.peak_used_bytes = std::max(statistics_.peak_used_bytes, statistics_.used_bytes);
  statistics_.peak_held_bytes = std::max(statistics_.peak_held_bytes, statistics_.held_bytes);
}

PoolBlock* Pool::find_free(std::size_t shelf, std::uint64_t bytes, const Timeline* first_timeline) {
  // Beyond twice the size the waste would be worse than a new chunk; small shelves are split, so any size
  // will do.
  const bool own_chunks = shelf % size_classes.size() == size_classes.size() - 1;
  const std::uint64_t most = own_chunks ? 2 * bytes + size_classes.back().chunk : UINT64_MAX;
  for (auto it = free_[shelf].lower_bound(FreeEntry{bytes, nullptr, 0}); it != free_[shelf].end(); ++it) {
    const auto& [block_bytes, chunk, offset] = *it;
    if (block_bytes > most) break;
    PoolBlock& block = chunk->blocks.at(offset);
    if (block.uses.ended(first_timeline)) return &block;
  }
  return nullptr;
}

PoolBlock* Pool::take(PoolBlock& block, std::uint64_t bytes) {
  PoolChunk& chunk = *block.chunk;
  if (block.free) free_[chunk.shelf].erase(FreeEntry{block.bytes, &chunk, block.offset});
  block.free = false;
  const std::uint64_t rest = block.bytes - bytes;
  if (rest >= std::max(granule_, size_classes[chunk.shelf % size_classes.size()].split)) {
    PoolBlock& remainder = chunk.blocks[block.offset + bytes];
    remainder.chunk = &chunk;
    remainder.offset = block.offset + bytes;
    remainder.bytes = rest;
    remainder.free = true;
    remainder.uses = block.uses;
    block.bytes = bytes;
    free_[chunk.shelf].insert(FreeEntry{rest, &chunk, remainder.offset});
  }
  return &block;
}

void Pool::give_back(PoolBlock& block) {
  PoolChunk& chunk = *block.chunk;
  auto here = chunk.blocks.find(block.offset);
  const auto merge_into = [&](PoolBlock& left, const PoolBlock& right) {
    left.bytes += right.bytes;
    left.uses.add(right.uses);
  };
  if (auto next = std::next(here); next != chunk.blocks.end() && next->second.free) {
    free_[chunk.shelf].erase(FreeEntry{next->second.bytes, &chunk, next->first});
    merge_into(here->second, next->second);
    chunk.blocks.erase(next);
  }
  if (here != chunk.blocks.begin()) {
    if (auto previous = std::prev(here); previous->second.free) {
      free_[chunk.shelf].erase(FreeEntry{previous->second.bytes, &chunk, previous->first});
      merge_into(previous->second, here->second);
      chunk.blocks.erase(here);
      here = previous;
    }
  }
  here->second.free = true;
  free_[chunk.shelf].insert(FreeEntry{here->second.bytes, &chunk, here->first});
}

Result<HyBuffer*> Pool::create(Memory memory, std::uint64_t bytes, std::uint32_t export_kinds) {
  if (info_.max_allocation_bytes != 0 && bytes > info_.max_allocation_bytes)
    return tl::unexpected<Error>(out_of_memory(bytes, fmt::format("one allocation of this device may hold {}",
                                                                  byte_text(info_.max_allocation_bytes))));
  if (export_kinds != 0 && backend_.buffer_export == nullptr)
    return tl::unexpected<Error>(missing_function(info_.uri, "allocate memory for export"));
  HyBufferDesc desc{};
  desc.size = sizeof desc;
  desc.export_kinds = export_kinds;
  desc.memory = static_cast<std::uint32_t>(memory);
  desc.bytes = bytes;
  HyBuffer* handle = nullptr;
  BackendError error;
  ++statistics_.device_calls;
  const HyStatus status = backend_.buffer_create(device_, &desc, &handle, &error);
  if (status == HY_OK) return handle;
  auto failed = to_status(status, error, info_.uri, "allocate").error();
  if (failed.code == ErrorCode::out_of_memory)
    return tl::unexpected<Error>(out_of_memory(bytes, failed.message));
  return tl::unexpected<Error>(std::move(failed));
}

Result<HyBuffer*> Pool::create_after_trimming(const BufferDesc& desc, std::uint64_t bytes,
                                              std::unique_lock<std::mutex>& lock) {
  auto handle = create(desc.memory, bytes, desc.export_kinds);
  if (handle || handle.error().code != ErrorCode::out_of_memory) return handle;
  // Wait, without the lock, for the work that holds cached memory, give that back, and ask once more.
  std::vector<BufferUses> pending;
  for (const auto& chunk : chunks_)
    for (const auto& [offset, block] : chunk->blocks)
      if (block.free) pending.push_back(block.uses);
  for (const Deferred& entry : deferred_) pending.push_back(entry.uses);
  std::vector<std::shared_ptr<void>> dropped;
  lock.unlock();
  for (const BufferUses& uses : pending) uses.wait();
  lock.lock();
  trim_locked(dropped);
  return create(desc.memory, bytes, desc.export_kinds);
}

Result<PoolChunk*> Pool::new_chunk(std::size_t shelf, Memory memory, std::uint64_t bytes) {
  auto handle = create(memory, bytes);
  if (!handle) return tl::unexpected<Error>(std::move(handle).error());
  auto chunk = std::make_unique<PoolChunk>();
  chunk->handle = *handle;
  chunk->host_pointer = map(*handle, memory);
  chunk->bytes = bytes;
  chunk->shelf = shelf;
  PoolBlock& whole = chunk->blocks[0];
  whole.chunk = chunk.get();
  whole.bytes = bytes;
  whole.free = true;
  free_[shelf].insert(FreeEntry{bytes, chunk.get(), 0});
  statistics_.held_bytes += bytes;
  chunks_.push_back(std::move(chunk));
  return chunks_.back().get();
}

Result<PoolBlock*> Pool::grow(std::size_t shelf, Memory memory, std::uint64_t bytes,
                              std::unique_lock<std::mutex>& lock) {
  const SizeClass& row = size_classes[shelf % size_classes.size()];
  std::uint64_t wanted = row.most == UINT64_MAX ? round_up(bytes, row.chunk) : row.chunk;
  if (info_.max_allocation_bytes != 0 && wanted > info_.max_allocation_bytes) wanted = bytes;
  if (auto chunk = new_chunk(shelf, memory, wanted)) return &(*chunk)->blocks.at(0);
  // Short of memory: wait for freed blocks that work still holds, give other cached memory back, ask for
  // less.
  if (PoolBlock* block = wait_for_any(shelf, bytes, lock)) return block;
  std::vector<std::shared_ptr<void>> dropped;
  trim_locked(dropped);
  auto chunk = new_chunk(shelf, memory, bytes);
  if (!chunk) return tl::unexpected<Error>(std::move(chunk).error());
  return &(*chunk)->blocks.at(0);
}

PoolBlock* Pool::wait_for_any(std::size_t shelf, std::uint64_t bytes, std::unique_lock<std::mutex>& lock) {
  std::vector<BufferUses> pending;
  for (const auto& free_blocks : free_)
    for (const auto& [block_bytes, chunk, offset] : free_blocks)
      pending.push_back(chunk->blocks.at(offset).uses);
  lock.unlock();
  for (const BufferUses& uses : pending) uses.wait();
  lock.lock();
  return find_free(shelf, bytes, nullptr);
}

std::byte* Pool::map(HyBuffer* handle, Memory memory) const {
  if (memory == Memory::device && !info_.host_visible_device_memory) return nullptr;
  void* pointer = nullptr;
  if (backend_.buffer_map(handle, &pointer, nullptr) != HY_OK) return nullptr;
  return static_cast<std::byte*>(pointer);
}

void Pool::release(BufferStorage& storage) {
  std::vector<std::shared_ptr<void>> dropped;
  std::lock_guard lock(mutex_);
  if (!storage.imported) --statistics_.live_buffers;
  if (storage.handle == nullptr) return;
  if (storage.block != nullptr) {
    statistics_.used_bytes -= storage.block->bytes;
    storage.block->uses = storage.uses;
    give_back(*storage.block);
    return;
  }
  const std::uint64_t bytes =
      storage.imported ? 0 : round_up(std::max<std::uint64_t>(storage.size, 1), granule_);
  statistics_.used_bytes -= bytes;
  deferred_.push_back({storage.handle, storage.uses, std::move(storage.keep_alive), bytes});
  // What others deferred may have ended by now; the objects that this drops are destroyed after the lock.
  for (auto it = deferred_.begin(); it != deferred_.end();) {
    if (!it->uses.ended()) {
      ++it;
      continue;
    }
    backend_.buffer_destroy(it->handle);
    statistics_.held_bytes -= it->counted_bytes;
    dropped.push_back(std::move(it->keep_alive));
    it = deferred_.erase(it);
  }
}

void Pool::trim() {
  std::vector<std::shared_ptr<void>> dropped;
  std::lock_guard lock(mutex_);
  trim_locked(dropped);
}

void Pool::trim_locked(std::vector<std::shared_ptr<void>>& dropped) {
  std::erase_if(chunks_, [&](const std::unique_ptr<PoolChunk>& chunk) {
    PoolBlock& first = chunk->blocks.at(0);
    if (!first.free || first.bytes != chunk->bytes || !first.uses.ended()) return false;
    free_[chunk->shelf].erase(FreeEntry{first.bytes, chunk.get(), 0});
    backend_.buffer_destroy(chunk->handle);
    statistics_.held_bytes -= chunk->bytes;
    return true;
  });
  std::erase_if(deferred_, [&](Deferred& entry) {
    if (!entry.uses.ended()) return false;
    backend_.buffer_destroy(entry.handle);
    statistics_.held_bytes -= entry.counted_bytes;
    dropped.push_back(std::move(entry.keep_alive));
    return true;
  });
}

PoolStatistics Pool::statistics() const {
  std::lock_guard lock(mutex_);
  PoolStatistics result = statistics_;
  result.cached_bytes = result.held_bytes - result.used_bytes;
  return result;
}

Error Pool::out_of_memory(std::uint64_t asked, const std::string& reason) const {
  std::string free_text = "unknown";
  HyProperty property{};
  property.size = sizeof property;
  if (backend_.device_property != nullptr &&
      backend_.device_property(device_, "memory.free_bytes", &property, nullptr) == HY_OK)
    free_text = byte_text(static_cast<std::uint64_t>(property.integer));
  return Error{
      ErrorCode::out_of_memory,
      fmt::format("{}: allocate: out of memory: asked for {}; held by Halyard {} (in buffers {}, cached {}); "
                  "free on the device {} of {}. {}. Drop buffers, use smaller batches, or another device.",
                  info_.uri, byte_text(asked), byte_text(statistics_.held_bytes),
                  byte_text(statistics_.used_bytes),
                  byte_text(statistics_.held_bytes - statistics_.used_bytes), free_text,
                  info_.memory_bytes != 0 ? byte_text(info_.memory_bytes) : "unknown", reason)};
}

}  // namespace halyard::hal
