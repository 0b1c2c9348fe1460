#include <limits>
#include "scalar_expression.h"

/// What a division leaves, with the sign of the dividend or of the divisor.
namespace halyard::ops::expansion {
namespace {

using program::Op;

// x rem 0 = x, MIN rem −1 = 0.
Expr integer_remainder(Expr a, Expr b) {
  Expr zero = eq(b, 0);
  Expr unsafe = is_signed(a.element()) ? zero | eq(b, -1) : zero;
  return select(zero, a, a.binary(Op::rem, select(unsafe, b.like(1), b)));
}

struct Decoded {
  Expr mantissa;  // u64, |x| = mantissa · 2^(exponent − 150)
  Expr exponent;  // u64, at least 1
};
Decoded decode(Expr magnitude) {
  Expr bits = magnitude.bits_as(ElementType::u32);
  Expr field = bits >> 23;
  Expr subnormal = eq(field, 0);
  Expr fraction = bits & 0x7fffffull;
  Expr mantissa = select(subnormal, fraction, fraction | 0x800000ull);
  return {mantissa.cast(ElementType::u64), select(subnormal, field.like(1), field).cast(ElementType::u64)};
}

// Exact, by long division of the mantissas: seven steps of 40 binary digits reach the greatest difference of
// exponents in f32 (253); 24 + 40 digits fit into 64 bits.
Expr float_remainder(Expr a, Expr b) {
  constexpr int digits = 40;
  constexpr int steps = 7;
  Expr dividend = a.unary(Op::abs);
  Expr divisor = b.unary(Op::abs);
  Decoded x = decode(dividend);
  Decoded y = decode(divisor);
  Expr modulus = select(eq(y.mantissa, 0), y.mantissa.like(1), y.mantissa);
  Expr smaller = lt(dividend, divisor);
  Expr left = select(smaller, x.exponent.like(0), x.exponent - y.exponent);  // digits still to bring down
  Expr rest = x.mantissa.binary(Op::rem, modulus);
  for (int i = 0; i < steps; ++i) {
    Expr many = gt(left, digits);
    Expr shift = select(many, left.like(digits), left);
    rest = rest.binary(Op::shl, shift).binary(Op::rem, modulus);
    left = left - shift;
  }
  // rest · 2^(exponent − 150) in two exact steps, each factor a normal number.
  Expr exponent = y.exponent.cast(ElementType::u32);
  Expr half = exponent >> 1;
  auto power = [&](Expr n) { return ((n + 52) << 23).bits_as(ElementType::f32); };
  Expr value = (rest.cast(ElementType::u32).cast(ElementType::f32) * power(half)) * power(exponent - half);
  value = select(smaller, dividend, value);
  Expr sign = a.bits_as(ElementType::u32) & 0x80000000ull;
  Expr result = (value.bits_as(ElementType::u32) | sign).bits_as(ElementType::f32);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Expr invalid = ne(a, a) | ne(b, b) | eq(dividend, infinity) | eq(divisor, 0);
  return select(invalid, a.like(std::numeric_limits<double>::quiet_NaN()), result);
}

}  // namespace

// The sign of the dividend.
Expr remainder_of(Expr a, Expr b) {
  return is_float(a.element()) ? float_remainder(a, b) : integer_remainder(a, b);
}

// The sign of the divisor: what truncation left, and one divisor more where the signs differ. A float that is
// 0 takes the divisor's sign too.
Expr modulo(Expr a, Expr b) {
  Expr rest = remainder_of(a, b);
  if (!is_float(a.element()) && !is_signed(a.element())) return rest;
  Expr differs = is_float(a.element()) ? lt(rest.bits_as(ElementType::i32) ^ b.bits_as(ElementType::i32), 0)
                                       : lt(rest ^ b, 0) & ~eq(b, 0);
  Expr zero = eq(rest, 0);
  if (!is_float(a.element())) return select(differs & ~zero, rest + b, rest);
  Expr signed_zero = ((b.bits_as(ElementType::u32) & 0x80000000ull)).bits_as(ElementType::f32);
  return select(ne(rest, rest), rest, select(zero, signed_zero, select(differs, rest + b, rest)));
}

// Integers: toward −∞; x / 0 = −1 (all bits one), MIN / −1 = MIN. Floats: the floor of the rounded quotient,
// and −1 where a negative one has become −0 (it was too small, or the divisor infinite).
Expr floor_quotient(Expr a, Expr b) {
  Expr divided = quotient(a, b);
  if (is_float(a.element())) {
    ElementType integer = a.element() == ElementType::f64 ? ElementType::i64 : ElementType::i32;
    Expr vanished = eq(divided, 0) & ~eq(a, 0) & lt(a.bits_as(integer) ^ b.bits_as(integer), 0);
    return select(vanished, a.like(-1), divided.unary(Op::floor));
  }
  if (!is_signed(a.element())) return divided;
  Expr inexact = ~eq(integer_remainder(a, b), 0) & ~eq(b, 0);
  Expr negative = lt(a ^ b, 0);
  return select(inexact & negative, divided - divided.like(1), divided);
}

}  // namespace halyard::ops::expansion
