#include "halyard/hal/module.h"

#include <fmt/format.h>

#include <cstring>

#include "backend_call.h"
#include "halyard/hal/device.h"

namespace halyard::hal {

Module::Module(std::shared_ptr<Device> device, HyModule* handle, std::vector<KernelDesc> kernels,
               std::string label, ModuleOrigin origin)
    : device_(std::move(device)),
      handle_(handle),
      kernels_(std::move(kernels)),
      label_(std::move(label)),
      origin_(origin) {}

Module::~Module() {
  device_->backend().module_destroy(handle_);
}

Result<Module::Native> Module::native() const {
  const HyBackend& backend = device_->backend();
  if (backend.module_get_native == nullptr)
    return tl::unexpected<Error>(missing_function(device_->info().uri, "native code of a module"));
  const char* format = nullptr;
  const void* bytes = nullptr;
  std::size_t count = 0;
  BackendError error;
  HALYARD_TRY(to_status(backend.module_get_native(handle_, &format, &bytes, &count, &error), error,
                        device_->info().uri, "native code of a module"));
  Native native;
  native.format = format != nullptr ? format : "";
  const auto* first = static_cast<const std::byte*>(bytes);
  native.bytes.assign(first, first + count);
  return native;
}

Result<Kernel> Kernel::find(const std::shared_ptr<Module>& module, std::string_view entry) {
  std::string names;
  for (std::uint32_t i = 0; i < module->kernels().size(); ++i) {
    const std::string& name = module->kernels()[i].entry;
    if (name == entry) return Kernel(module, i);
    names += (names.empty() ? "" : ", ") + name;
  }
  return fail(ErrorCode::not_found,
              fmt::format("module '{}': no kernel named '{}'; it has: {}", module->label(), entry, names));
}

std::vector<std::byte> ScalarBlock::bytes() const {
  std::vector<std::byte> result = bytes_;
  result.resize((result.size() + 7) / 8 * 8);
  return result;
}

void ScalarBlock::append(const void* value, std::size_t size) {
  const std::size_t offset = (bytes_.size() + size - 1) / size * size;
  bytes_.resize(offset + size);
  std::memcpy(bytes_.data() + offset, value, size);
}

}  // namespace halyard::hal
