#pragma once

#include <cmath>
#include <type_traits>

namespace halyard::ops {

template <class Value>
bool is_nan(Value value) {
  return value != value;
}

/// max (or min) with NaN propagating and −0 below +0.
template <class Value>
Value extreme(Value a, Value b, bool greatest) {
  if (is_nan(a)) return a;
  if (is_nan(b)) return b;
  if constexpr (std::is_floating_point_v<Value>)
    if (a == b) return std::signbit(a) == greatest ? b : a;
  return (a < b) == greatest ? b : a;
}

}  // namespace halyard::ops
