#include "legalizer.h"

namespace halyard::fusion {

using program::Op;
using program::ValueId;

Legalizer::Carried Legalizer::cast(const Instruction& i) {
  Type from = old_type(i.operands[0]);
  ElementType to = i.type.element;
  Carried value = carried(i.operands[0]);
  if (to == from.element) return value;
  if (to == ElementType::boolean) {
    switch (form(from.element)) {
      case Form::pair:
        value.low = op(Op::bit_or, value.low, value.high);
        break;
      case Form::half:
        value.low = op(Op::bit_and, value.low, u32(0x7fff, from.lanes));
        break;
      default:
        break;
    }
    return {compare(Op::ne, value.low, builder_.constant_like(value.low, 0))};
  }
  if (from.element == ElementType::boolean) {
    if (form(to) == Form::half)
      return {builder_.select(value.low, u32(to == ElementType::f16 ? 0x3c00 : 0x3f80, from.lanes),
                              u32(0, from.lanes))};
    ValueId number = builder_.cast(carrier(to), value.low);
    if (form(to) == Form::pair) return {number, u32(0, from.lanes)};
    return {number};
  }
  return is_float(to) ? cast_to_float(from.element, value, to) : cast_to_integer(from.element, value, to);
}

Legalizer::Carried Legalizer::cast_to_integer(ElementType from, Carried value, ElementType to) {
  if (is_float(from)) {
    ValueId number = form(from) == Form::half ? widened(from, value.low) : value.low;
    if (from == ElementType::f16) number = builder_.cast(ElementType::f32, number);
    if (form(to) == Form::pair) return wide_from_float(number, is_signed(to));
    ValueId result = builder_.cast(carrier(to), number);
    return {form(to) == Form::narrow_integer ? normalized(to, result) : result};
  }
  if (form(to) == Form::pair) {
    if (form(from) == Form::pair) return value;
    std::uint16_t n = lanes(value.low);
    ValueId bits = builder_.cast(ElementType::u32, value.low);
    if (!is_signed(from)) return {bits, u32(0, n)};
    ValueId as_signed = builder_.cast(ElementType::i32, value.low);
    ValueId amount = builder_.constant_bits({ElementType::i32, n}, 31);
    return {bits, builder_.cast(ElementType::u32, op(Op::shr, as_signed, amount))};
  }
  ValueId result = builder_.cast(carrier(to), value.low);
  return {form(to) == Form::narrow_integer ? normalized(to, result) : result};
}

Legalizer::Carried Legalizer::cast_to_float(ElementType from, Carried value, ElementType to) {
  bool to_half = form(to) == Form::half || to == ElementType::f16;
  ValueId wide = value.low;  // an f32 or f64
  if (is_float(from)) {
    bool from_double = from == ElementType::f64;
    if (from_double && to == ElementType::f32) return {opaque(builder_.cast(ElementType::f32, value.low))};
    wide = from_double                ? double_to_odd_float(value.low)
           : form(from) == Form::half ? widened(from, value.low)
                                      : builder_.cast(ElementType::f32, value.low);
  } else if (to == ElementType::f64) {
    if (form(from) != Form::pair) {
      ValueId converted = builder_.cast(to, value.low);
      return {byte_size(from) == 8 ? opaque(converted) : converted};
    }
    ValueId high = is_signed(from) ? as(ElementType::i32, value.high) : value.high;
    ValueId scaled =
        op(Op::mul, builder_.cast(to, high), builder_.constant({to, lanes(value.low)}, 4294967296.0));
    return {op(Op::add, scaled, builder_.cast(to, value.low))};
  } else {
    wide = integer_to_f32(from, value, to_half);
  }
  if (form(to) == Form::half) return {narrowed(to, wide)};
  return {builder_.cast(to, wide)};
}

/// A native integer as two words, sign- or zero-extended.
Legalizer::Carried Legalizer::halves_of(ElementType from, ValueId value) {
  std::uint16_t n = lanes(value);
  ElementType extended = is_signed(from) ? ElementType::i64 : ElementType::u64;
  if (byte_size(from) < 8) {
    ValueId bits = builder_.cast(ElementType::u32, value);
    if (!is_signed(from)) return {bits, u32(0, n)};
    ValueId amount = builder_.constant_bits({ElementType::i32, n}, 31);
    ValueId sign = op(Op::shr, builder_.cast(ElementType::i32, value), amount);
    return {bits, builder_.cast(ElementType::u32, sign)};
  }
  ValueId upper = op(Op::shr, value, builder_.constant_bits({extended, n}, 32));
  return {builder_.cast(ElementType::u32, value), builder_.cast(ElementType::u32, upper)};
}

/// An integer as f32: to nearest even, or to odd where it is rounded to 16 bits next.
ValueId Legalizer::integer_to_f32(ElementType from, Carried value, bool to_odd) {
  if (form(from) == Form::pair) return wide_to_f32(value, is_signed(from), to_odd);
  bool exact = byte_size(from) <= 2;
  if (to_odd && !exact) return wide_to_f32(halves_of(from, value.low), is_signed(from), true);
  if (exact) value.low = builder_.cast(ElementType::i32, value.low);  // the plainest conversion
  ValueId direct = builder_.cast(ElementType::f32, value.low);
  return byte_size(from) == 8 ? opaque(direct) : direct;
}

namespace {

/// Lays narrow lanes side by side in words, the first in the low bits.
std::uint32_t lanes_per_word(ElementType element) {
  return static_cast<std::uint32_t>(4 / byte_size(element));
}

}  // namespace

Legalizer::Carried Legalizer::bitcast(const Instruction& i) {
  Type from = old_type(i.operands[0]);
  Type to = i.type;
  Carried value = carried(i.operands[0]);
  if (byte_size(from.element) == byte_size(to.element)) {
    Form source = form(from.element);
    Form target = form(to.element);
    if (source == Form::pair && target == Form::pair) return value;
    if (source == Form::same && target == Form::same) return {builder_.bitcast(to, value.low)};
    if (source != Form::pair && target != Form::pair && source != Form::same && target != Form::same) {
      ValueId bits = builder_.cast(carrier(to.element), value.low);
      if (target == Form::half) return {op(Op::bit_and, bits, u32(0xffff, to.lanes))};
      return {normalized(to.element, bits)};
    }
  }
  if (form(from.element) == Form::same && form(to.element) == Form::same && byte_size(from.element) >= 4 &&
      byte_size(to.element) >= 4)
    return {builder_.bitcast(to, value.low)};
  return from_words(to, words_of(from, value));
}

std::vector<ValueId> Legalizer::words_of(Type type, Carried value) {
  std::vector<ValueId> words;
  std::size_t bytes = byte_size(type.element);
  std::uint32_t per_word = bytes < 4 ? lanes_per_word(type.element) : 1;
  for (std::uint32_t lane = 0; lane < type.lanes; ++lane) {
    ValueId scalar = builder_.extract(value.low, lane);
    if (form(type.element) == Form::pair) {
      words.push_back(scalar);
      words.push_back(builder_.extract(value.high, lane));
    } else if (bytes == 8) {
      ValueId both = builder_.bitcast({ElementType::u32, 2}, scalar);
      words.push_back(builder_.extract(both, 0));
      words.push_back(builder_.extract(both, 1));
    } else if (bytes == 4) {
      words.push_back(as(ElementType::u32, scalar));
    } else {
      ValueId bits = form(type.element) == Form::same ? narrowed_f16(builder_.cast(ElementType::f32, scalar))
                                                      : builder_.cast(ElementType::u32, scalar);
      bits = op(Op::bit_and, bits, u32(bytes == 1 ? 0xff : 0xffff, 1));
      if (lane % per_word == 0)
        words.push_back(bits);
      else
        words.back() = op(Op::bit_or, words.back(), op(Op::shl, bits, u32(8 * bytes * (lane % per_word), 1)));
    }
  }
  return words;
}

Legalizer::Carried Legalizer::from_words(Type type, std::span<const ValueId> words) {
  std::size_t bytes = byte_size(type.element);
  std::uint32_t per_word = bytes < 4 ? lanes_per_word(type.element) : 1;
  auto assembled = [&](auto lane_value) {
    ValueId result = builder_.splat(lane_value(0u), type.lanes);
    for (std::uint32_t lane = 1; lane < type.lanes; ++lane)
      result = builder_.insert(result, lane_value(lane), lane);
    return result;
  };
  if (form(type.element) == Form::pair)
    return {assembled([&](std::uint32_t lane) { return words[2 * lane]; }),
            assembled([&](std::uint32_t lane) { return words[2 * lane + 1]; })};
  return {assembled([&](std::uint32_t lane) {
    if (bytes == 8) {
      ValueId both = builder_.insert(builder_.splat(words[2 * lane], 2), words[2 * lane + 1], 1);
      return builder_.bitcast({type.element, 1}, both);
    }
    if (bytes == 4) return builder_.bitcast({type.element, 1}, words[lane]);
    ValueId bits = op(Op::shr, words[lane / per_word], u32(8 * bytes * (lane % per_word), 1));
    if (form(type.element) == Form::narrow_integer)
      return normalized(type.element, builder_.cast(carrier(type.element), bits));
    bits = op(Op::bit_and, bits, u32(0xffff, 1));
    if (form(type.element) == Form::half) return bits;
    return builder_.cast(type.element, widened(ElementType::f16, bits));
  })};
}

}  // namespace halyard::fusion
