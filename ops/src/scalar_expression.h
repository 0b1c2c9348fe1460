#pragma once

#include <halyard/ops/attributes.h>
#include <halyard/ops/numeric_class.h>
#include <halyard/program/builder.h>
#include <cstdint>
#include <span>

/// A thin notation over `program::Builder`, so that the meaning of a primitive reads as a formula. Each
/// operator appends one raw instruction of the thread program, lane by lane.
namespace halyard::ops::expansion {

class Expr {
 public:
  Expr(program::Builder& builder, program::ValueId id) : builder_(&builder), id_(id) {}

  program::Builder& builder() const { return *builder_; }
  program::ValueId id() const { return id_; }
  program::Type type() const { return builder_->type(id_); }
  ElementType element() const { return type().element; }
  std::uint16_t lanes() const { return type().lanes; }

  Expr unary(program::Op op) const { return {*builder_, builder_->unary(op, id_)}; }
  Expr binary(program::Op op, Expr b) const { return {*builder_, builder_->binary(op, id_, b.id_)}; }
  Expr compare(program::Op op, Expr b) const { return {*builder_, builder_->compare(op, id_, b.id_)}; }
  /// A constant of this expression's type: converted from `value`, or by its bits.
  Expr like(double value) const { return {*builder_, builder_->constant(type(), value)}; }
  Expr like_bits(std::uint64_t bits) const { return {*builder_, builder_->constant_bits(type(), bits)}; }
  Expr cast(ElementType to) const { return {*builder_, builder_->cast(to, id_)}; }
  /// The same bits as another element type of the same size.
  Expr bits_as(ElementType to) const { return {*builder_, builder_->bitcast({to, lanes()}, id_)}; }

