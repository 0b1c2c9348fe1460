#pragma once

#include <string>
#include <string_view>

#include "halyard/base/result.h"
#include "halyard/hal/plugin.h"

namespace halyard::hal {

/// An error struct ready to be handed to a backend.
struct BackendError : HyError {
  BackendError() : HyError{} {
    size = sizeof(HyError);
    node = UINT32_MAX;
  }
};

/// Turns a backend's answer into a Status whose message begins with the operation: "vulkan:0: allocate 64
/// bytes: …".
Status to_status(HyStatus status, const HyError& error, std::string_view subject, std::string_view operation);

/// The error for an entry that a backend leaves NULL.
Error missing_function(std::string_view subject, std::string_view operation);

/// Writes an error for the caller of a C function and returns its status. The message is cut to fit.
HyStatus set_error(HyError* error, HyStatus status, std::string_view message);

}  // namespace halyard::hal
