#include "function_parts.h"

/// Functions of angles and their inverses, in radians.
namespace halyard::ops::expansion {

using program::Op;

namespace {

struct Quadrant {
  Expr r;       // in [−π/4, π/4]
  Expr low;     // what r lost
  Expr number;  // i32
};

// x − n π/2 in four steps: three parts of 11 bits, whose products with |n| < 2^13 are exact, and a tail. The
// first two differences are exact too; what the third loses joins the tail, so that r is rounded once; `low`
// is what that rounding lost.
Quadrant reduce_angle(Expr x) {
  Rounded n = round_to_integer(x * 0x1.45f306p-1);
  Expr exact = (x - n.value * 0x1.92p+0) - n.value * 0x1.fb4p-12;
  Expr third = n.value * 0x1.444p-24;
  Expr high = exact - third;
  Expr lost = (exact - high) - third;
  Expr tail = lost - n.value * 0x1.68c234p-39;
  Expr r = high + tail;
  return {r, (high - r) + tail, n.integer};
}

// sin r = r + r³ S(r²), 2^-32; cos r = 1 − (r²/2 − r⁴ C(r²)), 2^-37; on |r| ≤ π/4.
Expr sine_of_quadrant(const Quadrant& reduced, int shift) {
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

// tan r = r + r³ T(r²), T of degree 6 for (tan(r)/r − 1)/r² on |r| ≤ π/4, relative error of the whole 2^-29;
// the low part of r counts with the derivative 1 + r². Odd quadrants: −1 / (t + low) = w + w² low, w = −1 /
// t.
Expr tangent(Expr x) {
  constexpr double coefficients[] = {0x1.555562p-2, 0x1.110d26p-3,  0x1.baecfcp-5, 0x1.5c096p-6,
                                     0x1.6645c2p-7, -0x1.e6481p-16, 0x1.227c3cp-8};
  Quadrant reduced = reduce_angle(x);
  Expr r = reduced.r;
  Expr square = r * r;
  Expr tail = (r * square) * polynomial(square, coefficients) + (reduced.low + reduced.low * square);
  Expr t = r + tail;
  Expr low = (r - t) + tail;
  Expr inverse = x.like(-1) / t;
  inverse = inverse + (inverse * inverse) * low;
  Expr odd = eq(reduced.number & 1ull, 1);
  return select(eq(x, 0), x, select(odd, inverse, t));
}

namespace {

// π/2 = high + low.
constexpr double half_pi_high = 0x1.921fb6p+0;
constexpr double half_pi_low = -0x1.777a5cp-25;

// asin(t) = t + t R(t²) for |t| ≤ ½, R of degree 6 without a constant for asin(t)/t − 1, relative error of
// the whole 2^-31. Above ½, asin(t) = π/2 − 2 asin(√z) with z = (1 − t)/2; the root is held as d + c, d of 12
// bits (the way of FreeBSD's msun, e_asin.c, 1993).
struct Arc {
  Expr beyond;  // |x| > ½
  Expr r;       // R(z), of z = x² or (1 − |x|)/2
  Expr root;    // √z
  Expr d;
  Expr c;
};
Arc arc_of(Expr x) {
  constexpr double coefficients[] = {0x1.55554cp-3, 0x1.3338a4p-4, 0x1.6ca968p-5,
                                     0x1.04bbcep-5, 0x1.d6c624p-7, 0x1.341e48p-5};
  Expr magnitude = x.unary(Op::abs);
  Expr beyond = gt(magnitude, 0.5);
  Expr z = select(beyond, (x.like(1) - magnitude) * 0.5, x * x);
  Expr root = z.unary(Op::sqrt);
  Expr d = high_half(root);
  Expr c = (z - d * d) / (root + d);
  c = select(eq(z, 0), z, c);
  return {beyond, z * polynomial(z, coefficients), root, d, c};
}

}  // namespace

Expr arc_sine(Expr x) {
  Arc arc = arc_of(x);
  Expr magnitude = x.unary(Op::abs);
  Expr near = magnitude + magnitude * arc.r;
  Expr minuend = x.like(half_pi_high / 2) - arc.d * 2;
  Expr subtrahend = (arc.root * arc.r) * 2 - (x.like(half_pi_low) - arc.c * 2);
  Expr far = x.like(half_pi_high / 2) - (subtrahend - minuend);
  return with_sign_of(select(arc.beyond, far, near), x);
}

Expr arc_cosine(Expr x) {
  Arc arc = arc_of(x);
  Expr near = x.like(half_pi_high) - (x - (x.like(half_pi_low) - x * arc.r));
  Expr above = (arc.d + (arc.root * arc.r + arc.c)) * 2;
  Expr below = (x.like(half_pi_high) - (arc.root + (arc.root * arc.r - x.like(half_pi_low)))) * 2;
  return select(arc.beyond, select(gt(x, 0), above, below), near);
}

namespace {

// atan(a) for a ≥ 0: from the nearest of 0, ½, 1, 3/2 and ∞, whose arc is high + low, the rest t = tan of the
// difference, one quotient with |t| ≤ 7/16 (the intervals of FreeBSD's msun, s_atan.c, 1993); atan(t) = t +
// t³ P(t²), P of degree 5 for (atan(t)/t − 1)/t², relative error of the whole 2^-33.
Expr arc_tangent_of_magnitude(Expr a) {
  struct Interval {
    double from;
    double high;
    double low;
  };
  constexpr Interval intervals[] = {{0.4375, 0x1.dac67p-2, 0x1.586ed4p-28},
                                    {0.6875, half_pi_high / 2, half_pi_low / 2},
                                    {1.1875, 0x1.f730bep-1, -0x1.afc12cp-26},
                                    {2.4375, half_pi_high, half_pi_low}};
  constexpr double p[] = {-0x1.555554p-2, 0x1.999892p-3,  -0x1.24703cp-3,
                          0x1.c30594p-4,  -0x1.53cf16p-4, 0x1.673ep-5};
  const Expr numerators[] = {(a + a) - 1, a - 1, a - 1.5, a.like(-1)};
  const Expr denominators[] = {a + 2, a + 1, a * 1.5 + 1, a};
  Expr numerator = a;
  Expr denominator = a.like(1);
  Expr high = a.like(0);
  Expr low = a.like(0);
  for (std::size_t i = 0; i < std::size(intervals); ++i) {
    Expr here = gt(a, intervals[i].from);
    numerator = select(here, numerators[i], numerator);
    denominator = select(here, denominators[i], denominator);
    high = select(here, a.like(intervals[i].high), high);
    low = select(here, a.like(intervals[i].low), low);
  }
  Expr t = numerator / denominator;
  Expr square = t * t;
  return high + (t + (low + (t * square) * polynomial(square, p)));
}

}  // namespace

Expr arc_tangent(Expr x) {
  return with_sign_of(arc_tangent_of_magnitude(x.unary(Op::abs)), x);
}

// The angle of the point (x, y): atan|y/x|, subtracted from π where x is negative (−0 too), with the sign of
// y. Equal magnitudes (both infinite too) are taken as a quotient of 1, two zeros as 0; ±π/2 on the axis
// needs no mirror.
Expr arc_tangent_of_two(Expr y, Expr x) {
  Expr above = y.unary(Op::abs);
  Expr along = x.unary(Op::abs);
  Expr same = eq(above, along);
  Expr ratio = select(same, select(eq(above, 0), above, y.like(1)), above / select(same, y.like(1), along));
  Expr arc = arc_tangent_of_magnitude(ratio);
  Expr mirrored = x.like(2 * half_pi_high) - (arc - x.like(2 * half_pi_low));
  Expr left = lt(x.bits_as(ElementType::i32), 0) & (ne(x, x.like(0)) | eq(y, 0));
  Expr result = with_sign_of(select(left, mirrored, arc), y);
  Expr unordered = ne(y, y) | ne(x, x);
  return select(unordered, y.like(quiet_nan), result);
}

}  // namespace halyard::ops::expansion
