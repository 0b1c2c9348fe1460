#include "time_stamps.h"
#include <fmt/format.h>
#include <algorithm>
#include <memory>
#include <vector>
#include "device.h"
#include "error.h"

namespace halyard::vulkan {

HyStatus time_stamps_create(HyDevice* device, std::uint32_t capacity, HyTimeStamps** stamps, HyError* error) {
  return at_border(error, [&]() -> Status {
    HALYARD_TRY(device->status());
    if (device->facts.timestamp_bits == 0)
      return fail(ErrorCode::unsupported,
                  fmt::format("vulkan: {} has no time stamps on its compute queue", device->facts.name));
    auto made = std::make_unique<HyTimeStamps>(HyTimeStamps{*device, device->next_id++});
    made->capacity = capacity;
    VkQueryPoolCreateInfo info{.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                               .queryType = VK_QUERY_TYPE_TIMESTAMP,
                               .queryCount = std::max(2u, 2 * capacity)};
    HALYARD_TRY(device->check("vkCreateQueryPool",
                              device->vk.CreateQueryPool(device->handle, &info, nullptr, &made->pool)));
    *stamps = made.release();
    return {};
  });
}

void time_stamps_destroy(HyTimeStamps* stamps) {
  stamps->device.vk.DestroyQueryPool(stamps->device.handle, stamps->pool, nullptr);
  delete stamps;
}

HyStatus time_stamps_read(HyTimeStamps* stamps, std::uint32_t first, std::uint32_t count, HyTimeSpan* spans,
                          HyError* error) {
  return at_border(error, [&]() -> Status {
    HyDevice& device = stamps->device;
    if (first > stamps->capacity || count > stamps->capacity - first)
      return fail(ErrorCode::invalid_argument,
                  fmt::format("vulkan: time stamps {} to {} of {}", first, first + count, stamps->capacity));
    if (count == 0) return {};
    std::vector<std::uint64_t> ticks(2 * std::size_t{count});
    VkResult result =
        device.vk.GetQueryPoolResults(device.handle, stamps->pool, 2 * first, 2 * count, 8 * ticks.size(),
                                      ticks.data(), 8, VK_QUERY_RESULT_64_BIT);
    if (result == VK_NOT_READY)
      return fail(ErrorCode::invalid_argument,
                  "vulkan: time stamps read before the submission that writes them ended");
    HALYARD_TRY(device.check("vkGetQueryPoolResults", result));
    std::uint32_t bits = device.facts.timestamp_bits;
    std::uint64_t mask = bits >= 64 ? UINT64_MAX : (std::uint64_t{1} << bits) - 1;
    double period = static_cast<double>(device.facts.properties.limits.timestampPeriod);
    auto nanoseconds = [&](std::uint64_t tick) {
      // A period of 1 must not lose the low bits of a 64-bit count to a double.
      return period == 1.0 ? tick & mask
                           : static_cast<std::uint64_t>(static_cast<double>(tick & mask) * period);
    };
    for (std::uint32_t i = 0; i < count; ++i)
      spans[i] = {nanoseconds(ticks[2 * i]), nanoseconds(ticks[2 * i + 1])};
    return {};
  });
}

}  // namespace halyard::vulkan
