#include <halyard/ops/reduction_order.h>
#include "element_access.h"
#include "extreme.h"
#include "reference_functions.h"

/// Reference meaning of reductions and scans, by the functions of reduction_order.h.
namespace halyard::ops {
namespace {

/// Where the elements of one result lie: kept_offsets[result] + reduced_offsets[k], k linearized row-major.
struct ReductionMap {
  std::vector<std::int64_t> kept_offsets;
  std::vector<std::int64_t> reduced_offsets;
  bool reduces_last_axis = false;
};

std::vector<std::int64_t> offsets_over(const Shape& shape, const std::vector<bool>& chosen) {
  std::vector<std::int64_t> strides = shape.row_major_strides();
  std::vector<std::int64_t> offsets{0};
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    if (!chosen[axis]) continue;
    std::vector<std::int64_t> next;
    for (std::int64_t offset : offsets)
      for (std::int64_t i = 0; i < shape[axis]; ++i) next.push_back(offset + i * strides[axis]);
    offsets = std::move(next);
  }
  return offsets;
}

ReductionMap map_of(const Shape& shape, const std::vector<std::int64_t>& axes) {
  std::vector<bool> reduced(shape.rank());
  for (std::int64_t axis : axes) reduced[static_cast<std::size_t>(axis)] = true;
  std::vector<bool> kept = reduced;
  kept.flip();
  return {offsets_over(shape, kept), offsets_over(shape, reduced), !reduced.empty() && reduced.back()};
}

template <class Combine>
Status accumulate(const HostTensor& operand, const Attributes& attributes, HostTensor& result, int identity,
                  const Combine& combine) {
  ReductionMap map = map_of(operand.shape(), attributes.axes);
  auto n = static_cast<std::int64_t>(map.reduced_offsets.size());
  with_access(operand.element(), [&](auto access) {
    using Access = decltype(access);
    using Value = typename Access::Value;
    auto neutral = static_cast<Value>(identity);
    for (std::size_t i = 0; i < map.kept_offsets.size(); ++i) {
      auto at = [&](std::int64_t k) {
        return Access::load(operand, map.kept_offsets[i] + map.reduced_offsets[static_cast<std::size_t>(k)]);
      };
      Value value = map.reduces_last_axis ? order::reduce_row<Value>(n, neutral, at, combine)
                                          : order::reduce_column<Value>(n, neutral, at, combine);
      Access::store(result, static_cast<std::int64_t>(i), value);
    }
  });
  return {};
}

Status extremes(const HostTensor& operand, const Attributes& attributes, HostTensor& result, bool greatest) {
  ReductionMap map = map_of(operand.shape(), attributes.axes);
  std::uint64_t identity =
      reduction_identity(greatest ? Primitive::reduce_max : Primitive::reduce_min, operand.element());
  with_access(operand.element(), [&](auto access) {
    using Access = decltype(access);
    using Value = typename Access::Ordered;
    for (std::size_t i = 0; i < map.kept_offsets.size(); ++i) {
      auto position = static_cast<std::int64_t>(i);
      result.set_bits_at(position, identity);
      auto value = static_cast<Value>(Access::load(result, position));
      for (std::int64_t offset : map.reduced_offsets)
        value =
            extreme(value, static_cast<Value>(Access::load(operand, map.kept_offsets[i] + offset)), greatest);
      Access::store(result, position, static_cast<typename Access::Value>(value));
    }
  });
  return {};
}

Status arguments(const HostTensor& operand, const Attributes& attributes, HostTensor& result, bool greatest) {
  ReductionMap map = map_of(operand.shape(), attributes.axes);
  with_access(operand.element(), [&](auto access) {
    using Access = decltype(access);
    using Value = typename Access::Ordered;
    auto better = [&](Value a, Value b) { return greatest ? a > b : a < b; };
    auto n = static_cast<std::int64_t>(map.reduced_offsets.size());
    for (std::size_t i = 0; i < map.kept_offsets.size(); ++i) {
      auto candidate = [&](std::int64_t k) {
        std::int64_t offset = map.kept_offsets[i] + map.reduced_offsets[static_cast<std::size_t>(k)];
        return std::pair<Value, std::int64_t>(static_cast<Value>(Access::load(operand, offset)), k);
      };
      auto best = candidate(0);
      for (std::int64_t k = 1; k < n; ++k) best = order::better_of(best, candidate(k), better);
      result.set_bits_at(static_cast<std::int64_t>(i), static_cast<std::uint64_t>(best.second));
    }
  });
  return {};
}

}  // namespace

