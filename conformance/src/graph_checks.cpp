#include "graph_checks.h"

#include <fmt/format.h>
#include <halyard/ops/reference.h>

#include "guarded_run.h"
#include "suites.h"

namespace halyard::conformance {
namespace {

std::string difference_of(const std::vector<ops::HostTensor>& got, const std::vector<ops::HostTensor>& wanted,
                          bool flushes_subnormals) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::string difference = first_difference(got[i], wanted[i], flushes_subnormals);
    if (!difference.empty()) return fmt::format("output {}: {}", i, difference);
  }
  return {};
}

Outcome verdict_of(const std::vector<ops::HostTensor>& outputs, const std::string& complaint) {
  Outcome outcome{complaint.empty() ? Verdict::passed : Verdict::failed, complaint, {}, hash_of(outputs)};
  return outcome;
}

}  // namespace

tl::expected<Computed, Outcome> compute(fusion::Compiler& compiler, const ops::Graph& graph,
                                        std::span<const ops::HostTensor> inputs,
                                        const fusion::CompileOptions& options) {
  auto executable = compiler.compile(graph, options);
  if (!executable) return tl::unexpected(outcome_of(executable.error()));
  auto ran = run_guarded(**executable, inputs);
  if (!ran) return tl::unexpected(outcome_of(ran.error()));
  if (!ran->violation.empty()) return tl::unexpected(Outcome::fail(ran->violation));
  return Computed{std::move(ran->outputs), (*executable)->steps().size()};
}

Outcome check_fusion(const Subject& subject, const ops::Graph& graph, std::span<const ops::HostTensor> inputs,
                     bool with_reference, std::size_t most_launches) {
  const bool flushes = allowance_of(subject.info()).flushes_subnormals;
  fusion::CompileOptions unfused;
  unfused.fusion = ops::Fusion::off;
  auto fused = compute(*subject.compiler, graph, inputs);
  if (!fused) return fused.error();
  auto separate = compute(*subject.compiler, graph, inputs, unfused);
  if (!separate) return separate.error();
  std::string complaint = difference_of(fused->outputs, separate->outputs, flushes);
  if (!complaint.empty()) return verdict_of(fused->outputs, "fused differs from unfused: " + complaint);
  if (with_reference) {
    auto reference = ops::evaluate(graph, inputs, class_of(subject.info()));
    if (!reference) return outcome_of(reference.error());
    complaint = difference_of(fused->outputs, *reference, flushes);
    if (!complaint.empty()) return verdict_of(fused->outputs, "differs from the reference: " + complaint);
  }
  if (most_launches > 0 && fused->launches > most_launches)
    complaint = fmt::format("runs in {} launches; {} are enough", fused->launches, most_launches);
  return verdict_of(fused->outputs, complaint);
}

Outcome check_equality(const Subject& subject, const ops::Graph& graph,
                       std::span<const ops::HostTensor> inputs) {
  const bool flushes = allowance_of(subject.info()).flushes_subnormals ||
                       allowance_of(subject.against->device()->info()).flushes_subnormals;
  auto here = compute(*subject.compiler, graph, inputs);
  if (!here) return here.error();
  fusion::CompileOptions options;
  options.numeric_class = class_of(subject.info());
  auto there = compute(*subject.against, graph, inputs, options);
  if (!there) return there.error();
  return verdict_of(here->outputs, difference_of(here->outputs, there->outputs, flushes));
}

}  // namespace halyard::conformance