 private:
  program::Builder* builder_;
  program::ValueId id_;
};

inline Expr operator+(Expr a, Expr b) {
  return a.binary(program::Op::add, b);
}
inline Expr operator-(Expr a, Expr b) {
  return a.binary(program::Op::sub, b);
}
inline Expr operator*(Expr a, Expr b) {
  return a.binary(program::Op::mul, b);
}
inline Expr operator/(Expr a, Expr b) {
  return a.binary(program::Op::div, b);
}
inline Expr operator&(Expr a, Expr b) {
  return a.binary(program::Op::bit_and, b);
}
inline Expr operator|(Expr a, Expr b) {
  return a.binary(program::Op::bit_or, b);
}
inline Expr operator^(Expr a, Expr b) {
  return a.binary(program::Op::bit_xor, b);
}
inline Expr operator-(Expr a) {
  return a.unary(program::Op::neg);
}
inline Expr operator~(Expr a) {
  return a.unary(program::Op::bit_not);
}
inline Expr operator+(Expr a, double b) {
  return a + a.like(b);
}
inline Expr operator-(Expr a, double b) {
  return a - a.like(b);
}
inline Expr operator*(Expr a, double b) {
  return a * a.like(b);
}
inline Expr operator&(Expr a, std::uint64_t bits) {
  return a & a.like_bits(bits);
}
inline Expr operator|(Expr a, std::uint64_t bits) {
  return a | a.like_bits(bits);
}
/// Raw shifts: the amount is below the width.
inline Expr operator<<(Expr a, int amount) {
  return a.binary(program::Op::shl, a.like(amount));
}
inline Expr operator>>(Expr a, int amount) {
  return a.binary(program::Op::shr, a.like(amount));
}
/// Ordered comparisons (false on NaN), but `ne` (true on NaN).
inline Expr eq(Expr a, Expr b) {
  return a.compare(program::Op::eq, b);
}
inline Expr ne(Expr a, Expr b) {
  return a.compare(program::Op::ne, b);
}
inline Expr lt(Expr a, Expr b) {
  return a.compare(program::Op::lt, b);
}
inline Expr le(Expr a, Expr b) {
  return a.compare(program::Op::le, b);
}
inline Expr gt(Expr a, Expr b) {
  return a.compare(program::Op::gt, b);
}
inline Expr ge(Expr a, Expr b) {
  return a.compare(program::Op::ge, b);
}
inline Expr eq(Expr a, double b) {
  return eq(a, a.like(b));
}
inline Expr lt(Expr a, double b) {
  return lt(a, a.like(b));
}
inline Expr le(Expr a, double b) {
  return le(a, a.like(b));
}
inline Expr gt(Expr a, double b) {
  return gt(a, a.like(b));
}
inline Expr ge(Expr a, double b) {
  return ge(a, a.like(b));
}
inline Expr select(Expr condition, Expr a, Expr b) {
  return {a.builder(), a.builder().select(condition.id(), a.id(), b.id())};
}

/// c0 + x (c1 + x (c2 + …)), from the highest coefficient down, each step one product and one sum.
Expr polynomial(Expr x, std::span<const double> coefficients);

/// 16-bit floats become f32 (exactly); everything else stays.
Expr widen(Expr x);
/// Rounds a result back to the type its operands had.
Expr narrow(Expr x, ElementType to);

// ---- formulas used by more than one primitive; operands are f32 or f64
Expr exponential(Expr x);
Expr logarithm(Expr x);
Expr larger(Expr a, Expr b);
Expr smaller(Expr a, Expr b);
/// Any conversion with Halyard's guards.
Expr convert(Expr x, ElementType to);

// ---- adapters from a formula to a row's `expand`
template <Expr (*formula)(Expr)>
program::ValueId unary(program::Builder& builder, std::span<const program::ValueId> operands,
                       const Attributes&, const NumericClass&) {
  Expr x(builder, operands[0]);
  return narrow(formula(widen(x)), x.element()).id();
}
template <Expr (*formula)(Expr, Expr)>
program::ValueId binary(program::Builder& builder, std::span<const program::ValueId> operands,
                        const Attributes&, const NumericClass&) {
  Expr a(builder, operands[0]);
  Expr b(builder, operands[1]);
  return narrow(formula(widen(a), widen(b)), a.element()).id();
}
/// The result stays boolean.
template <Expr (*formula)(Expr)>
program::ValueId test(program::Builder& builder, std::span<const program::ValueId> operands,
                      const Attributes&, const NumericClass&) {
  return formula(widen(Expr(builder, operands[0]))).id();
}
template <Expr (*formula)(Expr, Expr)>
program::ValueId comparison(program::Builder& builder, std::span<const program::ValueId> operands,
                            const Attributes&, const NumericClass&) {
  return formula(widen(Expr(builder, operands[0])), widen(Expr(builder, operands[1]))).id();
}

// ---- formulas of the table's rows (expand_arithmetic.cpp)
Expr negate(Expr x);
Expr absolute(Expr x);
Expr sign_of(Expr x);
Expr floor_of(Expr x);
Expr ceil_of(Expr x);
Expr round_of(Expr x);
Expr trunc_of(Expr x);
Expr square_root(Expr x);
Expr reciprocal_square_root(Expr x);
Expr reciprocal_of(Expr x);
Expr rectified(Expr x);
Expr inverted(Expr x);
Expr not_a_number(Expr x);
Expr infinite(Expr x);
Expr finite(Expr x);
Expr sum_of(Expr a, Expr b);
Expr difference(Expr a, Expr b);
Expr product(Expr a, Expr b);
Expr quotient(Expr a, Expr b);
Expr conjunction(Expr a, Expr b);
Expr disjunction(Expr a, Expr b);
Expr exclusive_or(Expr a, Expr b);
Expr shifted_left(Expr a, Expr b);
Expr shifted_right(Expr a, Expr b);
Expr equal(Expr a, Expr b);
Expr not_equal(Expr a, Expr b);
Expr less(Expr a, Expr b);
Expr less_equal(Expr a, Expr b);
Expr greater(Expr a, Expr b);
Expr greater_equal(Expr a, Expr b);
program::ValueId choose(program::Builder&, std::span<const program::ValueId>, const Attributes&,
                        const NumericClass&);
program::ValueId clamped(program::Builder&, std::span<const program::ValueId>, const Attributes&,
                         const NumericClass&);
program::ValueId multiply_add(program::Builder&, std::span<const program::ValueId>, const Attributes&,
                              const NumericClass&);
program::ValueId converted(program::Builder&, std::span<const program::ValueId>, const Attributes&,
                           const NumericClass&);
program::ValueId reinterpreted(program::Builder&, std::span<const program::ValueId>, const Attributes&,
                               const NumericClass&);

// ---- (expand_exponential.cpp)
Expr exponential_of_two(Expr x);
Expr exponential_minus_one(Expr x);
Expr hyperbolic_sine(Expr x);
Expr hyperbolic_cosine(Expr x);
Expr hyperbolic_tangent(Expr x);
Expr error_function(Expr x);
Expr logistic(Expr x);
// ---- (expand_logarithm.cpp)
Expr logarithm_to_two(Expr x);
Expr logarithm_of_one_plus(Expr x);
// ---- (expand_angle.cpp)
Expr sine(Expr x);
Expr cosine(Expr x);
Expr tangent(Expr x);
Expr arc_sine(Expr x);
Expr arc_cosine(Expr x);
Expr arc_tangent(Expr x);
Expr arc_tangent_of_two(Expr y, Expr x);
// ---- (expand_remainder.cpp)
Expr remainder_of(Expr a, Expr b);
Expr floor_quotient(Expr a, Expr b);
Expr modulo(Expr a, Expr b);
/// (expand_random.cpp)
Expr philox(Expr counter, Expr key);
/// (expand_power.cpp)
Expr power(Expr a, Expr b);

}  // namespace halyard::ops::expansion
