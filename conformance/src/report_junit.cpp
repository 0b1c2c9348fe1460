#include <halyard/conformance/report.h>

#include <fmt/format.h>
#include <array>
#include <cstdint>

#include "markup.h"

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

/// The text without what an XML document cannot hold.
std::string only_characters(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    result += text.substr(0, length);
    text.remove_prefix(length > 0 ? length : 1);
  }
  return result;
}

std::string case_text(const CaseReport& each) {
  const Verdict verdict = each.outcome.verdict;
  std::string text =
      fmt::format("    <testcase classname=\"{}.{}\" name=\"{}\" time=\"{:.3f}\"", escaped(each.suite),
                  escaped(each.operation), escaped(each.name), each.seconds);
  if (verdict == Verdict::passed) return text + "/>\n";
  const std::string message = escaped(each.outcome.message);
  if (!is_failure(verdict)) return text + fmt::format("><skipped message=\"{}\"/></testcase>\n", message);
  return text + fmt::format("><failure message=\"{}\" type=\"{}\">{}\nrepeat: {}</failure></testcase>\n",
                            message, name(verdict), message, escaped(each.repeat));
}

std::string suite_text(const Report& report, const std::string& suite) {
  std::string cases;
  std::size_t tests = 0, failures = 0, skipped = 0;
  double seconds = 0;
  for (const CaseReport& each : report.cases) {
    if (each.suite != suite) continue;
    cases += case_text(each);
    ++tests;
    failures += is_failure(each.outcome.verdict);
    skipped += !is_failure(each.outcome.verdict) && each.outcome.verdict != Verdict::passed;
    seconds += each.seconds;
  }
  return fmt::format(
      "  <testsuite name=\"{}\" hostname=\"{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" time=\"{:.3f}\" "
      "timestamp=\"{}\">\n{}  </testsuite>\n",
      escaped(suite), escaped(report.device.uri), tests, failures, skipped, seconds, escaped(report.started),
      cases);
}

}  // namespace

std::string to_junit(const Report& report) {
  std::string text =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"halyard conformance\">\n";
  for (const std::string& suite : report.suite_names()) text += suite_text(report, suite);
  return only_characters(text + "</testsuites>\n");
}

}  // namespace halyard::conformance
