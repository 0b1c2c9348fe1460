#pragma once

#include <memory>

#include "halyard/hal/device_info.h"
#include "halyard/hal/plugin.h"

namespace halyard::hal {

/// Whether HALYARD_VALIDATE asks for the validating device.
bool validation_wanted();

/// A device that checks every call before handing it on: handles that were destroyed or are of another
/// device, ranges, alignment, argument counts and sizes, overlapping slices of a dispatch, unordered
/// conflicting nodes of a graph, destruction under pending work. A bad call fails with HY_INVALID_ARGUMENT,
/// begins with "validation:" and reaches no backend. Takes over `device`.
struct ValidatedDevice {
  std::shared_ptr<const HyBackend> backend;
  HyDevice* device;
};
ValidatedDevice validate_device(std::shared_ptr<const HyBackend> backend, HyDevice* device,
                                const DeviceInfo& info);

}  // namespace halyard::hal
