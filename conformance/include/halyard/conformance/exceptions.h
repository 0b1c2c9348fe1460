#pragma once

#include <halyard/base/result.h>
#include <halyard/conformance/suite.h>
#include <halyard/hal/device_info.h>
#include <filesystem>
#include <string>
#include <vector>

namespace halyard::conformance {

/// A case that is known to fail on a device, or that it can never support; the rows stand beside the
/// backend's library, in `libhalyard_<name>.conformance.json`.
struct Exception {
  enum class Kind : std::uint8_t { expected_failure, unsupported };
  Kind kind = Kind::expected_failure;
  std::string device;          ///< a pattern with * for the device's name
  std::string driver_version;  ///< a pattern with * for the driver's version; empty: any
  std::string cases;           ///< a pattern with * for whole case names
  std::string reason;
};

/// `invalid_argument` names the row and the field at fault.
Result<std::vector<Exception>> parse_exceptions(std::string_view json);
/// The rows that speak of this device, from the file beside its backend's library; none if there is no file.
Result<std::vector<Exception>> exceptions_for(const hal::DeviceInfo& info,
                                              const std::filesystem::path& backend);

/// What an outcome becomes under the first row that names the case.
Outcome apply(const std::vector<Exception>& exceptions, std::string_view case_name, Outcome outcome);

/// Whether `text` matches `pattern`, in which * stands for any characters.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace halyard::conformance
