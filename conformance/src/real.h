#pragma once

#include <halyard/base/element_type.h>
#include <mpfr.h>
#include <cstdint>
#include <utility>

/// Numbers of higher precision, for oracles: a thin face of GNU MPFR (Fousse et al., "MPFR: a
/// multiple-precision binary floating-point library with correct rounding", ACM TOMS 33, 2007).
namespace halyard::conformance {

/// 160 bits, rounded to nearest; with signed zeros, infinities and NaN as IEEE 754 has them.
class Real {
 public:
  Real() { mpfr_init2(value_, precision); }
  Real(double value) : Real() { mpfr_set_d(value_, value, MPFR_RNDN); }
  static Real of_integer(__int128 value);
  Real(const Real& other) : Real() { mpfr_set(value_, other.value_, MPFR_RNDN); }
  Real(Real&& other) noexcept : Real() { mpfr_swap(value_, other.value_); }
  Real& operator=(Real other) noexcept {
    mpfr_swap(value_, other.value_);
    return *this;
  }
  ~Real() { mpfr_clear(value_); }

  mpfr_ptr get() { return value_; }
  mpfr_srcptr get() const { return value_; }
  bool is_nan() const { return mpfr_nan_p(value_) != 0; }
  bool is_infinite() const { return mpfr_inf_p(value_) != 0; }
  bool is_zero() const { return mpfr_zero_p(value_) != 0; }
  bool is_negative() const { return mpfr_signbit(value_) != 0; }  ///< −0 too
  double to_double() const { return mpfr_get_d(value_, MPFR_RNDN); }
  Real magnitude() const;

  friend Real operator+(const Real& a, const Real& b);
  friend Real operator-(const Real& a, const Real& b);
  friend Real operator*(const Real& a, const Real& b);
  friend Real operator/(const Real& a, const Real& b);
  /// False if either is NaN.
  friend bool operator<(const Real& a, const Real& b) { return mpfr_less_p(a.value_, b.value_) != 0; }
  friend bool operator==(const Real& a, const Real& b) { return mpfr_equal_p(a.value_, b.value_) != 0; }

  static constexpr mpfr_prec_t precision = 160;

 private:
  mpfr_t value_;
};

/// Binary digits, least normal exponent and greatest exponent of a float type, as IEEE 754 counts them.
struct FloatFormat {
  int digits = 24;
  int least_exponent = -126;
  int greatest_exponent = 127;
};
FloatFormat format_of(ElementType element);

/// Rounded once to a float type, ties to even, subnormals and overflow included.
Real round_to(const Real& value, ElementType element);

/// |got − exact| in units in the last place of `element` at `exact`; infinite where NaN or infinities do not
/// match in kind (an infinity counts as the first power of two beyond the type). A zero of the wrong sign is
/// half a unit off if `signed_zero` and exact is zero.
double units_apart(double got, const Real& exact, ElementType element, bool signed_zero);

}  // namespace halyard::conformance
