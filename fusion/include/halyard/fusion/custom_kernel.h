#pragma once

#include <halyard/fusion/executable.h>
#include <halyard/fusion/tile_program.h>
#include <halyard/ops/tensor.h>
#include <memory>
#include <span>
#include <vector>

namespace halyard::fusion {

/// A kernel that a user wrote once with `TileBuilder` and runs on any device. Extents come from the tensors
/// it is called with; its sums follow the canonical orders, whatever the device. Immutable, so thread-safe.
class CustomKernel {
 public:
  /// Takes a builder whose `input`s and `output`s describe the kernel. Fails with the builder's first
  /// mistake.
  static Result<CustomKernel> create(TileBuilder builder);

  const TileProgram& program() const { return kernel_.program; }

  /// Enqueues it on the device's default queue: one tensor per `input`, in order; gives one per `output`.
  /// Errors name the operand whose type or extents do not fit.
  Result<std::vector<DeviceTensor>> run(Compiler& compiler, std::span<const DeviceTensor> inputs) const;
  /// The same from and to host memory; waits.
  Result<std::vector<ops::HostTensor>> run(Compiler& compiler, std::span<const ops::HostTensor> inputs) const;

  /// On the device of this thread's `ops::DeviceScope`, or the default one. Throws `ops::TensorError`.
  std::vector<ops::Tensor> operator()(std::span<const ops::Tensor> inputs) const;
  std::vector<ops::Tensor> operator()(std::initializer_list<ops::Tensor> inputs) const {
    return (*this)(std::span<const ops::Tensor>(inputs.begin(), inputs.size()));
  }

 private:
  explicit CustomKernel(TileBuilder::Finished kernel) : kernel_(std::move(kernel)) {}
  Result<std::vector<std::int64_t>> extents_from(std::span<const ops::TensorType> inputs) const;

  TileBuilder::Finished kernel_;
};

/// The process's compiler of a device, opened when first asked for; empty: HALYARD_DEVICE, else the best one.
Result<std::shared_ptr<Compiler>> shared_compiler(const std::string& device_uri = {});

}  // namespace halyard::fusion
