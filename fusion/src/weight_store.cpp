#include "weight_store.h"

#include <fmt/format.h>
#include <xxhash.h>
#include <algorithm>
#include <cstring>
#include "host_memory.h"

namespace halyard::fusion {

Result<ops::HostTensor> pack(const ops::HostTensor& weight, const PackedWeight& layout) {
  HALYARD_ASSIGN(ops::HostTensor packed, ops::HostTensor::allocate(weight.element(), {layout.elements()}));
  std::size_t size = byte_size(weight.element());
  std::size_t depth = layout.k.size(), tile = layout.tile_n;
  std::size_t tiles = (layout.n.size() + tile - 1) / tile;
  std::byte* to = packed.mutable_data();
  for (std::size_t b = 0; b < layout.batch.size(); ++b)
    for (std::size_t t = 0; t < tiles; ++t) {
      std::size_t columns = std::min(tile, layout.n.size() - t * tile);
      for (std::size_t k = 0; k < depth; ++k, to += tile * size) {
        std::int64_t base = layout.offset + layout.batch[b] + layout.k[k];
        for (std::size_t n = 0; n < columns; ++n)
          std::memcpy(to + n * size,
                      weight.data() + static_cast<std::size_t>(base + layout.n[t * tile + n]) * size, size);
      }
    }
  return packed;
}

Result<hal::BufferSlice> WeightStore::get(const ops::HostTensor& weight, hal::Queue& queue) {
  std::string key = fmt::format("{} {}", static_cast<const void*>(weight.data()), weight.byte_count());
  std::lock_guard lock(mutex_);
  if (auto found = entries_.find(key); found != entries_.end()) return found->second.slice;
  HALYARD_ASSIGN(DeviceTensor held, to_device(weight, queue));
  entries_.emplace(std::move(key), Entry{weight, held.slice});
  return held.slice;
}

Result<hal::BufferSlice> WeightStore::get_packed(const ops::HostTensor& weight, const PackedWeight& layout,
                                                 hal::Queue& queue) {
  auto hash = [](const std::vector<std::int64_t>& numbers) {
    return XXH3_64bits(numbers.data(), numbers.size() * sizeof(std::int64_t));
  };
  std::string key = fmt::format("{} {} packed {} {} {:x} {:x} {:x}", static_cast<const void*>(weight.data()),
                                weight.byte_count(), layout.tile_n, layout.offset, hash(layout.batch),
                                hash(layout.k), hash(layout.n));
  std::lock_guard lock(mutex_);
  if (auto found = entries_.find(key); found != entries_.end()) return found->second.slice;
  HALYARD_ASSIGN(ops::HostTensor packed, pack(weight, layout));
  HALYARD_ASSIGN(DeviceTensor held, to_device(packed, queue));
  entries_.emplace(std::move(key), Entry{weight, held.slice});
  return held.slice;
}

}  // namespace halyard::fusion
