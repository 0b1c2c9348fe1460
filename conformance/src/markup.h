#pragma once

#include <string>
#include <string_view>

namespace halyard::conformance {

/// Text for XML and HTML, in elements and in attributes: the five special characters are escaped, and bytes
/// that are no UTF-8, or no character of XML 1.0 (section 2.2), become question marks.
std::string escaped(std::string_view text);

/// A page's beginning up to <body>, with the style sheet of all reports. Colour is never the only mark: every
/// state has a sign too.
std::string page_head(std::string_view title);

}  // namespace halyard::conformance
