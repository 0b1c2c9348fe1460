#pragma once

#include <halyard/fusion/executable.h>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>
#include "kernel_cache.h"
#include "weight_store.h"

namespace halyard::fusion {

/// Makes an executable of a plan: lowers clusters, gets kernels, places tensors in memory, records commands.
class ExecutableBuilder {
 public:
  ExecutableBuilder(std::shared_ptr<hal::Device> device, KernelCache& kernels, WeightStore& weights)
      : device_(std::move(device)), kernels_(kernels), weights_(weights) {}

  Result<std::shared_ptr<Executable>> build(Plan plan, DeviceProfile profile, CompileOptions options);

 private:
  /// A tensor's place: part of a buffer slot of the command graph.
  struct Place {
    std::uint32_t slot = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
  };
  struct Argument {
    Place place;
    bool written = false;
  };

  void make_steps();
  Status place_tensors();
  Result<std::vector<Argument>> arguments(const Step& step);
  Status record();
  std::vector<std::uint32_t> dependencies(const std::vector<std::vector<Argument>>& nodes,
                                          std::vector<std::vector<bool>>& before) const;
  std::uint64_t bytes_of(ops::NodeId node) const;
  std::uint32_t add_weight(const hal::BufferSlice& slice);

  std::shared_ptr<hal::Device> device_;
  KernelCache& kernels_;
  WeightStore& weights_;
  std::shared_ptr<Executable> made_;
  std::unordered_map<std::uint32_t, Place> inputs_;   ///< by node
  std::unordered_map<std::uint32_t, Place> written_;  ///< by node: outputs and intermediates
  std::uint32_t first_weight_slot_ = 0;
};

}  // namespace halyard::fusion
