#include "function_parts.h"

/// The exponential and what is made of it.
namespace halyard::ops::expansion {

using program::Op;

namespace {

// exp(r) = 1 + (r + r² q(r)) for |r| ≤ ln(2)/2; q is of degree 5, for (exp(r) − 1 − r) / r², relative error
// of the whole 2^-33.
constexpr double exponential_q[] = {0.5,           0x1.555554p-3,  0x1.5554e6p-5,
                                    0x1.1112fep-7, 0x1.6d4f1cp-10, 0x1.9e204cp-13};

// exp(x) · 2^shift = 2^(n + shift) exp(r), n = round(x / ln 2). The scaling takes two steps, so that
// subnormal results round once and 2^128 overflows to infinity.
Expr scaled_exponential(Expr x, int shift) {
  Expr clamped = select(lt(x, -104), x.like(-104), x);
  clamped = select(gt(clamped, 90), x.like(90), clamped);
  Rounded n = round_to_integer(clamped * 0x1.715476p+0);
  Expr r = (clamped - n.value * ln2_high) - n.value * ln2_low;
  Expr p = (r + (r * r) * polynomial(r, exponential_q)) + 1;
  Expr exponent = shift == 0 ? n.integer : n.integer + shift;
  Expr half = exponent >> 1;
  return (p * power_of_two(half)) * power_of_two(exponent - half);
}

}  // namespace

Expr exponential(Expr x) {
  return scaled_exponential(x, 0);
}

// 2^x = 2^n 2^r, n = round(x), |r| ≤ ½; 2^r = 1 + r q(r), q of degree 6 for (2^r − 1) / r, relative error of
// the whole 2^-32.
Expr exponential_of_two(Expr x) {
  constexpr double q[] = {0x1.62e43p-1,   0x1.ebfbep-3,   0x1.c6b06ep-5, 0x1.3b2a5cp-7,
                          0x1.5da578p-10, 0x1.440e2cp-13, 0x1.e0d73ap-17};
  Expr clamped = select(lt(x, -151), x.like(-151), x);
  clamped = select(gt(clamped, 129), x.like(129), clamped);
  Rounded n = round_to_integer(clamped);
  Expr r = clamped - n.value;  // exact
  Expr p = r * polynomial(r, q) + 1;
  Expr half = n.integer >> 1;
  return (p * power_of_two(half)) * power_of_two(n.integer - half);
}

// exp(x) − 1 = 2^n (exp(r) − 1) + (2^n − 1), r with the rounding error it lost. Above 2^64 both parts are
// halved, for 2^128 is no f32. Below −25 the result is −1 to the last bit.
Expr exponential_minus_one(Expr x) {
  Expr clamped = select(lt(x, -25), x.like(-25), x);
  clamped = select(gt(clamped, 89), x.like(89), clamped);
  Rounded n = round_to_integer(clamped * 0x1.715476p+0);
  Expr high = clamped - n.value * ln2_high;
  Expr low = n.value * ln2_low;
  Expr r = high - low;
  Expr lost = (high - r) - low;
  Expr e = r + ((r * r) * polynomial(r, exponential_q) + (lost + lost * r));
  Expr halved = gt(n.integer, 64);
  Expr power = power_of_two(n.integer - select(halved, n.integer.like(1), n.integer.like(0)));
  Expr result = e * power + (power - select(halved, x.like(0.5), x.like(1)));
  return select(eq(x, 0), x, result * select(halved, x.like(2), x.like(1)));
}

// h = exp(|x|) / 2 never overflows before the result does. |x| < 1: x + x³ P(x²), P of degree 3 for
// (sinh(x)/x − 1)/x², 2^-31. Beyond: h − 1 / (4 h).
Expr hyperbolic_sine(Expr x) {
  constexpr double p[] = {0x1.555556p-3, 0x1.1110e2p-7, 0x1.a02156p-13, 0x1.75a6fp-19};
  Expr magnitude = x.unary(Op::abs);
  Expr square = x * x;
  Expr near = magnitude + (magnitude * square) * polynomial(square, p);
  Expr half = scaled_exponential(magnitude, -1);
  Expr far = half - x.like(0.25) / half;
  return with_sign_of(select(lt(magnitude, 1), near, far), x);
}
Expr hyperbolic_cosine(Expr x) {
  Expr half = scaled_exponential(x.unary(Op::abs), -1);
  return half + x.like(0.25) / half;
}

// |x| < 0.625: x + x³ P(x²), P of degree 5 for (tanh(x)/x − 1)/x², 2^-31. Beyond: 1 − 2 / (exp(2|x|) + 1).
Expr hyperbolic_tangent(Expr x) {
  constexpr double p[] = {-0x1.555554p-2, 0x1.11106ep-3,  -0x1.b9edc2p-5,
                          0x1.6371b6p-6,  -0x1.0b3b66p-7, 0x1.159a28p-9};
  Expr magnitude = x.unary(Op::abs);
  Expr square = x * x;
  Expr near = x + (x * square) * polynomial(square, p);
  Expr e = exponential(magnitude + magnitude);
  Expr far = x.like(1) - x.like(2) / (e + 1);
  return with_sign_of(select(lt(magnitude, 0.625), near, far), x);  // −0 + 0 would lose its sign
}

// |x| < 0.925: x + x P(x²), P of degree 6 for erf(x)/x − 1, 2^-30. Beyond: 1 − exp(−(t + t Q(t))), t =
// min(|x|, 4), Q of degree 6 for −log(erfc(t))/t − 1, absolute error of the whole 2^-30.
Expr error_function(Expr x) {
  constexpr double p[] = {0x1.06eba8p-3, -0x1.812742p-2,  0x1.ce2decp-4, -0x1.b80cd8p-6,
                          0x1.54bb16p-8, -0x1.a9e1ecp-11, 0x1.5bcf3cp-14};
  constexpr double q[] = {0x1.0778ecp-3, 0x1.45327cp-1,   0x1.b32670p-4, -0x1.855512p-6,
                          0x1.dd7c24p-9, -0x1.529d2ap-12, 0x1.794ee4p-17};
  Expr magnitude = x.unary(Op::abs);
  Expr square = x * x;
  Expr near = x + x * polynomial(square, p);
  Expr t = select(gt(magnitude, 4), x.like(4), magnitude);
  Expr far = with_sign_of(x.like(1) - exponential(-(t + t * polynomial(t, q))), x);
  return select(lt(magnitude, 0.925), near, far);
}

// e = exp(−|x|) never overflows: 1 / (1 + e) for x ≥ 0, e / (1 + e) below.
Expr logistic(Expr x) {
  Expr e = exponential(-x.unary(Op::abs));
  return select(lt(x, 0), e, x.like(1)) / (e + 1);
}

}  // namespace halyard::ops::expansion
