#pragma once

#include <string>

#include "halyard/hal/device_info.h"
#include "halyard/hal/plugin.h"

namespace halyard::hal {

/// The value form of what a backend tells, with the rows of hal's own quirk table added.
DeviceInfo read_device_info(const HyBackend& backend, const HyDeviceInfo& raw, std::string uri);
DeviceType device_type(std::uint32_t type);

/// Adds the rows of the quirk table that match backend, driver and version; a backend's own row of a name
/// wins.
void add_known_quirks(DeviceInfo& info);

/// Compares dotted versions number by number; what is not a number separates. "22.3.6" < "25.0".
int compare_versions(std::string_view left, std::string_view right);

}  // namespace halyard::hal
