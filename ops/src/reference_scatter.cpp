#include <halyard/ops/reduction_order.h>
#include "element_access.h"
#include "extreme.h"
#include "reference_functions.h"

/// Reference meaning of scatters: base [b…, d, i…], indices [b…, u], updates [b…, u, i…], with the axes of
/// each group taken as one.
namespace halyard::ops {
namespace {

struct Extents {
  std::int64_t batch, rows, updates, inner;
  bool has_inner_axes;
};

Extents extents_of(std::span<const HostTensor> operands, const Attributes& attributes) {
  const Shape& base = operands[0].shape();
  const auto axis = static_cast<std::size_t>(attributes.axes[0]);
  const std::int64_t inner = base.row_major_strides()[axis];
  return {base.count() / (inner * base[axis]), base[axis], operands[1].shape()[axis], inner,
          axis + 1 < base.rank()};
}

/// Calls `visit(batch, row, goes_there)` for every row of the base; goes_there(u) says whether an update
/// does.
template <class Visit>
void for_rows(const HostTensor& indices, const Extents& e, const Visit& visit) {
  for (std::int64_t b = 0; b < e.batch; ++b)
    for (std::int64_t d = 0; d < e.rows; ++d)
      visit(b, d, [&, b, d](std::int64_t u) {
        const std::int64_t index = index_at(indices, b * e.updates + u);
        return (index < 0 ? index + e.rows : index) == d;
      });
}

/// `Value` is the type that elements are merged in.
template <class Value, class Access, class Combine>
void merge_with(std::span<const HostTensor> operands, const Extents& e, HostTensor& result, Value identity,
                const Combine& combine) {
  const HostTensor& base = operands[0];
  const HostTensor& updates = operands[2];
  for_rows(operands[1], e, [&](std::int64_t b, std::int64_t d, const auto& goes_there) {
    bool is_named = false;
    for (std::int64_t u = 0; u < e.updates; ++u) is_named = is_named || goes_there(u);
    for (std::int64_t i = 0; i < e.inner; ++i) {
      const std::int64_t place = (b * e.rows + d) * e.inner + i;
      const auto at = [&](std::int64_t u) {
        return goes_there(u) ? static_cast<Value>(Access::load(updates, (b * e.updates + u) * e.inner + i))
                             : identity;
      };
      auto value = static_cast<Value>(Access::load(base, place));
      if (is_named)
        value =
            combine(value, e.has_inner_axes ? order::reduce_column<Value>(e.updates, identity, at, combine)
                                            : order::reduce_row<Value>(e.updates, identity, at, combine));
      Access::store(result, place, static_cast<typename Access::Value>(value));
    }
  });
}

template <class Combine>
Status merge(std::span<const HostTensor> operands, const Attributes& attributes, HostTensor& result,
             int identity, const Combine& combine) {
  if (result.count() == 0) return {};
  with_access(result.element(), [&](auto access) {
    using Access = decltype(access);
    using Value = typename Access::Value;
    merge_with<Value, Access>(operands, extents_of(operands, attributes), result,
                              static_cast<Value>(identity), combine);
  });
  return {};
}

Status extremes(std::span<const HostTensor> operands, const Attributes& attributes, HostTensor& result,
                bool greatest) {
  if (result.count() == 0) return {};
  const HostTensor first = HostTensor::scalar_bits(
      result.element(),
      reduction_identity(greatest ? Primitive::reduce_max : Primitive::reduce_min, result.element()));
  with_access(result.element(), [&](auto access) {
    using Access = decltype(access);
    using Value = typename Access::Ordered;
    merge_with<Value, Access>(operands, extents_of(operands, attributes), result,
                              static_cast<Value>(Access::load(first, 0)),
                              [greatest](Value a, Value b) { return extreme(a, b, greatest); });
  });
  return {};
}

}  // namespace

Status reference_scatter_set(std::span<const HostTensor> operands, const Attributes& attributes,
                             const NumericClass&, HostTensor& result) {
  if (result.count() == 0) return {};
  const Extents e = extents_of(operands, attributes);
  for_rows(operands[1], e, [&](std::int64_t b, std::int64_t d, const auto& goes_there) {
    std::int64_t last = e.updates - 1;
    while (last >= 0 && !goes_there(last)) --last;
    const HostTensor& source = last >= 0 ? operands[2] : operands[0];
    const std::int64_t row = last >= 0 ? b * e.updates + last : b * e.rows + d;
    for (std::int64_t i = 0; i < e.inner; ++i)
      result.set_bits_at((b * e.rows + d) * e.inner + i, source.bits_at(row * e.inner + i));
  });
  return {};
}

Status reference_scatter_add(std::span<const HostTensor> operands, const Attributes& attributes,
                             const NumericClass&, HostTensor& result) {
  return merge(operands, attributes, result, 0,
               [](auto a, auto b) { return static_cast<decltype(a)>(a + b); });
}

Status reference_scatter_prod(std::span<const HostTensor> operands, const Attributes& attributes,
                              const NumericClass&, HostTensor& result) {
  return merge(operands, attributes, result, 1,
               [](auto a, auto b) { return static_cast<decltype(a)>(a * b); });
}

Status reference_scatter_min(std::span<const HostTensor> operands, const Attributes& attributes,
                             const NumericClass&, HostTensor& result) {
  return extremes(operands, attributes, result, false);
}

Status reference_scatter_max(std::span<const HostTensor> operands, const Attributes& attributes,
                             const NumericClass&, HostTensor& result) {
  return extremes(operands, attributes, result, true);
}

}  // namespace halyard::ops
