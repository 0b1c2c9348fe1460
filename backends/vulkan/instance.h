#pragma once

#include <halyard/base/result.h>
#include <halyard/hal/plugin.h>
#include <atomic>
#include <memory>
#include <string>
#include <vector>
#include "vulkan_functions.h"

namespace halyard::vulkan {

/// The host that loaded this backend; set once by the entry, before anything else is called.
void set_host(const HyHost* host);
const HyHost* host();
/// Passes a message to the host's log.
void log(std::int32_t level, const std::string& message);

/// libvulkan.so.1, opened on first use and kept. Fails with not_found and a remedy.
Result<GlobalFunctions> load_library();

/// A VkInstance, ours or the host program's. Thread-safe.
class Instance {
 public:
  /// Ours. With `validation` the Khronos layer is enabled, synchronization validation included, if installed.
  static Result<std::shared_ptr<Instance>> create(bool validation);
  /// The host program's, which outlives this object.
  static Result<std::shared_ptr<Instance>> wrap(VkInstance handle, std::uint32_t api_version,
                                                PFN_vkGetInstanceProcAddr get_proc_address);
  /// One without validation for listings, made once per process.
  static Result<std::shared_ptr<Instance>> shared();
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  VkInstance handle() const { return handle_; }
  const InstanceFunctions& vk() const { return vk_; }
  std::uint32_t api_version() const { return api_version_; }
  /// Physical devices of Vulkan 1.2 and more that have a compute queue, in the loader's order.
  Result<std::vector<VkPhysicalDevice>> physical_devices() const;
  bool has_validation_layer() const { return messenger_ != VK_NULL_HANDLE; }
  /// Errors and warnings that the validation layer has reported.
  std::int64_t validation_messages() const { return messages_.load(); }

 private:
  Instance() = default;
  Status load_functions(PFN_vkGetInstanceProcAddr get_proc_address);
  static VkBool32 VKAPI_PTR on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                       VkDebugUtilsMessageTypeFlagsEXT types,
                                       const VkDebugUtilsMessengerCallbackDataEXT* data, void* self);

  VkInstance handle_ = VK_NULL_HANDLE;
  bool is_ours_ = false;
  std::uint32_t api_version_ = VK_API_VERSION_1_2;
  InstanceFunctions vk_;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  std::atomic<std::int64_t> messages_{0};
};

}  // namespace halyard::vulkan
