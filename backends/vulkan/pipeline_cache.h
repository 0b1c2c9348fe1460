#pragma once

#include <halyard/base/result.h>
#include <filesystem>
#include <memory>
#include <mutex>
#include "vulkan_functions.h"

namespace halyard::vulkan {

struct DeviceFacts;

/// A VkPipelineCache whose content outlives the process, in a folder of the host's. A damaged, foreign or
/// missing file is an empty cache; a file that cannot be written is none. Thread-safe.
class PipelineCache {
 public:
  /// `folder` may be empty: nothing is kept then.
  static Result<std::unique_ptr<PipelineCache>> open(VkDevice device, const DeviceFunctions& vk,
                                                     const DeviceFacts& facts,
                                                     const std::filesystem::path& folder);
  ~PipelineCache();
  PipelineCache(const PipelineCache&) = delete;
  PipelineCache& operator=(const PipelineCache&) = delete;

  VkPipelineCache handle() const { return handle_; }
  /// Writes the file if the cache has grown since the last time.
  void save();

 private:
  PipelineCache(VkDevice device, const DeviceFunctions& vk) : device_(device), vk_(vk) {}

  VkDevice device_;
  const DeviceFunctions& vk_;
  VkPipelineCache handle_ = VK_NULL_HANDLE;
  std::filesystem::path file_;
  std::mutex mutex_;
  std::size_t saved_bytes_ = 0;
};

}  // namespace halyard::vulkan
