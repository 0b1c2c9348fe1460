#include "device_info.h"
#include <fmt/format.h>
#include <halyard/base/element_type.h>
#include <halyard/hal/backend/sized_struct.h>
#include <unistd.h>
#include <algorithm>
#include <cctype>
#include <cstring>
#include <string_view>
#include <thread>
#include "error.h"
#include "pipeline_cache.h"

namespace halyard::vulkan {
namespace {

constexpr HyElementTypes bit(ElementType type) {
  return HyElementTypes{1} << static_cast<unsigned>(type);
}

/// The property structs of a device, linked.
struct PropertyChain {
  VkPhysicalDeviceProperties2 core{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  VkPhysicalDeviceVulkan11Properties vulkan11{.sType =
                                                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES};
  VkPhysicalDeviceVulkan12Properties vulkan12{.sType =
                                                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES};
  VkPhysicalDeviceSubgroupSizeControlPropertiesEXT subgroup_size{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES_EXT};
  VkPhysicalDevicePushDescriptorPropertiesKHR push_descriptor{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PUSH_DESCRIPTOR_PROPERTIES_KHR};
  VkPhysicalDeviceExternalMemoryHostPropertiesEXT memory_host{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT};
  VkPhysicalDeviceShaderSMBuiltinsPropertiesNV multiprocessors{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV};
  VkPhysicalDeviceShaderCorePropertiesAMD shader_cores{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD};
};

template <class Struct>
void push(VkPhysicalDeviceProperties2& head, Struct& next) {
  next.pNext = head.pNext;
  head.pNext = &next;
}

std::vector<VkExtensionProperties> extensions_of(const Instance& instance, VkPhysicalDevice physical) {
  std::uint32_t count = 0;
  if (instance.vk().EnumerateDeviceExtensionProperties(physical, nullptr, &count, nullptr) < VK_SUCCESS)
    return {};
  std::vector<VkExtensionProperties> result(count);
  if (instance.vk().EnumerateDeviceExtensionProperties(physical, nullptr, &count, result.data()) < VK_SUCCESS)
    return {};
  return result;
}

std::string lower_case_word(std::string_view text) {
  std::string word;
  for (char c : text) {
    if (!std::isalnum(static_cast<unsigned char>(c))) break;
    word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return word;
}

/// "Mesa 22.3.6 (LLVM 15.0.6)" -> "22.3.6"; where the driver says nothing its number is decoded.
std::string version_text(const VkPhysicalDeviceProperties& properties, std::string_view driver_info) {
  std::size_t first = driver_info.find_first_of("0123456789");
  if (first != std::string_view::npos) {
    std::size_t last = driver_info.find_first_not_of("0123456789.", first);
    return std::string(driver_info.substr(first, last - first));
  }
  std::uint32_t number = properties.driverVersion;
  return fmt::format("{}.{}.{}", VK_API_VERSION_MAJOR(number), VK_API_VERSION_MINOR(number),
                     VK_API_VERSION_PATCH(number));
}

std::string vendor_text(std::uint32_t id) {
  switch (id) {
    case 0x1002:
      return "AMD";
    case 0x10de:
      return "NVIDIA";
    case 0x8086:
      return "Intel";
    case 0x13b5:
      return "Arm";
    case 0x5143:
      return "Qualcomm";
    case 0x1ae0:
      return "Google";
    case VK_VENDOR_ID_MESA:
      return "Mesa";
    default:
      return fmt::format("vendor 0x{:04x}", id);
  }
}

void choose_queue_family(const Instance& instance, VkPhysicalDevice physical, DeviceFacts& facts) {
  std::uint32_t count = 0;
  instance.vk().GetPhysicalDeviceQueueFamilyProperties(physical, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  instance.vk().GetPhysicalDeviceQueueFamilyProperties(physical, &count, families.data());
  // A family that only computes runs beside graphics; any other that computes does as well.
  int best = -1;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!(families[i].queueFlags & VK_QUEUE_COMPUTE_BIT)) continue;
    int rank = families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT ? 0 : 1;
    if (rank <= best) continue;
    best = rank;
    facts.compute_family = i;
    facts.compute_queue_count = families[i].queueCount;
    facts.timestamp_bits = families[i].timestampValidBits;
  }
}

/// The memory type with all of `required` and most of `preferred`, fewest of `avoided`; `fallback` if there
/// is none.
std::uint32_t choose_memory(const VkPhysicalDeviceMemoryProperties& memory, VkMemoryPropertyFlags required,
                            VkMemoryPropertyFlags preferred, VkMemoryPropertyFlags avoided,
                            std::uint32_t fallback) {
  int best = -100;
  std::uint32_t chosen = fallback;
  for (std::uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    VkMemoryPropertyFlags flags = memory.memoryTypes[i].propertyFlags;
    constexpr VkMemoryPropertyFlags unusable =
        VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT;
    if ((flags & required) != required || (flags & unusable)) continue;
    int rank = 2 * __builtin_popcount(flags & preferred) - __builtin_popcount(flags & avoided);
    if (rank <= best) continue;
    best = rank;
    chosen = i;
  }
  return chosen;
}

void choose_memory_types(DeviceFacts& facts) {
  constexpr VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  constexpr VkMemoryPropertyFlags visible =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  constexpr VkMemoryPropertyFlags cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  constexpr VkMemoryPropertyFlags special =
      VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD | VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD;
  bool is_unified = facts.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU ||
                    facts.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  // A discrete device's mappable local memory is scarce: device buffers leave it to others.
  facts.memory_types[HY_MEMORY_DEVICE] =
      is_unified ? choose_memory(facts.memory, local, visible | cached, special, 0)
                 : choose_memory(facts.memory, local, 0, visible | cached | special, 0);
  std::uint32_t any_visible = choose_memory(facts.memory, visible, 0, special, 0);
  facts.memory_types[HY_MEMORY_UPLOAD] =
      choose_memory(facts.memory, visible, is_unified ? local | cached : 0, local | special, any_visible);
  facts.memory_types[HY_MEMORY_READBACK] =
      choose_memory(facts.memory, visible, cached, local | special, any_visible);
}

void read_extensions(const std::vector<VkExtensionProperties>& present, Extensions& extensions) {
  auto has = [&](std::string_view name) {
    return std::any_of(present.begin(), present.end(),
                       [&](const VkExtensionProperties& e) { return name == e.extensionName; });
  };
  extensions.push_descriptor = has(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME);
  extensions.memory_budget = has(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  extensions.external_memory_fd = has(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
  extensions.external_memory_dma_buf = has(VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME);
  extensions.external_memory_host = has(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
  extensions.external_semaphore_fd = has(VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME);
  extensions.subgroup_size_control = has(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
}

void read_features(const FeatureChain& chain, Features& features) {
  features.int16 = chain.core.features.shaderInt16;
  features.int64 = chain.core.features.shaderInt64;
  features.float64 = chain.core.features.shaderFloat64;
  features.storage16 = chain.vulkan11.storageBuffer16BitAccess;
  features.storage8 = chain.vulkan12.storageBuffer8BitAccess;
  features.int8 = chain.vulkan12.shaderInt8;
  features.float16 = chain.vulkan12.shaderFloat16;
  features.timeline_semaphore = chain.vulkan12.timelineSemaphore;
  features.device_address = chain.vulkan12.bufferDeviceAddress;
  features.host_query_reset = chain.vulkan12.hostQueryReset;
  features.subgroup_size_control = chain.subgroup_size.subgroupSizeControl;
  features.full_subgroups = chain.subgroup_size.computeFullSubgroups;
}

void fill_float_controls(const VkPhysicalDeviceVulkan12Properties& p, const Features& features,
                         HyDeviceInfo& info) {
  auto set = [](HyElementTypes& types, ElementType type, VkBool32 declared, bool present) {
    if (declared && present) types |= bit(type);
  };
  set(info.declares_keeps_subnormals, ElementType::f16, p.shaderDenormPreserveFloat16, features.float16);
  set(info.declares_keeps_subnormals, ElementType::f32, p.shaderDenormPreserveFloat32, true);
  set(info.declares_keeps_subnormals, ElementType::f64, p.shaderDenormPreserveFloat64, features.float64);
  set(info.declares_flushes_subnormals, ElementType::f16, p.shaderDenormFlushToZeroFloat16, features.float16);
  set(info.declares_flushes_subnormals, ElementType::f32, p.shaderDenormFlushToZeroFloat32, true);
  set(info.declares_flushes_subnormals, ElementType::f64, p.shaderDenormFlushToZeroFloat64, features.float64);
  set(info.declares_rounds_to_even, ElementType::f16, p.shaderRoundingModeRTEFloat16, features.float16);
  set(info.declares_rounds_to_even, ElementType::f32, p.shaderRoundingModeRTEFloat32, true);
  set(info.declares_rounds_to_even, ElementType::f64, p.shaderRoundingModeRTEFloat64, features.float64);
  set(info.declares_keeps_nan, ElementType::f16, p.shaderSignedZeroInfNanPreserveFloat16, features.float16);
  set(info.declares_keeps_nan, ElementType::f32, p.shaderSignedZeroInfNanPreserveFloat32, true);
  set(info.declares_keeps_nan, ElementType::f64, p.shaderSignedZeroInfNanPreserveFloat64, features.float64);
  // Controls that only hold for all widths together are asked for only where 32 bits are alone.
  auto keep_f32 = [](HyElementTypes& types) { types &= bit(ElementType::f32); };
  if (p.denormBehaviorIndependence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE) {
    bool all = (info.declares_keeps_subnormals & bit(ElementType::f32)) != 0;
    if (!all) info.declares_keeps_subnormals = 0;
  }
  if (p.roundingModeIndependence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE &&
      !(info.declares_rounds_to_even & bit(ElementType::f32)))
    keep_f32(info.declares_rounds_to_even);
}

void fill_limits(const PropertyChain& chain, DeviceFacts& facts) {
  const VkPhysicalDeviceLimits& limits = facts.properties.limits;
  HyDeviceInfo& info = facts.info;
  info.max_workgroup_invocations = limits.maxComputeWorkGroupInvocations;
  std::copy_n(limits.maxComputeWorkGroupSize, 3, info.max_workgroup_size);
  std::copy_n(limits.maxComputeWorkGroupCount, 3, info.max_grid);
  info.shared_bytes = limits.maxComputeSharedMemorySize;
  info.max_scalar_bytes = limits.maxPushConstantsSize;
  std::uint32_t descriptors =
      std::min(limits.maxPerStageDescriptorStorageBuffers, limits.maxDescriptorSetStorageBuffers);
  info.max_buffers_per_kernel = std::min(64u, descriptors - 1);  // one is kept for a large scalar block
  info.max_allocation_bytes = chain.vulkan11.maxMemoryAllocationSize;
  info.max_storage_range = limits.maxStorageBufferRange;
  // 16 so that a slice may be seen as vectors of four words.
  info.storage_alignment = std::max<std::uint64_t>(16, limits.minStorageBufferOffsetAlignment);
  for (std::uint32_t i = 0; i < facts.memory.memoryHeapCount; ++i)
    if (facts.memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
      info.memory_bytes = std::max<std::uint64_t>(info.memory_bytes, facts.memory.memoryHeaps[i].size);
  info.subgroup_size = chain.vulkan11.subgroupSize;
  VkSubgroupFeatureFlags operations = chain.vulkan11.subgroupSupportedOperations;
  if (!(chain.vulkan11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT)) operations = 0;
  info.subgroup_operations = 0;
  const std::pair<VkSubgroupFeatureFlagBits, std::uint32_t> rows[] = {
      {VK_SUBGROUP_FEATURE_BASIC_BIT, HY_SUBGROUP_BASIC},
      {VK_SUBGROUP_FEATURE_VOTE_BIT, HY_SUBGROUP_VOTE},
      {VK_SUBGROUP_FEATURE_ARITHMETIC_BIT, HY_SUBGROUP_ARITHMETIC},
      {VK_SUBGROUP_FEATURE_BALLOT_BIT, HY_SUBGROUP_BALLOT},
      {VK_SUBGROUP_FEATURE_SHUFFLE_BIT, HY_SUBGROUP_SHUFFLE},
      {VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT, HY_SUBGROUP_SHUFFLE_RELATIVE},
      {VK_SUBGROUP_FEATURE_QUAD_BIT, HY_SUBGROUP_QUAD},
  };
  for (const auto& [from, to] : rows)
    if (operations & from) info.subgroup_operations |= to;
}

/// Processors and caches: Vulkan tells neither but by vendor's extensions; a software driver has the host's.
void fill_processors(const PropertyChain& chain, DeviceFacts& facts) {
  HyDeviceInfo& info = facts.info;
  const auto& amd = chain.shader_cores;
  if (chain.multiprocessors.shaderSMCount)
    info.compute_units = chain.multiprocessors.shaderSMCount;
  else if (amd.shaderEngineCount)
    info.compute_units =
        amd.shaderEngineCount * amd.shaderArraysPerEngineCount * amd.computeUnitsPerShaderArray;
  if (facts.properties.deviceType != VK_PHYSICAL_DEVICE_TYPE_CPU) return;
  info.compute_units = std::max(1u, std::thread::hardware_concurrency());
  auto known = [](int which) { return static_cast<std::uint64_t>(std::max(0L, sysconf(which))); };
  info.cache_line_bytes = static_cast<std::uint32_t>(known(_SC_LEVEL1_DCACHE_LINESIZE));
  info.l1_bytes = static_cast<std::uint32_t>(known(_SC_LEVEL1_DCACHE_SIZE));
  info.l2_bytes = known(_SC_LEVEL2_CACHE_SIZE);
  info.l3_bytes = known(_SC_LEVEL3_CACHE_SIZE);
}

}  // namespace

void FeatureChain::link(bool with_subgroup_size) {
  core.pNext = &vulkan11;
  vulkan11.pNext = &vulkan12;
  vulkan12.pNext = with_subgroup_size ? &subgroup_size : nullptr;
}

void request_features(const Features& features, FeatureChain& chain) {
  chain.link(features.subgroup_size_control);
  chain.core.features.shaderInt16 = features.int16;
  chain.core.features.shaderInt64 = features.int64;
  chain.core.features.shaderFloat64 = features.float64;
  chain.vulkan11.storageBuffer16BitAccess = features.storage16;
  chain.vulkan12.storageBuffer8BitAccess = features.storage8;
  chain.vulkan12.shaderInt8 = features.int8;
  chain.vulkan12.shaderFloat16 = features.float16;
  chain.vulkan12.timelineSemaphore = features.timeline_semaphore;
  chain.vulkan12.bufferDeviceAddress = features.device_address;
  chain.vulkan12.hostQueryReset = features.host_query_reset;
  chain.subgroup_size.subgroupSizeControl = features.subgroup_size_control;
  chain.subgroup_size.computeFullSubgroups = features.full_subgroups;
}

/// Drivers may offer descriptors for binary semaphores only.
bool shares_timelines(const InstanceFunctions& vk, VkPhysicalDevice physical) {
  VkSemaphoreTypeCreateInfo type{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                 .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  const VkPhysicalDeviceExternalSemaphoreInfo info{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO,
      .pNext = &type,
      .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
  VkExternalSemaphoreProperties properties{.sType = VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES};
  vk.GetPhysicalDeviceExternalSemaphoreProperties(physical, &info, &properties);
  constexpr VkExternalSemaphoreFeatureFlags both =
      VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT | VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT;
  return (properties.externalSemaphoreFeatures & both) == both;
}

/// An extension offered says nothing of buffers: it may be there for images alone.
bool shares_buffers_as_dma_buf(const InstanceFunctions& vk, VkPhysicalDevice physical) {
  const VkPhysicalDeviceExternalBufferInfo info{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO,
      .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
               VK_BUFFER_USAGE_TRANSFER_DST_BIT,
      .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT};
  VkExternalBufferProperties properties{.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
  vk.GetPhysicalDeviceExternalBufferProperties(physical, &info, &properties);
  constexpr VkExternalMemoryFeatureFlags both =
      VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT | VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT;
  return (properties.externalMemoryProperties.externalMemoryFeatures & both) == both;
}

Status describe_device(const Instance& instance, VkPhysicalDevice physical, DeviceFacts& facts) {
  const InstanceFunctions& vk = instance.vk();
  auto present = extensions_of(instance, physical);
  auto has = [&](std::string_view name) {
    return std::any_of(present.begin(), present.end(),
                       [&](const VkExtensionProperties& e) { return name == e.extensionName; });
  };
  read_extensions(present, facts.extensions);

  PropertyChain properties;
  push(properties.core, properties.vulkan11);
  push(properties.core, properties.vulkan12);
  if (facts.extensions.subgroup_size_control) push(properties.core, properties.subgroup_size);
  if (facts.extensions.push_descriptor) push(properties.core, properties.push_descriptor);
  if (facts.extensions.external_memory_host) push(properties.core, properties.memory_host);
  if (has(VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME)) push(properties.core, properties.multiprocessors);
  if (has(VK_AMD_SHADER_CORE_PROPERTIES_EXTENSION_NAME)) push(properties.core, properties.shader_cores);
  vk.GetPhysicalDeviceProperties2(physical, &properties.core);
  facts.properties = properties.core.properties;
  facts.max_push_descriptors = properties.push_descriptor.maxPushDescriptors;
  facts.host_pointer_alignment = properties.memory_host.minImportedHostPointerAlignment;

  facts.timelines_as_fd = facts.extensions.external_semaphore_fd && shares_timelines(vk, physical);
  facts.buffers_as_dma_buf = facts.extensions.external_memory_fd &&
                             facts.extensions.external_memory_dma_buf &&
                             shares_buffers_as_dma_buf(vk, physical);

  FeatureChain features;
  features.link(facts.extensions.subgroup_size_control);
  vk.GetPhysicalDeviceFeatures2(physical, &features.core);
  read_features(features, facts.features);
  if (!facts.features.timeline_semaphore)
    return fail(
        ErrorCode::unsupported,
        fmt::format("vulkan: {} has no timeline semaphores, which Vulkan 1.2 demands; update its driver",
                    facts.properties.deviceName));

  VkPhysicalDeviceMemoryProperties2 memory{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
  vk.GetPhysicalDeviceMemoryProperties2(physical, &memory);
  facts.memory = memory.memoryProperties;
  choose_queue_family(instance, physical, facts);
  choose_memory_types(facts);

  facts.name = facts.properties.deviceName;
  facts.vendor = vendor_text(facts.properties.vendorID);
  facts.driver = lower_case_word(properties.vulkan12.driverName);
  facts.driver_version = version_text(facts.properties, properties.vulkan12.driverInfo);
  facts.alias = lower_case_word(facts.properties.deviceName);
  facts.architecture = fmt::format("{:04x}:{:04x}", facts.properties.vendorID, facts.properties.deviceID);
  facts.subgroup_size_min = facts.subgroup_size_max = properties.vulkan11.subgroupSize;
  if (facts.extensions.subgroup_size_control) {
    facts.subgroup_size_min = properties.subgroup_size.minSubgroupSize;
    facts.subgroup_size_max = properties.subgroup_size.maxSubgroupSize;
    facts.subgroup_size_in_compute =
        (properties.subgroup_size.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
  }
  std::memcpy(facts.info.uuid, properties.vulkan11.deviceUUID, 16);
  fill_limits(properties, facts);
  fill_processors(properties, facts);
  fill_float_controls(properties.vulkan12, facts.features, facts.info);
  return {};
}

void restrict_to_enabled(const void* chain, const char* const* names, std::uint32_t name_count,
                         DeviceFacts& facts) {
  FeatureChain enabled;
  for (const auto* at = static_cast<const VkBaseInStructure*>(chain); at; at = at->pNext) {
    switch (at->sType) {
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2:
        enabled.core.features = reinterpret_cast<const VkPhysicalDeviceFeatures2*>(at)->features;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES:
        enabled.vulkan11 = *reinterpret_cast<const VkPhysicalDeviceVulkan11Features*>(at);
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES:
        enabled.vulkan12 = *reinterpret_cast<const VkPhysicalDeviceVulkan12Features*>(at);
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES:
        enabled.vulkan11.storageBuffer16BitAccess =
            reinterpret_cast<const VkPhysicalDevice16BitStorageFeatures*>(at)->storageBuffer16BitAccess;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES:
        enabled.vulkan12.storageBuffer8BitAccess =
            reinterpret_cast<const VkPhysicalDevice8BitStorageFeatures*>(at)->storageBuffer8BitAccess;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES: {
        const auto* given = reinterpret_cast<const VkPhysicalDeviceShaderFloat16Int8Features*>(at);
        enabled.vulkan12.shaderFloat16 = given->shaderFloat16;
        enabled.vulkan12.shaderInt8 = given->shaderInt8;
        break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES:
        enabled.vulkan12.timelineSemaphore =
            reinterpret_cast<const VkPhysicalDeviceTimelineSemaphoreFeatures*>(at)->timelineSemaphore;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES:
        enabled.vulkan12.bufferDeviceAddress =
            reinterpret_cast<const VkPhysicalDeviceBufferDeviceAddressFeatures*>(at)->bufferDeviceAddress;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES:
        enabled.subgroup_size = *reinterpret_cast<const VkPhysicalDeviceSubgroupSizeControlFeatures*>(at);
        break;
      default:
        break;
    }
  }
  read_features(enabled, facts.features);
  std::vector<VkExtensionProperties> given(name_count);
  for (std::uint32_t i = 0; i < name_count; ++i)
    std::strncpy(given[i].extensionName, names[i], VK_MAX_EXTENSION_NAME_SIZE - 1);
  read_extensions(given, facts.extensions);
  facts.timelines_as_fd = facts.timelines_as_fd && facts.extensions.external_semaphore_fd;
  facts.buffers_as_dma_buf = facts.buffers_as_dma_buf && facts.extensions.external_memory_fd &&
                             facts.extensions.external_memory_dma_buf;
}

void fill_info(DeviceFacts& facts) {
  static const char* const formats[] = {native_format, "spirv"};
  HyDeviceInfo& info = facts.info;
  info.size = sizeof(HyDeviceInfo);
  HyDeviceSummary summary = summarize(facts);
  info.type = summary.type;
  info.flags = summary.flags;
  info.name = facts.name.c_str();
  info.vendor = facts.vendor.c_str();
  info.driver = facts.driver.c_str();
  info.driver_version = facts.driver_version.c_str();
  info.architecture = facts.architecture.c_str();
  info.execution_flags = HY_EXECUTION_DIRECT_PARAMETERS;
  if (facts.features.device_address) info.execution_flags |= HY_EXECUTION_DEVICE_ADDRESS;
  if (facts.timestamp_bits) info.execution_flags |= HY_EXECUTION_TIME_STAMPS;
  if (facts.is_mappable(facts.memory_types[HY_MEMORY_DEVICE]))
    info.execution_flags |= HY_EXECUTION_HOST_VISIBLE_DEVICE_MEMORY;
  info.subgroup_size_min = info.subgroup_size_max = info.subgroup_size;
  if (facts.features.subgroup_size_control && facts.subgroup_size_in_compute) {
    info.execution_flags |= HY_EXECUTION_SUBGROUP_SIZE_CONTROL;
    info.subgroup_size_min = facts.subgroup_size_min;
    info.subgroup_size_max = facts.subgroup_size_max;
  }
  constexpr HyElementTypes words = bit(ElementType::i32) | bit(ElementType::u32) | bit(ElementType::f32);
  constexpr HyElementTypes longs = bit(ElementType::i64) | bit(ElementType::u64);
  const Features& f = facts.features;
  HyElementTypes types = words;
  if (f.int64) types |= longs;
  if (f.float64) types |= bit(ElementType::f64);
  info.storage_types = types;
  if (f.storage8) info.storage_types |= bit(ElementType::i8) | bit(ElementType::u8);
  if (f.storage16)
    info.storage_types |= bit(ElementType::i16) | bit(ElementType::u16) | bit(ElementType::f16);
  info.arithmetic_types = types | bit(ElementType::boolean);
  if (f.int16) info.arithmetic_types |= bit(ElementType::i16) | bit(ElementType::u16);
  if (f.int8) info.arithmetic_types |= bit(ElementType::i8) | bit(ElementType::u8);
  if (f.float16) info.arithmetic_types |= bit(ElementType::f16);
  info.shared_types = info.arithmetic_types;
  info.module_formats = formats;
  info.module_format_count = 2;
  info.spirv_version = facts.properties.apiVersion >= VK_API_VERSION_1_3 ? 0x00010600 : 0x00010500;
}

HyDeviceSummary summarize(const DeviceFacts& facts) {
  HyDeviceSummary summary{};
  summary.size = sizeof summary;
  switch (facts.properties.deviceType) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      summary.type = HY_DEVICE_DISCRETE;
      summary.score = 1000;
      break;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      summary.type = HY_DEVICE_INTEGRATED;
      summary.score = 500;
      break;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      summary.type = HY_DEVICE_VIRTUAL;
      summary.score = 300;
      break;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      summary.type = HY_DEVICE_CPU;
      summary.flags = HY_DEVICE_FLAG_SOFTWARE;
      summary.score = 50;
      break;
    default:
      summary.type = HY_DEVICE_OTHER;
      summary.score = 20;
      break;
  }
  std::memcpy(summary.uuid, facts.info.uuid, 16);
  hal::backend::write_text(facts.name, summary.name);
  hal::backend::write_text(facts.alias, summary.alias);
  hal::backend::write_text(facts.driver, summary.driver);
  hal::backend::write_text(facts.driver_version, summary.driver_version);
  return summary;
}

}  // namespace halyard::vulkan
