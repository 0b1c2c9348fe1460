#include <halyard/conformance/report.h>

#include <fmt/format.h>

#include "markup.h"

namespace halyard::conformance {
namespace {

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
  return text + "</testsuites>\n";
}

}  // namespace halyard::conformance
