#include "module_loader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "backend_call.h"
#include "halyard/hal/disk_cache.h"

namespace halyard::hal {
namespace {

HyKernelDesc form_of(const KernelDesc& desc) {
  HyKernelDesc form{};
  form.size = sizeof form;
  form.binding_model = desc.buffers_by_address ? HY_BINDING_DEVICE_ADDRESS : HY_BINDING_DEFAULT;
  form.entry = desc.entry.c_str();
  for (std::size_t i = 0; i < 3; ++i) form.workgroup_size[i] = desc.workgroup_size[i];
  form.required_subgroup_size = desc.required_subgroup_size;
  form.buffer_count = desc.buffer_count;
  form.scalar_bytes = desc.scalar_bytes;
  form.static_shared_bytes = desc.static_shared_bytes;
  form.opaque_count = desc.opaque_count;
  form.scratch_bytes = desc.scratch_bytes;
  form.written_buffers = desc.written_buffers;
  form.read_buffers = desc.read_buffers;
  return form;
}

CacheKey key_of(const Device& device, const ModuleDesc& desc) {
  CacheKeyBuilder key("module");
  key.add(device.identity()).add(desc.format).add(desc.options).add(desc.bytes);
  for (const KernelDesc& kernel : desc.kernels) {
    key.add(kernel.entry);
    for (const std::uint32_t extent : kernel.workgroup_size) key.add(std::uint64_t{extent});
    key.add(std::uint64_t{kernel.required_subgroup_size}).add(std::uint64_t{kernel.buffer_count});
    key.add(std::uint64_t{kernel.scalar_bytes}).add(std::uint64_t{kernel.static_shared_bytes});
    key.add(std::uint64_t{kernel.opaque_count}).add(kernel.scratch_bytes);
    key.add(kernel.read_buffers).add(kernel.written_buffers).add(std::uint64_t{kernel.buffers_by_address});
  }
  return key.key();
}

// The cached value: the native format's name, a zero byte, the native bytes.
std::vector<std::byte> pack(const Module::Native& native) {
  std::vector<std::byte> value(native.format.size() + 1 + native.bytes.size());
  std::memcpy(value.data(), native.format.c_str(), native.format.size() + 1);
  std::copy(native.bytes.begin(), native.bytes.end(),
            value.begin() + static_cast<std::ptrdiff_t>(native.format.size() + 1));
  return value;
}

std::optional<Module::Native> unpack(std::span<const std::byte> value) {
  const auto end = std::find(value.begin(), value.end(), std::byte{0});
  if (end == value.end()) return std::nullopt;
  Module::Native native;
  native.format.assign(reinterpret_cast<const char*>(value.data()),
                       static_cast<std::size_t>(end - value.begin()));
  native.bytes.assign(end + 1, value.end());
  return native;
}

Result<HyModule*> create(const Device& device, const ModuleDesc& desc, const char* format,
                         std::span<const std::byte> bytes) {
  std::vector<HyKernelDesc> kernels;
  kernels.reserve(desc.kernels.size());
  for (const KernelDesc& kernel : desc.kernels) kernels.push_back(form_of(kernel));
  HyModuleDesc form{};
  form.size = sizeof form;
  form.format = format;
  form.bytes = bytes.data();
  form.byte_count = bytes.size();
  form.kernels = kernels.data();
  form.kernel_count = static_cast<std::uint32_t>(kernels.size());
  form.label = desc.label.c_str();
  form.options = desc.options.empty() ? nullptr : desc.options.c_str();
  HyModule* module = nullptr;
  BackendError error;
  HALYARD_TRY(to_status(device.backend().module_create(device.handle(), &form, &module, &error), error,
                        device.info().uri, fmt::format("load module '{}' ({})", desc.label, format)));
  return module;
}

Status check(const Device& device, const ModuleDesc& desc) {
  const DeviceInfo& info = device.info();
  if (!info.accepts(desc.format))
    return fail(ErrorCode::unsupported,
                fmt::format("{}: load module '{}': the device takes no '{}', only: {}", info.uri, desc.label,
                            desc.format, fmt::join(info.module_formats, ", ")));
  for (const KernelDesc& kernel : desc.kernels)
    if (kernel.scalar_bytes % 8 != 0)
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("{}: load module '{}': kernel '{}': a scalar block of {} bytes is not a multiple of 8",
                      info.uri, desc.label, kernel.entry, kernel.scalar_bytes));
  return {};
}

}  // namespace

Result<std::shared_ptr<Module>> load_module(const std::shared_ptr<Device>& device, const ModuleDesc& desc) {
  HALYARD_TRY(check(*device, desc));
  DiskCache& cache = DiskCache::shared();
  const bool cached = device->backend().module_get_native != nullptr && cache.enabled();
  const CacheKey key = cached ? key_of(*device, desc) : CacheKey{};
  const auto wrap = [&](HyModule* handle, ModuleOrigin origin) {
    return std::make_shared<Module>(device, handle, desc.kernels, desc.label, origin);
  };
  if (cached) {
    if (const auto entry = cache.load(key)) {
      if (const auto native = unpack(*entry))
        if (auto handle = create(*device, desc, native->format.c_str(), native->bytes))
          return wrap(*handle, ModuleOrigin::disk_cache);
      cache.remove(key);  // whole, but of no use to this backend
    }
  }
  HALYARD_ASSIGN(HyModule * handle, create(*device, desc, desc.format.c_str(), desc.bytes));
  auto module = wrap(handle, ModuleOrigin::compiled);
  if (cached)
    if (const auto native = module->native(); native && !native->bytes.empty())
      cache.store(key, pack(*native));
  return module;
}

}  // namespace halyard::hal
