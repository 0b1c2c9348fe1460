#pragma once

#include <halyard/base/result.h>
#include <halyard/hal/plugin.h>
#include <cstdint>
#include "vulkan_functions.h"

/// Two timestamp queries per command: begin and end.
struct HyTimeStamps {
  HyDevice& device;
  std::uint64_t id = 0;  ///< never used again, unlike an address
  VkQueryPool pool = VK_NULL_HANDLE;
  std::uint32_t capacity = 0;
};

namespace halyard::vulkan {

HyStatus time_stamps_create(HyDevice* device, std::uint32_t capacity, HyTimeStamps** stamps, HyError* error);
void time_stamps_destroy(HyTimeStamps* stamps);
HyStatus time_stamps_read(HyTimeStamps* stamps, std::uint32_t first, std::uint32_t count, HyTimeSpan* spans,
                          HyError* error);

}  // namespace halyard::vulkan
