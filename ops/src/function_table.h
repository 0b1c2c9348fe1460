#pragma once

#include <halyard/base/element_type.h>
#include <array>
#include <cstdint>
#include <span>

/// In what our own elementary functions differ between f32 and f64; the formulas are the same
/// (expand_*.cpp). Unless another source is named, coefficients are near-minimax fits of the stated function
/// on the stated interval (Lawson-weighted least squares in more than 200-bit arithmetic, rounded to the type
/// one after another with a refit of the rest; scripts/fit_functions.py makes those of f64), from the lowest
/// power up.
namespace halyard::ops::expansion {

struct FunctionTable {
  using Coefficients = std::span<const double>;

  ElementType element;
  ElementType integer;  ///< signed, of the same size
  ElementType bits;     ///< unsigned, of the same size
  int stored_digits;    ///< of the significand, without the leading one
  int bias;             ///< of the exponent
  double smallest_normal;
  std::uint64_t sign_bit;
  std::uint64_t fraction_mask;
  std::uint64_t one_bits;        ///< of 1
  std::uint64_t high_half_mask;  ///< leaves so few digits that products of two such values are exact
  double split_factor;           ///< 2^⌈digits/2⌉ + 1 (Veltkamp's splitting)

  /// Adding and subtracting 1.5 · 2^stored_digits rounds to an integer, to nearest even, for magnitudes below
  /// a quarter of 2^stored_digits, and leaves the integer in the low bits of the sum.
  double round_magic;
  std::uint64_t round_magic_bits;

  /// 1 / ln 2, and ln 2 = high + low; high · n is exact for every exponent n.
  double inverse_ln2, ln2_high, ln2_low;
  /// exp, with ends beyond which it is 0 or infinite (also half of it).
  double exponential_least, exponential_greatest;
  Coefficients exponential;  ///< q: exp(r) = 1 + (r + r² q(r)), |r| ≤ ln(2)/2
  double exponential_of_two_least, exponential_of_two_greatest;
  Coefficients exponential_of_two;  ///< q: 2^r = 1 + r q(r), |r| ≤ ½
  /// expm1: −1 to the last digit below the least, infinite above the greatest; both parts are halved where
  /// the exponent is above `halved_from`.
  double minus_one_least, minus_one_greatest;
  int halved_from;
  Coefficients hyperbolic_sine;     ///< P: sinh(x) = x + x³ P(x²), |x| < 1
  Coefficients hyperbolic_tangent;  ///< P: tanh(x) = x + x³ P(x²), |x| < 0.625
  Coefficients error_near;          ///< P: erf(x) = x + x P(x²), |x| < 0.925
  double error_end;                 ///< erf is 1 beyond
  Coefficients error_far;           ///< Q: erf(t) = 1 − exp(−(t + t Q(t))), 0.925 ≤ t ≤ error_end

  std::uint64_t sqrt_half_bits;
  /// f32: P of f, log(1 + f) = f − (f²/2 − f³ P(f)). f64: P of s² with s = f / (2 + f), log(1 + f) = f −
  /// (f²/2 − s (f²/2 + s² P(s²))). √½ ≤ 1 + f < √2.
  bool logarithm_by_quotient;
  Coefficients logarithm;
  /// 1 / ln 2 = high + low, high of so few digits that its product with a value under `high_half_mask` is
  /// exact.
  double inverse_ln2_high, inverse_ln2_low;

  double two_over_pi;
  /// π/2 in three parts whose products with n are exact for |n| up to 2^13 (f32), 2^20 (f64), the first two
  /// of which end at the last digit of numbers next to 1, and a tail.
  std::array<double, 4> half_pi_parts;
  double half_pi_parts_limit;  ///< the greatest |x| that they reduce
  /// The bits of 2/π, in words of the type's size; the first word's highest bit has the weight
  /// 2^(stored_digits + 2).
  std::span<const std::uint64_t> two_over_pi_words;
  Coefficients sine;              ///< S: sin r = r + r³ S(r²), |r| ≤ π/4
  Coefficients cosine;            ///< C: cos r = 1 − (r²/2 − r⁴ C(r²))
  Coefficients tangent;           ///< T: tan r = r + r³ T(r²)
  Coefficients arc_sine;          ///< P: asin t = t + t³ P(t²), |t| ≤ ½
  Coefficients arc_tangent;       ///< P: atan t = t + t³ P(t²), |t| ≤ 7/16
  std::array<double, 2> half_pi;  ///< high + low
  std::array<double, 2> arc_of_half, arc_of_three_halves;

  /// pow: |y| beyond which x^y is 0, 1 or infinite; 1/3 as high + low; the series 1/5 + s²/7 + s⁴/9 + …
  double power_greatest;
  std::array<double, 2> third;
  Coefficients power;
};

/// Of f32 or f64.
const FunctionTable& function_table(ElementType element);

}  // namespace halyard::ops::expansion
