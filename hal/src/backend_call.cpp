#include "backend_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace halyard::hal {

Status to_status(HyStatus status, const HyError& error, std::string_view subject,
                 std::string_view operation) {
  if (status == HY_OK) return {};
  const bool known = status >= HY_INVALID_ARGUMENT && status <= HY_INTERNAL;
  const auto code = known ? static_cast<ErrorCode>(status) : ErrorCode::internal;
  // A foreign backend may forget the closing zero.
  std::string_view text(error.message, strnlen(error.message, sizeof error.message));
  // Many backends begin with their own name, which the subject ("vulkan:0") says already.
  const std::string backend = std::string(subject.substr(0, subject.find(':'))) + ": ";
  if (text.starts_with(backend)) text.remove_prefix(backend.size());
  std::string message = fmt::format("{}: {}: {}", subject, operation, text.empty() ? name(code) : text);
  if (code == ErrorCode::device_lost)
    message += "; the device is lost for good: drop its objects and open it again";
  if (!known) message += fmt::format(" (the backend returned the unknown status {})", status);
  if (error.node != UINT32_MAX) message += fmt::format(" (command {})", error.node);
  return fail(code, std::move(message));
}

Error missing_function(std::string_view subject, std::string_view operation) {
  return Error{ErrorCode::unsupported,
               fmt::format("{}: {}: this backend has no such function", subject, operation)};
}

HyStatus set_error(HyError* error, HyStatus status, std::string_view message) {
  if (error == nullptr || error->size <= offsetof(HyError, message)) return status;
  error->status = status;
  error->vendor_code = 0;
  error->node = UINT32_MAX;
  const std::size_t room = std::min<std::size_t>(error->size, sizeof(HyError)) - offsetof(HyError, message);
  const std::size_t length = std::min(message.size(), room - 1);
  std::memcpy(error->message, message.data(), length);
  error->message[length] = '\0';
  return status;
}

}  // namespace halyard::hal
