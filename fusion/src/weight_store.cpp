#include "weight_store.h"

#include <fmt/format.h>
#include <xxhash.h>
#include <algorithm>
#include <cstring>

namespace halyard::fusion {
namespace {

/// The part of the address that these axes give, for every linear (row-major) position on them.
std::vector<std::int64_t> addresses(const std::vector<Axis>& axes, const Access& access,
                                    const AccessBinding& numbers, const std::vector<std::int64_t>& extents) {
  std::vector<std::int64_t> result{0};
  for (Axis axis : axes) {
    std::vector<std::int64_t> wider;
    wider.reserve(result.size() * static_cast<std::size_t>(extents[index(axis)]));
    for (std::int64_t base : result)
      for (std::int64_t at = 0; at < extents[index(axis)]; ++at) {
        std::int64_t address = base;
        for (std::size_t i = 0; i < access.terms.size(); ++i) {
          if (access.terms[i].axis != axis) continue;
          std::int64_t quotient = at / numbers.divisors[i];
          if (numbers.moduli[i] != 0) quotient %= numbers.moduli[i];
          address += numbers.strides[i] * quotient;
        }
        wider.push_back(address);
      }
    result = std::move(wider);
  }
  return result;
}

}  // namespace

std::optional<PackableOperand> find_packable(const TileProgram& program, const Binding& binding,
                                             std::uint32_t tile_n) {
  const TileValue* dot = nullptr;
  for (const TileValue& value : program.values)
    if (value.op == TileOp::dot) {
      if (dot) return std::nullopt;
      dot = &value;
    }
  if (!dot) return std::nullopt;
  std::size_t at = index(dot->operands[1]);
  const TileValue& load = program.values[at];
  if (load.op != TileOp::load || !load.operands.empty() || !program.operands[load.number].constant)
    return std::nullopt;
  for (const IndexTerm& term : load.access.terms)
    if (!term.axis) return std::nullopt;
  AxisSet k, a = program.values[index(dot->operands[0])].axes;
  for (Axis axis : dot->axes_list) k = k | AxisSet{axis};
  std::vector<Axis> batch, n;
  for (std::uint32_t i = 0; i < binding.extents.size(); ++i) {
    Axis axis{i};
    if (!load.axes.contains(axis) || k.contains(axis)) continue;
    (a.contains(axis) ? batch : n).push_back(axis);
  }
  const AccessBinding& numbers = binding.accesses[at];
  PackableOperand result{load.number, {.tile_n = tile_n, .offset = numbers.offset}};
  result.layout.batch = addresses(batch, load.access, numbers, binding.extents);
  result.layout.k = addresses(dot->axes_list, load.access, numbers, binding.extents);
  result.layout.n = addresses(n, load.access, numbers, binding.extents);
  return result;
}

Result<ops::HostTensor> pack(const ops::HostTensor& weight, const PackedOperand& layout) {
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

Result<hal::BufferSlice> WeightStore::upload(const ops::HostTensor& elements, hal::Queue& queue) {
  HALYARD_ASSIGN(auto buffer, device_->allocate(hal::BufferDesc{.bytes = elements.byte_count()}));
  hal::BufferSlice slice(buffer);
  if (elements.byte_count() > 0) {
    auto uploaded = queue.upload(elements.bytes(), slice);
    if (!uploaded) return tl::unexpected<Error>(uploaded.error());
  }
  return slice;
}

Result<hal::BufferSlice> WeightStore::get(const ops::HostTensor& weight, hal::Queue& queue) {
  std::string key = fmt::format("{} {}", static_cast<const void*>(weight.data()), weight.byte_count());
  std::lock_guard lock(mutex_);
  if (auto found = entries_.find(key); found != entries_.end()) return found->second.slice;
  HALYARD_ASSIGN(hal::BufferSlice slice, upload(weight, queue));
  entries_.emplace(std::move(key), Entry{weight, slice});
  return slice;
}

Result<hal::BufferSlice> WeightStore::get_packed(const ops::HostTensor& weight, const PackedOperand& layout,
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
  HALYARD_ASSIGN(hal::BufferSlice slice, upload(packed, queue));
  entries_.emplace(std::move(key), Entry{weight, slice});
  return slice;
}

}  // namespace halyard::fusion
