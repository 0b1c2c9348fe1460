#include "chosen_devices.h"

#include <halyard/hal/registry.h>

namespace halyard::conformance {
namespace {

std::vector<std::string> found_devices() {
  std::vector<std::string> found;
  for (const hal::DeviceSummary& summary : hal::Registry::shared().devices()) found.push_back(summary.uri);
  return found;
}

std::vector<std::string>& devices() {
  static std::vector<std::string> all = found_devices();
  return all;
}

}  // namespace

const std::vector<std::string>& chosen_devices() {
  return devices();
}

void choose_device(const std::string& uri) {
  devices() = {uri};
}

}  // namespace halyard::conformance
