#include "real.h"

#include <cmath>
#include <limits>

namespace halyard::conformance {

Real Real::of_integer(__int128 value) {
  // In two halves of 64 bits: MPFR's interface ends there.
  const bool negative = value < 0;
  const auto magnitude =
      negative ? -static_cast<unsigned __int128>(value) : static_cast<unsigned __int128>(value);
  Real high, low;
  mpfr_set_ui(high.value_, static_cast<std::uint64_t>(magnitude >> 64), MPFR_RNDN);
  mpfr_mul_2ui(high.value_, high.value_, 64, MPFR_RNDN);
  mpfr_set_ui(low.value_, static_cast<std::uint64_t>(magnitude), MPFR_RNDN);
  Real sum = high + low;
  if (negative) mpfr_neg(sum.value_, sum.value_, MPFR_RNDN);
  return sum;
}

Real Real::magnitude() const {
  Real result;
  mpfr_abs(result.value_, value_, MPFR_RNDN);
  return result;
}

Real operator+(const Real& a, const Real& b) {
  Real result;
  mpfr_add(result.value_, a.value_, b.value_, MPFR_RNDN);
  return result;
}
Real operator-(const Real& a, const Real& b) {
  Real result;
  mpfr_sub(result.value_, a.value_, b.value_, MPFR_RNDN);
  return result;
}
Real operator*(const Real& a, const Real& b) {
  Real result;
  mpfr_mul(result.value_, a.value_, b.value_, MPFR_RNDN);
  return result;
}
Real operator/(const Real& a, const Real& b) {
  Real result;
  mpfr_div(result.value_, a.value_, b.value_, MPFR_RNDN);
  return result;
}

FloatFormat format_of(ElementType element) {
  switch (element) {
    case ElementType::f16:
      return {11, -14, 15};
    case ElementType::bf16:
      return {8, -126, 127};
    case ElementType::f64:
      return {53, -1022, 1023};
    default:
      return {24, -126, 127};
  }
}

namespace {

/// The exponent of the unit in the last place at a finite value.
long unit_exponent(const Real& value, const FloatFormat& format) {
  const long exponent = value.is_zero() ? format.least_exponent : mpfr_get_exp(value.get()) - 1;
  return std::max<long>(exponent, format.least_exponent) - (format.digits - 1);
}

Real power_of_two(long exponent) {
  Real result(1);
  mpfr_mul_2si(result.get(), result.get(), exponent, MPFR_RNDN);
  return result;
}

}  // namespace

Real round_to(const Real& value, ElementType element) {
  if (value.is_nan() || value.is_infinite() || value.is_zero()) return value;
  const FloatFormat format = format_of(element);
  const long unit = unit_exponent(value, format);
  Real result = value;
  mpfr_mul_2si(result.get(), result.get(), -unit, MPFR_RNDN);
  mpfr_roundeven(result.get(), result.get());
  mpfr_mul_2si(result.get(), result.get(), unit, MPFR_RNDN);
  if (power_of_two(format.greatest_exponent + 1L) < result.magnitude() ||
      power_of_two(format.greatest_exponent + 1L) == result.magnitude())
    mpfr_set_inf(result.get(), value.is_negative() ? -1 : 1);
  return result;
}

double units_apart(double got, const Real& exact, ElementType element, bool signed_zero) {
  constexpr double never = std::numeric_limits<double>::infinity();
  if (exact.is_nan() || std::isnan(got)) return exact.is_nan() && std::isnan(got) ? 0 : never;
  const FloatFormat format = format_of(element);
  const Real beyond = power_of_two(format.greatest_exponent + 1L);
  if (exact.is_infinite()) return std::isinf(got) && std::signbit(got) == exact.is_negative() ? 0 : never;
  if (exact.is_zero() && got == 0) return signed_zero && std::signbit(got) != exact.is_negative() ? 0.5 : 0;
  Real reached(got);
  Real wanted = exact;
  if (std::isinf(got)) {
    if (std::signbit(got) != exact.is_negative()) return never;
    reached = beyond;
    wanted = exact.magnitude();
    if (beyond < wanted) return 0;
  }
  const Real unit = power_of_two(beyond < wanted.magnitude() ? format.greatest_exponent - (format.digits - 1L)
                                                             : unit_exponent(wanted, format));
  return ((reached - wanted).magnitude() / unit).to_double();
}

}  // namespace halyard::conformance
