#pragma once

#include <halyard/base/result.h>
#include <halyard/ops/graph.h>
#include <halyard/ops/numeric_class.h>
#include <cstdint>

namespace halyard::fusion {

struct SimplifyOptions {
  ops::NumericClass numeric;               ///< in which constants are folded
  std::int64_t fold_elements = 1 << 16;    ///< no constant larger than this is made
  std::int64_t fold_operations = 1 << 22;  ///< nor one that takes more multiply-adds or elements to compute
};

/// What was done, for explanations and tests.
struct SimplifyReport {
  std::uint32_t folded = 0;     ///< nodes that became constants
  std::uint32_t merged = 0;     ///< nodes that another one already computed
  std::uint32_t rewritten = 0;  ///< nodes that algebra made unnecessary or simpler
  std::uint32_t removed = 0;    ///< nodes that no output needs
};

/// A graph with the same inputs and outputs (in the same order) and, to the bit, the same results: constants
/// folded, equal nodes merged, exact algebra applied, unused nodes dropped. Views stay nodes. NaNs count as
/// equal. Errors are those of the graph itself. Thread-safe.
Result<ops::Graph> simplify(const ops::Graph& graph, const SimplifyOptions& options = {},
                            SimplifyReport* report = nullptr);

}  // namespace halyard::fusion
