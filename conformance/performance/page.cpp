#include <halyard/conformance/performance.h>

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

#include "markup.h"

/// The page of a run of benchmarks. No script, no outside part.
namespace halyard::conformance {
namespace {

std::string label(const PerformanceReport& report) {
  return fmt::format("{} · {} {}", escaped(report.device.uri), escaped(report.device.driver),
                     escaped(report.device.driver_version));
}

std::string rates_text(const std::array<double, element_type_facts.size()>& rates) {
  std::string text;
  for (std::size_t i = 0; i < rates.size(); ++i)
    if (rates[i] > 0)
      text +=
          fmt::format("{}{} {:.1f}", text.empty() ? "" : ", ", element_type_facts[i].name, rates[i] * 1e-9);
  return text;
}

std::string header(const PerformanceReport& report) {
  std::string levels;
  for (const hal::Measurements::Bandwidth& each : report.ceilings.bandwidth)
    levels += fmt::format("<tr><td>{:.3g} MB</td><td>{:.1f}</td><td>{:.1f}</td></tr>", each.bytes * 1e-6,
                          each.copy_bytes_per_second * 1e-9, each.triad_bytes_per_second * 1e-9);
  return fmt::format(
      "<section class=\"device\"><h2>{}</h2><p>{} · driver {} {}</p>"
      "<p>GFLOP/s of products: {}; in registers: {}</p><p>launch {:.2f} µs, submission {:.2f} µs</p>"
      "<table><thead><tr><th scope=\"col\">working set</th><th scope=\"col\">copy, GB/s</th><th "
      "scope=\"col\">triad, GB/s</th></tr></thead><tbody>{}</tbody></table>"
      "<p class=\"quiet\">started {} · {:.0f} s · Halyard {}<br>architecture {}</p></section>\n",
      escaped(report.device.uri), escaped(report.device.name), escaped(report.device.driver),
      escaped(report.device.driver_version), rates_text(report.ceilings.flops_per_second),
      rates_text(report.ceilings.peak_flops_per_second), report.ceilings.launch_seconds * 1e6,
      report.ceilings.submit_seconds * 1e6, levels, escaped(report.started), report.seconds,
      escaped(report.halyard_version), escaped(report.device.architecture));
}

/// A bar as long as the fraction, with its number.
std::string bar(double fraction) {
  constexpr double width = 120;
  return fmt::format(
      "<svg style=\"width:{0}px;height:12px\" viewBox=\"0 0 {0} 12\" role=\"img\" aria-label=\"{1:.2f}\">"
      "<rect x=\"0\" y=\"0\" width=\"{0}\" height=\"12\" fill=\"var(--none)\"/><rect x=\"0\" y=\"0\" "
      "width=\"{2:.1f}\" height=\"12\" fill=\"var(--bar)\"/></svg> {1:.2f}",
      width, fraction, width * std::clamp(fraction, 0.0, 1.0));
}

std::string row(const BenchmarkResult& each) {
  if (each.verdict != Verdict::passed)
    return fmt::format(
        "<tr><th scope=\"row\" class=\"on\">{}</th><td class=\"{}\" colspan=\"8\">{} {}</td></tr>\n",
        escaped(each.name), each.verdict == Verdict::unsupported ? "none" : "bad",
        each.verdict == Verdict::unsupported ? "– unsupported:" : "✗ 0, wrong:", escaped(each.message));
  return fmt::format(
      "<tr><th scope=\"row\" "
      "class=\"on\">{}</th><td>{}</td><td>{}</td><td>{:.3f}</td><td>{:.1f}</td><td>{:.1f}</td>"
      "<td>{:.1f}</td><td>{:.2f}</td><td>{}</td></tr>\n",
      escaped(each.name), bar(each.fraction), fusion::name(each.bound), each.seconds * 1e3,
      each.flops / each.seconds * 1e-9, static_cast<double>(each.bytes_fewest) / each.seconds * 1e-9,
      static_cast<double>(each.bytes) * 1e-6,
      each.bytes_fewest > 0 ? static_cast<double>(each.bytes) / static_cast<double>(each.bytes_fewest) : 0.0,
      each.launches);
}

std::string table(const PerformanceReport& report) {
  std::string text = fmt::format(
      "<h2>{}</h2><div class=\"wide\"><table><thead><tr><th scope=\"col\">benchmark</th><th "
      "scope=\"col\">fraction of its ceiling</th><th scope=\"col\">bound by</th><th scope=\"col\">ms</th><th "
      "scope=\"col\">GFLOP/s</th><th scope=\"col\">GB/s</th><th scope=\"col\">MB moved</th><th "
      "scope=\"col\">of the "
      "fewest</th><th scope=\"col\">launches</th></tr></thead><tbody>",
      label(report));
  for (const BenchmarkResult& each : report.results) text += row(each);
  return text + "</tbody></table></div>\n";
}

std::string parity_table(std::span<const PerformanceReport> reports) {
  std::string text =
      "<h2>Parity</h2><p class=\"quiet\">The fractions of their own ceilings that the devices reach, and the "
      "harmonic mean of them.</p><div class=\"wide\"><table><thead><tr><th scope=\"col\">benchmark</th><th "
      "scope=\"col\">harmonic mean</th><th scope=\"col\">least</th><th scope=\"col\">most</th>";
  for (const PerformanceReport& report : reports)
    text += fmt::format("<th scope=\"col\">{}</th>", label(report));
  text += "</tr></thead><tbody>";
  for (const Parity& each : parity_of(reports)) {
    text += fmt::format("<tr><th scope=\"row\" class=\"on\">{}</th><td>{}</td><td>{:.2f}</td><td>{:.2f}</td>",
                        escaped(each.name), bar(each.harmonic_mean), each.least, each.most);
    for (double fraction : each.fractions) text += fmt::format("<td>{:.2f}</td>", fraction);
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

}  // namespace

std::string to_html(std::span<const PerformanceReport> reports) {
  std::string text =
      page_head("Halyard performance") + "<h1>Halyard performance</h1>\n<div class=\"devices\">\n";
  for (const PerformanceReport& report : reports) text += header(report);
  text += "</div>\n";
  if (reports.size() > 1) text += parity_table(reports);
  for (const PerformanceReport& report : reports) text += table(report);
  return text + "</body></html>\n";
}

}  // namespace halyard::conformance
