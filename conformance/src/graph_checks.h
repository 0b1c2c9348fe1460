#pragma once

#include <halyard/conformance/suite.h>
#include <halyard/ops/graph.h>

/// Checks that several suites make of whole graphs.
namespace halyard::conformance {

/// What a run of a graph gave, or the outcome that ends the case.
struct Computed {
  std::vector<ops::HostTensor> outputs;
  std::size_t launches = 0;
};
tl::expected<Computed, Outcome> compute(fusion::Compiler& compiler, const ops::Graph& graph,
                                        std::span<const ops::HostTensor> inputs,
                                        const fusion::CompileOptions& options = {});

/// Fused and unfused give the same bits, and those of the reference evaluator too if `with_reference`. With
/// `most_launches` > 0, the fused graph runs in no more launches than that.
Outcome check_fusion(const Subject& subject, const ops::Graph& graph, std::span<const ops::HostTensor> inputs,
                     bool with_reference, std::size_t most_launches = 0);

/// The subject and `against` give the same bits; the latter computes in the subject's class.
Outcome check_equality(const Subject& subject, const ops::Graph& graph,
                       std::span<const ops::HostTensor> inputs);

}  // namespace halyard::conformance
