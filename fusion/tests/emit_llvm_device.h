#pragma once

#include <halyard/base/result.h>
#include <halyard/fusion/emit_llvm.h>
#include <halyard/hal/plugin.h>
#include <halyard/program/program.h>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace halyard::fusion::tests {

/// The cpu backend, opened by path through its C interface alone: what these tests need of a device, and no
/// more.
class CpuDevice {
 public:
  CpuDevice();
  ~CpuDevice();
  CpuDevice(const CpuDevice&) = delete;
  CpuDevice& operator=(const CpuDevice&) = delete;

  /// What the host's processor allows.
  const LlvmOptions& options() const { return options_; }

  /// Compiles `text` as `program`'s code and runs it once over the grid; `buffers` are read and written in
  /// place.
  Status run(const program::Program& program, const std::string& text, std::array<std::uint32_t, 3> grid,
             std::span<std::vector<std::byte>> buffers, std::span<const std::byte> scalars);

 private:
  const HyBackend* backend_ = nullptr;
  HyDevice* device_ = nullptr;
  HyQueue* queue_ = nullptr;
  LlvmOptions options_;
};

}  // namespace halyard::fusion::tests
