#include "function_parts.h"

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
  Expr mantissa;  // u64, |x| = mantissa · 2^(exponent − bias − stored digits)
  Expr exponent;  // u64, at least 1
};
Decoded decode(Expr magnitude) {
  const FunctionTable& t = table_of(magnitude);
  Expr bits = magnitude.bits_as(t.bits);
  Expr field = bits >> t.stored_digits;
  Expr subnormal = eq(field, 0);
  Expr fraction = bits & t.fraction_mask;
  Expr mantissa = select(subnormal, fraction, fraction | (t.fraction_mask + 1));
  return {mantissa.cast(ElementType::u64), select(subnormal, field.like(1), field).cast(ElementType::u64)};
}

// What x · 2^left leaves over a modulus below 2^24, for left ≤ 280: long division, 40 digits a step, of which
// seven reach the greatest difference of exponents in f32 (253).
Expr short_division(Expr x, Expr left, Expr modulus) {
  constexpr int digits = 40;
  constexpr int steps = 7;
  Expr rest = x.binary(Op::rem, modulus);
  for (int i = 0; i < steps; ++i) {
    Expr many = gt(left, digits);
    Expr shift = select(many, left.like(digits), left);
    rest = rest.binary(Op::shl, shift).binary(Op::rem, modulus);
    left = left - shift;
  }
  return rest;
}

// a · b over a modulus, all below 2^53: b in six pieces of 10 digits, from the highest.
Expr modular_product(Expr a, Expr b, Expr modulus) {
  Expr rest = a.like(0);
  for (int from = 50; from >= 0; from -= 10) {
    Expr piece = a * ((b >> from) & 0x3ffull);
    rest = (from == 50 ? piece : (rest << 10) + piece).binary(Op::rem, modulus);
  }
  return rest;
}

// The same for a modulus below 2^53 and left < 4096: 2^left by squaring, from its digits above the sixth.
Expr long_division(Expr x, Expr left, Expr modulus) {
  Expr power = left.like(1).binary(Op::shl, left >> 6).binary(Op::rem, modulus);
  for (int digit = 5; digit >= 0; --digit) {
    power = modular_product(power, power, modulus);
    power = power.binary(Op::shl, (left >> digit) & 1ull);
    power = select(ge(power, modulus), power - modulus, power);
  }
  return modular_product(x.binary(Op::rem, modulus), power, modulus);
}

// Exact, by division of the mantissas as integers.
Expr float_remainder(Expr a, Expr b) {
  const FunctionTable& t = table_of(a);
  Expr dividend = a.unary(Op::abs);
  Expr divisor = b.unary(Op::abs);
  Decoded x = decode(dividend);
  Decoded y = decode(divisor);
  Expr modulus = select(eq(y.mantissa, 0), y.mantissa.like(1), y.mantissa);
  Expr smaller = lt(dividend, divisor);
  // Digits still to bring down; none where |a| < |b|, or one of them is no number.
  Expr left = select(gt(x.exponent, y.exponent), x.exponent - y.exponent, x.exponent.like(0));
  Expr rest = t.element == ElementType::f64 ? long_division(x.mantissa, left, modulus)
                                            : short_division(x.mantissa, left, modulus);
  // rest · 2^(exponent − bias − stored digits) in two exact steps, each factor a normal number.
  Expr exponent = y.exponent.cast(t.bits);
  Expr half = exponent >> 1;
  const int offset = t.bias - t.stored_digits;
  auto power = [&](Expr n, int by) { return as_float((n + by) << t.stored_digits); };
  Expr value = rest.cast(t.bits).cast(t.element) * power(half, offset / 2);
  value = value * power(exponent - half, offset - offset / 2);
  value = with_sign_of(select(smaller, dividend, value), a);
  Expr invalid = ne(a, a) | ne(b, b) | eq(dividend, infinity) | eq(divisor, 0);
  return select(invalid, a.like(quiet_nan), value);
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
  Expr differs =
      is_float(a.element()) ? lt(as_integer(rest) ^ as_integer(b), 0) : lt(rest ^ b, 0) & ~eq(b, 0);
  Expr zero = eq(rest, 0);
  if (!is_float(a.element())) return select(differs & ~zero, rest + b, rest);
  Expr signed_zero = with_sign_of(rest.like(0), b);
  return select(ne(rest, rest), rest, select(zero, signed_zero, select(differs, rest + b, rest)));
}

// Integers: toward −∞; x / 0 = −1 (all bits one), MIN / −1 = MIN. Floats: the floor of the rounded quotient,
// and −1 where a negative one has become −0 (it was too small, or the divisor infinite).
Expr floor_quotient(Expr a, Expr b) {
  Expr divided = quotient(a, b);
  if (is_float(a.element())) {
    Expr vanished = eq(divided, 0) & ~eq(a, 0) & lt(as_integer(a) ^ as_integer(b), 0);
    return select(vanished, a.like(-1), divided.unary(Op::floor));
  }
  if (!is_signed(a.element())) return divided;
  Expr inexact = ~eq(integer_remainder(a, b), 0) & ~eq(b, 0);
  Expr negative = lt(a ^ b, 0);
  return select(inexact & negative, divided - divided.like(1), divided);
}

}  // namespace halyard::ops::expansion
