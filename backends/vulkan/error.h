#pragma once

#include <halyard/base/result.h>
#include <halyard/hal/backend/border.h>
#include <halyard/hal/backend/sized_struct.h>
#include <string_view>
#include "vulkan_functions.h"

namespace halyard::vulkan {

using hal::backend::at_border;
using hal::backend::element_of;
using hal::backend::read_sized;
using hal::backend::report;
using hal::backend::write_sized;

/// "VK_ERROR_DEVICE_LOST" and the like.
std::string_view name(VkResult result);

/// The error of a Vulkan call that did not succeed: its name, the result's name, what to do about it.
tl::unexpected<Error> vulkan_failure(std::string_view call, VkResult result);

/// Success, or the failure of a call.
inline Status check(std::string_view call, VkResult result) {
  if (result >= VK_SUCCESS) return {};
  return vulkan_failure(call, result);
}

}  // namespace halyard::vulkan
