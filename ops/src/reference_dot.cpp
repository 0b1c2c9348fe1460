#include <halyard/ops/reduction_order.h>
#include <cmath>
#include "element_access.h"
#include "reference_functions.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// The rows of a tile must live in registers at any level of optimization.
#if defined(__clang__)
#define HALYARD_UNROLL_ROWS _Pragma("unroll")
#else
#define HALYARD_UNROLL_ROWS _Pragma("GCC unroll 4")
#endif

/// Reference meaning of dot_general. Operands are first laid out as [batch, free, k]; each result is then
/// `order::dot`. For fused f32 the same chains run eight columns at a time where the host has AVX2 and FMA
/// (the library's scalar fma is too slow for whole models): the order within each result is the same.
namespace halyard::ops {
namespace {

using Axes = std::vector<std::int64_t>;

struct DotShape {
  std::int64_t batch = 1;
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t depth = 1;
};

Axes free_axes(std::size_t rank, const Axes& contracting, const Axes& batch) {
  std::vector<bool> used(rank);
  for (const Axes* axes : {&contracting, &batch})
    for (std::int64_t axis : *axes) used[static_cast<std::size_t>(axis)] = true;
  Axes result;
  for (std::size_t axis = 0; axis < rank; ++axis)
    if (!used[axis]) result.push_back(static_cast<std::int64_t>(axis));
  return result;
}

std::int64_t product_of(const Shape& shape, const Axes& axes) {
  std::int64_t product = 1;
  for (std::int64_t axis : axes) product *= shape[static_cast<std::size_t>(axis)];
  return product;
}

/// The operand's elements in the accumulator's type, axes ordered as the three lists say.
template <class Access>
std::vector<typename Access::Value> laid_out(const HostTensor& tensor, const Axes& first, const Axes& second,
                                             const Axes& third) {
  std::vector<typename Access::Value> values;
  values.reserve(static_cast<std::size_t>(tensor.count()));
  Axes axes = first;
  axes.insert(axes.end(), second.begin(), second.end());
  axes.insert(axes.end(), third.begin(), third.end());
  Axes strides = tensor.shape().row_major_strides();
  Axes position(axes.size(), 0);
  std::int64_t offset = 0;
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    values.push_back(Access::load(tensor, offset));
    for (std::size_t a = axes.size(); a-- > 0;) {
      auto axis = static_cast<std::size_t>(axes[a]);
      offset += strides[axis];
      if (++position[a] < tensor.shape()[axis]) break;
      offset -= strides[axis] * tensor.shape()[axis];
      position[a] = 0;
    }
  }
  return values;
}

#if defined(__x86_64__)
bool host_has_fma() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
}

constexpr std::int64_t tile_rows = 4;
constexpr std::int64_t tile_columns = 16;

/// A 4 × 16 tile of chains: a [4][depth] with the given row stride, b [depth][16]; writes out [4][16].
__attribute__((target("avx2,fma"))) void dot_tile(std::int64_t depth, const float* a, std::int64_t a_stride,
                                                  const float* b, float* out) {
  __m256 total[tile_rows][2];
  for (std::int64_t first = 0; first < depth; first += order::dot_chunk) {
    std::int64_t end = std::min(depth, first + order::dot_chunk);
    __m256 chain[tile_rows][2];
    for (auto& row : chain) row[0] = row[1] = _mm256_setzero_ps();
    for (std::int64_t k = first; k < end; ++k) {
      __m256 low = _mm256_loadu_ps(b + k * tile_columns);
      __m256 high = _mm256_loadu_ps(b + k * tile_columns + 8);
      HALYARD_UNROLL_ROWS
      for (std::int64_t r = 0; r < tile_rows; ++r) {
        __m256 value = _mm256_broadcast_ss(a + r * a_stride + k);
        chain[r][0] = _mm256_fmadd_ps(value, low, chain[r][0]);
        chain[r][1] = _mm256_fmadd_ps(value, high, chain[r][1]);
      }
    }
    for (std::int64_t r = 0; r < tile_rows; ++r)
      for (int half = 0; half < 2; ++half)
        total[r][half] = first == 0 ? chain[r][half] : _mm256_add_ps(total[r][half], chain[r][half]);
  }
  for (std::int64_t r = 0; r < tile_rows; ++r)
    for (int half = 0; half < 2; ++half) _mm256_storeu_ps(out + r * tile_columns + 8 * half, total[r][half]);
}

