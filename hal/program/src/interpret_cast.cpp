#include <cmath>
#include <limits>

#include "interpret_elements.h"
#include "interpret_lane_wise.h"

namespace halyard::program {
namespace {

/// Truncates; out of range, which is undefined, saturates and NaN gives 0.
template <class Integer, class Float>
Integer to_integer(Float value) {
  // The limits' neighbours: powers of two or zero, exact in every float type.
  constexpr auto lowest = static_cast<Float>(std::numeric_limits<Integer>::min());
  const Float beyond = std::ldexp(Float{1}, std::numeric_limits<Integer>::digits);
  if (std::isnan(value)) return 0;
  if (value <= lowest) return std::numeric_limits<Integer>::min();
  if (value >= beyond) return std::numeric_limits<Integer>::max();
  return static_cast<Integer>(value);
}

/// An integer as a double, rounded to odd, so that rounding it to a 16-bit float next is right.
template <class Integer>
double odd_double(Integer value) {
  if constexpr (sizeof(Integer) <= 4) {
    return static_cast<double>(value);
  } else {
    bool negative = value < 0;
    auto magnitude = negative ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
    if (magnitude >> 53) {
      std::uint64_t sticky = (magnitude & 0x7ffu) ? 0x800u : 0u;
      magnitude = (magnitude & ~std::uint64_t{0x7ff}) | sticky;
    }
    auto exact = static_cast<double>(magnitude);
    return negative ? -exact : exact;
  }
}

template <class To>
typename To::Stored narrow(double value) {
  if constexpr (std::is_same_v<To, F16>)
    return f16_from_double(value);
  else
    return bf16_from_double(value);
}

template <class From, class To>
typename To::Stored convert(typename From::Stored stored) {
  using Source = typename From::Computed;
  using Target = typename To::Computed;
  constexpr bool to_half = std::is_same_v<To, F16> || std::is_same_v<To, BF16>;
  Source value = From::get(stored);
  if constexpr (std::is_same_v<Target, bool>)
    return value != Source{0};
  else if constexpr (to_half && std::is_integral_v<Source>)
    return narrow<To>(odd_double(value));
  else if constexpr (to_half && std::is_same_v<Source, double>)
    return narrow<To>(value);
  else if constexpr (std::is_integral_v<Target> && std::is_floating_point_v<Source>)
    return to_integer<Target>(value);
  else
    return To::put(static_cast<Target>(value));
}

template <class From, class To>
void cast(std::byte* result, const std::byte* a, const std::byte*, const std::byte*, std::size_t count) {
  auto* __restrict out = reinterpret_cast<typename To::Stored*>(result);
  auto* __restrict x = reinterpret_cast<const typename From::Stored*>(a);
  for (std::size_t i = 0; i < count; ++i) out[i] = convert<From, To>(x[i]);
}

}  // namespace

LaneWise find_cast(ElementType from, ElementType to) {
  return with_element(from, [&]<class From>(From) -> LaneWise {
    return with_element(to, [&]<class To>(To) -> LaneWise { return cast<From, To>; });
  });
}

}  // namespace halyard::program
