#include "legalizer.h"

namespace halyard::fusion {

using program::Op;
using program::ValueId;

/// f16 or bf16 bits to f32: exact.
ValueId Legalizer::widened(ElementType half, ValueId bits) {
  std::uint16_t n = lanes(bits);
  if (half == ElementType::bf16) return as(ElementType::f32, op(Op::shl, bits, u32(16, n)));
  ValueId sign = op(Op::shl, op(Op::bit_and, bits, u32(0x8000, n)), u32(16, n));
  ValueId magnitude = op(Op::bit_and, bits, u32(0x7fff, n));
  ValueId is_special = compare(Op::ge, magnitude, u32(0x7c00, n));
  ValueId rebias = builder_.select(is_special, u32(0x70000000, n), u32(0x38000000, n));
  ValueId normal = op(Op::add, op(Op::shl, magnitude, u32(13, n)), rebias);
  // A subnormal is its mantissa times 2^-24, which f32 holds as a normal number.
  ValueId unit = builder_.constant({ElementType::f32, n}, 0x1p-24);
  ValueId subnormal = as(ElementType::u32,
                         op(Op::mul, builder_.cast(ElementType::f32, as(ElementType::i32, magnitude)), unit));
  ValueId result = builder_.select(compare(Op::lt, magnitude, u32(0x400, n)), subnormal, normal);
  return as(ElementType::f32, op(Op::bit_or, result, sign));
}

/// f32 to the bits of an f16 or bf16, to nearest even: as halyard/base/half.h.
ValueId Legalizer::narrowed(ElementType half, ValueId value) {
  return half == ElementType::bf16 ? narrowed_bf16(value) : narrowed_f16(value);
}

ValueId Legalizer::narrowed_f16(ValueId value) {
  std::uint16_t n = lanes(value);
  ValueId bits = as(ElementType::u32, value);
  ValueId sign = op(Op::bit_and, op(Op::shr, bits, u32(16, n)), u32(0x8000, n));
  ValueId magnitude = op(Op::bit_and, bits, u32(0x7fffffff, n));
  ValueId tie = op(Op::bit_and, op(Op::shr, magnitude, u32(13, n)), u32(1, n));
  ValueId rounded = op(Op::add, op(Op::add, magnitude, tie), u32(0xc8000fffu, n));  // + 0xfff - (112 << 23)
  ValueId normal = op(Op::shr, rounded, u32(13, n));
  // Below 2^-14 the result counts steps of 2^-24, the last place of 0.5: the adder rounds to it.
  ValueId one_half = builder_.constant({ElementType::f32, n}, 0.5);
  ValueId sum = op(Op::add, as(ElementType::f32, magnitude), one_half);
  ValueId subnormal = op(Op::sub, as(ElementType::u32, sum), u32(0x3f000000, n));
  ValueId finite = builder_.select(compare(Op::lt, magnitude, u32(0x38800000, n)), subnormal, normal);
  ValueId clamped = builder_.select(compare(Op::ge, magnitude, u32(0x47800000, n)), u32(0x7c00, n), finite);
  ValueId result = builder_.select(compare(Op::gt, magnitude, u32(0x7f800000, n)), u32(0x7e00, n), clamped);
  return op(Op::bit_or, result, sign);
}

ValueId Legalizer::narrowed_bf16(ValueId value) {
  std::uint16_t n = lanes(value);
  ValueId bits = as(ElementType::u32, value);
  ValueId upper = op(Op::shr, bits, u32(16, n));
  ValueId tie = op(Op::bit_and, upper, u32(1, n));
  ValueId rounded = op(Op::shr, op(Op::add, op(Op::add, bits, u32(0x7fff, n)), tie), u32(16, n));
  ValueId nan = op(Op::bit_or, op(Op::bit_and, upper, u32(0x8000, n)), u32(0x7fc0, n));
  ValueId magnitude = op(Op::bit_and, bits, u32(0x7fffffff, n));
  return builder_.select(compare(Op::gt, magnitude, u32(0x7f800000, n)), nan, rounded);
}

/// Turns an f32 rounded to nearest into one rounded to odd, given on which side the exact value lies
/// (Boldo and Melquiond, see halyard/base/half.h): rounding that once more to 16 bits is then exact.
ValueId Legalizer::odd_unless_exact(ValueId nearest, ValueId is_above, ValueId is_below) {
  std::uint16_t n = lanes(nearest);
  ValueId bits = as(ElementType::u32, nearest);
  ValueId is_negative = compare(Op::ge, bits, u32(0x80000000, n));
  ValueId is_even = compare(Op::eq, op(Op::bit_and, bits, u32(1, n)), u32(0, n));
  ValueId grows = builder_.select(is_negative, is_below, is_above);  // the exact magnitude is larger
  ValueId shrinks = builder_.select(is_negative, is_above, is_below);
  ValueId moved = builder_.select(op(Op::bit_and, grows, is_even), op(Op::add, bits, u32(1, n)), bits);
  moved = builder_.select(op(Op::bit_and, shrinks, is_even), op(Op::sub, bits, u32(1, n)), moved);
  return as(ElementType::f32, moved);
}

/// a * b + c of 16-bit floats in f32, rounded to odd: the product is exact, the sum's error is Knuth's
/// TwoSum.
ValueId Legalizer::fused_for_half(ValueId a, ValueId b, ValueId c) {
  ValueId product = op(Op::mul, a, b);
  ValueId sum = op(Op::add, product, c);
  ValueId second = op(Op::sub, sum, product);
  ValueId first = op(Op::sub, sum, second);
  ValueId error = op(Op::add, op(Op::sub, product, first), op(Op::sub, c, second));
  ValueId zero = builder_.constant_like(error, 0);
  return odd_unless_exact(sum, compare(Op::gt, error, zero), compare(Op::lt, error, zero));
}

ValueId Legalizer::double_to_odd_float(ValueId value) {
  ValueId nearest = opaque(builder_.cast(ElementType::f32, value));
  ValueId back = builder_.cast(ElementType::f64, nearest);
  return odd_unless_exact(nearest, compare(Op::gt, value, back), compare(Op::lt, value, back));
}

/// The same f32 or f64, passed through an operation that a compiler cannot see through: Mesa drops
/// `double(float(x))` and `int64(float(q))` in spite of NoContraction.
ValueId Legalizer::opaque(ValueId value) {
  Type type = builder_.type(value);
  if (type.element == ElementType::f32) {
    ValueId zero = builder_.splat(opaque_zero_, type.lanes);
    return as(ElementType::f32, op(Op::bit_xor, as(ElementType::u32, value), zero));
  }
  auto doubled = static_cast<std::uint16_t>(2 * type.lanes);
  ValueId words = builder_.bitcast({ElementType::u32, doubled}, value);
  return builder_.bitcast(type, op(Op::bit_xor, words, builder_.splat(opaque_zero_, doubled)));
}

Legalizer::Carried Legalizer::half_operation(const Instruction& i) {
  ElementType half = old_type(i.operands[0]).element;
  ValueId a = low(i.operands[0]);
  if (i.op == Op::neg) return {op(Op::bit_xor, a, u32_like(a, 0x8000))};
  if (i.op == Op::abs) return {op(Op::bit_and, a, u32_like(a, 0x7fff))};
  std::vector<ValueId> wide;
  for (ValueId operand : i.operands) wide.push_back(widened(half, low(operand)));
  if (i.op >= Op::eq && i.op <= Op::ge) return {compare(i.op, wide[0], wide[1])};
  // One operation in f32 rounded once more to 16 bits is the correctly rounded 16-bit operation (24 bits are
  // at least 2 * 11 + 2; Figueroa, "When is double rounding innocuous?", 1995).
  ValueId result = wide.size() == 3   ? fused_for_half(wide[0], wide[1], wide[2])
                   : wide.size() == 2 ? f32_operation(i.op, wide[0], wide[1])
                                      : f32_operation(i.op, wide[0]);
  return {narrowed(half, result)};
}

}  // namespace halyard::fusion
