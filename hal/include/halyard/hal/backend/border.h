#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "halyard/base/result.h"
#include "halyard/hal/plugin.h"

/// C++ help for writing a backend (plugin.h): what is the same in each, whatever its vendor. Headers alone;
/// backends outside Halyard's tree find them installed.
namespace halyard::hal::backend {

/// Fills a caller's HyError, which may be NULL or of another version, and gives its status. `node` is the
/// command that failed, if one did.
inline HyStatus report(HyError* out, const Error& error, std::uint32_t node = UINT32_MAX) {
  const auto status = static_cast<HyStatus>(error.code);
  if (!out) return status;
  const std::size_t size = out->size ? std::min<std::size_t>(out->size, sizeof(HyError)) : sizeof(HyError);
  if (size <= offsetof(HyError, message)) return status;
  out->status = status;
  out->vendor_code = 0;
  out->node = node;
  out->reserved = 0;
  const std::size_t length = std::min(size - offsetof(HyError, message) - 1, error.message.size());
  std::memcpy(out->message, error.message.data(), length);
  out->message[length] = 0;
  return status;
}

/// Wraps the body of a function of the C interface: its `Status` becomes a HyStatus, and no exception
/// crosses. The registry puts the device's name before the message.
template <class Body>
HyStatus at_border(HyError* out, Body&& body) noexcept {
  try {
    Status status = body();
    return status ? static_cast<HyStatus>(HY_OK) : report(out, status.error());
  } catch (const std::bad_alloc&) {
    return report(out, {ErrorCode::out_of_memory, "the host is out of memory"});
  } catch (const std::exception& exception) {
    return report(out, {ErrorCode::internal, std::string("unexpected exception: ") + exception.what()});
  }
}

}  // namespace halyard::hal::backend
