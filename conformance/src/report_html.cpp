#include <halyard/conformance/report.h>

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "markup.h"

/// The page a person reads. No script, no outside part: it can be mailed and opened anywhere. Colour is never
/// the only mark: every state has a sign too.
namespace halyard::conformance {
namespace {

/// What tells a report's device from those of the others: two drivers may both be `vulkan`.
std::string label(const Report& report) {
  return fmt::format("{} · {} {}", escaped(report.device.uri), escaped(report.device.driver),
                     escaped(report.device.driver_version));
}

/// How a verdict looks: its class in the style sheet, its sign, the words after a count of it.
struct Look {
  Verdict verdict;
  std::string_view style_class, sign, words;
};
constexpr std::array looks{Look{Verdict::passed, "good", "✓", "passed"},
                           Look{Verdict::failed, "bad", "✗", "failed"},
                           Look{Verdict::stale_exception, "bad", "✗", "with a stale exception"},
                           Look{Verdict::expected_failure, "known", "!", "expected to fail"},
                           Look{Verdict::unsupported, "none", "–", "unsupported"}};

const Look& look(Verdict verdict) {
  return *std::find_if(looks.begin(), looks.end(), [&](const Look& each) { return each.verdict == verdict; });
}

/// What the cases of one operation and element type found on one device, by verdict.
struct Cell {
  std::array<std::size_t, looks.size()> counts{};
  std::size_t of(Verdict verdict) const { return counts[static_cast<std::size_t>(verdict)]; }
};

/// The state that the whole cell has: that of its worst case, unsupported ones only if there are no others.
const Look& look(const Cell& cell) {
  for (Verdict verdict :
       {Verdict::failed, Verdict::stale_exception, Verdict::expected_failure, Verdict::passed})
    if (cell.of(verdict) > 0) return look(verdict);
  return look(Verdict::unsupported);
}

/// "✓ 12/12": cases passed and all.
std::string cell_text(const Cell& cell) {
  std::size_t all = 0;
  std::string parts;
  for (const Look& each : looks) {
    const std::size_t count = cell.of(each.verdict);
    all += count;
    if (count > 0) parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", count, each.words);
  }
  if (all == 0) return "<td></td>";
  const Look& state = look(cell);
  const std::size_t passed = cell.of(Verdict::passed);
  const std::string title = passed == all ? "" : fmt::format(" title=\"{}\"", parts);
  return fmt::format("<td class=\"{}\"{}>{} {}/{}</td>", state.style_class, title, state.sign, passed, all);
}

/// Element types in the order of their numbers; others, and "" (cases without one), last.
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

/// All cells of a suite, and its operations in the order of their first case.
struct Matrix {
  std::vector<std::string> operations;
  std::map<std::tuple<std::string, std::string, std::size_t>, Cell> cells;  // operation, element, report
};

Matrix matrix_of(std::span<const Report> reports, std::string_view suite) {
  Matrix matrix;
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < reports.size(); ++i)
    for (const CaseReport& each : reports[i].cases) {
      if (each.suite != suite) continue;
      if (seen.insert(each.operation).second) matrix.operations.push_back(each.operation);
      Cell& cell = matrix.cells[{each.operation, each.element, i}];
      ++cell.counts[static_cast<std::size_t>(each.outcome.verdict)];
    }
  return matrix;
}

/// The rows of one operation: one per device.
std::string rows_text(std::span<const Report> reports, const std::string& operation,
                      const std::vector<std::string>& elements, const Matrix& matrix) {
  std::string text = "<tbody>";
  for (std::size_t i = 0; i < reports.size(); ++i) {
    text += "<tr>";
    if (i == 0)
      text +=
          fmt::format("<th scope=\"rowgroup\" rowspan=\"{}\">{}</th>", reports.size(), escaped(operation));
    text += fmt::format("<th scope=\"row\" class=\"on\">{}</th>", label(reports[i]));
    for (const std::string& element : elements) {
      const auto found = matrix.cells.find({operation, element, i});
      text += found == matrix.cells.end() ? "<td></td>" : cell_text(found->second);
    }
    text += "</tr>\n";
  }
  return text + "</tbody>\n";
}

std::string matrix_text(std::span<const Report> reports, const std::string& suite) {
  const Matrix matrix = matrix_of(reports, suite);
  const std::vector<std::string> elements = elements_of(reports, suite);
  std::string text = fmt::format(
      "<h2 id=\"suite-{0}\">{0}</h2><div class=\"wide\"><table><thead><tr><th scope=\"col\">operation</th>"
      "<th scope=\"col\">device</th>",
      escaped(suite));
  for (const std::string& element : elements)
    text += fmt::format("<th scope=\"col\">{}</th>", element.empty() ? "cases" : escaped(element));
  text += "</tr></thead>\n";
  for (const std::string& operation : matrix.operations)
    text += rows_text(reports, operation, elements, matrix);
  return text + "</table></div>\n";
}

/// Ten bins up to the bound, an error on an edge counted below it, and one beyond.
constexpr std::size_t error_bins = 11;
using ErrorCounts = std::array<std::size_t, error_bins>;

ErrorCounts error_counts(const Report& report) {
  ErrorCounts counts{};
  for (const CaseReport& each : report.cases) {
    if (!each.outcome.error) continue;
    const double error = *each.outcome.error;
    const double bin = std::clamp(std::ceil(error * 10) - 1, 0.0, 9.0);
    ++counts[error <= 1 ? static_cast<std::size_t>(bin) : error_bins - 1];  // NaN is beyond
  }
  return counts;
}

/// The least power of ten that no bin of any report exceeds: all histograms have one scale.
std::size_t histogram_top(std::span<const Report> reports) {
  std::size_t most = 0, top = 10;
  for (const Report& report : reports)
    for (std::size_t count : error_counts(report)) most = std::max(most, count);
  while (top < most) top *= 10;
  return top;
}

/// Where things lie in a histogram, in the units of its view box.
struct Frame {
  static constexpr int left = 64, top = 22, bin = 44, height = 130;
  static constexpr int bottom = top + height;
  static constexpr int right = left + bin * static_cast<int>(error_bins) + 18;
  double most;  ///< the count at the top

