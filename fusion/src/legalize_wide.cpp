#include "legalizer.h"

/// 64-bit integers as pairs of words, for devices without Int64. What the exact fma shares (add, subtract,
/// shift, compare) takes words of 64 bits too.
namespace halyard::fusion {

using program::Op;
using program::ValueId;

Legalizer::Carried Legalizer::wide_constant(std::uint64_t bits, std::uint16_t lanes) {
  return {u32(bits & 0xffffffffu, lanes), u32(bits >> 32, lanes)};
}

Legalizer::Carried Legalizer::wide_select(ValueId condition, Carried a, Carried b) {
  return {builder_.select(condition, a.low, b.low), builder_.select(condition, a.high, b.high)};
}

Legalizer::Carried Legalizer::wide_add(Carried a, Carried b) {
  ValueId sum = op(Op::add, a.low, b.low);
  ValueId carry = flag(sum, compare(Op::lt, sum, a.low));
  return {sum, op(Op::add, op(Op::add, a.high, b.high), carry)};
}

Legalizer::Carried Legalizer::wide_sub(Carried a, Carried b) {
  ValueId borrow = flag(a.low, compare(Op::lt, a.low, b.low));
  return {op(Op::sub, a.low, b.low), op(Op::sub, op(Op::sub, a.high, b.high), borrow)};
}

Legalizer::Carried Legalizer::wide_mul(Carried a, Carried b) {
  ValueId cross = op(Op::add, op(Op::mul, a.low, b.high), op(Op::mul, a.high, b.low));
  return {op(Op::mul, a.low, b.low), op(Op::add, op(Op::mul_high, a.low, b.low), cross)};
}

/// Upper 64 bits of the product, by words; a negative signed operand has counted the other one 2^64 too
/// often.
Legalizer::Carried Legalizer::wide_mul_high(Carried a, Carried b, bool has_sign) {
  std::uint16_t n = lanes(a.low);
  Carried low_low{op(Op::mul_high, a.low, b.low), u32(0, n)};
  Carried low_high{op(Op::mul, a.low, b.high), op(Op::mul_high, a.low, b.high)};
  Carried high_low{op(Op::mul, a.high, b.low), op(Op::mul_high, a.high, b.low)};
  Carried high_high{op(Op::mul, a.high, b.high), op(Op::mul_high, a.high, b.high)};
  Carried middle = wide_add(low_low, {low_high.low, u32(0, n)});
  middle = wide_add(middle, {high_low.low, u32(0, n)});
  Carried result = wide_add(high_high, {middle.high, u32(0, n)});
  result = wide_add(result, {low_high.high, u32(0, n)});
  result = wide_add(result, {high_low.high, u32(0, n)});
  if (!has_sign) return result;
  Carried zero = wide_constant(0, n);
  result = wide_sub(result, wide_select(wide_is_negative(a), b, zero));
  return wide_sub(result, wide_select(wide_is_negative(b), a, zero));
}

ValueId Legalizer::wide_is_negative(Carried a) {
  return compare(Op::ge, a.high, u32_like(a.high, 0x80000000u));
}

Legalizer::Carried Legalizer::wide_magnitude(Carried a) {
  return wide_select(wide_is_negative(a), wide_negated(a), a);
}

/// Shifts by less than the pair's width. The bits that cross between the words are moved in two steps, since
/// a shift by a word's width is undefined.
Legalizer::Carried Legalizer::wide_shl(Carried a, ValueId amount) {
  const auto bits = static_cast<std::uint64_t>(width(a.low));
  ValueId last = word(a.low, bits - 1);
  ValueId within = op(Op::bit_and, amount, last);
  ValueId crosses = op(Op::shr, op(Op::shr, a.low, word(a.low, 1)), op(Op::sub, last, within));
  ValueId shifted = op(Op::shl, a.low, within);
  Carried small{shifted, op(Op::bit_or, op(Op::shl, a.high, within), crosses)};
  return wide_select(compare(Op::ge, amount, word(a.low, bits)), {word(a.low, 0), shifted}, small);
}

Legalizer::Carried Legalizer::wide_shr(Carried a, ValueId amount, bool arithmetic) {
  const auto bits = static_cast<std::uint64_t>(width(a.low));
  ValueId last = word(a.low, bits - 1);
  ValueId within = op(Op::bit_and, amount, last);
  ValueId crosses = op(Op::shl, op(Op::shl, a.high, word(a.low, 1)), op(Op::sub, last, within));
  auto shift_high = [&](ValueId by) {
    if (!arithmetic) return op(Op::shr, a.high, by);
    return as_unsigned(op(Op::shr, as_signed(a.high), as_signed(by)));
  };
  ValueId shifted = shift_high(within);
  ValueId rest = arithmetic ? shift_high(last) : word(a.low, 0);
  Carried small{op(Op::bit_or, op(Op::shr, a.low, within), crosses), shifted};
  return wide_select(compare(Op::ge, amount, word(a.low, bits)), {shifted, rest}, small);
}

ValueId Legalizer::wide_less(Carried a, Carried b, bool has_sign) {
  ValueId above =
      has_sign ? compare(Op::lt, as_signed(a.high), as_signed(b.high)) : compare(Op::lt, a.high, b.high);
  ValueId below = op(Op::bit_and, compare(Op::eq, a.high, b.high), compare(Op::lt, a.low, b.low));
  return op(Op::bit_or, above, below);
}

ValueId Legalizer::wide_compare(Op which, Carried a, Carried b, bool has_sign) {
  switch (which) {
    case Op::eq:
      return op(Op::bit_and, compare(Op::eq, a.low, b.low), compare(Op::eq, a.high, b.high));
    case Op::ne:
      return op(Op::bit_or, compare(Op::ne, a.low, b.low), compare(Op::ne, a.high, b.high));
    case Op::lt:
      return wide_less(a, b, has_sign);
    case Op::gt:
      return wide_less(b, a, has_sign);
    case Op::le:
      return builder_.unary(Op::bit_not, wide_less(b, a, has_sign));
    default:
      return builder_.unary(Op::bit_not, wide_less(a, b, has_sign));
  }
}

/// Long division, one bit at a time; quotient bits enter the dividend from below. Where both fit in a word,
/// which is the rule for indices, one native division does.
Legalizer::Division Legalizer::wide_divide_unsigned(Carried a, Carried b) {
  std::uint16_t n = lanes(a.low);
  auto by_bits = [&]() -> std::vector<ValueId> {
    return builder_.for_loop(
        builder_.i32(0), builder_.i32(64), builder_.i32(1), {a.low, a.high, u32(0, n), u32(0, n)},
        [&](ValueId, std::span<const ValueId> state) -> std::vector<ValueId> {
          Carried dividend{state[0], state[1]};
          Carried rest{state[2], state[3]};
          ValueId one = u32(1, n);
          ValueId overflows = wide_is_negative(rest);
          rest = wide_shl(rest, one);
          rest.low = op(Op::bit_or, rest.low, op(Op::shr, dividend.high, u32(31, n)));
          dividend = wide_shl(dividend, one);
          ValueId fits = op(Op::bit_or, overflows, wide_compare(Op::ge, rest, b, false));
          rest = wide_select(fits, wide_sub(rest, b), rest);
          dividend.low = op(Op::bit_or, dividend.low, builder_.cast(ElementType::u32, fits));
          return {dividend.low, dividend.high, rest.low, rest.high};
        });
  };
  std::vector<ValueId> result;
  if (n > 1) {
    result = by_bits();
  } else {
    ValueId is_small = compare(Op::eq, op(Op::bit_or, a.high, b.high), u32(0, n));
    result = builder_.if_else(
        is_small,
        [&]() -> std::vector<ValueId> {
          return {op(Op::div, a.low, b.low), u32(0, n), op(Op::rem, a.low, b.low), u32(0, n)};
        },
        by_bits);
  }
  return {{result[0], result[1]}, {result[2], result[3]}};
}

Legalizer::Division Legalizer::wide_divide(Carried a, Carried b, bool has_sign) {
  if (!has_sign) return wide_divide_unsigned(a, b);
  ValueId a_negative = wide_is_negative(a);
  ValueId b_negative = wide_is_negative(b);
  Division result = wide_divide_unsigned(wide_magnitude(a), wide_magnitude(b));
  ValueId differ = op(Op::bit_xor, a_negative, b_negative);
  result.quotient = wide_select(differ, wide_negated(result.quotient), result.quotient);
  result.remainder = wide_select(a_negative, wide_negated(result.remainder), result.remainder);
  return result;
}

Legalizer::Carried Legalizer::wide_operation(const Instruction& i) {
  bool has_sign = is_signed(old_type(i.operands[0]).element);
  Carried a = carried(i.operands[0]);
  if (i.operands.size() == 1) {
    if (i.op == Op::neg) return wide_negated(a);
    if (i.op == Op::abs) return has_sign ? wide_magnitude(a) : a;
    return {builder_.unary(Op::bit_not, a.low), builder_.unary(Op::bit_not, a.high)};
  }
  Carried b = carried(i.operands[1]);
  if (i.op >= Op::eq && i.op <= Op::ge) return {wide_compare(i.op, a, b, has_sign)};
  switch (i.op) {
    case Op::add:
      return wide_add(a, b);
    case Op::sub:
      return wide_sub(a, b);
    case Op::mul:
      return wide_mul(a, b);
    case Op::mul_high:
      return wide_mul_high(a, b, has_sign);
    case Op::div:
      return wide_divide(a, b, has_sign).quotient;
    case Op::rem:
      return wide_divide(a, b, has_sign).remainder;
    case Op::shl:
      return wide_shl(a, b.low);
    case Op::shr:
      return wide_shr(a, b.low, has_sign);
    default:  // bit_and, bit_or, bit_xor
      return {op(i.op, a.low, b.low), op(i.op, a.high, b.high)};
  }
}

/// 0 to the width, by halving.
ValueId Legalizer::leading_zeros(ValueId value) {
  const auto bits = static_cast<std::uint64_t>(width(value));
  ValueId count = word(value, 0);
  ValueId rest = value;
  for (std::uint64_t step = bits / 2; step > 0; step /= 2) {
    ValueId is_small = compare(Op::lt, rest, word(value, std::uint64_t{1} << (bits - step)));
    rest = builder_.select(is_small, op(Op::shl, rest, word(value, step)), rest);
    count = builder_.select(is_small, op(Op::add, count, word(value, step)), count);
  }
  ValueId is_zero = compare(Op::eq, value, word(value, 0));
  return builder_.select(is_zero, word(value, bits), count);
}

/// The magnitude's leading 32 bits, the last of which also tells whether any lower bit was set, convert with
/// one rounding; the power of two is exact.
ValueId Legalizer::wide_to_f32(Carried value, bool has_sign, bool to_odd) {
  std::uint16_t n = lanes(value.low);
  ValueId is_negative = has_sign ? wide_is_negative(value) : builder_.boolean(false, n);
  Carried magnitude = has_sign ? wide_magnitude(value) : value;
  ValueId high_zeros = leading_zeros(magnitude.high);
  ValueId fills_high = compare(Op::ne, magnitude.high, u32(0, n));
  ValueId zeros =
      builder_.select(fills_high, high_zeros, op(Op::add, u32(32, n), leading_zeros(magnitude.low)));
  Carried shifted =
      wide_shl(magnitude, builder_.select(compare(Op::ge, zeros, u32(64, n)), u32(0, n), zeros));
  ValueId sticky = builder_.cast(ElementType::u32, compare(Op::ne, shifted.low, u32(0, n)));
  ValueId leading = op(Op::bit_or, shifted.high, sticky);
  if (to_odd) {
    ValueId below = compare(Op::ne, op(Op::bit_and, leading, u32(0xff, n)), u32(0, n));
    ValueId odd = op(Op::shl, builder_.cast(ElementType::u32, below), u32(8, n));
    leading = op(Op::bit_or, op(Op::bit_and, leading, u32(0xffffff00u, n)), odd);
  }
  // value = leading * 2^(32 - zeros); the exponent is at least -32.
  ValueId exponent = op(Op::shl, op(Op::sub, u32(127 + 32, n), zeros), u32(23, n));
  ValueId result = op(Op::mul, builder_.cast(ElementType::f32, leading), as(ElementType::f32, exponent));
  ValueId sign = builder_.select(is_negative, u32(0x80000000u, n), u32(0, n));
  return as(ElementType::f32, op(Op::bit_or, as(ElementType::u32, result), sign));
}

/// Truncates an f32 or f64 in range. The upper word is taken off first; what is left is exact.
Legalizer::Carried Legalizer::wide_from_float(ValueId value, bool has_sign) {
  ValueId magnitude = builder_.unary(Op::trunc, builder_.unary(Op::abs, value));
  ValueId upper = builder_.unary(Op::floor, op(Op::mul, magnitude, builder_.constant_like(value, 0x1p-32)));
  ValueId lower = op(Op::sub, magnitude, op(Op::mul, upper, builder_.constant_like(value, 4294967296.0)));
  Carried result{builder_.cast(ElementType::u32, lower), builder_.cast(ElementType::u32, upper)};
  if (!has_sign) return result;
  ValueId is_negative = compare(Op::lt, value, builder_.constant_like(value, 0));
  return wide_select(is_negative, wide_negated(result), result);
}

}  // namespace halyard::fusion
