#pragma once

#include <memory>

#include "halyard/hal/device.h"

namespace halyard::hal {

/// Makes a module, from the disk cache's native code if there is any, else by the backend's compiler; stores
/// what the backend then gives as native code.
Result<std::shared_ptr<Module>> load_module(const std::shared_ptr<Device>& device, const ModuleDesc& desc);

}  // namespace halyard::hal