  /// Logarithmic, with room for a single case.
  double y(double count) const { return bottom - height * std::log1p(count) / std::log1p(most); }
};

/// A line at each power of ten, with its number.
std::string histogram_axes(const Frame& frame) {
  std::string text;
  for (double count = 0; count <= frame.most; count = count == 0 ? 1 : count * 10)
    text += fmt::format(
        "<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"var(--line)\"/>"
        "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:.0f}</text>",
        Frame::left, Frame::right, frame.y(count), frame.y(count), Frame::left - 6, frame.y(count) + 4,
        count);
  for (int edge = 0; edge < static_cast<int>(error_bins); ++edge)
    text += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{:.1f}</text>",
                        Frame::left + edge * Frame::bin, Frame::bottom + 15, edge * 0.1);
  return text +
         fmt::format(
             "<line x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\" stroke=\"var(--text)\" stroke-dasharray=\"4 "
             "3\"/>"
             "<text x=\"{3}\" y=\"{4}\" text-anchor=\"middle\">beyond</text>"
             "<text x=\"{5}\" y=\"{6}\" text-anchor=\"middle\">largest error of a case, 1 is its bound</text>"
             "<text x=\"12\" y=\"{7}\" text-anchor=\"middle\" transform=\"rotate(-90 12 {7})\">cases "
             "(logarithmic)</text>",
             Frame::left + 10 * Frame::bin, Frame::top, Frame::bottom, Frame::left + 10 * Frame::bin + 38,
             Frame::bottom + 15, (Frame::left + Frame::right) / 2, Frame::bottom + 34,
             (Frame::top + Frame::bottom) / 2);
}

std::string histogram_bars(const Frame& frame, const ErrorCounts& counts) {
  std::string text;
  for (std::size_t i = 0; i < error_bins; ++i) {
    if (counts[i] == 0) continue;
    const int x = Frame::left + static_cast<int>(i) * Frame::bin;
    const double y = frame.y(static_cast<double>(counts[i]));
    const bool beyond = i == error_bins - 1;
    text += fmt::format(
        "<rect x=\"{}\" y=\"{:.1f}\" width=\"{}\" height=\"{:.1f}\" fill=\"var(--{})\"/>"
        "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"middle\">{}{}</text>",
        x + 4, y, Frame::bin - 8, Frame::bottom - y, beyond ? "beyond" : "bar", x + Frame::bin / 2, y - 4,
        beyond ? "✗ " : "", counts[i]);
  }
  return text;
}

std::string histogram(const Report& report, std::size_t top) {
  const ErrorCounts counts = error_counts(report);
  std::size_t bounded = 0, exact = 0;
  for (const CaseReport& each : report.cases) {
    bounded += each.outcome.error.has_value();
    exact += each.outcome.error == 0.0;
  }
  const Frame frame{static_cast<double>(top)};
  return fmt::format(
      "<figure><figcaption>{}</figcaption><div class=\"quiet\">{} cases with a bound: {} exact, {} beyond "
      "it</div><svg role=\"img\" viewBox=\"0 0 {} {}\" aria-label=\"number of cases by error as a "
      "fraction of its bound\">{}{}</svg></figure>\n",
      label(report), bounded, exact, counts.back(), Frame::right, Frame::bottom + 42, histogram_axes(frame),
      histogram_bars(frame, counts));
}

std::string histograms(std::span<const Report> reports) {
  std::string text = "<h2 id=\"errors\">Errors against their bounds</h2><div class=\"devices\">\n";
  for (const Report& report : reports) text += histogram(report, histogram_top(reports));
  return text + "</div>\n";
}

/// The verdicts that a report has, with their counts; passed and failed always.
std::string totals(const Report& report) {
  std::string text;
  for (const Look& each : looks) {
    const std::size_t count = report.count(each.verdict);
    if (count == 0 && each.verdict != Verdict::passed && each.verdict != Verdict::failed) continue;
    text += fmt::format("<span class=\"mark {}\">{} {} {}</span>", count > 0 ? each.style_class : "none",
                        each.sign, count, each.words);
  }
  return text;
}

