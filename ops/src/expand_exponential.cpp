#include "function_parts.h"

/// The exponential and what is made of it.
namespace halyard::ops::expansion {

using program::Op;

namespace {

// exp(x) · 2^shift = 2^(n + shift) exp(r), n = round(x / ln 2).
Expr scaled_exponential(Expr x, int shift) {
  const FunctionTable& t = table_of(x);
  Expr clamped = limited(x, t.exponential_least, t.exponential_greatest);
  Rounded n = round_to_integer(clamped * t.inverse_ln2);
  Expr r = (clamped - n.value * t.ln2_high) - n.value * t.ln2_low;
  Expr p = (r + (r * r) * polynomial(r, t.exponential)) + 1;
  return scaled(p, shift == 0 ? n.integer : n.integer + shift, t);
}

}  // namespace

Expr exponential(Expr x) {
  return scaled_exponential(x, 0);
}

// 2^x = 2^n 2^r, n = round(x), |r| ≤ ½.
Expr exponential_of_two(Expr x) {
  const FunctionTable& t = table_of(x);
  Expr clamped = limited(x, t.exponential_of_two_least, t.exponential_of_two_greatest);
  Rounded n = round_to_integer(clamped);
  Expr r = clamped - n.value;  // exact
  return scaled(r * polynomial(r, t.exponential_of_two) + 1, n.integer, t);
}

// exp(x) − 1 = 2^n (exp(r) − 1) + (2^n − 1), r with the rounding error it lost. For large n both parts are
// halved, since the power may be too large where the result is not.
Expr exponential_minus_one(Expr x) {
  const FunctionTable& t = table_of(x);
  Expr clamped = limited(x, t.minus_one_least, t.minus_one_greatest);
  Rounded n = round_to_integer(clamped * t.inverse_ln2);
  Expr high = clamped - n.value * t.ln2_high;
  Expr low = n.value * t.ln2_low;
  Expr r = high - low;
  Expr lost = (high - r) - low;
  Expr e = r + ((r * r) * polynomial(r, t.exponential) + (lost + lost * r));
  Expr halved = gt(n.integer, t.halved_from);
  Expr power = power_of_two(n.integer - select(halved, n.integer.like(1), n.integer.like(0)), t);
  Expr result = e * power + (power - select(halved, x.like(0.5), x.like(1)));
  return select(eq(x, 0), x, result * select(halved, x.like(2), x.like(1)));
}

// h = exp(|x|) / 2 never overflows before the result does. Beyond 1: h − 1 / (4 h).
Expr hyperbolic_sine(Expr x) {
  Expr magnitude = x.unary(Op::abs);
  Expr square = x * x;
  Expr near = magnitude + (magnitude * square) * polynomial(square, table_of(x).hyperbolic_sine);
  Expr half = scaled_exponential(magnitude, -1);
  Expr far = half - x.like(0.25) / half;
  return with_sign_of(select(lt(magnitude, 1), near, far), x);
}
Expr hyperbolic_cosine(Expr x) {
  Expr half = scaled_exponential(x.unary(Op::abs), -1);
  return half + x.like(0.25) / half;
}

// Beyond 0.625: 1 − 2 / (exp(2|x|) + 1).
Expr hyperbolic_tangent(Expr x) {
  Expr magnitude = x.unary(Op::abs);
  Expr square = x * x;
  Expr near = x + (x * square) * polynomial(square, table_of(x).hyperbolic_tangent);
  Expr e = exponential(magnitude + magnitude);
  Expr far = x.like(1) - x.like(2) / (e + 1);
  return with_sign_of(select(lt(magnitude, 0.625), near, far), x);  // −0 + 0 would lose its sign
}

Expr error_function(Expr x) {
  const FunctionTable& t = table_of(x);
  Expr magnitude = x.unary(Op::abs);
  Expr square = x * x;
  Expr near = x + x * polynomial(square, t.error_near);
  Expr end = select(gt(magnitude, t.error_end), x.like(t.error_end), magnitude);
  Expr far = with_sign_of(x.like(1) - exponential(-(end + end * polynomial(end, t.error_far))), x);
  return select(lt(magnitude, 0.925), near, far);
}

// e = exp(−|x|) never overflows: 1 / (1 + e) for x ≥ 0, e / (1 + e) below. What the sum's rounding lost
// comes off the quotient q: q · lost / (1 + e), where 1 / (1 + e) is q above and 1 − q below.
Expr logistic(Expr x) {
  Expr e = exponential(-x.unary(Op::abs));
  Expr below = lt(x, 0);
  Expr sum = e + 1;
  Expr lost = e - (sum - 1);
  Expr q = select(below, e, x.like(1)) / sum;
  return q - (q * lost) * select(below, x.like(1) - q, q);
}

}  // namespace halyard::ops::expansion
