#pragma once

#include <halyard/fusion/device_profile.h>
#include <fstream>
#include <sstream>
#include <string>

namespace halyard::fusion {

/// A checked-in profile of tests/profiles.
inline DeviceProfile pinned_profile(const std::string& name) {
  std::ifstream file(std::string(HALYARD_TEST_PROFILES) + "/" + name + ".json");
  std::stringstream text;
  text << file.rdbuf();
  return profile_from_json(text.str()).value();
}

}  // namespace halyard::fusion