std::string header(const Report& report) {
  const Report::DeviceLine& device = report.device;
  const std::string against = report.against ? fmt::format(" · against {} ({})", escaped(report.against->uri),
                                                           escaped(report.against->name))
                                             : "";
  return fmt::format(
      "<section class=\"device\"><h2>{} {}{}</h2><p>{} · driver {} {} · class: {}</p><p>{}</p>"
      "<p class=\"quiet\">seed {} · started {} · {:.0f} s · Halyard {}{}<br>architecture {}</p></section>\n",
      report.failed() ? "✗" : "✓", escaped(device.uri), device.emulated ? " (emulated)" : "",
      escaped(device.name), escaped(device.driver), escaped(device.driver_version),
      escaped(device.numeric_class()), totals(report), report.seed, escaped(report.started), report.seconds,
      escaped(report.halyard_version), against, escaped(device.architecture));
}

std::string failures_of(const Report& report) {
  std::string text;
  for (const CaseReport& each : report.cases) {
    if (!is_failure(each.outcome.verdict)) continue;
    const bool stale = each.outcome.verdict == Verdict::stale_exception;
    text += fmt::format("<h4>✗ {}{}</h4><p class=\"message\">{}</p>", escaped(each.name),
                        stale ? " <span class=\"quiet\">(stale exception)</span>" : "",
                        escaped(each.outcome.message));
    if (!each.repeat.empty()) text += fmt::format("<pre>{}</pre>", escaped(each.repeat));
    text += "\n";
  }
  return text.empty() ? text : fmt::format("<h3>{}</h3>\n{}", label(report), text);
}

std::string failures(std::span<const Report> reports) {
  std::string text;
  for (const Report& report : reports) text += failures_of(report);
  return "<h2 id=\"failures\">Failures</h2>" + (text.empty() ? "<p>None.</p>\n" : text);
}

std::string excused(std::span<const Report> reports) {
  std::string text;
  std::size_t count = 0;
  for (const Report& report : reports)
    for (const CaseReport& each : report.cases) {
      if (is_failure(each.outcome.verdict) || each.outcome.verdict == Verdict::passed) continue;
      const Look& state = look(each.outcome.verdict);
      const bool expected = each.outcome.verdict == Verdict::expected_failure;
      text += fmt::format(
          "<tr><td>{}</td><td>{}</td><td class=\"{}\">{} {}</td><td class=\"reason\">{}</td></tr>\n",
          label(report), escaped(each.name), state.style_class, state.sign,
          expected ? "expected failure" : "unsupported", escaped(each.outcome.message));
      ++count;
    }
  if (text.empty()) return "<h2 id=\"excused\">Unsupported, and expected to fail</h2><p>None.</p>\n";
  return fmt::format(
      "<h2 id=\"excused\">Unsupported, and expected to fail</h2><details><summary>{} cases with their "
      "reasons</summary><div class=\"wide\"><table><thead><tr><th scope=\"col\">device</th><th "
      "scope=\"col\">case"
      "</th><th scope=\"col\">state</th><th "
      "scope=\"col\">reason</th></tr></thead><tbody>{}</tbody></table></div>"
      "</details>\n",
      count, text);
}

/// The suites of all reports, in the order of their first case.
std::vector<std::string> suites_of(std::span<const Report> reports) {
  std::vector<std::string> names;
  for (const Report& report : reports)
    for (std::string& suite : report.suite_names())
      if (std::find(names.begin(), names.end(), suite) == names.end()) names.push_back(std::move(suite));
  return names;
}

std::string contents(const std::vector<std::string>& suites) {
  std::string text = "<nav><a href=\"#failures\">Failures</a>";
  for (const std::string& suite : suites)
    text += fmt::format("<a href=\"#suite-{0}\">{0}</a>", escaped(suite));
  return text +
         "<a href=\"#errors\">Errors against their bounds</a><a href=\"#excused\">Unsupported, and expected "
         "to fail</a></nav>\n";
}

constexpr std::string_view legend =
    "<p class=\"quiet\">In the tables: cases passed / all, by operation, device and element type. "
    "<span class=\"mark good\">✓ passed</span><span class=\"mark bad\">✗ a case failed, or an exception is "
    "stale"
    "</span><span class=\"mark known\">! a failure that is expected</span><span class=\"mark none\">– "
    "unsupported"
    "</span> An empty field has no cases.</p>\n";

}  // namespace

std::string to_html(std::span<const Report> reports) {
  const std::vector<std::string> suites = suites_of(reports);
  std::string text =
      page_head("Halyard conformance") + "<h1>Halyard conformance</h1>\n<div class=\"devices\">\n";
  for (const Report& report : reports) text += header(report);
  text += "</div>\n" + contents(suites) + failures(reports);
  text += legend;
  for (const std::string& suite : suites) text += matrix_text(reports, suite);
  return text + histograms(reports) + excused(reports) + "</body></html>\n";
}

}  // namespace halyard::conformance
