#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>
#include "element_access.h"
#include "reference_functions.h"

/// Reference meaning of sorting.
namespace halyard::ops {
namespace {

/// NaN is greater than everything else.
template <class Value>
bool is_less(Value a, Value b) {
  if constexpr (std::is_floating_point_v<Value>)
    if (std::isnan(b)) return !std::isnan(a);
  return a < b;
}

}  // namespace

Status reference_argsort(std::span<const HostTensor> operands, const Attributes& attributes,
                         const NumericClass&, HostTensor& result) {
  const HostTensor& operand = operands[0];
  if (operand.count() == 0) return {};
  const auto axis = static_cast<std::size_t>(attributes.axes[0]);
  const std::int64_t extent = operand.shape()[axis];
  const std::int64_t stride = operand.shape().row_major_strides()[axis];
  with_access(operand.element(), [&](auto access) {
    using Access = decltype(access);
    using Value = typename Access::Ordered;
    std::vector<std::int64_t> order(static_cast<std::size_t>(extent));
    for (std::int64_t row = 0; row < operand.count() / extent; ++row) {
      const std::int64_t first = row / stride * stride * extent + row % stride;
      const auto value = [&](std::int64_t i) {
        return static_cast<Value>(Access::load(operand, first + i * stride));
      };
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
        return attributes.descending ? is_less(value(j), value(i)) : is_less(value(i), value(j));
      });
      for (std::int64_t i = 0; i < extent; ++i)
        result.set_bits_at(first + i * stride,
                           static_cast<std::uint64_t>(order[static_cast<std::size_t>(i)]));
    }
  });
  return {};
}

}  // namespace halyard::ops
