#include <cmath>
#include <limits>
#include "scalar_expression.h"

/// Conversions: every one rounds (even where it looks like a round trip), floats saturate into integers, and
/// NaN becomes 0.
namespace halyard::ops::expansion {
namespace {

struct IntegerRange {
  double least;
  double beyond;  ///< the greatest plus one: a power of two, exact in every float type
  std::uint64_t least_bits;
  std::uint64_t greatest_bits;
};

IntegerRange range_of(ElementType integer) {
  int bits = static_cast<int>(8 * byte_size(integer));
  if (is_signed(integer)) {
    std::uint64_t least = 1ull << (bits - 1);
    return {-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1), least, least - 1};
  }
  return {0, std::ldexp(1.0, bits), 0, bits == 64 ? ~0ull : (1ull << bits) - 1};
}

// Raw conversion of out-of-range values is undefined, so those lanes convert 0 and are then replaced.
Expr float_to_integer(Expr x, ElementType to) {
  IntegerRange range = range_of(to);
  Expr low = le(x, range.least);  // at the least itself the replacement is right too
  Expr high = ge(x, range.beyond);
  Expr inside = ~(low | high | ne(x, x));
  Expr safe = select(inside, x, x.like(0));
  bool small = byte_size(to) < 4;  // by way of i32, which every target converts to
  Expr integer = small ? safe.cast(ElementType::i32).cast(to) : safe.cast(to);
  integer = select(low, integer.like_bits(range.least_bits), integer);
  return select(high, integer.like_bits(range.greatest_bits), integer);
}

// f64 to f16 or bf16 rounds once: by way of an f32 rounded to odd (Boldo and Melquiond 2008).
Expr narrow_double(Expr x, ElementType to) {
  Expr nearest = x.cast(ElementType::f32);
  Expr back = nearest.cast(ElementType::f64);
  Expr bits = nearest.bits_as(ElementType::i32);
  Expr away = gt(back.unary(program::Op::abs), x.unary(program::Op::abs));
  Expr odd = select(away, bits - 1, bits) | 1ull;
  Expr infinite = eq(nearest.unary(program::Op::abs), std::numeric_limits<double>::infinity());
  Expr exact = eq(back, x) | ne(x, x) | infinite;
  return select(exact, bits, odd).bits_as(ElementType::f32).cast(to);
}

}  // namespace

Expr convert(Expr x, ElementType to) {
  ElementType from = x.element();
  if (from == to) return x;
  if (from == ElementType::boolean) {
    // By way of u8, whose 0 or 1 every target can widen.
    Expr one = x.cast(ElementType::i32);
    return to == ElementType::i32 ? one : convert(one, to);
  }
  bool from_half = from == ElementType::f16 || from == ElementType::bf16;
  bool to_half = to == ElementType::f16 || to == ElementType::bf16;
  if (to == ElementType::boolean) {
    Expr wide = widen(x);
    return ne(wide, wide.like(0));
  }
  if (is_float(from) && is_integer(to)) return float_to_integer(widen(x), to);
  if (from_half) {
    Expr wide = x.cast(ElementType::f32);
    return to == ElementType::f32 ? wide : wide.cast(to);
  }
  if (to_half) {
    if (from == ElementType::f64) return narrow_double(x, to);
    return is_integer(from) ? x.cast(ElementType::f32).cast(to) : x.cast(to);
  }
  return x.cast(to);
}

program::ValueId converted(program::Builder& builder, std::span<const program::ValueId> operands,
                           const Attributes& attributes, const NumericClass&) {
  Expr x(builder, operands[0]);
  return convert(x, attributes.element.value_or(x.element())).id();
}

program::ValueId reinterpreted(program::Builder& builder, std::span<const program::ValueId> operands,
                               const Attributes& attributes, const NumericClass&) {
  Expr x(builder, operands[0]);
  return x.bits_as(attributes.element.value_or(x.element())).id();
}

}  // namespace halyard::ops::expansion
