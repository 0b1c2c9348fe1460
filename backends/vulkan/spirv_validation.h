#pragma once

#include <halyard/base/result.h>
#include <cstdint>
#include <span>
#include <string_view>

namespace halyard::vulkan {

/// spirv-val for Vulkan 1.2: an error carries its words. Success without a look where SPIRV-Tools was not
/// there when this backend was built.
Status validate_spirv(std::span<const std::uint32_t> words);

/// Whether the module has a compute entry point of this name: drivers may crash where it has none.
/// `not_found` lists those it has; `corrupt_data` if an instruction runs past the end.
Status check_entry_point(std::span<const std::uint32_t> words, std::string_view entry);

}  // namespace halyard::vulkan
