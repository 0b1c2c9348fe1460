#pragma once

#include <string>
#include <string_view>

namespace halyard::conformance {

/// Text for XML and HTML, in elements and in attributes: the five special characters are escaped, and what
/// XML 1.0 cannot hold (control characters but tab and line ends; section 2.2) becomes a question mark.
std::string escaped(std::string_view text);

}  // namespace halyard::conformance
