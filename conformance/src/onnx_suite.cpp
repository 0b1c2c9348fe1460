#include <fmt/format.h>
#include <algorithm>
#include <cmath>

#include "graph_checks.h"
#include "suites.h"
#include "values.h"

/// ONNX's own tests of its operators: the outputs that the files hold, within the tolerance of ONNX's test
/// runner, and the same bits fused and unfused, and in the form that is written out in other operators.
namespace halyard::conformance {
namespace {

/// Of onnx/backend/test/loader and runner (`rtol`, `atol` of TestCase).
constexpr double relative_tolerance = 1e-3, absolute_tolerance = 1e-7;

/// One unit in the last place: the files were written by a conversion that cuts digits off.
constexpr double bf16_tolerance = 0x1p-7;

bool is_close(double got, double wanted, double tolerance) {
  if (std::isnan(wanted)) return std::isnan(got);
  if (std::isinf(wanted) || std::isinf(got)) return got == wanted;
  return std::fabs(got - wanted) <= absolute_tolerance + tolerance * std::fabs(wanted);
}

/// What is wrong with one output, in words; empty if nothing.
std::string complaint_about(const ops::HostTensor& got, const ops::HostTensor& wanted) {
  if (got.element() != wanted.element() || got.shape() != wanted.shape())
    return fmt::format("is {}{}, not {}{}", name(got.element()), got.shape().text(), name(wanted.element()),
                       wanted.shape().text());
  const bool exact = !is_float(wanted.element());
  const double tolerance = wanted.element() == ElementType::bf16 ? bf16_tolerance : relative_tolerance;
  for (std::int64_t i = 0; i < wanted.count(); ++i) {
    const bool same =
        exact ? got.bits_at(i) == wanted.bits_at(i) : is_close(got.at(i), wanted.at(i), tolerance);
    if (!same) return fmt::format("is {:.9g} at element {}, not {:.9g}", got.at(i), i, wanted.at(i));
  }
  return {};
}

std::string complaint_about(const std::vector<ops::HostTensor>& got,
                            const std::vector<ops::HostTensor>& wanted) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::string complaint = complaint_about(got[i], wanted[i]);
    if (!complaint.empty()) return fmt::format("output {} {}", i, complaint);
  }
  return {};
}

Outcome run_given(const Subject& subject, const GivenCase& given) {
  if (!given.graph) return outcome_of(given.graph.error());
  Outcome fused = check_fusion(subject, *given.graph, given.inputs, false);
  if (fused.verdict != Verdict::passed) return fused;
  auto computed = compute(*subject.compiler, *given.graph, given.inputs);
  if (!computed) return computed.error();
  fused.message = complaint_about(computed->outputs, given.expected);
  if (!fused.message.empty()) fused.verdict = Verdict::failed;
  return fused;
}

std::string case_name(const GivenCase& given) {
  return "onnx/" + given.name;
}

std::vector<Case> list(const Subject& subject) {
  std::vector<Case> cases;
  for (std::size_t i = 0; i < subject.given.size(); ++i) {
    const std::string& name = subject.given[i].name;
    cases.push_back({case_name(subject.given[i]), "onnx", name.substr(0, name.find('_')), "",
                     [i](const Subject& with) { return run_given(with, with.given[i]); }, nullptr,
                     seed_of(name, 0) % 8 == 0});
  }
  return cases;
}

Result<Case> parse(std::string_view name, const Subject& subject) {
  for (Case& each : list(subject))
    if (each.name == name) return std::move(each);
  return fail(ErrorCode::invalid_argument,
              fmt::format("'{}' is no case of the onnx suite; --onnx-tests FOLDER adds its cases", name));
}

}  // namespace

Suite onnx_suite() {
  return {"onnx", "ONNX's tests of its operators, with --onnx-tests FOLDER", list, parse};
}

}  // namespace halyard::conformance
