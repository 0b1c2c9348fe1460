#include "legalizer.h"

/// a · b + c rounded once, in integers, for devices whose fma rounds twice: the product of the mantissas and
/// the addend are brought to one scale in a pair of words (of 32 bits for f32, of 64 for f64), a bit that
/// stands for all that is shifted out, added, and rounded to nearest even. (The method of Hauser's Berkeley
/// SoftFloat, f32_mulAdd.)
namespace halyard::fusion {

using program::Op;
using program::ValueId;

/// Shifted right by less than the pair's width; the last bit is set if any that was set is lost.
Legalizer::Carried Legalizer::jammed(Carried value, ValueId amount) {
  Carried shifted = wide_shr(value, amount, false);
  ValueId lost = wide_compare(Op::ne, wide_shl(shifted, amount), value, false);
  return {op(Op::bit_or, shifted.low, flag(shifted.low, lost)), shifted.high};
}

/// A signed amount limited to what a pair of words can be shifted by, as a word.
ValueId Legalizer::shift_amount(ValueId amount) {
  ValueId least = signed_like(amount, 0), most = signed_like(amount, 2 * width(amount) - 1);
  ValueId raised = builder_.select(compare(Op::lt, amount, least), least, amount);
  return as_unsigned(builder_.select(compare(Op::gt, raised, most), most, raised));
}

/// Rounds a magnitude whose first bit is not the pair's, times 2^exponent: the bits of the float; of 0 they
/// are 0.
ValueId Legalizer::rounded_magnitude(Carried sum, ValueId exponent) {
  const FloatLayout layout = layout_of(sum.low);
  const int bits = width(sum.low);
  const auto constant = [&](int value) { return word(sum.low, static_cast<std::uint64_t>(value)); };
  ValueId zeros =
      builder_.select(compare(Op::eq, sum.high, constant(0)),
                      op(Op::add, leading_zeros(sum.low), constant(bits)), leading_zeros(sum.high));
  ValueId places = op(Op::sub, zeros, constant(1));
  // The first bit is now the pair's second; two bits are kept below the mantissa.
  Carried top = wide_shl(sum, op(Op::bit_and, places, constant(2 * bits - 1)));
  const int cut = 2 * bits - layout.digits() - 3;
  Carried kept = jammed(top, constant(cut));
  ValueId scale = op(Op::add, op(Op::sub, exponent, as_signed(places)),
                     signed_like(exponent, cut + layout.bias + layout.stored + 2));
  ValueId is_zero = compare(Op::eq, op(Op::bit_or, sum.low, sum.high), constant(0));
  return builder_.select(is_zero, constant(0), rounded_quotient(kept.low, scale));
}

ValueId Legalizer::exact_fma(ValueId a, ValueId b, ValueId c) {
  const ElementType element = builder_.type(a).element;
  const ElementType bits = element == ElementType::f64 ? ElementType::u64 : ElementType::u32;
  ValueId a_bits = as(bits, a), b_bits = as(bits, b), c_bits = as(bits, c);
  const FloatLayout layout = layout_of(a_bits);
  const auto constant = [&](std::uint64_t value) { return word(a_bits, value); };
  auto magnitude = [&](ValueId x) { return op(Op::bit_and, x, constant(layout.sign - 1)); };
  auto is_finite = [&](ValueId x) { return compare(Op::lt, magnitude(x), constant(layout.infinity)); };
  auto is_zero = [&](ValueId x) { return compare(Op::eq, magnitude(x), constant(0)); };
  Unpacked x = unpacked(a_bits), y = unpacked(b_bits), z = unpacked(c_bits);

  // The first bit of the product comes to be the pair's third or fourth, that of the addend the fourth.
  const int product_places = 2 * (width(a_bits) - layout.digits() - 1);
  const int addend_places = 2 * width(a_bits) - layout.digits() - 3;
  Carried product = wide_shl({op(Op::mul, x.mantissa, y.mantissa), op(Op::mul_high, x.mantissa, y.mantissa)},
                             constant(static_cast<std::uint64_t>(product_places)));
  Carried addend = wide_shl({z.mantissa, constant(0)}, constant(static_cast<std::uint64_t>(addend_places)));
  const int unit = layout.bias + layout.stored;
  ValueId of_product =
      op(Op::sub, op(Op::add, x.exponent, y.exponent), signed_like(a_bits, 2 * unit + product_places));
  ValueId of_addend = op(Op::sub, z.exponent, signed_like(a_bits, unit + addend_places));
  of_addend = builder_.select(is_zero(c_bits), of_product, of_addend);
  product = jammed(product, shift_amount(op(Op::sub, of_addend, of_product)));
  addend = jammed(addend, shift_amount(op(Op::sub, of_product, of_addend)));
  ValueId exponent = builder_.select(compare(Op::lt, of_product, of_addend), of_addend, of_product);

  ValueId sign_bit = constant(layout.sign);
  ValueId product_sign = op(Op::bit_and, op(Op::bit_xor, a_bits, b_bits), sign_bit);
  ValueId addend_sign = op(Op::bit_and, c_bits, sign_bit);
  ValueId agrees = compare(Op::eq, product_sign, addend_sign);
  ValueId is_less = wide_less(product, addend, false);
  Carried difference = wide_select(is_less, wide_sub(addend, product), wide_sub(product, addend));
  Carried sum = wide_select(agrees, wide_add(product, addend), difference);
  ValueId sign = builder_.select(op(Op::bit_and, builder_.unary(Op::bit_not, agrees), is_less), addend_sign,
                                 product_sign);
  ValueId rounded = rounded_magnitude(sum, exponent);
  ValueId vanished = compare(Op::eq, op(Op::bit_or, sum.low, sum.high), constant(0));
  ValueId result = builder_.select(vanished, constant(0), op(Op::bit_or, rounded, sign));

  // Two roundings are exact where the product is zero, infinite or NaN; beside a finite one, an infinity or
  // NaN stays.
  ValueId plain = as(bits, op(Op::add, op(Op::mul, a, b), c));
  ValueId is_plain = op(Op::bit_or, is_zero(a_bits), is_zero(b_bits));
  ValueId both_finite = op(Op::bit_and, is_finite(a_bits), is_finite(b_bits));
  is_plain = op(Op::bit_or, is_plain, builder_.unary(Op::bit_not, both_finite));
  result = builder_.select(is_finite(c_bits), result, c_bits);
  return as(element, builder_.select(is_plain, plain, result));
}

}  // namespace halyard::fusion
