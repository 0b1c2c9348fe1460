#include "module.h"
#include <fmt/format.h>
#include <halyard/hal/spirv_kernel_abi.h>
#include <cstring>
#include <memory>
#include <string_view>
#include "device.h"
#include "error.h"
#include "pipeline_cache.h"
#include "spirv_validation.h"

namespace halyard::vulkan {
namespace {

constexpr std::uint32_t spirv_magic = 0x07230203;

Result<std::vector<std::uint32_t>> words_of(const HyModuleDesc& desc) {
  std::vector<std::uint32_t> words(desc.byte_count / 4);
  if (desc.byte_count % 4 != 0 || words.size() < 5)
    return fail(ErrorCode::corrupt_data,
                fmt::format("vulkan: module_create: {} bytes are no SPIR-V module", desc.byte_count));
  std::memcpy(words.data(), desc.bytes, desc.byte_count);
  if (words[0] != spirv_magic)
    return fail(ErrorCode::corrupt_data,
                "vulkan: module_create: the module does not begin with SPIR-V's magic "
                "number (in host byte order)");
  return words;
}

/// The module's SPIR-V and, if it comes in its native form, what the driver kept of it.
Result<PipelineImage> image_of(const HyDevice& device, const HyModuleDesc& desc) {
  const std::string_view format = desc.format ? desc.format : "";
  PipelineImage image;
  if (format == native_format) {
    HALYARD_ASSIGN(image, unpack_image({static_cast<const std::byte*>(desc.bytes), desc.byte_count},
                                       device.facts.properties));
  } else if (format == "spirv") {
    HALYARD_ASSIGN(image.words, words_of(desc));
  } else {
    return fail(ErrorCode::unsupported,
                fmt::format("vulkan: module_create: format '{}'; this backend takes spirv", format));
  }
  return image;
}

Status check_limits(const DeviceFacts& facts, const HyKernelDesc& desc) {
  const HyDeviceInfo& info = facts.info;
  std::uint64_t lanes =
      std::uint64_t{desc.workgroup_size[0]} * desc.workgroup_size[1] * desc.workgroup_size[2];
  for (int axis = 0; axis < 3; ++axis)
    if (desc.workgroup_size[axis] == 0 || desc.workgroup_size[axis] > info.max_workgroup_size[axis])
      lanes = UINT64_MAX;
  if (lanes > info.max_workgroup_invocations)
    return fail(
        ErrorCode::unsupported,
        fmt::format(
            "vulkan: kernel {}: a workgroup of {} x {} x {} lanes; {} takes {} in all and {} x {} x {}",
            desc.entry, desc.workgroup_size[0], desc.workgroup_size[1], desc.workgroup_size[2], facts.name,
            info.max_workgroup_invocations, info.max_workgroup_size[0], info.max_workgroup_size[1],
            info.max_workgroup_size[2]));
  if (desc.static_shared_bytes > info.shared_bytes)
    return fail(ErrorCode::unsupported,
                fmt::format("vulkan: kernel {}: {} bytes of shared memory; {} has {}", desc.entry,
                            desc.static_shared_bytes, facts.name, info.shared_bytes));
  if (desc.buffer_count > info.max_buffers_per_kernel)
    return fail(ErrorCode::unsupported,
                fmt::format("vulkan: kernel {}: {} buffers; {} binds at most {}", desc.entry,
                            desc.buffer_count, facts.name, info.max_buffers_per_kernel));
  if (desc.opaque_count || desc.scalar_bytes % 8)
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("vulkan: kernel {}: {} opaque parameters and {} scalar bytes; SPIR-V kernels take none "
                    "of the former and a multiple of 8 of the latter",
                    desc.entry, desc.opaque_count, desc.scalar_bytes));
  if (desc.binding_model == HY_BINDING_DEVICE_ADDRESS && !facts.features.device_address)
    return fail(ErrorCode::unsupported,
                fmt::format("vulkan: kernel {}: {} has no buffer device addresses; bind by descriptors",
                            desc.entry, facts.name));
  return {};
}

void describe(const DeviceFacts& facts, const HyKernelDesc& desc, Kernel& kernel) {
  kernel.entry = desc.entry;
  std::copy_n(desc.workgroup_size, 3, kernel.workgroup_size);
  kernel.buffer_count = desc.buffer_count;
  kernel.scalar_bytes = desc.scalar_bytes;
  kernel.written_buffers = desc.written_buffers;
  kernel.read_buffers = desc.read_buffers;
  kernel.by_address = desc.binding_model == HY_BINDING_DEVICE_ADDRESS;
  kernel.scalars_by_buffer = hy_spirv_scalars_by_buffer(desc.binding_model, desc.buffer_count,
                                                        desc.scalar_bytes, facts.info.max_scalar_bytes) != 0;
  kernel.push_bytes = hy_spirv_push_constant_bytes(desc.binding_model, desc.buffer_count,
                                                   kernel.scalars_by_buffer ? 0 : desc.scalar_bytes);
  kernel.descriptor_count = (kernel.by_address ? 0 : desc.buffer_count) + (kernel.scalars_by_buffer ? 1 : 0);
  kernel.push_descriptors = facts.extensions.push_descriptor && kernel.descriptor_count > 0 &&
                            kernel.descriptor_count <= facts.max_push_descriptors;
}

Status make_layouts(HyDevice& device, Kernel& kernel) {
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  for (std::uint32_t i = 0; i < kernel.descriptor_count; ++i)
    bindings.push_back({.binding = kernel.by_address ? kernel.buffer_count : i,
                        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                        .descriptorCount = 1,
                        .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT});
  VkDescriptorSetLayoutCreateFlags flags = 0;
  if (kernel.push_descriptors) flags |= VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR;
  VkDescriptorSetLayoutCreateInfo set_info{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                           .flags = flags,
                                           .bindingCount = kernel.descriptor_count,
                                           .pBindings = bindings.data()};
  if (kernel.descriptor_count > 0)
    HALYARD_TRY(device.check(
        "vkCreateDescriptorSetLayout",
        device.vk.CreateDescriptorSetLayout(device.handle, &set_info, nullptr, &kernel.set_layout)));
  if (kernel.push_bytes > device.facts.info.max_scalar_bytes)
    return fail(
        ErrorCode::unsupported,
        fmt::format(
            "vulkan: kernel {}: the addresses of {} buffers take {} bytes of push constants; {} has {}",
            kernel.entry, kernel.buffer_count, kernel.push_bytes, device.facts.name,
            device.facts.info.max_scalar_bytes));
  VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, kernel.push_bytes};
  VkPipelineLayoutCreateInfo layout_info{.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                         .setLayoutCount = kernel.set_layout ? 1u : 0u,
                                         .pSetLayouts = &kernel.set_layout,
                                         .pushConstantRangeCount = kernel.push_bytes ? 1u : 0u,
                                         .pPushConstantRanges = &range};
  return device.check("vkCreatePipelineLayout",
                      device.vk.CreatePipelineLayout(device.handle, &layout_info, nullptr, &kernel.layout));
}

