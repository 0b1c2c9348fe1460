#include <halyard/conformance/report.h>

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "markup.h"

/// The page a person reads. No script, no outside part: it can be mailed and opened anywhere.
namespace halyard::conformance {
namespace {

constexpr std::string_view style = R"(
:root { color-scheme: light dark; --text: #1b1f24; --quiet: #5d6570; --line: #d5dae0; --paper: #ffffff;
  --good: #dff2e1; --bad: #f9d5d0; --none: #ececec; --bar: #3f7fb5; }
@media (prefers-color-scheme: dark) { :root { --text: #e4e8ec; --quiet: #9aa4af; --line: #3a4048; --paper: #16191d;
  --good: #1f4a2a; --bad: #6b2320; --none: #2b2f35; --bar: #6aa9dd; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--paper); margin: 2rem auto;
  max-width: 90rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; } h3 { font-size: 1rem; }
table { border-collapse: collapse; font-size: 0.86rem; } .wide { overflow-x: auto; }
th, td { border: 1px solid var(--line); padding: 0.2rem 0.55rem; text-align: left; white-space: nowrap; }
thead th { position: sticky; top: 0; background: var(--paper); }
td.good { background: var(--good); } td.bad { background: var(--bad); font-weight: 600; } td.none { background: var(--none); }
pre { white-space: pre-wrap; border-left: 3px solid var(--line); padding-left: 0.8rem; overflow-wrap: anywhere; }
.quiet { color: var(--quiet); } svg text { fill: var(--text); font: 11px system-ui, sans-serif; }
)";

/// What the cases of one operation and element type found on one device.
struct Cell {
  std::size_t passed = 0, failed = 0, other = 0;
};

/// What tells a report's device from those of the others: two drivers may both be `vulkan`.
std::string label(const Report& report) {
  return fmt::format("{} · {} {}", escaped(report.device.uri), escaped(report.device.driver),
                     escaped(report.device.driver_version));
}

std::string cell_text(const Cell& cell) {
  const std::size_t all = cell.passed + cell.failed + cell.other;
  if (all == 0) return "<td></td>";
  if (cell.failed > 0) return fmt::format("<td class=\"bad\">✗ {} of {}</td>", cell.failed, all);
  if (cell.passed == 0) return fmt::format("<td class=\"none\">– {}</td>", all);
  return fmt::format("<td class=\"good\">✓ {}{}</td>", cell.passed,
                     cell.other > 0 ? fmt::format(" (– {})", cell.other) : "");
}

/// Element types in the order of their numbers; "" (cases without one) last.
std::vector<std::string> elements_of(std::span<const Report> reports, std::string_view suite) {
  std::set<std::string> present;
  for (const Report& report : reports)
    for (const CaseReport& each : report.cases)
      if (each.suite == suite) present.insert(each.element);
  std::vector<std::string> ordered;
  for (const ElementTypeFacts& facts : element_type_facts)
    if (present.erase(std::string(facts.name)) > 0) ordered.emplace_back(facts.name);
  ordered.insert(ordered.end(), present.begin(), present.end());
  return ordered;
}

std::string matrix(std::span<const Report> reports, std::string_view suite) {
  std::vector<std::string> operations;
  std::map<std::array<std::string, 3>, Cell> cells;  // operation, element, device's number
  for (std::size_t i = 0; i < reports.size(); ++i)
    for (const CaseReport& each : reports[i].cases) {
      if (each.suite != suite) continue;
      if (std::find(operations.begin(), operations.end(), each.operation) == operations.end())
        operations.push_back(each.operation);
      Cell& cell = cells[{each.operation, each.element, std::to_string(i)}];
      cell.passed += each.outcome.verdict == Verdict::passed;
      cell.failed += is_failure(each.outcome.verdict);
      cell.other += !is_failure(each.outcome.verdict) && each.outcome.verdict != Verdict::passed;
    }
  if (operations.empty()) return {};
  const std::vector<std::string> elements = elements_of(reports, suite);
  std::string text = fmt::format(
      "<h2>{}</h2><div class=\"wide\"><table><thead><tr><th>operation</th><th>device</th>", suite);
  for (const std::string& element : elements)
    text += fmt::format("<th>{}</th>", element.empty() ? "cases" : element);
  text += "</tr></thead><tbody>";
  for (const std::string& operation : operations)
    for (std::size_t i = 0; i < reports.size(); ++i) {
      text += "<tr>";
      if (i == 0) text += fmt::format("<th rowspan=\"{}\">{}</th>", reports.size(), escaped(operation));
      text += fmt::format("<td>{}</td>", label(reports[i]));
      for (const std::string& element : elements)
        text += cell_text(cells[{operation, element, std::to_string(i)}]);
      text += "</tr>\n";
    }
  return text + "</tbody></table></div>\n";
}

/// Cases by their largest error as a fraction of its bound: ten bins up to 1 and one beyond; heights are
/// logarithmic.
std::string histogram(const Report& report) {
  constexpr int bins = 11, width = 46, height = 120, bottom = 140;
  std::array<std::size_t, bins> counts{};
  for (const CaseReport& each : report.cases)
    if (each.outcome.error)
      ++counts[static_cast<std::size_t>(*each.outcome.error > 1 ? bins - 1
                                                                : std::min(9.0, *each.outcome.error * 10))];
  const double most = std::log1p(static_cast<double>(*std::max_element(counts.begin(), counts.end())));
  std::string text = fmt::format(
      "<h3>{}</h3><svg role=\"img\" width=\"{}\" height=\"{}\" aria-label=\"cases by error as a fraction of "
      "the bound\">",
      label(report), bins * width + 20, bottom + 36);
  for (int i = 0; i < bins; ++i) {
    const std::size_t count = counts[static_cast<std::size_t>(i)];
    const double tall = most > 0 ? height * std::log1p(static_cast<double>(count)) / most : 0;
    text += fmt::format("<rect x=\"{}\" y=\"{:.1f}\" width=\"{}\" height=\"{:.1f}\" fill=\"var(--bar)\"/>",
                        i * width + 4, bottom - tall, width - 6, tall);
    text += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>", i * width + width / 2,
                        bottom - tall - 4, count);
    text += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>", i * width + width / 2,
                        bottom + 15, i == bins - 1 ? "&gt; 1" : fmt::format("≤ {:.1f}", (i + 1) * 0.1));
  }
  return text + fmt::format(
                    "<text x=\"4\" y=\"{}\">largest error of a case as a fraction of its bound; heights are "
                    "logarithmic</text></svg>\n",
                    bottom + 31);
}

std::string header(const Report& report) {
  const Report::DeviceLine& device = report.device;
  return fmt::format(
      "<h3>{}{}</h3><p>{} · driver {} {} · class: {}<br>{} passed, {} failed, {} unsupported, {} expected "
      "failures, {} "
      "stale exceptions · seed {} · {} · {:.0f} s · Halyard {}{}</p>\n",
      escaped(device.uri), device.emulated ? " (emulated)" : "", escaped(device.name), escaped(device.driver),
      escaped(device.driver_version), escaped(device.numeric_class()), report.count(Verdict::passed),
      report.count(Verdict::failed), report.count(Verdict::unsupported),
      report.count(Verdict::expected_failure), report.count(Verdict::stale_exception), report.seed,
      escaped(report.started), report.seconds, escaped(report.halyard_version),
      report.against
          ? fmt::format(" · against {} ({})", escaped(report.against->uri), escaped(report.against->name))
          : "");
}

std::string failures(std::span<const Report> reports) {
  std::string text;
  for (const Report& report : reports)
    for (const CaseReport& each : report.cases)
      if (is_failure(each.outcome.verdict))
        text += fmt::format("<h3>✗ {} <span class=\"quiet\">on {}</span></h3><p>{}</p><pre>{}</pre>\n",
                            escaped(each.name), escaped(report.device.uri), escaped(each.outcome.message),
                            escaped(each.repeat));
  return "<h2>Failures</h2>" + (text.empty() ? "<p>None.</p>\n" : text);
}

std::string excused(std::span<const Report> reports) {
  std::string text;
  for (const Report& report : reports)
    for (const CaseReport& each : report.cases)
      if (each.outcome.verdict == Verdict::unsupported || each.outcome.verdict == Verdict::expected_failure)
        text += fmt::format(
            "<tr><td>{}</td><td>{}</td><td>{}</td><td style=\"white-space: normal\">{}</td></tr>\n",
            escaped(report.device.uri), escaped(each.name), name(each.outcome.verdict),
            escaped(each.outcome.message));
  if (text.empty()) return {};
  return "<h2>Unsupported, and expected to fail</h2><details><summary>every case with its reason</summary>"
         "<div class=\"wide\"><table>" +
         text + "</table></div></details>\n";
}

}  // namespace

std::string to_html(std::span<const Report> reports) {
  std::string text = fmt::format(
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>Halyard conformance</title><style>{}</style></head><body>\n"
      "<h1>Halyard conformance</h1>\n",
      style);
  for (const Report& report : reports) text += header(report);
  text += failures(reports);
  for (const Suite& suite : suites()) text += matrix(reports, suite.name);
  text += "<h2>Errors against their bounds</h2>";
  for (const Report& report : reports) text += histogram(report);
  return text + excused(reports) + "</body></html>\n";
}

}  // namespace halyard::conformance
