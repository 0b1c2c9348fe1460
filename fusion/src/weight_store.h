#pragma once

#include <halyard/fusion/planner.h>
#include <halyard/hal/device.h>
#include <halyard/ops/host_tensor.h>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace halyard::fusion {

/// The elements of `weight` in the order that `layout` describes.
Result<ops::HostTensor> pack(const ops::HostTensor& weight, const PackedWeight& layout);

/// Constants in device memory, shared by all executables of a device: each once as it is, and once per
/// packing. Holds the host tensors it uploaded, so that an address names one tensor for good. Thread-safe.
class WeightStore {
 public:
  Result<hal::BufferSlice> get(const ops::HostTensor& weight, hal::Queue& queue);
  Result<hal::BufferSlice> get_packed(const ops::HostTensor& weight, const PackedWeight& layout,
                                      hal::Queue& queue);

 private:
  struct Entry {
    ops::HostTensor source;
    hal::BufferSlice slice;
  };
  std::mutex mutex_;
  std::unordered_map<std::string, Entry> entries_;
};

}  // namespace halyard::fusion
