#pragma once

#include <halyard/ops/graph.h>
#include <halyard/ops/host_tensor.h>
#include <halyard/ops/numeric_class.h>
#include <span>
#include <vector>

namespace halyard::ops {

/// Computes a graph on the host, operation by operation, in the canonical orders, plainly: the oracle of the
/// other executors, whose results have the same bits. Elementwise primitives run through the thread-program
/// interpreter on the very expansion the emitters print. One result per output; `inputs` in the order of
/// `graph.inputs()` (`invalid_argument` if types differ). Intermediates are freed after their last use.
/// Thread-safe.
Result<std::vector<HostTensor>> evaluate(const Graph& graph, std::span<const HostTensor> inputs,
                                         const NumericClass& numeric = {});

/// One primitive on host values, for tests and constant folding.
Result<HostTensor> evaluate_primitive(Primitive primitive, std::span<const HostTensor> operands,
                                      const Attributes& attributes = {}, const NumericClass& numeric = {});

}  // namespace halyard::ops
