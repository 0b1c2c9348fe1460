#include "backend_folders.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace halyard::hal {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view module_prefix = "libhalyard_";
constexpr std::string_view module_suffix = ".so";

void add_path_list(const char* list, std::vector<fs::path>& folders) {
  std::string_view rest = list != nullptr ? list : "";
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    if (const auto folder = rest.substr(0, colon); !folder.empty()) folders.emplace_back(folder);
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
  }
}

void add_beside(const fs::path& binary, std::vector<fs::path>& folders) {
  if (binary.empty()) return;
  const fs::path folder = binary.parent_path();
  folders.push_back(folder / "halyard");
  folders.push_back(folder / "lib" / "halyard");
  folders.push_back(folder.parent_path() / "lib" / "halyard");
  // A multi-architecture library folder: bin/../lib/x86_64-linux-gnu/halyard.
#ifdef HALYARD_INSTALL_LIBRARY_FOLDER
  folders.push_back(folder.parent_path() / HALYARD_INSTALL_LIBRARY_FOLDER / "halyard");
#endif
}

fs::path this_library() {
  Dl_info facts{};
  if (::dladdr(reinterpret_cast<void*>(&default_backend_folders), &facts) == 0 || facts.dli_fname == nullptr)
    return {};
  std::error_code code;
  return fs::canonical(facts.dli_fname, code);
}

}  // namespace

std::vector<fs::path> default_backend_folders() {
  std::vector<fs::path> wanted;
  add_path_list(std::getenv("HALYARD_BACKEND_PATH"), wanted);
  std::error_code code;
  add_beside(fs::read_symlink("/proc/self/exe", code), wanted);
  add_beside(this_library(), wanted);
#ifdef HALYARD_INSTALL_BACKEND_FOLDER
  wanted.emplace_back(HALYARD_INSTALL_BACKEND_FOLDER);
#endif
  std::vector<fs::path> folders;
  for (const fs::path& folder : wanted) {
    const fs::path real = fs::canonical(folder, code);
    if (!code && std::find(folders.begin(), folders.end(), real) == folders.end()) folders.push_back(real);
  }
  return folders;
}

std::vector<ModuleFile> module_files(const fs::path& folder) {
  std::vector<ModuleFile> files;
  const auto add = [&](const fs::path& path) {
    const std::string file = path.filename().string();
    if (!file.starts_with(module_prefix) || !file.ends_with(module_suffix)) return;
    const std::size_t length = file.size() - module_prefix.size() - module_suffix.size();
    if (file.size() > module_prefix.size() + module_suffix.size())
      files.push_back({file.substr(module_prefix.size(), length), path});
  };
  std::error_code code;
  if (fs::is_regular_file(folder, code)) {
    add(folder);
    return files;
  }
  for (fs::directory_iterator it(folder, code), end; !code && it != end; it.increment(code)) add(it->path());
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return files;
}

}  // namespace halyard::hal
