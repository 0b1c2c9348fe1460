#include <bit>
#include <cstddef>
#include <vector>
#include "function_parts.h"

/// Functions of angles and their inverses, in radians.
namespace halyard::ops::expansion {

using program::Op;

namespace {

struct Quadrant {
  Expr r;       // in [−π/4, π/4]
  Expr low;     // what r lost
  Expr number;  // an integer
};

// x − n π/2 in four steps: three parts whose products with n are exact, and a tail. The first two differences
// are exact too; what the third loses joins the tail, so that r is rounded once; `low` is what that rounding
// lost.
Quadrant reduce_by_parts(Expr x) {
  const FunctionTable& t = table_of(x);
  Rounded n = round_to_integer(x * t.two_over_pi);
  Expr exact = (x - n.value * t.half_pi_parts[0]) - n.value * t.half_pi_parts[1];
  Expr third = n.value * t.half_pi_parts[2];
  Expr high = exact - third;
  Expr lost = (exact - high) - third;
  Expr tail = lost - n.value * t.half_pi_parts[3];
  Expr r = high + tail;
  return {r, (high - r) + tail, n.integer};
}

// `count` words of `words` from number `first` on, which is below `choices`, a power of two: each bit of
// `first` halves what is left to choose from.
std::vector<Expr> words_from(std::span<const std::uint64_t> words, Expr first, std::size_t choices,
                             std::size_t count) {
  std::vector<Expr> left;
  for (std::uint64_t word : words.first(choices - 1 + count)) left.push_back(first.like_bits(word));
  for (std::size_t step = choices / 2; step > 0; step /= 2) {
    Expr skip = ne(first & step, first.like_bits(0));
    for (std::size_t i = 0; i < step - 1 + count; ++i) left[i] = select(skip, left[i + step], left[i]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(step - 1 + count), left.end());
  }
  return left;
}

// |x| − n π/2 for |x| ≥ 1, in integers (M. H. Payne, R. N. Hanek, "Radian reduction for trigonometric
// functions", SIGNUM Newsletter 18, 1983): the significand times those bits of 2/π that count, modulo 4, in
// words of w bits. Two bits of the product are n modulo 4, 2 w − 2 are the fraction, which is no nearer to 0
// than 2^-30 for any f32, 2^-62 for any f64 (J.-M. Muller et al., Handbook of Floating-Point
// Arithmetic, 11.1).
Quadrant reduce_by_bits(Expr magnitude) {
  const FunctionTable& t = table_of(magnitude);
  const int digits = t.stored_digits + 1;
  const int width = static_cast<int>(8 * byte_size(t.bits));
  const auto below = [](int count) { return (std::uint64_t{1} << count) - 1; };
  Expr bits = magnitude.bits_as(t.bits);
  Expr exponent =
      (bits >> t.stored_digits) - bits.like(t.bias);  // of infinities one too many: NaN at the end
  Expr significand = ((bits & t.fraction_mask) | (t.fraction_mask + 1)) << 1;

  // 96 (192) bits of 2/π, from the one of weight 2^(digits + 1 − exponent) down.
  Expr shift = exponent & below(std::countr_zero(static_cast<unsigned>(width)));
  Expr rest = shift.like(width - 1) - shift;
  const std::vector<Expr> words =
      words_from(t.two_over_pi_words, exponent >> std::countr_zero(static_cast<unsigned>(width)),
                 static_cast<std::size_t>((t.bias + 1) / width), 4);
  const auto window = [&](int i) {
    Expr above = words[static_cast<std::size_t>(i)].binary(Op::shl, shift);
    return above | (words[static_cast<std::size_t>(i) + 1] >> 1).binary(Op::shr, rest);
  };
  Expr middle = significand * window(1);
  Expr low = middle + significand.binary(Op::mul_high, window(2));
  Expr carry = lt(low, middle).cast(t.bits);
  Expr high = significand * window(0) + significand.binary(Op::mul_high, window(1)) + carry;

  // n, to nearest; the signed fraction as three floats without rounding, the first two 2^-digits apart.
  Expr number = (high + high.like_bits(std::uint64_t{1} << (width - 3))) >> (width - 2);
  Expr fraction = (high - (number << (width - 2))).bits_as(t.integer);
  Expr low_bits = low.bits_as(t.integer);
  const int kept = 2 * (width - digits);
  Expr first = (fraction >> (width - digits)).cast(t.element);
  Expr second =
      (((fraction & below(width - digits)) << (2 * digits - width)) | (low >> kept).bits_as(t.integer))
          .cast(t.element) *
      std::ldexp(1.0, -digits);
  Expr third = (low_bits & below(kept)).cast(t.element) * std::ldexp(1.0, digits - 2 * width);
  Expr sum = first + second;
  Expr lost = (second - (sum - first)) + third;

  // Times π/2, the product of the high parts exact (T. J. Dekker, 1971).
  const double unit = std::ldexp(1.0, 2 - digits);
  Expr half_pi = sum.like(t.half_pi[0] * unit);
  Expr product = sum * half_pi;
  Expr sum_high = high_half(sum), half_pi_high = high_half(half_pi);
  Expr sum_low = sum - sum_high, half_pi_low = half_pi - half_pi_high;
  Expr error = (((sum_high * half_pi_high - product) + sum_high * half_pi_low) + sum_low * half_pi_high) +
               sum_low * half_pi_low;
  Expr tail = error + (sum * (t.half_pi[1] * unit) + lost * half_pi);
  Expr r = product + tail;
  return {r, (product - r) + tail, number.bits_as(t.integer)};
}

// Infinities give NaN: ∞ − ∞ does.
Quadrant reduce_angle(Expr x) {
  Quadrant near = reduce_by_parts(x);
  Expr magnitude = x.unary(Op::abs);
  Quadrant far = reduce_by_bits(magnitude);
  Expr negative = lt(x, 0);
  Expr beyond = gt(magnitude, table_of(x).half_pi_parts_limit);
  const auto choose = [&](Expr a, Expr b) { return select(beyond, select(negative, -a, a), b); };
  return {choose(far.r, near.r) + (x - x), choose(far.low, near.low), choose(far.number, near.number)};
}

Expr sine_of_quadrant(const Quadrant& reduced, int shift) {
  Expr r = reduced.r;
  const FunctionTable& t = table_of(r);
  Expr square = r * r;
  Expr sine_value = r + (r * square) * polynomial(square, t.sine);
  Expr cosine_value = square.like(1) - (square * 0.5 - (square * square) * polynomial(square, t.cosine));
  Expr number = reduced.number + shift;
  Expr odd = eq(number & 1ull, 1);
  Expr value = select(odd, cosine_value, sine_value);
  Expr sign = (number & 2ull) << (t.element == ElementType::f64 ? 62 : 30);
  return as_float(as_integer(value) ^ sign);
}

}  // namespace

// −0 keeps its sign; infinities give NaN, since ∞ − ∞ does.
Expr sine(Expr x) {
  return select(eq(x, 0), x, sine_of_quadrant(reduce_angle(x), 0));
}
Expr cosine(Expr x) {
  return sine_of_quadrant(reduce_angle(x), 1);
}

// The low part of r counts with the derivative 1 + r². Odd quadrants: −1 / (t + low) = w + w² low, w = −1 /
// t.
Expr tangent(Expr x) {
  Quadrant reduced = reduce_angle(x);
  Expr r = reduced.r;
  Expr square = r * r;
  Expr tail = (r * square) * polynomial(square, table_of(x).tangent) + (reduced.low + reduced.low * square);
  Expr t = r + tail;
  Expr low = (r - t) + tail;
  Expr inverse = x.like(-1) / t;
  inverse = inverse + (inverse * inverse) * low;
  Expr odd = eq(reduced.number & 1ull, 1);
  return select(eq(x, 0), x, select(odd, inverse, t));
}

namespace {

// asin(t) = t + t R(t²) for |t| ≤ ½, R(z) = z P(z). Above ½, asin(t) = π/2 − 2 asin(√z) with z = (1 − t)/2;
// the root is held as d + c, d of half the digits (the way of FreeBSD's msun, e_asin.c, 1993).
struct Arc {
  Expr beyond;  // |x| > ½
  Expr r;       // R(z), of z = x² or (1 − |x|)/2
  Expr root;    // √z
  Expr d;
  Expr c;
};
Arc arc_of(Expr x) {
  Expr magnitude = x.unary(Op::abs);
  Expr beyond = gt(magnitude, 0.5);
  Expr z = select(beyond, (x.like(1) - magnitude) * 0.5, x * x);
  Expr root = z.unary(Op::sqrt);
  Expr d = high_half(root);
  Expr c = (z - d * d) / (root + d);
  c = select(eq(z, 0), z, c);
  return {beyond, z * polynomial(z, table_of(x).arc_sine), root, d, c};
}

}  // namespace

Expr arc_sine(Expr x) {
  const auto [half_pi_high, half_pi_low] = table_of(x).half_pi;
  Arc arc = arc_of(x);
  Expr magnitude = x.unary(Op::abs);
  Expr near = magnitude + magnitude * arc.r;
  Expr minuend = x.like(half_pi_high / 2) - arc.d * 2;
  Expr subtrahend = (arc.root * arc.r) * 2 - (x.like(half_pi_low) - arc.c * 2);
  Expr far = x.like(half_pi_high / 2) - (subtrahend - minuend);
  return with_sign_of(select(arc.beyond, far, near), x);
}

Expr arc_cosine(Expr x) {
  const auto [half_pi_high, half_pi_low] = table_of(x).half_pi;
  Arc arc = arc_of(x);
  Expr near = x.like(half_pi_high) - (x - (x.like(half_pi_low) - x * arc.r));
  Expr above = (arc.d + (arc.root * arc.r + arc.c)) * 2;
  Expr below = (x.like(half_pi_high) - (arc.root + (arc.root * arc.r - x.like(half_pi_low)))) * 2;
  return select(arc.beyond, select(gt(x, 0), above, below), near);
}

namespace {

// atan(a) for a ≥ 0: from the nearest of 0, ½, 1, 3/2 and ∞, whose arc is high + low, the rest t = tan of the
// difference, one quotient with |t| ≤ 7/16 (the intervals of FreeBSD's msun, s_atan.c, 1993).
Expr arc_tangent_of_magnitude(Expr a) {
  struct Interval {
    double from;
    std::array<double, 2> arc;
  };
  const FunctionTable& table = table_of(a);
  const Interval intervals[] = {{0.4375, table.arc_of_half},
                                {0.6875, {table.half_pi[0] / 2, table.half_pi[1] / 2}},
                                {1.1875, table.arc_of_three_halves},
                                {2.4375, table.half_pi}};
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
    high = select(here, a.like(intervals[i].arc[0]), high);
    low = select(here, a.like(intervals[i].arc[1]), low);
  }
  Expr t = numerator / denominator;
  Expr square = t * t;
  return high + (t + (low + (t * square) * polynomial(square, table.arc_tangent)));
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
  const auto [half_pi_high, half_pi_low] = table_of(x).half_pi;
  Expr mirrored = x.like(2 * half_pi_high) - (arc - x.like(2 * half_pi_low));
  Expr left = lt(as_integer(x), 0) & (ne(x, x.like(0)) | eq(y, 0));
  Expr result = with_sign_of(select(left, mirrored, arc), y);
  Expr unordered = ne(y, y) | ne(x, x);
  return select(unordered, y.like(quiet_nan), result);
}

}  // namespace halyard::ops::expansion
