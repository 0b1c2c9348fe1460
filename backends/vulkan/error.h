#pragma once

#include <halyard/base/result.h>
#include <halyard/hal/plugin.h>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include "vulkan_functions.h"

namespace halyard::vulkan {

/// Fills a caller's HyError (which may be NULL) and gives its status.
HyStatus report(HyError* out, const Error& error, std::uint32_t node = UINT32_MAX);

/// "VK_ERROR_DEVICE_LOST" and the like.
std::string_view name(VkResult result);

/// The error of a Vulkan call that did not succeed: its name, the result's name, what to do about it.
tl::unexpected<Error> vulkan_failure(std::string_view call, VkResult result);

/// Success, or the failure of a call.
inline Status check(std::string_view call, VkResult result) {
  if (result >= VK_SUCCESS) return {};
  return vulkan_failure(call, result);
}

/// The border of the C interface: turns a `Status` into a HyStatus, and exceptions into statuses.
template <class Body>
HyStatus at_border(HyError* out, Body&& body) noexcept {
  try {
    Status status = body();
    return status ? static_cast<HyStatus>(HY_OK) : report(out, status.error());
  } catch (const std::bad_alloc&) {
    return report(out, {ErrorCode::out_of_memory, "vulkan: the host is out of memory"});
  } catch (const std::exception& exception) {
    return report(out,
                  {ErrorCode::internal, std::string("vulkan: unexpected exception: ") + exception.what()});
  }
}

}  // namespace halyard::vulkan
