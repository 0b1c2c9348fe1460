#pragma once

#include <halyard/fusion/lower.h>
#include <halyard/hal/device.h>
#include <halyard/ops/host_tensor.h>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace halyard::fusion {

/// How operand b of a contraction is read: address = offset + batch[i] + k[j] + n[l].
struct PackedOperand {
  std::uint32_t tile_n = 1;
  std::int64_t offset = 0;
  std::vector<std::int64_t> batch, k, n;  ///< address of each linear position

  std::int64_t elements() const {
    auto tiles = (static_cast<std::int64_t>(n.size()) + tile_n - 1) / tile_n;
    return static_cast<std::int64_t>(batch.size() * k.size()) * tiles * tile_n;
  }
};

/// The load of operand b if the program's only product reads it directly from a constant operand: which operand
/// that is and how its elements are addressed. Nothing otherwise.
struct PackableOperand {
  std::uint32_t operand = 0;
  PackedOperand layout;
};
std::optional<PackableOperand> find_packable(const TileProgram& program, const Binding& binding,
                                             std::uint32_t tile_n);

/// Slivers of tile_n columns: element (batch, n, k) lies at ((batch * tiles + n / tile_n) * K + k) * tile_n + n mod
/// tile_n, zeros after the last column.
Result<ops::HostTensor> pack(const ops::HostTensor& weight, const PackedOperand& layout);

/// Constants in device memory, shared by all executables of a device: each once as it is, and once per packing.
/// Holds the host tensors it uploaded, so that an address names one tensor for good. Thread-safe.
class WeightStore {
 public:
  explicit WeightStore(std::shared_ptr<hal::Device> device) : device_(std::move(device)) {}
  Result<hal::BufferSlice> get(const ops::HostTensor& weight, hal::Queue& queue);
  Result<hal::BufferSlice> get_packed(const ops::HostTensor& weight, const PackedOperand& layout,
                                      hal::Queue& queue);

 private:
  struct Entry {
    ops::HostTensor source;
    hal::BufferSlice slice;
  };
  Result<hal::BufferSlice> upload(const ops::HostTensor& elements, hal::Queue& queue);
  std::shared_ptr<hal::Device> device_;
  std::mutex mutex_;
  std::unordered_map<std::string, Entry> entries_;
};

}  // namespace halyard::fusion
