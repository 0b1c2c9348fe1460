#include "legalizer.h"

/// Correctly rounded f32 division and square root for devices whose own are not (Vulkan allows 2.5 ULP): the
/// device's result is a guess, an exact integer remainder mends it, and rounding is done on integers. The
/// remainder is small, so that 32 bits of it suffice though its terms have 48.
namespace halyard::fusion {

using program::Op;
using program::ValueId;

Legalizer::FloatLayout Legalizer::layout_of(ValueId word) const {
  if (width(word) == 64) return {52, 1023, 0x8000000000000000u, 0x7ff0000000000000u};
  return {23, 127, 0x80000000u, 0x7f800000u};
}

Legalizer::Unpacked Legalizer::unpacked(ValueId bits) {
  const FloatLayout layout = layout_of(bits);
  const int above = width(bits) - layout.digits();
  const auto constant = [&](auto value) { return word(bits, static_cast<std::uint64_t>(value)); };
  ValueId magnitude = op(Op::bit_and, bits, constant(layout.sign - 1));
  ValueId biased = op(Op::shr, magnitude, constant(layout.stored));
  ValueId fraction = op(Op::bit_and, magnitude, constant(layout.leading() - 1));
  ValueId zeros = op(Op::sub, leading_zeros(fraction), constant(above));
  ValueId is_small = compare(Op::eq, biased, constant(0));
  ValueId places = op(Op::bit_and, zeros, constant(width(bits) - 1));
  ValueId mantissa = builder_.select(is_small, op(Op::shl, fraction, places),
                                     op(Op::bit_or, fraction, constant(layout.leading())));
  ValueId exponent = builder_.select(is_small, op(Op::sub, constant(1), zeros), biased);
  return {mantissa, as_signed(exponent)};
}

/// The mantissa as a float in [1, 2).
ValueId Legalizer::unit_float(ValueId mantissa) {
  std::uint16_t n = lanes(mantissa);
  ValueId fraction = op(Op::bit_and, mantissa, u32(0x7fffff, n));
  return as(ElementType::f32, op(Op::bit_or, fraction, u32(0x3f800000, n)));
}

/// A constant of the signed type as wide as `like`.
ValueId Legalizer::signed_like(ValueId like, std::int64_t value) {
  if (width(like) == 64)
    return builder_.constant_bits({ElementType::i64, lanes(like)}, static_cast<std::uint64_t>(value));
  return builder_.constant_bits({ElementType::i32, lanes(like)}, static_cast<std::uint32_t>(value));
}

/// Rounds quotient (a mantissa, then two bits that tell the rest from zero and from one half)
/// · 2^(exponent − bias − stored − 2) to nearest even: the bits of the magnitude.
ValueId Legalizer::rounded_quotient(ValueId quotient, ValueId exponent) {
  const FloatLayout layout = layout_of(quotient);
  const auto number = [&](int value) { return signed_like(quotient, value); };
  ValueId unit = word(quotient, 1);
  ValueId below = op(Op::sub, number(1), exponent);  // places lost to a subnormal result
  below = builder_.select(compare(Op::lt, below, number(0)), number(0), below);
  const int all = layout.digits() + 3;
  below = builder_.select(compare(Op::gt, below, number(all)), number(all), below);
  ValueId shift = op(Op::add, as_unsigned(below), word(quotient, 2));
  ValueId kept = op(Op::shr, quotient, shift);
  ValueId rest = op(Op::sub, quotient, op(Op::shl, kept, shift));
  ValueId half = op(Op::shl, unit, op(Op::sub, shift, unit));
  ValueId is_odd = compare(Op::ne, op(Op::bit_and, kept, unit), word(quotient, 0));
  ValueId tie_up = op(Op::bit_and, compare(Op::eq, rest, half), is_odd);
  ValueId up = op(Op::bit_or, compare(Op::gt, rest, half), tie_up);
  kept = op(Op::add, kept, flag(kept, up));
  ValueId biased =
      builder_.select(compare(Op::lt, exponent, number(1)), number(0), op(Op::sub, exponent, number(1)));
  // The leading bit of the mantissa, and a carry out of it, add to the exponent.
  ValueId places = word(quotient, static_cast<std::uint64_t>(layout.stored));
  ValueId packed = op(Op::add, op(Op::shl, as_unsigned(biased), places), kept);
  ValueId overflows = compare(Op::gt, exponent, number(2 * layout.bias));
  return builder_.select(overflows, word(quotient, layout.infinity), packed);
}

ValueId Legalizer::exact_quotient(ValueId a, ValueId b) {
  std::uint16_t n = lanes(a);
  ValueId a_bits = as(ElementType::u32, a);
  ValueId b_bits = as(ElementType::u32, b);
  Unpacked x = unpacked(a_bits);
  Unpacked y = unpacked(b_bits);
  ValueId is_less = compare(Op::lt, x.mantissa, y.mantissa);
  ValueId places = builder_.select(is_less, u32(24, n), u32(23, n));

  ValueId inverse = op(Op::div, builder_.constant({ElementType::f32, n}, 1.0), unit_float(y.mantissa));
  ValueId scale = builder_.select(is_less, builder_.constant({ElementType::f32, n}, 0x1p24),
                                  builder_.constant({ElementType::f32, n}, 0x1p23));
  ValueId guess = op(Op::mul, op(Op::mul, unit_float(x.mantissa), inverse), scale);
  ValueId quotient = builder_.cast(ElementType::i32, guess);
  ValueId divisor = as(ElementType::i32, y.mantissa);
  ValueId rest =
      op(Op::sub, as(ElementType::i32, op(Op::shl, x.mantissa, places)), op(Op::mul, quotient, divisor));
  // The guess is off by a few: mended at once, up to one more that the mending's own rounding leaves.
  ValueId steps = op(Op::mul, op(Op::mul, builder_.cast(ElementType::f32, rest), inverse),
                     builder_.constant({ElementType::f32, n}, 0x1p-23));
  ValueId mend = builder_.cast(ElementType::i32, builder_.unary(Op::floor, steps));
  quotient = op(Op::add, quotient, mend);
  rest = op(Op::sub, rest, op(Op::mul, mend, divisor));
  ValueId zero = signed_like(rest, 0);
  ValueId one = signed_like(rest, 1);
  ValueId too_large = compare(Op::lt, rest, zero);
  quotient = builder_.select(too_large, op(Op::sub, quotient, one), quotient);
  rest = builder_.select(too_large, op(Op::add, rest, divisor), rest);
  ValueId too_small = compare(Op::ge, rest, divisor);
  quotient = builder_.select(too_small, op(Op::add, quotient, one), quotient);
  rest = builder_.select(too_small, op(Op::sub, rest, divisor), rest);

  ValueId twice = op(Op::add, rest, rest);
  ValueId tail = builder_.select(compare(Op::lt, twice, divisor), u32(1, n), u32(3, n));
  tail = builder_.select(compare(Op::eq, twice, divisor), u32(2, n), tail);
  tail = builder_.select(compare(Op::eq, rest, zero), u32(0, n), tail);
  ValueId extended = op(Op::bit_or, op(Op::shl, as(ElementType::u32, quotient), u32(2, n)), tail);
  ValueId bias = builder_.select(is_less, signed_like(a, 126), signed_like(a, 127));
  ValueId exponent = op(Op::add, op(Op::sub, x.exponent, y.exponent), bias);
  return special_quotient(a_bits, b_bits, rounded_quotient(extended, exponent));
}

/// Puts the sign on a finite quotient's magnitude, and the results of zeros, infinities and NaN in its place.
ValueId Legalizer::special_quotient(ValueId a, ValueId b, ValueId magnitude) {
  std::uint16_t n = lanes(a);
  ValueId infinity = u32(0x7f800000, n);
  ValueId zero = u32(0, n);
  ValueId x = op(Op::bit_and, a, u32(0x7fffffff, n));
  ValueId y = op(Op::bit_and, b, u32(0x7fffffff, n));
  ValueId vanishes = op(Op::bit_or, compare(Op::eq, x, zero), compare(Op::eq, y, infinity));
  ValueId grows = op(Op::bit_or, compare(Op::eq, y, zero), compare(Op::eq, x, infinity));
  ValueId result = builder_.select(vanishes, zero, magnitude);
  result = builder_.select(grows, infinity, result);
  ValueId is_nan = op(Op::bit_or, compare(Op::gt, x, infinity), compare(Op::gt, y, infinity));
  is_nan = op(Op::bit_or, is_nan, op(Op::bit_and, vanishes, grows));
  result = builder_.select(is_nan, u32(0x7fc00000, n), result);
  ValueId sign = op(Op::bit_and, op(Op::bit_xor, a, b), u32(0x80000000u, n));
  return as(ElementType::f32, op(Op::bit_or, result, sign));
}

/// The root of mantissa << places, where an even power of two is left over.
ValueId Legalizer::exact_root(ValueId a) {
  std::uint16_t n = lanes(a);
  ValueId bits = as(ElementType::u32, a);
  Unpacked x = unpacked(bits);
  ValueId is_odd = compare(Op::ne, op(Op::bit_and, x.exponent, signed_like(a, 1)), signed_like(a, 0));
  ValueId places = builder_.select(is_odd, u32(23, n), u32(24, n));
  ValueId unit = unit_float(x.mantissa);
  ValueId radicand = builder_.select(is_odd, unit, op(Op::add, unit, unit));
  ValueId guess = builder_.unary(Op::sqrt, radicand);
  ValueId root =
      builder_.cast(ElementType::i32, op(Op::mul, guess, builder_.constant({ElementType::f32, n}, 0x1p23)));
  ValueId rest = op(Op::sub, as(ElementType::i32, op(Op::shl, x.mantissa, places)), op(Op::mul, root, root));
  ValueId steps = op(
      Op::div,
      op(Op::mul, builder_.cast(ElementType::f32, rest), builder_.constant({ElementType::f32, n}, 0x1p-24)),
      guess);
  ValueId mend = builder_.cast(ElementType::i32, builder_.unary(Op::floor, steps));
  rest = op(Op::sub, rest, op(Op::mul, mend, op(Op::add, op(Op::add, root, root), mend)));
  root = op(Op::add, root, mend);
  ValueId one = signed_like(a, 1);
  ValueId zero = signed_like(a, 0);
  auto twice_and_one = [&] { return op(Op::add, op(Op::add, root, root), one); };
  ValueId too_large = compare(Op::lt, rest, zero);
  root = builder_.select(too_large, op(Op::sub, root, one), root);
  rest = builder_.select(too_large, op(Op::add, rest, twice_and_one()), rest);
  ValueId too_small = compare(Op::ge, rest, twice_and_one());
  rest = builder_.select(too_small, op(Op::sub, rest, twice_and_one()), rest);
  root = builder_.select(too_small, op(Op::add, root, one), root);
  // (root + 1/2)^2 = root^2 + root + 1/4: no tie is possible.
  ValueId up = compare(Op::gt, rest, root);
  root = builder_.select(up, op(Op::add, root, one), root);
  ValueId doubled = op(Op::add, op(Op::sub, x.exponent, as(ElementType::i32, places)), signed_like(a, 150));
  ValueId biased = op(Op::sub, op(Op::shr, doubled, one), one);
  ValueId result =
      op(Op::add, op(Op::shl, as(ElementType::u32, biased), u32(23, n)), as(ElementType::u32, root));

  ValueId magnitude = op(Op::bit_and, bits, u32(0x7fffffff, n));
  ValueId is_negative = compare(Op::ge, bits, u32(0x80000000u, n));
  ValueId is_nan = op(Op::bit_or, compare(Op::gt, magnitude, u32(0x7f800000, n)), is_negative);
  result = builder_.select(is_nan, u32(0x7fc00000, n), result);
  ValueId stays =
      op(Op::bit_or, compare(Op::eq, magnitude, u32(0, n)), compare(Op::eq, bits, u32(0x7f800000, n)));
  return as(ElementType::f32, builder_.select(stays, bits, result));
}

/// A unary or binary f32 operation, exact where the device's own is not.
ValueId Legalizer::f32_operation(Op which, ValueId a, ValueId b) {
  if (which == Op::div && !facts_.exact_division) return exact_quotient(a, b);
  if (which == Op::sqrt && !facts_.exact_sqrt) return exact_root(a);
  return b == program::no_value ? builder_.unary(which, a) : op(which, a, b);
}

}  // namespace halyard::fusion