/// Whether the pipeline must ask for the subgroup size, or an error if the device cannot give it.
Result<bool> must_require(const DeviceFacts& facts, const HyKernelDesc& desc) {
  std::uint32_t size = desc.required_subgroup_size;
  bool controlled = facts.features.subgroup_size_control && facts.subgroup_size_in_compute;
  bool in_range = size >= facts.subgroup_size_min && size <= facts.subgroup_size_max;
  if (size == 0) return false;
  if (controlled && in_range && facts.subgroup_size_min < facts.subgroup_size_max) return true;
  if (size == facts.info.subgroup_size) return false;
  return fail(ErrorCode::unsupported,
              fmt::format("vulkan: kernel {} requires subgroups of {} lanes; {} has {} to {}", desc.entry,
                          size, facts.name, facts.info.subgroup_size_min, facts.info.subgroup_size_max));
}

Status make_pipeline(HyDevice& device, VkShaderModule shader, VkPipelineCache cache, const HyKernelDesc& desc,
                     Kernel& kernel) {
  HALYARD_ASSIGN(bool requires_size, must_require(device.facts, desc));
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfoEXT size{
      .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO_EXT,
      .requiredSubgroupSize = desc.required_subgroup_size};
  VkPipelineShaderStageCreateFlags flags = 0;
  bool fills = desc.required_subgroup_size && desc.workgroup_size[0] % desc.required_subgroup_size == 0;
  if (device.facts.features.full_subgroups && fills)
    flags |= VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT;
  VkComputePipelineCreateInfo info{.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                   .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                             .pNext = requires_size ? &size : nullptr,
                                             .flags = flags,
                                             .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                             .module = shader,
                                             .pName = desc.entry},
                                   .layout = kernel.layout};
  VkResult result =
      device.vk.CreateComputePipelines(device.handle, cache, 1, &info, nullptr, &kernel.pipeline);
  if (result == VK_SUCCESS) return {};
  auto failed = device.failure("vkCreateComputePipelines", result);
  failed.value().message += fmt::format(" for kernel {}", desc.entry);
  if (failed.value().code == ErrorCode::internal) failed.value().code = ErrorCode::compile_error;
  return failed;
}

