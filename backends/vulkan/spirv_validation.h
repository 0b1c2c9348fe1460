#pragma once

#include <halyard/base/result.h>
#include <cstdint>
#include <span>

namespace halyard::vulkan {

/// spirv-val for Vulkan 1.2: an error carries its words. Success without a look where SPIRV-Tools was not
/// there when this backend was built.
Status validate_spirv(std::span<const std::uint32_t> words);

}  // namespace halyard::vulkan
