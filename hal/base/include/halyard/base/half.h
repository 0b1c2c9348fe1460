#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace halyard {

/// Rounds a double to a float "to odd": if inexact, the result's last bit is 1. Rounding that to a narrower
/// type to nearest gives the same as rounding the double directly (S. Boldo, G. Melquiond, "Emulation of FMA
/// and correctly rounded sums: proved algorithms using rounding to odd", IEEE TC 2008), which avoids double
/// rounding.
inline float round_to_odd(double value) {
  auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || std::isnan(value) || std::isinf(nearest)) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  bool away = std::fabs(static_cast<double>(nearest)) > std::fabs(value);
  if (away) --bits;  // now truncated toward zero
  return std::bit_cast<float>(bits | 1u);
}

/// binary32 to binary16, to nearest even; overflow gives infinity, NaN gives the quiet NaN 0x7e00 with the
/// sign kept.
constexpr std::uint16_t f16_from_float(float value) {
  auto bits = std::bit_cast<std::uint32_t>(value);
  std::uint32_t sign = (bits >> 16) & 0x8000u;
  std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x47800000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // >= 65536, or infinite
  if (magnitude < 0x38800000u) {  // below 2^-14: a subnormal of binary16
    if (magnitude < 0x33000000u) return static_cast<std::uint16_t>(sign);  // below 2^-25 rounds to zero
    std::uint32_t shift = 126u - (magnitude >> 23);
    std::uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    std::uint32_t result = mantissa >> shift;
    std::uint32_t rest = mantissa & ((1u << shift) - 1);
    std::uint32_t half = 1u << (shift - 1);
    if (rest > half || (rest == half && (result & 1u))) ++result;
    return static_cast<std::uint16_t>(sign | result);
  }
  std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u;
  return static_cast<std::uint16_t>(sign |
                                    (rounded >> 13));  // a carry into the exponent, up to infinity, is right
}

/// binary16 to binary32, exact; a NaN keeps its sign and becomes quiet.
constexpr float float_from_f16(std::uint16_t half) {
  std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  std::uint32_t exponent = (half >> 10) & 31u;
  std::uint32_t mantissa = half & 0x3ffu;
  if (exponent == 31)
    return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13) | (mantissa ? 0x400000u : 0u));
  if (exponent == 0) {
    float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

/// binary32 to bfloat16, to nearest even; NaN gives 0x7fc0 with the sign kept.
constexpr std::uint16_t bf16_from_float(float value) {
  auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return static_cast<std::uint16_t>(((bits >> 16) & 0x8000u) | 0x7fc0u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/// bfloat16 to binary32, exact.
constexpr float float_from_bf16(std::uint16_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

inline std::uint16_t f16_from_double(double value) {
  return f16_from_float(round_to_odd(value));
}
inline std::uint16_t bf16_from_double(double value) {
  return bf16_from_float(round_to_odd(value));
}

}  // namespace halyard
