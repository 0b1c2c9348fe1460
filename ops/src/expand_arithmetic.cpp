#include <limits>
#include "scalar_expression.h"

/// The fixed semantics of arithmetic where vendors differ, written out as guards around raw instructions.
namespace halyard::ops::expansion {

using program::Op;

Expr polynomial(Expr x, std::span<const double> coefficients) {
  Expr value = x.like(coefficients.back());
  for (std::size_t i = coefficients.size() - 1; i-- > 0;) value = x * value + coefficients[i];
  return value;
}

Expr widen(Expr x) {
  return x.element() == ElementType::f16 || x.element() == ElementType::bf16 ? x.cast(ElementType::f32) : x;
}

Expr narrow(Expr x, ElementType to) {
  return x.element() == to ? x : convert(x, to);
}

Expr negate(Expr x) {
  return -x;
}
Expr absolute(Expr x) {
  return is_signed(x.element()) ? x.unary(Op::abs) : x;
}
Expr floor_of(Expr x) {
  return x.unary(Op::floor);
}
Expr ceil_of(Expr x) {
  return x.unary(Op::ceil);
}
Expr round_of(Expr x) {
  return x.unary(Op::round_even);
}
Expr trunc_of(Expr x) {
  return x.unary(Op::trunc);
}
Expr square_root(Expr x) {
  return x.unary(Op::sqrt);
}
Expr reciprocal_of(Expr x) {
  return x.like(1) / x;
}
Expr reciprocal_square_root(Expr x) {
  return x.like(1) / x.unary(Op::sqrt);
}
Expr inverted(Expr x) {
  return ~x;
}
Expr not_a_number(Expr x) {
  return ne(x, x);
}
Expr infinite(Expr x) {
  return eq(x.unary(Op::abs), std::numeric_limits<double>::infinity());
}
Expr finite(Expr x) {
  return lt(x.unary(Op::abs), std::numeric_limits<double>::infinity());
}

// A zero keeps its sign and a NaN stays: both are the last alternative.
Expr sign_of(Expr x) {
  Expr positive = select(gt(x, 0), x.like(1), x);
  return is_signed(x.element()) ? select(lt(x, 0), x.like(-1), positive) : positive;
}

// Not (x > 0 ? x : 0): NaN must stay, and −0 becomes +0.
Expr rectified(Expr x) {
  return select(le(x, 0), x.like(0), x);
}

Expr sum_of(Expr a, Expr b) {
  return a + b;
}
Expr difference(Expr a, Expr b) {
  return a - b;
}
Expr product(Expr a, Expr b) {
  return a * b;
}

// Integers: x / 0 = −1 (all bits one), MIN / −1 = MIN.
Expr quotient(Expr a, Expr b) {
  if (is_float(a.element())) return a / b;
  if (!is_signed(a.element())) {
    Expr zero = eq(b, 0);
    return select(zero, a.like_bits(~0ull), a / select(zero, b.like(1), b));
  }
  Expr zero = eq(b, 0);
  Expr minus_one = eq(b, -1);
  Expr divided = a / select(zero | minus_one, b.like(1), b);
  return select(zero, a.like(-1), select(minus_one, -a, divided));
}

// NaN propagates. Equal operands differ in bits only as −0 and +0: the larger has the bits both share.
Expr larger(Expr a, Expr b) {
  if (a.element() == ElementType::boolean) return a | b;
  Expr result = select(gt(a, b), a, b);  // b where unordered
  if (!is_float(a.element())) return result;
  ElementType integer = a.element() == ElementType::f64 ? ElementType::i64 : ElementType::i32;
  Expr shared = (a.bits_as(integer) & b.bits_as(integer)).bits_as(a.element());
  result = select(eq(a, b), shared, result);
  return select(ne(a, a), a, result);
}

Expr smaller(Expr a, Expr b) {
  if (a.element() == ElementType::boolean) return a & b;
  Expr result = select(lt(a, b), a, b);
  if (!is_float(a.element())) return result;
  ElementType integer = a.element() == ElementType::f64 ? ElementType::i64 : ElementType::i32;
  Expr either = (a.bits_as(integer) | b.bits_as(integer)).bits_as(a.element());
  result = select(eq(a, b), either, result);
  return select(ne(a, a), a, result);
}

Expr conjunction(Expr a, Expr b) {
  return a & b;
}
Expr disjunction(Expr a, Expr b) {
  return a | b;
}
Expr exclusive_or(Expr a, Expr b) {
  return a ^ b;
}

namespace {

int width(Expr x) {
  return static_cast<int>(8 * byte_size(x.element()));
}

// Whether 0 ≤ amount < width.
Expr is_within_width(Expr amount) {
  Expr below = lt(amount, width(amount));
  return is_signed(amount.element()) ? below & ge(amount, 0) : below;
}

}  // namespace

// An amount outside [0, width) gives 0.
Expr shifted_left(Expr a, Expr b) {
  Expr within = is_within_width(b);
  return select(within, a.binary(Op::shl, select(within, b, b.like(0))), a.like(0));
}

// An amount outside [0, width) gives 0, or the sign in every bit for signed types.
Expr shifted_right(Expr a, Expr b) {
  Expr within = is_within_width(b);
  if (is_signed(a.element())) return a.binary(Op::shr, select(within, b, b.like(width(b) - 1)));
  return select(within, a.binary(Op::shr, select(within, b, b.like(0))), a.like(0));
}

// Booleans are compared by logic: not every target orders them.
Expr equal(Expr a, Expr b) {
  return a.element() == ElementType::boolean ? ~(a ^ b) : eq(a, b);
}
Expr not_equal(Expr a, Expr b) {
  return a.element() == ElementType::boolean ? a ^ b : ne(a, b);
}
Expr less(Expr a, Expr b) {
  return a.element() == ElementType::boolean ? ~a & b : lt(a, b);
}
Expr less_equal(Expr a, Expr b) {
  return a.element() == ElementType::boolean ? ~a | b : le(a, b);
}
Expr greater(Expr a, Expr b) {
  return less(b, a);
}
Expr greater_equal(Expr a, Expr b) {
  return less_equal(b, a);
}

program::ValueId choose(program::Builder& builder, std::span<const program::ValueId> operands,
                        const Attributes&, const NumericClass&) {
  return builder.select(operands[0], operands[1], operands[2]);
}

// min(max(x, low), high): NaN in any operand propagates, and high wins if low > high.
program::ValueId clamped(program::Builder& builder, std::span<const program::ValueId> operands,
                         const Attributes&, const NumericClass&) {
  Expr x(builder, operands[0]);
  Expr low = widen(Expr(builder, operands[1]));
  Expr high = widen(Expr(builder, operands[2]));
  return narrow(smaller(larger(widen(x), low), high), x.element()).id();
}

// One rounding where the class is fused; a product and a sum, each rounded, where it is not.
program::ValueId multiply_add(program::Builder& builder, std::span<const program::ValueId> operands,
                              const Attributes&, const NumericClass& numeric) {
  Expr a(builder, operands[0]);
  Expr x = widen(a);
  Expr y = widen(Expr(builder, operands[1]));
  Expr z = widen(Expr(builder, operands[2]));
  Expr result = numeric.fused_fma && is_float(x.element())
                    ? Expr(builder, builder.fma(x.id(), y.id(), z.id()))
                    : x * y + z;
  return narrow(result, a.element()).id();
}

}  // namespace halyard::ops::expansion
