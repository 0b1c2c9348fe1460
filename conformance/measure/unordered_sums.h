#pragma once

#include <cstdint>

/// Sums as fast as the machine adds, in whatever order that takes: what Halyard's fixed order is compared
/// with.
namespace halyard::conformance {

/// sums[i] = Σ_k values[i · length + k]; all processors.
void sum_rows(const float* values, std::int64_t rows, std::int64_t length, float* sums);
/// sums[k] = Σ_i values[i · length + k]; all processors.
void sum_columns(const float* values, std::int64_t rows, std::int64_t length, float* sums);

}  // namespace halyard::conformance
