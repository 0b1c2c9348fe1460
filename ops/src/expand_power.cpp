#include <limits>
#include "scalar_expression.h"

/// pow for f32, of + − × ÷ and integer operations: |x|^y = exp(y log|x|) with the logarithm and the product
/// held as unevaluated sums of two f32 (T. J. Dekker, "A floating-point technique for extending the available
/// precision", 1971), because the exponential multiplies an absolute error of y log|x| by up to 2^7 units.
namespace halyard::ops::expansion {
namespace {

using program::Op;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double quiet_nan = std::numeric_limits<double>::quiet_NaN();

struct Pair {
  Expr high;
  Expr low;
};

// The exact sum, for |a| ≥ |b| or a = 0.
Pair fast_two_sum(Expr a, Expr b) {
  Expr sum = a + b;
  return {sum, b - (sum - a)};
}

Pair split(Expr a) {
  Expr c = a * 4097.0;
  Expr high = c - (c - a);
  return {high, a - high};
}

// The exact product, unless parts of it underflow.
Pair two_product(Expr a, Expr b) {
  Expr product = a * b;
  Pair x = split(a);
  Pair y = split(b);
  Expr low = ((x.high * y.high - product) + x.high * y.low + x.low * y.high) + x.low * y.low;
  return {product, low};
}

Pair multiply(Pair a, Pair b) {
  Pair p = two_product(a.high, b.high);
  return {p.high, p.low + (a.high * b.low + a.low * b.high)};
}

// log|x| for positive finite x: e ln 2 + 2 (s + s³/3 + s⁵ Q(s²)), s = (m − 1)/(m + 1), |s| < 0.172; the first
// two terms as pairs. Q is the series 1/5 + s²/7 + s⁴/9 + …, whose next term is below 2^-36 of the sum.
Pair precise_logarithm(Expr x) {
  constexpr std::uint64_t sqrt_half_bits = 0x3f3504f3;
  constexpr double q[] = {0x1.99999ap-3, 0x1.24924ap-3, 0x1.c71c72p-4, 0x1.745d18p-4, 0x1.3b13b2p-4};
  Expr subnormal = lt(x, 0x1p-126);
  Expr bits = select(subnormal, x * 0x1p23, x).bits_as(ElementType::i32);
  Expr shifted = bits + bits.like_bits(0x3f800000 - sqrt_half_bits);
  Expr exponent = (shifted >> 23) - select(subnormal, bits.like(127 + 23), bits.like(127));
  Expr m = ((shifted & 0x7fffffull) + bits.like_bits(sqrt_half_bits)).bits_as(ElementType::f32);
  Expr e = exponent.cast(ElementType::f32);

  Expr f = m - 1;  // exact
  Pair divisor = fast_two_sum(select(gt(m, 1), m, m.like(1)), select(gt(m, 1), m.like(1), m));
  Expr s_high = f / divisor.high;
  Pair back = two_product(s_high, divisor.high);
  Pair s{s_high, ((f - back.high) - back.low - s_high * divisor.low) / divisor.high};
  Pair square = multiply(s, s);
  Pair third{x.like(0x1.555556p-2), x.like(-0x1.555556p-27)};
  Pair cubic = multiply(multiply(square, s), third);
  Expr rest = ((square.high * square.high) * s.high) * polynomial(square.high, q);
  Pair sum = fast_two_sum(s.high, cubic.high);
  Expr low = sum.low + (s.low + (cubic.low + rest));
  // e ln 2, its high part exact; it is 0 or larger than 2 s.
  Pair total = fast_two_sum(e * 0x1.62e4p-1, sum.high + sum.high);
  return fast_two_sum(total.high, total.low + (low + low + e * 0x1.7f7d1cp-20));
}

// exp(z.high + z.low): the low part joins the reduced argument.
Expr exponential_of(Pair z) {
  constexpr double q[] = {0.5, 0x1.555554p-3, 0x1.5554e6p-5, 0x1.1112fep-7, 0x1.6d4f1cp-10, 0x1.9e204cp-13};
  Expr low_end = lt(z.high, -104);
  Expr high_end = gt(z.high, 89);
  Expr high = select(high_end, z.high.like(89), select(low_end, z.high.like(-104), z.high));
  Expr low = select(low_end | high_end, z.low.like(0), z.low);
  Expr shifted = high * 0x1.715476p+0 + 0x1.8p23;
  Expr n = shifted - 0x1.8p23;
  Expr integer = shifted.bits_as(ElementType::i32);
  integer = integer - integer.like_bits(0x4b400000);
  Expr r = ((high - n * 0x1.62e4p-1) - n * 0x1.7f7d1cp-20) + low;
  Expr p = (r + (r * r) * polynomial(r, q)) + 1;
  Expr half = integer >> 1;
  Expr first = ((half + 127) << 23).bits_as(ElementType::f32);
  Expr second = ((integer - half + 127) << 23).bits_as(ElementType::f32);
  return (p * first) * second;
}

}  // namespace

// IEEE 754's pow: x^0 = 1 and 1^y = 1 even for NaN; a negative base takes integers only.
Expr power(Expr x, Expr y) {
  Expr base = x.unary(Op::abs);
  Expr magnitude = y.unary(Op::abs);
  // |log x| ≥ 2^-24 unless it is 0, so 2^33 is as good as any larger exponent, and can be split.
  Expr exponent = select(gt(y, 0x1p33), y.like(0x1p33), select(lt(y, -0x1p33), y.like(-0x1p33), y));
  Expr finite_base = select(eq(base, 0) | eq(base, infinity), base.like(1), base);
  Pair log = precise_logarithm(finite_base);
  Pair z = two_product(exponent, log.high);
  Expr result = exponential_of(fast_two_sum(z.high, z.low + exponent * log.low));

  Expr huge = select(gt(y, 0), x.like(infinity), x.like(0));
  Expr tiny = select(gt(y, 0), x.like(0), x.like(infinity));
  result = select(eq(base, infinity), huge, result);
  result = select(eq(base, 0), tiny, result);

  Expr is_integral = eq(y.unary(Op::trunc), y);
  Expr small = select(lt(magnitude, 0x1p24), y, y.like(0));
  Expr odd = eq(small.unary(Op::trunc).cast(ElementType::i32) & 1ull, 1) & is_integral;
  Expr negative = lt(x.bits_as(ElementType::i32), 0);
  result = select(negative & odd, -result, result);
  result = select(lt(x, 0) & ~is_integral, x.like(quiet_nan), result);
  result = select(eq(base, infinity) & ~is_integral, huge, result);
  result = select(ne(x, x), x, result);
  result = select(ne(y, y), y, result);
  return select(eq(y, 0) | eq(x, 1), x.like(1), result);
}

}  // namespace halyard::ops::expansion
