#include "module.h"
#include <fmt/format.h>
#include <cstring>
#include <memory>
#include <string_view>
#include "device.h"
#include "error.h"
#include "llvm_compiler.h"

namespace halyard::cpu {
namespace {

Result<std::vector<std::byte>> object_bytes_of(const HyModuleDesc& desc, std::string_view label) {
  std::string_view format = desc.format ? desc.format : "";
  const auto* begin = static_cast<const std::byte*>(desc.bytes);
  if (format == "elf-object") return std::vector<std::byte>(begin, begin + desc.byte_count);
  if (format == "llvm-ir")
    return compile_llvm_ir({static_cast<const char*>(desc.bytes), desc.byte_count}, label,
                           desc.options ? desc.options : "");
  return fail(
      ErrorCode::unsupported,
      fmt::format("cpu: module {}: format \"{}\" is not taken; give llvm-ir or elf-object", label, format));
}

Status add_kernel(HyModule& module, const HyKernelDesc& desc, std::string_view label) {
  if (!desc.entry)
    return fail(ErrorCode::invalid_argument, fmt::format("cpu: module {}: a kernel has no name", label));
  for (std::uint32_t axis : desc.workgroup_size)
    if (axis > 1)
      return fail(
          ErrorCode::unsupported,
          fmt::format("cpu: module {}: kernel {} has a workgroup of {}x{}x{}; it must be 1x1x1", label,
                      desc.entry, desc.workgroup_size[0], desc.workgroup_size[1], desc.workgroup_size[2]));
  if (desc.opaque_count != 0 || desc.required_subgroup_size > 1)
    return fail(
        ErrorCode::unsupported,
        fmt::format("cpu: module {}: kernel {} wants {} opaque parameters and subgroups of {} lanes; the cpu "
                    "has none and 1",
                    label, desc.entry, desc.opaque_count, desc.required_subgroup_size));
  void* address = module.object.function(desc.entry);
  if (!address)
    return fail(ErrorCode::not_found,
                fmt::format("cpu: module {} has no function named {}", label, desc.entry));
  Kernel& kernel = module.kernels.emplace_back();
  kernel.function = reinterpret_cast<HyCpuKernel>(address);
  kernel.entry = desc.entry;
  kernel.buffer_count = desc.buffer_count;
  kernel.scalar_bytes = desc.scalar_bytes;
  kernel.scratch_bytes = desc.scratch_bytes;
  return {};
}

}  // namespace

HyStatus module_create(HyDevice* device, const HyModuleDesc* desc, HyModule** module, HyError* error) {
  return at_border(error, [&]() -> Status {
    HALYARD_TRY(device->status());
    HyModuleDesc known = read_sized(desc);
    std::string_view label = known.label                                    ? known.label
                             : known.kernel_count && known.kernels[0].entry ? known.kernels[0].entry
                                                                            : "unnamed";
    HALYARD_ASSIGN(std::vector<std::byte> bytes, object_bytes_of(known, label));
    HALYARD_ASSIGN(LoadedObject object, LoadedObject::load(bytes));
    auto made = std::unique_ptr<HyModule>(new HyModule{std::move(bytes), std::move(object), {}});
    for (std::uint32_t i = 0; i < known.kernel_count; ++i)
      HALYARD_TRY(add_kernel(*made, element_of(known.kernels, i), label));
    *module = made.release();
    return {};
  });
}

void module_destroy(HyModule* module) {
  delete module;
}

HyStatus module_get_native(HyModule* module, const char** format, const void** bytes, std::size_t* byte_count,
                           HyError*) {
  *format = "elf-object";
  *bytes = module->object_bytes.data();
  *byte_count = module->object_bytes.size();
  return HY_OK;
}

}  // namespace halyard::cpu
