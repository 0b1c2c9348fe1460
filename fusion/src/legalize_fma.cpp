#include "legalizer.h"

/// f32 a · b + c rounded once, in integers, for devices whose fma rounds twice: the product of the mantissas
/// and the addend are brought to one scale in 64 bits, a bit that stands for all that is shifted out, added,
/// and rounded to nearest even. (The method of Hauser's Berkeley SoftFloat, f32_mulAdd.)
namespace halyard::fusion {

using program::Op;
using program::ValueId;

/// Shifted right by 0 to 63; the last bit is set if any that was set is lost.
Legalizer::Carried Legalizer::jammed(Carried value, ValueId amount) {
  Carried shifted = wide_shr(value, amount, false);
  ValueId lost = wide_compare(Op::ne, wide_shl(shifted, amount), value, false);
  return {op(Op::bit_or, shifted.low, builder_.cast(ElementType::u32, lost)), shifted.high};
}

/// max(0, min(63, amount)) of an i32, as u32.
ValueId Legalizer::shift_amount(ValueId amount) {
  ValueId least = i32_like(amount, 0), most = i32_like(amount, 63);
  ValueId raised = builder_.select(compare(Op::lt, amount, least), least, amount);
  return as(ElementType::u32, builder_.select(compare(Op::gt, raised, most), most, raised));
}

/// Rounds a magnitude of at most 63 bits, times 2^exponent: the bits of the f32; of 0 they are 0.
ValueId Legalizer::rounded_magnitude(Carried sum, ValueId exponent) {
  std::uint16_t n = lanes(sum.low);
  ValueId zeros = builder_.select(compare(Op::eq, sum.high, u32(0, n)),
                                  op(Op::add, leading_zeros(sum.low), u32(32, n)), leading_zeros(sum.high));
  ValueId places = op(Op::sub, zeros, u32(1, n));
  Carried top = wide_shl(sum, op(Op::bit_and, places, u32(63, n)));  // the first bit is now bit 62
  Carried kept = jammed(top, u32(37, n));
  ValueId scale = op(Op::add, op(Op::sub, exponent, as(ElementType::i32, places)), i32_like(exponent, 189));
  ValueId is_zero = compare(Op::eq, op(Op::bit_or, sum.low, sum.high), u32(0, n));
  return builder_.select(is_zero, u32(0, n), rounded_quotient(kept.low, scale));
}

ValueId Legalizer::exact_fma(ValueId a, ValueId b, ValueId c) {
  std::uint16_t n = lanes(a);
  ValueId a_bits = as(ElementType::u32, a), b_bits = as(ElementType::u32, b),
          c_bits = as(ElementType::u32, c);
  auto magnitude = [&](ValueId bits) { return op(Op::bit_and, bits, u32(0x7fffffff, n)); };
  auto is_finite = [&](ValueId bits) { return compare(Op::lt, magnitude(bits), u32(0x7f800000, n)); };
  auto is_zero = [&](ValueId bits) { return compare(Op::eq, magnitude(bits), u32(0, n)); };
  Unpacked x = unpacked(a_bits), y = unpacked(b_bits), z = unpacked(c_bits);

  // Both have their first bit at 60 or 61.
  Carried product =
      wide_shl({op(Op::mul, x.mantissa, y.mantissa), op(Op::mul_high, x.mantissa, y.mantissa)}, u32(14, n));
  Carried addend = wide_shl({z.mantissa, u32(0, n)}, u32(37, n));
  ValueId of_product = op(Op::sub, op(Op::add, x.exponent, y.exponent), i32_like(a, 314));
  ValueId of_addend = op(Op::sub, z.exponent, i32_like(a, 187));
  of_addend = builder_.select(is_zero(c_bits), of_product, of_addend);
  product = jammed(product, shift_amount(op(Op::sub, of_addend, of_product)));
  addend = jammed(addend, shift_amount(op(Op::sub, of_product, of_addend)));
  ValueId exponent = builder_.select(compare(Op::lt, of_product, of_addend), of_addend, of_product);

  ValueId sign_bit = u32(0x80000000u, n);
  ValueId product_sign = op(Op::bit_and, op(Op::bit_xor, a_bits, b_bits), sign_bit);
  ValueId addend_sign = op(Op::bit_and, c_bits, sign_bit);
  ValueId agrees = compare(Op::eq, product_sign, addend_sign);
  ValueId is_less = wide_less(product, addend, false);
  Carried difference = wide_select(is_less, wide_sub(addend, product), wide_sub(product, addend));
  Carried sum = wide_select(agrees, wide_add(product, addend), difference);
  ValueId sign = builder_.select(op(Op::bit_and, builder_.unary(Op::bit_not, agrees), is_less), addend_sign,
                                 product_sign);
  ValueId rounded = rounded_magnitude(sum, exponent);
  ValueId vanished = compare(Op::eq, op(Op::bit_or, sum.low, sum.high), u32(0, n));
  ValueId result = builder_.select(vanished, u32(0, n), op(Op::bit_or, rounded, sign));

  // Two roundings are exact where the product is zero, infinite or NaN; beside a finite one, an infinity or
  // NaN stays.
  ValueId plain = as(ElementType::u32, op(Op::add, op(Op::mul, a, b), c));
  ValueId is_plain = op(Op::bit_or, is_zero(a_bits), is_zero(b_bits));
  ValueId both_finite = op(Op::bit_and, is_finite(a_bits), is_finite(b_bits));
  is_plain = op(Op::bit_or, is_plain, builder_.unary(Op::bit_not, both_finite));
  result = builder_.select(is_finite(c_bits), result, c_bits);
  return as(ElementType::f32, builder_.select(is_plain, plain, result));
}

}  // namespace halyard::fusion