/// out [rows][columns] of lhs [rows][depth] and rhs [columns][depth], depth > 0.
void dot_matrix(const DotShape& shape, const float* lhs, const float* rhs, float* out) {
  std::vector<float> panel(static_cast<std::size_t>(shape.depth * tile_columns));
  std::vector<float> edge(static_cast<std::size_t>(shape.depth * tile_rows));
  float tile[tile_rows * tile_columns];
  for (std::int64_t column = 0; column < shape.columns; column += tile_columns) {
    std::int64_t width = std::min(tile_columns, shape.columns - column);
    for (std::int64_t j = 0; j < width; ++j)
      for (std::int64_t k = 0; k < shape.depth; ++k)
        panel[static_cast<std::size_t>(k * tile_columns + j)] = rhs[(column + j) * shape.depth + k];
    for (std::int64_t row = 0; row < shape.rows; row += tile_rows) {
      std::int64_t height = std::min(tile_rows, shape.rows - row);
      const float* a = lhs + row * shape.depth;
      if (height < tile_rows) {
        std::copy(a, a + height * shape.depth, edge.begin());
        a = edge.data();
      }
      dot_tile(shape.depth, a, shape.depth, panel.data(), tile);
      for (std::int64_t r = 0; r < height; ++r)
        std::copy(tile + r * tile_columns, tile + r * tile_columns + width,
                  out + (row + r) * shape.columns + column);
    }
  }
}
#else
bool host_has_fma() {
  return false;
}
void dot_matrix(const DotShape&, const float*, const float*, float*) {}
#endif

template <class Value>
std::vector<Value> products(const DotShape& shape, const std::vector<Value>& lhs,
                            const std::vector<Value>& rhs, bool fused) {
  std::vector<Value> results(static_cast<std::size_t>(shape.batch * shape.rows * shape.columns));
  for (std::int64_t batch = 0; batch < shape.batch; ++batch) {
    const Value* a = lhs.data() + batch * shape.rows * shape.depth;
    const Value* b = rhs.data() + batch * shape.columns * shape.depth;
    Value* out = results.data() + batch * shape.rows * shape.columns;
    if constexpr (std::is_same_v<Value, float>) {
      if (fused && shape.depth > 0 && host_has_fma()) {
        dot_matrix(shape, a, b, out);
        continue;
      }
    }
    for (std::int64_t row = 0; row < shape.rows; ++row)
      for (std::int64_t column = 0; column < shape.columns; ++column)
        out[row * shape.columns + column] = order::dot<Value>(
            shape.depth, [&](std::int64_t k) { return a[row * shape.depth + k]; },
            [&](std::int64_t k) { return b[column * shape.depth + k]; }, fused);
  }
  return results;
}

}  // namespace

Status reference_dot(std::span<const HostTensor> operands, const Attributes& attributes,
                     const NumericClass& numeric, HostTensor& result) {
  const HostTensor& lhs = operands[0];
  const HostTensor& rhs = operands[1];
  const DotDimensions& dot = attributes.dot;
  Axes lhs_free = free_axes(lhs.shape().rank(), dot.lhs_contracting, dot.lhs_batch);
  Axes rhs_free = free_axes(rhs.shape().rank(), dot.rhs_contracting, dot.rhs_batch);
  DotShape shape{product_of(lhs.shape(), dot.lhs_batch), product_of(lhs.shape(), lhs_free),
                 product_of(rhs.shape(), rhs_free), product_of(lhs.shape(), dot.lhs_contracting)};
  with_access(lhs.element(), [&](auto access) {
    using Access = decltype(access);
    auto a = laid_out<Access>(lhs, dot.lhs_batch, lhs_free, dot.lhs_contracting);
    auto b = laid_out<Access>(rhs, dot.rhs_batch, rhs_free, dot.rhs_contracting);
    auto values = products(shape, a, b, numeric.fused_fma);
    bool widened = result.element() != lhs.element();
    for (std::int64_t i = 0; i < result.count(); ++i) {
      auto value = values[static_cast<std::size_t>(i)];
      if (widened)
        PlainAccess<float, typename Access::Value>::store(result, i, value);
      else
        Access::store(result, i, value);
    }
  });
  return {};
}

}  // namespace halyard::ops
