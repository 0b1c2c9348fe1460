#include "markup.h"

#include <array>
#include <cstdint>

namespace halyard::conformance {
namespace {

/// Bytes of the character that the text starts with: 0 where that is no UTF-8, or no character of XML 1.0
/// (section 2.2).
std::size_t character_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return lead >= 0x20 || lead == '\t' || lead == '\n' || lead == '\r' ? 1 : 0;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  std::uint32_t code = lead & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte & 0x3fu);
  }
  constexpr std::array<std::uint32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};  // by length: none is overlong
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  const bool allowed = code >= least[length] && code <= 0x10ffff && code != 0xfffe && code != 0xffff;
  return allowed && !surrogate ? length : 0;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 0)
      result += '?';
    else if (text[0] == '&')
      result += "&amp;";
    else if (text[0] == '<')
      result += "&lt;";
    else if (text[0] == '>')
      result += "&gt;";
    else if (text[0] == '"')
      result += "&quot;";
    else if (text[0] == '\'')
      result += "&#39;";
    else
      result += text.substr(0, length);
    text.remove_prefix(length > 0 ? length : 1);
  }
  return result;
}

}  // namespace halyard::conformance
