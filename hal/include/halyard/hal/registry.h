#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "halyard/base/result.h"
#include "halyard/hal/device.h"

namespace halyard::hal {

/// A backend that was looked for: found and usable, or why not.
struct BackendReport {
  std::string name;
  std::string version;
  std::filesystem::path path;  ///< empty: linked into the program
  Status status;               ///< the reason and remedy if it cannot be used
  std::uint32_t device_count = 0;
};

/// A device as it can be told without opening it.
struct DeviceSummary {
  std::string uri;  ///< canonical: "cpu", "vulkan:0"
  std::string backend, name, alias, driver, driver_version, uuid;
  DeviceType type = DeviceType::other;
  bool emulated = false, software = false;
  int score = 0;
};

/// Finds backends and opens devices. Looks, in this order, at backends linked into the program, the folders
/// of HALYARD_BACKEND_PATH (colon-separated), the folder lib/halyard beside the running program's or
/// library's folder, and the folder this library was installed for; the first backend of a name wins. Safe
/// from any thread.
class Registry {
 public:
  struct Options {
    std::vector<std::filesystem::path> folders;  ///< searched before all others
    bool search_defaults = true;
  };
  explicit Registry(Options options);
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  /// The process's registry.
  static Registry& shared();

  /// Registers a backend linked into the program, for this registry / for every registry made from now on.
  Status add(HyBackendEntry entry);
  static void add_static(HyBackendEntry entry);
  /// Loads a module by path; returns the backend's name.
  Result<std::string> load(const std::filesystem::path& module);

  /// Every backend looked for, usable or not.
  std::vector<BackendReport> backends();
  /// Every device of every usable backend, best first for `auto`.
  std::vector<DeviceSummary> devices();

  /// Opens a device by URI. `auto` or an empty text: HALYARD_DEVICE if set, else the best. `not_found` lists
  /// the names that exist and suggests the nearest. The same URI and options give a new, independent device
  /// each time.
  Result<std::shared_ptr<Device>> open(std::string_view uri = {}, const DeviceOptions& options = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace halyard::hal
