#pragma once

#include <vulkan/vulkan.h>
#include <mutex>
#include <string>

/// A program with a Vulkan of its own, as a game or a renderer has one. Nothing here knows of Halyard.
class HostVulkan {
 public:
  /// False if there is no Vulkan 1.2 device; `why` tells then.
  bool start(std::string& why);
  ~HostVulkan();

  struct MappedBuffer {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    float* values = nullptr;
  };
  MappedBuffer make_buffer(VkDeviceSize bytes);
  void destroy(const MappedBuffer& buffer);
  /// The program's own work on its own queue: copies one buffer to another and waits.
  void copy(VkBuffer from, VkBuffer to, VkDeviceSize bytes);

  VkInstance instance = VK_NULL_HANDLE;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  std::uint32_t family = 0;
  VkQueue queue = VK_NULL_HANDLE;
  std::mutex queue_mutex;  ///< Vulkan wants the users of a queue one at a time
  /// What vkCreateDevice was told to enable; Halyard must know it too.
  VkPhysicalDeviceVulkan12Features features12{};
  VkPhysicalDeviceFeatures2 features{};

 private:
  bool find_device();
  VkCommandPool pool_ = VK_NULL_HANDLE;
};
