#include "unordered_sums.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>

#include <algorithm>
#include <vector>

namespace halyard::conformance {
namespace {

using Vector = float __attribute__((vector_size(32)));
using Unaligned = float __attribute__((vector_size(32), aligned(4), may_alias));
constexpr std::int64_t lanes = 8;
/// Additions under way at once: more than latency times throughput of any x86-64 processor asks for.
constexpr std::int64_t chains = 12;

__attribute__((target_clones("avx2", "default"))) float sum_of(const float* values, std::int64_t count) {
  Vector sums[chains] = {};
  std::int64_t k = 0;
  for (; k + chains * lanes <= count; k += chains * lanes)
    for (std::int64_t c = 0; c < chains; ++c)
      sums[c] += *reinterpret_cast<const Unaligned*>(values + k + c * lanes);
  for (std::int64_t c = 1; c < chains; ++c) sums[0] += sums[c];
  float total = 0;
  for (std::int64_t lane = 0; lane < lanes; ++lane) total += sums[0][lane];
  for (; k < count; ++k) total += values[k];
  return total;
}

/// Adds `rows` rows to `count` running sums.
__attribute__((target_clones("avx2", "default"))) void add_rows(const float* values, std::int64_t rows,
                                                                std::int64_t stride, std::int64_t count,
                                                                float* sums) {
  constexpr std::int64_t width = chains * lanes;
  std::int64_t k = 0;
  for (; k + width <= count; k += width) {
    Vector running[chains];
    for (std::int64_t c = 0; c < chains; ++c)
      running[c] = *reinterpret_cast<const Unaligned*>(sums + k + c * lanes);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t c = 0; c < chains; ++c)
        running[c] += *reinterpret_cast<const Unaligned*>(values + i * stride + k + c * lanes);
    for (std::int64_t c = 0; c < chains; ++c)
      *reinterpret_cast<Unaligned*>(sums + k + c * lanes) = running[c];
  }
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t rest = k; rest < count; ++rest) sums[rest] += values[i * stride + rest];
}

}  // namespace

void sum_rows(const float* values, std::int64_t rows, std::int64_t length, float* sums) {
  constexpr std::int64_t piece = 1 << 16;
  if (length <= piece) {
    tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, rows, std::max<std::int64_t>(1, piece / length)),
                      [&](const tbb::blocked_range<std::int64_t>& range) {
                        for (std::int64_t i = range.begin(); i < range.end(); ++i)
                          sums[i] = sum_of(values + i * length, length);
                      });
    return;
  }
  for (std::int64_t i = 0; i < rows; ++i)
    sums[i] = tbb::parallel_reduce(
        tbb::blocked_range<std::int64_t>(0, length, piece), 0.0f,
        [&](const tbb::blocked_range<std::int64_t>& range, float sum) {
          return sum + sum_of(values + i * length + range.begin(), range.end() - range.begin());
        },
        [](float a, float b) { return a + b; });
}

void sum_columns(const float* values, std::int64_t rows, std::int64_t length, float* sums) {
  constexpr std::int64_t piece = 64;
  std::vector<float> zeros(static_cast<std::size_t>(length));
  const std::vector<float> total = tbb::parallel_reduce(
      tbb::blocked_range<std::int64_t>(0, rows, piece), zeros,
      [&](const tbb::blocked_range<std::int64_t>& range, std::vector<float> sum) {
        add_rows(values + range.begin() * length, range.end() - range.begin(), length, length, sum.data());
        return sum;
      },
      [](std::vector<float> a, const std::vector<float>& b) {
        for (std::size_t k = 0; k < a.size(); ++k) a[k] += b[k];
        return a;
      });
  std::copy(total.begin(), total.end(), sums);
}

}  // namespace halyard::conformance
