#include <halyard/conformance/report.h>

#include <fmt/format.h>

#include "markup.h"

namespace halyard::conformance {
namespace {

std::string case_text(const CaseReport& each) {
  std::string text =
      fmt::format("    <testcase classname=\"{}.{}\" name=\"{}\" time=\"{:.3f}\"", escaped(each.suite),
                  escaped(each.operation), escaped(each.name), each.seconds);
  const std::string message = escaped(each.outcome.message);
  switch (each.outcome.verdict) {
    case Verdict::passed:
      return text + "/>\n";
    case Verdict::unsupported:
    case Verdict::expected_failure:
      return text + fmt::format("><skipped message=\"{}\"/></testcase>\n", message);
    default:
      return text +
             fmt::format("><failure message=\"{}\">{}</failure></testcase>\n", message, escaped(each.repeat));
  }
}

}  // namespace

std::string to_junit(const Report& report) {
  std::string text =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"halyard conformance\">\n";
  for (const Suite& suite : suites()) {
    std::string cases;
    std::size_t tests = 0, failures = 0, skipped = 0;
    double seconds = 0;
    for (const CaseReport& each : report.cases) {
      if (each.suite != suite.name) continue;
      cases += case_text(each);
      ++tests;
      failures += is_failure(each.outcome.verdict);
      skipped += !is_failure(each.outcome.verdict) && each.outcome.verdict != Verdict::passed;
      seconds += each.seconds;
    }
    if (tests == 0) continue;
    text += fmt::format(
        "  <testsuite name=\"{}\" hostname=\"{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" "
        "time=\"{:.3f}\" "
        "timestamp=\"{}\">\n",
        suite.name, escaped(report.device.uri), tests, failures, skipped, seconds, escaped(report.started));
    text += cases + "  </testsuite>\n";
  }
  return text + "</testsuites>\n";
}

}  // namespace halyard::conformance
