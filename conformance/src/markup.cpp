#include "markup.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>

namespace halyard::conformance {
namespace {

constexpr std::string_view style = R"(
:root { color-scheme: light dark; --text: #1b1f24; --quiet: #59616b; --line: #d5dae0; --paper: #ffffff;
  --panel: #f6f8fa; --good: #dff2e1; --bad: #f9d5d0; --known: #fbeac4; --none: #e9ebee; --bar: #3f7fb5;
  --beyond: #b3382c; --link: #0b5cad; }
@media (prefers-color-scheme: dark) { :root { --text: #e4e8ec; --quiet: #a3acb6; --line: #3a4048; --paper: #16191d;
  --panel: #1d2126; --good: #1d4427; --bad: #6b2320; --known: #584310; --none: #2b2f35; --bar: #6aa9dd;
  --beyond: #ee7a6c; --link: #7db8f0; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--paper); margin: 2rem auto;
  max-width: 90rem; padding: 0 1rem; }
a { color: var(--link); } nav { margin-top: 1.2rem; } nav a { margin-right: 1.1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.4rem; } h3 { font-size: 1rem; }
h4 { font-size: 0.95rem; margin: 1.2rem 0 0.2rem; overflow-wrap: anywhere; }
.devices { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr)); gap: 1rem; }
.device { border: 1px solid var(--line); border-radius: 6px; background: var(--panel); padding: 0.8rem 1rem; }
.device h2 { margin: 0; font-size: 1.05rem; } .device p { margin: 0.35rem 0; overflow-wrap: anywhere; }
.mark { display: inline-block; border-radius: 4px; padding: 0 0.45rem; margin: 0.1rem 0.3rem 0.1rem 0;
  color: var(--text); }
table { border-collapse: separate; border-spacing: 0; border: solid var(--line); border-width: 1px 0 0 1px;
  font-size: 0.86rem; }
th, td { border: solid var(--line); border-width: 0 1px 1px 0; padding: 0.15rem 0.55rem; text-align: left;
  white-space: nowrap; vertical-align: top; }
thead th { position: sticky; top: 0; background: var(--panel); }
th { font-weight: 600; } th.on { font-weight: 400; } td.reason { white-space: normal; overflow-wrap: anywhere; }
tbody tr:first-child > * { border-top: 1px solid var(--quiet); }
.good { background: var(--good); } .bad { background: var(--bad); font-weight: 600; }
.known { background: var(--known); } .none { background: var(--none); }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0.4rem 0; background: var(--panel);
  border-left: 3px solid var(--beyond); padding: 0.4rem 0.8rem; }
p.message { margin: 0.2rem 0; overflow-wrap: anywhere; }
.quiet { color: var(--quiet); } figure { margin: 0; } figcaption { font-weight: 600; }
svg { width: 100%; max-width: 38rem; height: auto; }
svg text { fill: var(--text); font: 12.5px system-ui, sans-serif; }
@media (max-width: 75rem) { .wide { overflow-x: auto; } }
)";

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

std::string page_head(std::string_view title) {
  return fmt::format(
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>{}</title><style>{}</style></head><body>\n",
      escaped(title), style);
}

}  // namespace halyard::conformance
