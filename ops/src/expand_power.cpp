#include "function_parts.h"

/// pow, of + − × ÷ and integer operations: |x|^y = exp(y log|x|) with the logarithm and the product held as
/// unevaluated sums of two floats (T. J. Dekker, "A floating-point technique for extending the available
/// precision", 1971), because the exponential multiplies an absolute error of y log|x| by up to 2^7 units
/// (f32; 2^10 for f64).
namespace halyard::ops::expansion {
namespace {

using program::Op;

struct Pair {
  Expr high;
  Expr low;
};

// The exact sum, for |a| ≥ |b| or a = 0.
Pair fast_two_sum(Expr a, Expr b) {
  Expr sum = a + b;
  return {sum, b - (sum - a)};
}

Pair halves(Expr a) {
  Expr c = a * table_of(a).split_factor;
  Expr high = c - (c - a);
  return {high, a - high};
}

// The exact product, unless parts of it underflow.
Pair two_product(Expr a, Expr b) {
  Expr product = a * b;
  Pair x = halves(a);
  Pair y = halves(b);
  Expr low = ((x.high * y.high - product) + x.high * y.low + x.low * y.high) + x.low * y.low;
  return {product, low};
}

Pair multiply(Pair a, Pair b) {
  Pair p = two_product(a.high, b.high);
  return {p.high, p.low + (a.high * b.low + a.low * b.high)};
}

// log|x| for positive finite x: e ln 2 + 2 (s + s³/3 + s⁵ Q(s²)), s = (m − 1)/(m + 1), |s| < 0.172; the first
// two terms as pairs. Q is the series 1/5 + s²/7 + s⁴/9 + …
Pair precise_logarithm(Expr x) {
  const FunctionTable& t = table_of(x);
  Split parts = split_any(x);
  Expr m = parts.m;
  Expr e = parts.exponent.cast(t.element);

  Expr f = m - 1;  // exact
  Pair divisor = fast_two_sum(select(gt(m, 1), m, m.like(1)), select(gt(m, 1), m.like(1), m));
  Expr s_high = f / divisor.high;
  Pair back = two_product(s_high, divisor.high);
  Pair s{s_high, ((f - back.high) - back.low - s_high * divisor.low) / divisor.high};
  Pair square = multiply(s, s);
  Pair third{x.like(t.third[0]), x.like(t.third[1])};
  Pair cubic = multiply(multiply(square, s), third);
  Expr rest = ((square.high * square.high) * s.high) * polynomial(square.high, t.power);
  Pair sum = fast_two_sum(s.high, cubic.high);
  Expr low = sum.low + (s.low + (cubic.low + rest));
  // e ln 2, its high part exact; it is 0 or larger than 2 s.
  Pair total = fast_two_sum(e * t.ln2_high, sum.high + sum.high);
  return fast_two_sum(total.high, total.low + (low + low + e * t.ln2_low));
}

// exp(z.high + z.low): the low part joins the reduced argument.
Expr exponential_of(Pair z) {
  const FunctionTable& t = table_of(z.high);
  Expr outside = lt(z.high, t.exponential_least) | gt(z.high, t.exponential_greatest);
  Expr high = limited(z.high, t.exponential_least, t.exponential_greatest);
  Expr low = select(outside, z.low.like(0), z.low);
  Rounded n = round_to_integer(high * t.inverse_ln2);
  Expr r = ((high - n.value * t.ln2_high) - n.value * t.ln2_low) + low;
  return scaled((r + (r * r) * polynomial(r, t.exponential)) + 1, n.integer, t);
}

}  // namespace

// IEEE 754's pow: x^0 = 1 and 1^y = 1 even for NaN; a negative base takes integers only.
Expr power(Expr x, Expr y) {
  Expr base = x.unary(Op::abs);
  Expr magnitude = y.unary(Op::abs);
  const FunctionTable& t = table_of(x);
  // |log x| is 0 or at least 2^-24 (f32; 2^-53), so the limit is as good as any larger exponent, and can be
  // split.
  Expr exponent = limited(y, -t.power_greatest, t.power_greatest);
  Expr finite_base = select(eq(base, 0) | eq(base, infinity), base.like(1), base);
  Pair log = precise_logarithm(finite_base);
  Pair z = two_product(exponent, log.high);
  Expr result = exponential_of(fast_two_sum(z.high, z.low + exponent * log.low));

  Expr huge = select(gt(y, 0), x.like(infinity), x.like(0));
  Expr tiny = select(gt(y, 0), x.like(0), x.like(infinity));
  result = select(eq(base, infinity), huge, result);
  result = select(eq(base, 0), tiny, result);

  Expr is_integral = eq(y.unary(Op::trunc), y);
  Expr small = select(lt(magnitude, std::ldexp(1.0, t.stored_digits + 1)), y, y.like(0));
  Expr odd = eq(small.unary(Op::trunc).cast(t.integer) & 1ull, 1) & is_integral;
  Expr negative = lt(as_integer(x), 0);
  result = select(negative & odd, -result, result);
  result = select(lt(x, 0) & ~is_integral, x.like(quiet_nan), result);
  result = select(eq(base, infinity) & ~is_integral, huge, result);
  result = select(ne(x, x), x, result);
  result = select(ne(y, y), y, result);
  return select(eq(y, 0) | eq(x, 1), x.like(1), result);
}

}  // namespace halyard::ops::expansion
