#pragma once

#include <span>
#include <string>
#include <string_view>

namespace halyard::hal {

/// The candidate with the fewest single-letter edits from `text` (Levenshtein), or an empty string if none
/// comes within half of its length.
std::string nearest_name(std::string_view text, std::span<const std::string> candidates);

}  // namespace halyard::hal
