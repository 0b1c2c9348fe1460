#pragma once

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

/// Every Vulkan function that this backend calls: (name) without its "vk". Required ones are core in
/// Vulkan 1.2; optional ones are null where their extension is not enabled.

// clang-format off
#define HALYARD_VULKAN_GLOBAL_FUNCTIONS(required)      \
  required(CreateInstance)                             \
  required(EnumerateInstanceVersion)                   \
  required(EnumerateInstanceLayerProperties)           \
  required(EnumerateInstanceExtensionProperties)

#define HALYARD_VULKAN_INSTANCE_FUNCTIONS(required, optional) \
  required(DestroyInstance)                            \
  required(EnumeratePhysicalDevices)                   \
  required(EnumerateDeviceExtensionProperties)         \
  required(GetPhysicalDeviceProperties)                \
  required(GetPhysicalDeviceProperties2)               \
  required(GetPhysicalDeviceExternalSemaphoreProperties) \
  required(GetPhysicalDeviceExternalBufferProperties) \
  required(GetPhysicalDeviceFeatures2)                 \
  required(GetPhysicalDeviceMemoryProperties2)         \
  required(GetPhysicalDeviceQueueFamilyProperties)     \
  required(CreateDevice)                               \
  required(GetDeviceProcAddr)                          \
  optional(CreateDebugUtilsMessengerEXT)               \
  optional(DestroyDebugUtilsMessengerEXT)

#define HALYARD_VULKAN_DEVICE_FUNCTIONS(required, optional) \
  required(DestroyDevice)                              \
  required(GetDeviceQueue)                             \
  required(QueueSubmit)                                \
  required(QueueWaitIdle)                              \
  required(AllocateMemory)                             \
  required(FreeMemory)                                 \
  required(MapMemory)                                  \
  required(CreateBuffer)                               \
  required(DestroyBuffer)                              \
  required(BindBufferMemory)                           \
  required(GetBufferMemoryRequirements)                \
  required(GetBufferDeviceAddress)                     \
  required(CreateSemaphore)                            \
  required(DestroySemaphore)                           \
  required(GetSemaphoreCounterValue)                   \
  required(WaitSemaphores)                             \
  required(SignalSemaphore)                            \
  required(CreateShaderModule)                         \
  required(DestroyShaderModule)                        \
  required(CreatePipelineCache)                        \
  required(DestroyPipelineCache)                       \
  required(GetPipelineCacheData)                       \
  required(CreateComputePipelines)                     \
  required(DestroyPipeline)                            \
  required(CreatePipelineLayout)                       \
  required(DestroyPipelineLayout)                      \
  required(CreateDescriptorSetLayout)                  \
  required(DestroyDescriptorSetLayout)                 \
  required(CreateDescriptorPool)                       \
  required(DestroyDescriptorPool)                      \
  required(ResetDescriptorPool)                        \
  required(AllocateDescriptorSets)                     \
  required(UpdateDescriptorSets)                       \
  required(CreateCommandPool)                          \
  required(DestroyCommandPool)                         \
  required(AllocateCommandBuffers)                     \
  required(FreeCommandBuffers)                         \
  required(BeginCommandBuffer)                         \
  required(EndCommandBuffer)                           \
  required(ResetCommandBuffer)                         \
  required(CreateQueryPool)                            \
  required(DestroyQueryPool)                           \
  required(GetQueryPoolResults)                        \
  required(CmdBindPipeline)                            \
  required(CmdBindDescriptorSets)                      \
  required(CmdPushConstants)                           \
  required(CmdDispatch)                                \
  required(CmdCopyBuffer)                              \
  required(CmdFillBuffer)                              \
  required(CmdPipelineBarrier)                         \
  required(CmdResetQueryPool)                          \
  required(CmdWriteTimestamp)                          \
  optional(CmdPushDescriptorSetKHR)                    \
  optional(GetMemoryFdKHR)                             \
  optional(GetMemoryFdPropertiesKHR)                   \
  optional(GetSemaphoreFdKHR)                          \
  optional(ImportSemaphoreFdKHR)                       \
  optional(GetMemoryHostPointerPropertiesEXT)
// clang-format on

namespace halyard::vulkan {

#define HALYARD_DECLARE(name) PFN_vk##name name = nullptr;

struct GlobalFunctions {
  PFN_vkGetInstanceProcAddr GetInstanceProcAddr = nullptr;
  HALYARD_VULKAN_GLOBAL_FUNCTIONS(HALYARD_DECLARE)
};

struct InstanceFunctions {
  HALYARD_VULKAN_INSTANCE_FUNCTIONS(HALYARD_DECLARE, HALYARD_DECLARE)
};

struct DeviceFunctions {
  HALYARD_VULKAN_DEVICE_FUNCTIONS(HALYARD_DECLARE, HALYARD_DECLARE)
};

#undef HALYARD_DECLARE

}  // namespace halyard::vulkan
