#pragma once

#include <string>
#include <vector>

namespace halyard::conformance {

/// The devices that hal's tests fan out over, by URI: all that can be opened here, unless one was chosen.
const std::vector<std::string>& chosen_devices();
/// From now on it is this one alone. Not thread-safe.
void choose_device(const std::string& uri);

}  // namespace halyard::conformance
