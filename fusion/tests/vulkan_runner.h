#pragma once

#include "spirv_sample_programs.h"

#include <halyard/base/result.h>
#include <halyard/fusion/emit_spirv.h>
#include <halyard/hal/plugin.h>
#include <memory>
#include <string>
#include <vector>

namespace halyard::fusion::testing {

/// One Vulkan device opened through the plug-in interface, validation on.
class VulkanRunner {
 public:
  /// Every Vulkan device that the loader offers, opened; empty with `why` filled where there is none.
  static std::vector<std::unique_ptr<VulkanRunner>> open_all(std::string* why);
  ~VulkanRunner();
  VulkanRunner(const VulkanRunner&) = delete;
  VulkanRunner& operator=(const VulkanRunner&) = delete;

  const HyDeviceInfo& info() const { return info_; }
  /// Messages of the Khronos validation layer so far.
  std::int64_t validation_messages() const;
  bool has_validation_layer() const;

  /// Emits, loads and runs a sample; the buffers' contents afterwards.
  Result<std::vector<std::vector<std::byte>>> run(const Sample& sample, const SpirvOptions& options);

 private:
  VulkanRunner() = default;
  Result<HyBuffer*> buffer_with(const std::vector<std::byte>& bytes);

  const HyBackend* backend_ = nullptr;
  HyDevice* device_ = nullptr;
  HyQueue* queue_ = nullptr;
  HyDeviceInfo info_{};
};

}  // namespace halyard::fusion::testing
