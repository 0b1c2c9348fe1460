#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace halyard::hal {

/// Where backend modules may lie, in the order of search: HALYARD_BACKEND_PATH, lib/halyard beside the
/// program's and this library's folder, the folder of installation. Those that do not exist are left out;
/// each appears once.
std::vector<std::filesystem::path> default_backend_folders();

/// The modules of a folder (or the module itself, if it is a file): libhalyard_<name>.so, sorted by name.
struct ModuleFile {
  std::string name;
  std::filesystem::path path;
};
std::vector<ModuleFile> module_files(const std::filesystem::path& folder);

}  // namespace halyard::hal
