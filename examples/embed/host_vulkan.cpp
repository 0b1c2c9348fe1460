#include "host_vulkan.h"
#include <vector>

bool HostVulkan::start(std::string& why) {
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pApplicationName = "embedding host";
  application.apiVersion = VK_API_VERSION_1_2;
  VkInstanceCreateInfo instance_info{};
  instance_info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  instance_info.pApplicationInfo = &application;
  if (vkCreateInstance(&instance_info, nullptr, &instance) != VK_SUCCESS || !find_device()) {
    why = "no Vulkan 1.2 driver found";
    return false;
  }

  float priority = 1.0f;
  VkDeviceQueueCreateInfo queue_info{};
  queue_info.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue_info.queueFamilyIndex = family;
  queue_info.queueCount = 1;
  queue_info.pQueuePriorities = &priority;
  // Halyard needs timeline semaphores, which every Vulkan 1.2 device has; all else is optional.
  features12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  features12.timelineSemaphore = VK_TRUE;
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.pNext = &features12;
  VkDeviceCreateInfo device_info{};
  device_info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  device_info.pNext = &features;
  device_info.queueCreateInfoCount = 1;
  device_info.pQueueCreateInfos = &queue_info;
  VkCommandPoolCreateInfo pool_info{};
  pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool_info.queueFamilyIndex = family;
  if (vkCreateDevice(physical, &device_info, nullptr, &device) != VK_SUCCESS ||
      vkCreateCommandPool(device, &pool_info, nullptr, &pool_) != VK_SUCCESS) {
    why = "the Vulkan device could not be made";
    return false;
  }
  vkGetDeviceQueue(device, family, 0, &queue);
  return true;
}

bool HostVulkan::find_device() {
  std::uint32_t count = 0;
  vkEnumeratePhysicalDevices(instance, &count, nullptr);
  std::vector<VkPhysicalDevice> all(count);
  vkEnumeratePhysicalDevices(instance, &count, all.data());
  for (VkPhysicalDevice candidate : all) {
    VkPhysicalDeviceProperties properties;
    vkGetPhysicalDeviceProperties(candidate, &properties);
    if (properties.apiVersion < VK_API_VERSION_1_2) continue;
    vkGetPhysicalDeviceQueueFamilyProperties(candidate, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    vkGetPhysicalDeviceQueueFamilyProperties(candidate, &count, families.data());
    for (family = 0; family < count; ++family)
      if (families[family].queueFlags & VK_QUEUE_COMPUTE_BIT) {
        physical = candidate;
        return true;
      }
  }
  return false;
}

HostVulkan::~HostVulkan() {
  if (pool_) vkDestroyCommandPool(device, pool_, nullptr);
  if (device) vkDestroyDevice(device, nullptr);
  if (instance) vkDestroyInstance(instance, nullptr);
}

HostVulkan::MappedBuffer HostVulkan::make_buffer(VkDeviceSize bytes) {
  MappedBuffer made;
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = bytes;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
               VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  vkCreateBuffer(device, &info, nullptr, &made.buffer);
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(device, made.buffer, &needs);
  VkPhysicalDeviceMemoryProperties memory;
  vkGetPhysicalDeviceMemoryProperties(physical, &memory);
  VkMemoryAllocateInfo allocation{};
  allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  allocation.allocationSize = needs.size;
  constexpr VkMemoryPropertyFlags wanted =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  for (std::uint32_t i = 0; i < memory.memoryTypeCount; ++i)
    if ((needs.memoryTypeBits & (1u << i)) && (memory.memoryTypes[i].propertyFlags & wanted) == wanted) {
      allocation.memoryTypeIndex = i;
      break;
    }
  vkAllocateMemory(device, &allocation, nullptr, &made.memory);
  vkBindBufferMemory(device, made.buffer, made.memory, 0);
  void* pointer = nullptr;
  vkMapMemory(device, made.memory, 0, VK_WHOLE_SIZE, 0, &pointer);
  made.values = static_cast<float*>(pointer);
  return made;
}

void HostVulkan::destroy(const MappedBuffer& buffer) {
  vkDestroyBuffer(device, buffer.buffer, nullptr);
  vkFreeMemory(device, buffer.memory, nullptr);
}

void HostVulkan::copy(VkBuffer from, VkBuffer to, VkDeviceSize bytes) {
  VkCommandBufferAllocateInfo allocation{};
  allocation.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  allocation.commandPool = pool_;
  allocation.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  allocation.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  vkAllocateCommandBuffers(device, &allocation, &commands);
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  vkBeginCommandBuffer(commands, &begin);
  VkBufferCopy region{0, 0, bytes};
  vkCmdCopyBuffer(commands, from, to, 1, &region);
  VkMemoryBarrier to_host{};
  to_host.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  to_host.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
  to_host.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
  vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &to_host,
                       0, nullptr, 0, nullptr);
  vkEndCommandBuffer(commands);
  VkSubmitInfo submit{};
  submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &commands;
  {
    std::lock_guard lock(queue_mutex);
    vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE);
    vkQueueWaitIdle(queue);
  }
  vkFreeCommandBuffers(device, pool_, 1, &commands);
}