Status load(HyDevice& device, const HyModuleDesc& desc, HyModule& module) {
  HALYARD_ASSIGN(const PipelineImage image, image_of(device, desc));
  const std::vector<std::uint32_t>& words = image.words;
  for (std::uint32_t i = 0; i < desc.kernel_count; ++i) {
    HALYARD_TRY(check_limits(device.facts, desc.kernels[i]));
    HALYARD_TRY(check_entry_point(words, desc.kernels[i].entry));
  }
  if (device.debug) HALYARD_TRY(validate_spirv(words));
  VkShaderModuleCreateInfo info{.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                .codeSize = words.size() * 4,
                                .pCode = words.data()};
  VkShaderModule shader = VK_NULL_HANDLE;
  HALYARD_TRY(device.check("vkCreateShaderModule",
                           device.vk.CreateShaderModule(device.handle, &info, nullptr, &shader)));
  module.kernels.resize(desc.kernel_count);
  PipelineCache cache(device.handle, device.vk);
  Status made = device.check("vkCreatePipelineCache", cache.open(image.driver_data));
  for (std::uint32_t i = 0; i < desc.kernel_count && made; ++i) {
    describe(device.facts, desc.kernels[i], module.kernels[i]);
    made = make_layouts(device, module.kernels[i]);
    if (made) made = make_pipeline(device, shader, cache.handle(), desc.kernels[i], module.kernels[i]);
  }
  device.vk.DestroyShaderModule(device.handle, shader, nullptr);
  if (made) module.native = pack_image(words, cache.data());
  return made;
}

}  // namespace

HyStatus module_create(HyDevice* device, const HyModuleDesc* desc, HyModule** module, HyError* error) {
  return at_border(error, [&]() -> Status {
    HALYARD_TRY(device->status());
    auto made = std::make_unique<HyModule>(*device);
    HALYARD_TRY(load(*device, *desc, *made));
    *module = made.release();
    return {};
  });
}

void module_destroy(HyModule* module) {
  delete module;
}

HyStatus module_get_native(HyModule* module, const char** format, const void** bytes, std::size_t* byte_count,
                           HyError*) {
  *format = native_format;
  *bytes = module->native.data();
  *byte_count = module->native.size();
  return HY_OK;
}

}  // namespace halyard::vulkan

HyModule::~HyModule() {
  for (halyard::vulkan::Kernel& kernel : kernels) {
    if (kernel.pipeline) device.vk.DestroyPipeline(device.handle, kernel.pipeline, nullptr);
    if (kernel.layout) device.vk.DestroyPipelineLayout(device.handle, kernel.layout, nullptr);
    if (kernel.set_layout) device.vk.DestroyDescriptorSetLayout(device.handle, kernel.set_layout, nullptr);
  }
}
