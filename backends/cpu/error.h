#pragma once

#include <halyard/base/result.h>
#include <halyard/hal/plugin.h>
#include <exception>
#include <new>
#include <string>

namespace halyard::cpu {

/// Fills a caller's HyError (which may be NULL) and gives its status.
HyStatus report(HyError* out, const Error& error, std::uint32_t node = UINT32_MAX);

/// The border of the C interface: turns a `Status` into a HyStatus, and exceptions into statuses.
template <class Body>
HyStatus at_border(HyError* out, Body&& body) noexcept {
  try {
    Status status = body();
    return status ? static_cast<HyStatus>(HY_OK) : report(out, status.error());
  } catch (const std::bad_alloc&) {
    return report(out, {ErrorCode::out_of_memory, "cpu: the host is out of memory"});
  } catch (const std::exception& exception) {
    return report(out, {ErrorCode::internal, std::string("cpu: unexpected exception: ") + exception.what()});
  }
}

}  // namespace halyard::cpu
