#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "halyard/base/result.h"
#include "halyard/hal/plugin.h"

namespace halyard::hal {

/// What every backend is given.
const HyHost* host_interface();

/// Opens a loadable module and calls its entry. It stays loaded for the life of the process. `not_found` if
/// there is no such file, `corrupt_data` if it is no whole shared library of this machine, `unsupported` if
/// it is no backend or one of another ABI.
Result<std::shared_ptr<const HyBackend>> open_backend_module(const std::filesystem::path& path);

/// Calls an entry and checks what it returns.
Result<std::shared_ptr<const HyBackend>> enter_backend(HyBackendEntry entry, const std::string& subject);

/// A copy of a backend's table as this version knows it: what an older backend lacks is NULL. An error if a
/// required function is missing or the name cannot stand in a URI.
Result<std::shared_ptr<const HyBackend>> check_backend_table(const HyBackend* table,
                                                             const std::string& subject);

/// Whether the bytes are a whole ELF shared library of this machine: the system's loader crashes on truncated
/// ones.
Status check_module_image(std::span<const std::byte> file, const std::string& subject);

}  // namespace halyard::hal
