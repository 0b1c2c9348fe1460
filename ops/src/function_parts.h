#pragma once

#include <cmath>
#include <limits>
#include "function_table.h"
#include "scalar_expression.h"

/// What several of our own elementary functions are made of. They are straight-line formulas of + − × and
/// integer operations, no fma; correctly rounded division and square root where named. All lanes take one
/// path; selects choose at the end. One formula serves f32 and f64, with the coefficients of
/// function_table.h. The range reductions are Cody and Waite's. docs/numerics.md repeats all of it for other
/// implementers; tests measure the bounds.
namespace halyard::ops::expansion {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double quiet_nan = std::numeric_limits<double>::quiet_NaN();

inline const FunctionTable& table_of(Expr x) {
  return function_table(x.element());
}
inline Expr as_integer(Expr x) {
  return x.bits_as(table_of(x).integer);
}
/// The float that has these bits, of 4 or 8 bytes.
inline Expr as_float(Expr bits) {
  return bits.bits_as(byte_size(bits.element()) == 8 ? ElementType::f64 : ElementType::f32);
}

struct Rounded {
  Expr value;    // a float
  Expr integer;  // of the same size
};
inline Rounded round_to_integer(Expr x) {
  const FunctionTable& t = table_of(x);
  Expr shifted = x + t.round_magic;
  Expr integer = as_integer(shifted);
  return {shifted - t.round_magic, integer - integer.like_bits(t.round_magic_bits)};
}

/// 2^n for the exponents n of normal numbers, from its bits.
inline Expr power_of_two(Expr n, const FunctionTable& t) {
  return as_float((n + t.bias) << t.stored_digits);
}

/// (p · 2^⌊n/2⌋) · 2^(n − ⌊n/2⌋): two steps, so that subnormal results round once and what is too large
/// becomes infinite.
inline Expr scaled(Expr p, Expr n, const FunctionTable& t) {
  Expr half = n >> 1;
  return (p * power_of_two(half, t)) * power_of_two(n - half, t);
}

/// Between two limits; NaN stays.
inline Expr limited(Expr x, double least, double greatest) {
  Expr above = select(lt(x, least), x.like(least), x);
  return select(gt(above, greatest), x.like(greatest), above);
}

/// `magnitude` (not negative) with the sign bit of x.
inline Expr with_sign_of(Expr magnitude, Expr x) {
  return as_float(as_integer(magnitude) | (as_integer(x) & table_of(x).sign_bit));
}

/// x without the low half of its digits: products of two such values are exact.
inline Expr high_half(Expr x) {
  return as_float(as_integer(x) & table_of(x).high_half_mask);
}

struct Split {
  Expr exponent;  // an integer
  Expr m;         // in [√½, √2)
};
/// Of a positive finite number that is no subnormal: 2^exponent · m.
inline Split split_normal(Expr x) {
  const FunctionTable& t = table_of(x);
  Expr bits = as_integer(x);
  Expr shifted = bits + bits.like_bits(t.one_bits - t.sqrt_half_bits);
  Expr m = as_float((shifted & t.fraction_mask) + bits.like_bits(t.sqrt_half_bits));
  return {(shifted >> t.stored_digits) - bits.like(t.bias), m};
}
/// Subnormals are scaled by 2^stored_digits first.
inline Split split_any(Expr x) {
  const FunctionTable& t = table_of(x);
  Expr subnormal = lt(x, t.smallest_normal);
  Split parts = split_normal(select(subnormal, x * std::ldexp(1.0, t.stored_digits), x));
  parts.exponent =
      parts.exponent - select(subnormal, parts.exponent.like(t.stored_digits), parts.exponent.like(0));
  return parts;
}

}  // namespace halyard::ops::expansion