Status reference_sum(std::span<const HostTensor> operands, const Attributes& attributes, const NumericClass&,
                     HostTensor& result) {
  return accumulate(operands[0], attributes, result, 0,
                    [](auto a, auto b) { return static_cast<decltype(a)>(a + b); });
}

Status reference_prod(std::span<const HostTensor> operands, const Attributes& attributes, const NumericClass&,
                      HostTensor& result) {
  return accumulate(operands[0], attributes, result, 1,
                    [](auto a, auto b) { return static_cast<decltype(a)>(a * b); });
}

Status reference_min(std::span<const HostTensor> operands, const Attributes& attributes, const NumericClass&,
                     HostTensor& result) {
  return extremes(operands[0], attributes, result, false);
}

Status reference_max(std::span<const HostTensor> operands, const Attributes& attributes, const NumericClass&,
                     HostTensor& result) {
  return extremes(operands[0], attributes, result, true);
}

Status reference_any(std::span<const HostTensor> operands, const Attributes& attributes, const NumericClass&,
                     HostTensor& result) {
  // Of zeros and ones: their maximum.
  return accumulate(operands[0], attributes, result, 0, [](auto a, auto b) { return std::max(a, b); });
}

Status reference_all(std::span<const HostTensor> operands, const Attributes& attributes, const NumericClass&,
                     HostTensor& result) {
  return accumulate(operands[0], attributes, result, 1, [](auto a, auto b) { return std::min(a, b); });
}

Status reference_argmax(std::span<const HostTensor> operands, const Attributes& attributes,
                        const NumericClass&, HostTensor& result) {
  return arguments(operands[0], attributes, result, true);
}

Status reference_argmin(std::span<const HostTensor> operands, const Attributes& attributes,
                        const NumericClass&, HostTensor& result) {
  return arguments(operands[0], attributes, result, false);
}

namespace {

/// `Value` is the type that the elements are merged in.
template <class Value, class Access, class Combine>
void scan_with(const HostTensor& operand, const Attributes& attributes, HostTensor& result, Value identity,
               const Combine& combine) {
  ReductionMap map = map_of(operand.shape(), attributes.axes);
  std::size_t n = map.reduced_offsets.size();
  std::vector<Value> values(n);
  for (std::int64_t kept : map.kept_offsets) {
    for (std::size_t k = 0; k < n; ++k)
      values[k] = static_cast<Value>(Access::load(operand, kept + map.reduced_offsets[k]));
    order::scan(values, combine);
    for (std::size_t k = 0; k < n; ++k) {
      const Value value = !attributes.exclusive ? values[k] : k == 0 ? identity : values[k - 1];
      Access::store(result, kept + map.reduced_offsets[k], static_cast<typename Access::Value>(value));
    }
  }
}

template <class Combine>
Status scan(const HostTensor& operand, const Attributes& attributes, HostTensor& result, int identity,
            const Combine& combine) {
  with_access(operand.element(), [&](auto access) {
    using Access = decltype(access);
    using Value = typename Access::Value;
    scan_with<Value, Access>(operand, attributes, result, static_cast<Value>(identity), combine);
  });
  return {};
}

Status scan_extremes(const HostTensor& operand, const Attributes& attributes, HostTensor& result,
                     bool greatest) {
  const HostTensor first = HostTensor::scalar_bits(
      operand.element(),
      reduction_identity(greatest ? Primitive::reduce_max : Primitive::reduce_min, operand.element()));
  with_access(operand.element(), [&](auto access) {
    using Access = decltype(access);
    using Value = typename Access::Ordered;
    scan_with<Value, Access>(operand, attributes, result, static_cast<Value>(Access::load(first, 0)),
                             [greatest](Value a, Value b) { return extreme(a, b, greatest); });
  });
  return {};
}

}  // namespace

Status reference_cumulative_sum(std::span<const HostTensor> operands, const Attributes& attributes,
                                const NumericClass&, HostTensor& result) {
  return scan(operands[0], attributes, result, 0,
              [](auto a, auto b) { return static_cast<decltype(a)>(a + b); });
}

Status reference_cumulative_prod(std::span<const HostTensor> operands, const Attributes& attributes,
                                 const NumericClass&, HostTensor& result) {
  return scan(operands[0], attributes, result, 1,
              [](auto a, auto b) { return static_cast<decltype(a)>(a * b); });
}

Status reference_cumulative_min(std::span<const HostTensor> operands, const Attributes& attributes,
                                const NumericClass&, HostTensor& result) {
  return scan_extremes(operands[0], attributes, result, false);
}

Status reference_cumulative_max(std::span<const HostTensor> operands, const Attributes& attributes,
                                const NumericClass&, HostTensor& result) {
  return scan_extremes(operands[0], attributes, result, true);
}

}  // namespace halyard::ops
