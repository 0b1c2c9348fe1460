#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

/// The canonical orders of accumulation: constants, and reference functions that are their definition. An
/// order depends on the operation, its type and the reduced logical extents alone; never on a device, a
/// schedule, the batch or a layout. docs/numerics.md states them in words.
///
/// Everything is accumulated in the accumulator's type (`accumulator()` in primitive.h: f32 for 16-bit
/// floats) and rounded once to the result's type at the end.
namespace halyard::ops::order {

// ---- sum and product, when the last logical axis of the operand is among the reduced ("rows")
/// Lane j of a chunk takes elements j, j + 128, … in ascending order.
inline constexpr std::int64_t row_lanes = 128;
/// Elements per chunk; chunk results are combined by the same rule.
inline constexpr std::int64_t row_chunk = 4096;

// ---- sum and product, when it is not ("columns")
/// Elements per chunk, taken in ascending order; chunk results are combined by the same rule.
inline constexpr std::int64_t column_chunk = 64;

// ---- products of matrices and vectors
/// Length of one fma chain; chunk results are added in ascending order.
inline constexpr std::int64_t dot_chunk = 512;

// ---- cumulative sums, products, extremes
/// Elements per group; within a group a tree of steps 1, 2, 4, 8.
inline constexpr std::int64_t scan_group = 16;

/// The partial results of one level, which are the elements of the next. (A named type: a lambda would be a
/// new type at each level of the recursion.)
template <class T>
struct ElementsOf {
  const T* values;
  T operator()(std::int64_t k) const { return values[k]; }
};

/// Combines elements 0 … n − 1 (k linearized row-major over the reduced logical axes) by the row rule.
///
/// Per chunk of 4096: 128 lanes start at `identity`; lane j combines x[j], x[j + 128], … ascending; then lane
/// j takes lane j + 64, then j + 32, … then j + 1; lane 0 is the chunk's result. One chunk's result is the
/// result; several are elements of the same rule again. n = 0 gives `identity`. Lanes without elements hold
/// the identity: for sums that is +0, no lane ever holds −0, and so they may be skipped without changing a
/// bit. `at(k)` gives element k, `combine(accumulated, element)` the merged value.
template <class T, class At, class Combine>
T reduce_row(std::int64_t n, T identity, const At& at, const Combine& combine) {
  auto chunk = [&](std::int64_t first, std::int64_t count) {
    T lanes[row_lanes];
    std::fill(lanes, lanes + row_lanes, identity);
    for (std::int64_t base = 0; base < count; base += row_lanes) {
      std::int64_t width = std::min(row_lanes, count - base);
      for (std::int64_t j = 0; j < width; ++j) lanes[j] = combine(lanes[j], at(first + base + j));
    }
    for (std::int64_t half = row_lanes / 2; half > 0; half /= 2)
      for (std::int64_t j = 0; j < half; ++j) lanes[j] = combine(lanes[j], lanes[j + half]);
    return lanes[0];
  };
  if (n <= row_chunk) return chunk(0, n);
  std::vector<T> partial;
  for (std::int64_t first = 0; first < n; first += row_chunk)
    partial.push_back(chunk(first, std::min(row_chunk, n - first)));
  return reduce_row<T>(static_cast<std::int64_t>(partial.size()), identity, ElementsOf<T>{partial.data()},
                       combine);
}

/// Combines elements 0 … n − 1 by the column rule: per chunk of 64, from `identity`, ascending; several chunk
/// results are elements of the same rule again. n = 0 gives `identity`.
template <class T, class At, class Combine>
T reduce_column(std::int64_t n, T identity, const At& at, const Combine& combine) {
  auto chunk = [&](std::int64_t first, std::int64_t count) {
    T total = identity;
    for (std::int64_t k = 0; k < count; ++k) total = combine(total, at(first + k));
    return total;
  };
  if (n <= column_chunk) return chunk(0, n);
  std::vector<T> partial;
  for (std::int64_t first = 0; first < n; first += column_chunk)
    partial.push_back(chunk(first, std::min(column_chunk, n - first)));
  return reduce_column<T>(static_cast<std::int64_t>(partial.size()), identity, ElementsOf<T>{partial.data()},
                          combine);
}

/// One element of a product: per chunk of 512 a chain acc = fma(a[k], b[k], acc) from +0, k ascending; the
/// first chunk's result is the total, to which the later ones are added in ascending order. K = 0 gives +0.
/// `fused` false: acc = acc + round(a[k] · b[k]). Integers wrap (give unsigned types).
template <class T, class A, class B>
T dot(std::int64_t n, const A& a, const B& b, bool fused) {
  T total = T(0);
  for (std::int64_t first = 0; first < n || first == 0; first += dot_chunk) {
    T chain = T(0);
    for (std::int64_t k = first; k < std::min(n, first + dot_chunk); ++k) {
      if constexpr (std::is_floating_point_v<T>) {
        if (fused)
          chain = std::fma(a(k), b(k), chain);
        else
          chain = chain + a(k) * b(k);
      } else {
        chain = static_cast<T>(chain + a(k) * b(k));
      }
    }
    total = first == 0 ? chain : static_cast<T>(total + chain);
  }
  return total;
}

/// Inclusive sums (products, …) in place: in every group of 16, for step in 1, 2, 4, 8: x[i] = x[i − step] +
/// x[i] where i ≥ step (all at once, from the values before the step). If there are several groups, the
/// totals (last elements) of the groups are scanned by the same rule, and each element of group g > 0 becomes
/// scanned[g − 1] + x[i]. `combine(earlier, later)` stands for +.
template <class T, class Combine>
void scan(std::vector<T>& x, const Combine& combine) {
  auto n = static_cast<std::int64_t>(x.size());
  std::vector<T> totals;
  for (std::int64_t first = 0; first < n; first += scan_group) {
    std::int64_t count = std::min(scan_group, n - first);
    for (std::int64_t step = 1; step < scan_group; step *= 2)
      for (std::int64_t i = count - 1; i >= step; --i) {
        T& value = x[static_cast<std::size_t>(first + i)];
        value = combine(x[static_cast<std::size_t>(first + i - step)], value);
      }
    totals.push_back(x[static_cast<std::size_t>(first + count - 1)]);
  }
  if (totals.size() <= 1) return;
  scan(totals, combine);
  for (std::int64_t i = scan_group; i < n; ++i) {
    T& value = x[static_cast<std::size_t>(i)];
    value = combine(totals[static_cast<std::size_t>(i / scan_group - 1)], value);
  }
}

/// Minima and maxima need no order: with NaN propagating, max(−0, +0) = +0 and min(−0, +0) = −0 they are
/// associative and commutative (up to which NaN). argmax and argmin give the lowest index of the greatest
/// (least) element, and the first NaN if there is one; −0 and +0 count as equal. The pair rule below is
/// associative: `a` must be the one with the lower index.
template <class T, class Better>
std::pair<T, std::int64_t> better_of(std::pair<T, std::int64_t> a, std::pair<T, std::int64_t> b,
                                     const Better& better) {
  if (a.first != a.first) return a;
  if (b.first != b.first || better(b.first, a.first)) return b;
  return a;
}

}  // namespace halyard::ops::order
