#pragma once

#include <cmath>
#include <limits>
#include "scalar_expression.h"

/// What several of our own elementary functions are made of. They are straight-line formulas for f32 of + − ×
/// and integer operations, no fma; correctly rounded division and square root where named. All lanes take one
/// path; selects choose at the end. Unless another source is named, coefficients are near-minimax fits of the
/// stated function on the stated interval (Lawson-weighted least squares in 200-bit arithmetic, rounded to
/// f32 one after another with a refit of the rest); the range reductions are Cody and Waite's.
/// docs/numerics.md repeats them for other implementers; tests measure the bounds.
namespace halyard::ops::expansion {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double quiet_nan = std::numeric_limits<double>::quiet_NaN();

// Adding and subtracting 1.5 · 2^23 rounds to an integer (to nearest even) for |x| < 2^22, and leaves the
// integer in the low bits of the sum.
inline constexpr double round_magic = 0x1.8p23;
inline constexpr std::uint64_t round_magic_bits = 0x4b400000;

struct Rounded {
  Expr value;    // f32
  Expr integer;  // i32
};
inline Rounded round_to_integer(Expr x) {
  Expr shifted = x + round_magic;
  Expr integer = shifted.bits_as(ElementType::i32);
  return {shifted - round_magic, integer - integer.like_bits(round_magic_bits)};
}

/// 2^n for −126 ≤ n ≤ 127, from its bits.
inline Expr power_of_two(Expr n) {
  return ((n + 127) << 23).bits_as(ElementType::f32);
}

/// `magnitude` (not negative) with the sign bit of x.
inline Expr with_sign_of(Expr magnitude, Expr x) {
  Expr sign = x.bits_as(ElementType::i32) & 0x80000000ull;
  return (magnitude.bits_as(ElementType::i32) | sign).bits_as(ElementType::f32);
}

/// x without the low half of its digits: products of two such values are exact.
inline Expr high_half(Expr x) {
  return (x.bits_as(ElementType::i32) & 0xfffff000ull).bits_as(ElementType::f32);
}

// ln 2 = high + low; high has 15 bits, so that n · high is exact for |n| < 512.
inline constexpr double ln2_high = 0x1.62e4p-1;
inline constexpr double ln2_low = 0x1.7f7d1cp-20;

}  // namespace halyard::ops::expansion
