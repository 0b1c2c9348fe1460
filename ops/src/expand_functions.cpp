#include <cmath>
#include <limits>
#include "scalar_expression.h"

/// Our own elementary functions for f32: + − × and integer operations, no fma; correctly rounded division
/// where named. All lanes take one path; selects choose at the end. The coefficients are near-minimax fits of
/// the stated function on the stated interval (Lawson-weighted least squares in 200-bit arithmetic, rounded
/// to f32 one after another with a refit of the rest); the range reductions are Cody and Waite's.
/// docs/numerics.md repeats them for other implementers; tests measure the bounds.
namespace halyard::ops::expansion {
namespace {

using program::Op;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double quiet_nan = std::numeric_limits<double>::quiet_NaN();

// Adding and subtracting 1.5 · 2^23 rounds to an integer (to nearest even) for |x| < 2^22, and leaves the
// integer in the low bits of the sum.
constexpr double round_magic = 0x1.8p23;
constexpr std::uint64_t round_magic_bits = 0x4b400000;

struct Rounded {
  Expr value;    // f32
  Expr integer;  // i32
};
Rounded round_to_integer(Expr x) {
  Expr shifted = x + round_magic;
  Expr integer = shifted.bits_as(ElementType::i32);
  return {shifted - round_magic, integer - integer.like_bits(round_magic_bits)};
}

// 2^n for −126 ≤ n ≤ 127, from its bits.
Expr power_of_two(Expr n) {
  return ((n + 127) << 23).bits_as(ElementType::f32);
}

Expr with_sign_of(Expr magnitude, Expr x) {
  Expr sign = x.bits_as(ElementType::i32) & 0x80000000ull;
  return (magnitude.bits_as(ElementType::i32) | sign).bits_as(ElementType::f32);
}

// ln 2 = high + low; high has 15 bits, so that n · high is exact for |n| < 512.
constexpr double ln2_high = 0x1.62e4p-1;
constexpr double ln2_low = 0x1.7f7d1cp-20;

}  // namespace

// exp(x) = 2^n exp(r), n = round(x / ln 2), |r| ≤ ln(2)/2; exp(r) = 1 + (r + r² q(r)), q of degree 5 for
// (exp(r) − 1 − r) / r², relative error of the whole 2^-33. The scaling takes two steps, so that subnormal
// results round once and 2^128 overflows to infinity.
Expr exponential(Expr x) {
  constexpr double q[] = {0.5, 0x1.555554p-3, 0x1.5554e6p-5, 0x1.1112fep-7, 0x1.6d4f1cp-10, 0x1.9e204cp-13};
  Expr clamped = select(lt(x, -104), x.like(-104), x);
  clamped = select(gt(clamped, 89), x.like(89), clamped);
  Rounded n = round_to_integer(clamped * 0x1.715476p+0);
  Expr r = (clamped - n.value * ln2_high) - n.value * ln2_low;
  Expr p = (r + (r * r) * polynomial(r, q)) + 1;
  Expr half = n.integer >> 1;
  return (p * power_of_two(half)) * power_of_two(n.integer - half);
}

// log(x) = e ln 2 + log(1 + f), 1 + f = m in [√½, √2); log(1 + f) = f − (f²/2 − f³ P(f)), P of degree 8 for
// (log(1 + f) − f + f²/2) / f³, relative error of the whole 2^-30. Subnormals are scaled by 2^23 first.
Expr logarithm(Expr x) {
  constexpr double p[] = {0x1.555548p-2, -0x1.000008p-2, 0x1.99a47ap-3,  -0x1.555b8cp-3, 0x1.233abep-3,
                          -0x1.fc3ep-4,  0x1.e6e088p-4,  -0x1.dd9be6p-4, 0x1.13b972p-4};
  constexpr std::uint64_t sqrt_half_bits = 0x3f3504f3;
  Expr subnormal = lt(x, 0x1p-126);
  Expr scaled = select(subnormal, x * 0x1p23, x);
  Expr bits = scaled.bits_as(ElementType::i32);
  Expr shifted = bits + bits.like_bits(0x3f800000 - sqrt_half_bits);
  Expr exponent = (shifted >> 23) - select(subnormal, bits.like(127 + 23), bits.like(127));
  Expr m = ((shifted & 0x7fffffull) + bits.like_bits(sqrt_half_bits)).bits_as(ElementType::f32);
  Expr f = m - 1;
  Expr e = exponent.cast(ElementType::f32);
  Expr square = f * f;
  Expr tail = (square * f) * polynomial(f, p) + e * ln2_low;
  Expr result = e * ln2_high + (f - (square * 0.5 - tail));
  result = select(eq(x, 0), x.like(-infinity), result);
  result = select(lt(x, 0), x.like(quiet_nan), result);
  result = select(eq(x, infinity), x, result);
  return select(ne(x, x), x, result);
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

namespace {

struct Quadrant {
  Expr r;       // in [−π/4, π/4]
  Expr number;  // i32
};

// x − n π/2 in four steps: three parts of 11 bits, whose products with |n| < 2^13 are exact, and a tail. The
// first two differences are exact too; what the third loses joins the tail, so that r is rounded once.
Quadrant reduce_angle(Expr x) {
  Rounded n = round_to_integer(x * 0x1.45f306p-1);
  Expr exact = (x - n.value * 0x1.92p+0) - n.value * 0x1.fb4p-12;
  Expr third = n.value * 0x1.444p-24;
  Expr high = exact - third;
  Expr lost = (exact - high) - third;
  return {high + (lost - n.value * 0x1.68c234p-39), n.integer};
}

// sin r = r + r³ S(r²), 2^-32; cos r = 1 − (r²/2 − r⁴ C(r²)), 2^-37; on |r| ≤ π/4.
Expr sine_of_quadrant(Quadrant reduced, int shift) {
  constexpr double s[] = {-0x1.555556p-3, 0x1.111174p-7, -0x1.a0595ep-13, 0x1.7c3224p-19};
  constexpr double c[] = {0x1.555556p-5, -0x1.6c175cp-10, 0x1.a06fb0p-16, -0x1.35954cp-22};
  Expr r = reduced.r;
  Expr square = r * r;
  Expr sine_value = r + (r * square) * polynomial(square, s);
  Expr cosine_value = square.like(1) - (square * 0.5 - (square * square) * polynomial(square, c));
  Expr number = reduced.number + shift;
  Expr odd = eq(number & 1ull, 1);
  Expr value = select(odd, cosine_value, sine_value);
  Expr sign = (number & 2ull) << 30;
  return (value.bits_as(ElementType::i32) ^ sign).bits_as(ElementType::f32);
}

}  // namespace

// −0 keeps its sign; infinities give NaN, since ∞ − ∞ does.
Expr sine(Expr x) {
  return select(eq(x, 0), x, sine_of_quadrant(reduce_angle(x), 0));
}
Expr cosine(Expr x) {
  return sine_of_quadrant(reduce_angle(x), 1);
}

// e = exp(−|x|) never overflows: 1 / (1 + e) for x ≥ 0, e / (1 + e) below.
Expr logistic(Expr x) {
  Expr e = exponential(-x.unary(Op::abs));
  return select(lt(x, 0), e, x.like(1)) / (e + 1);
}

}  // namespace halyard::ops::expansion
