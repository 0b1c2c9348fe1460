#include "markup.h"

namespace halyard::conformance {

std::string escaped(std::string_view text) {
  std::string result;
  for (char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else if (c == '\'')
      result += "&#39;";
    else
      result += code >= 0x20 || c == '\t' || c == '\n' || c == '\r' ? c : '?';
  }
  return result;
}

}  // namespace halyard::conformance
