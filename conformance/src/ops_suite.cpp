#include <fmt/format.h>
#include <halyard/ops/reference.h>
#include <cmath>

#include "guarded_run.h"
#include "judge.h"
#include "ops_case.h"
#include "suites.h"

/// Every row of the table against an oracle in higher precision, and against the bits that the reference
/// evaluator gives.
namespace halyard::conformance {
namespace {

std::string operands_text(const ops::Node& node, const BuiltCase& built, std::int64_t where) {
  std::string text;
  if (ops::row(node.primitive).kind == ops::Kind::elementwise)
    for (const ops::HostTensor& operand : built.operands)
      text += fmt::format("{}{:.9g}", text.empty() ? " of " : ", ", operand.at(where));
  return text;
}

Outcome run_case(const OpsCase& description, const Subject& subject) {
  Allowance allowance = allowance_of(subject.info());
  allowance.exact_sums = description.values == "small";
  auto built = build(description, subject.seed, allowance.flushes_subnormals);
  if (!built) return outcome_of(built.error());
  auto executable = subject.compiler->compile(built->graph);
  if (!executable) return outcome_of(executable.error());
  auto ran = run_guarded(**executable, built->inputs);
  if (!ran) return outcome_of(ran.error());
  if (!ran->violation.empty()) return Outcome::fail(ran->violation);

  const ops::HostTensor& result = ran->outputs[0];
  const ops::Node& node = built->graph.node(built->operation);
  const Judgement judgement = judge(node, built->operands, result, allowance);
  Outcome outcome{Verdict::passed, {}, judgement.error, hash_of(ran->outputs)};
  if (!judgement.within_bound()) {
    outcome.verdict = Verdict::failed;
    outcome.message =
        fmt::format("{}{} is {:.9g} at element {}: {:.3g} times the allowed error",
                    ops::name(description.primitive), operands_text(node, *built, judgement.where),
                    result.at(judgement.where), judgement.where, judgement.error);
    return outcome;
  }
  auto reference = ops::evaluate(built->graph, built->inputs, class_of(subject.info()));
  if (!reference) return outcome_of(reference.error());
  const std::string difference = first_difference(result, reference->front(), allowance.flushes_subnormals);
  if (difference.empty()) return outcome;
  outcome.verdict = Verdict::failed;
  outcome.message =
      "within the bound, but not the bits that the declared order and formulas give: " + difference;
  return outcome;
}

Case case_of(const OpsCase& description) {
  return {description.name(),
          "ops",
          std::string(ops::name(description.primitive)),
          std::string(name(description.element)),
          [description](const Subject& subject) { return run_case(description, subject); },
          [description] {
            std::vector<Case> smaller;
            for (const OpsCase& each : smaller_ops_cases(description)) smaller.push_back(case_of(each));
            return smaller;
          },
          description.fast};
}

std::vector<Case> list(const Subject&) {
  std::vector<Case> cases;
  for (const OpsCase& description : listed_ops_cases()) cases.push_back(case_of(description));
  return cases;
}

Result<Case> parse(std::string_view name, const Subject&) {
  HALYARD_ASSIGN(OpsCase description, OpsCase::parse(name));
  return case_of(description);
}

}  // namespace

Suite ops_suite() {
  return {"ops",
          "each primitive on its element types, shapes, views and special values, against exact arithmetic",
          list, parse};
}

}  // namespace halyard::conformance
