#include "function_parts.h"

namespace halyard::ops::expansion {
namespace {

// 1 + f = m in [√½, √2) with x = 2^e m; log(1 + f) = f − (f²/2 − f³ P(f)), P of degree 8 for
// (log(1 + f) − f + f²/2) / f³, relative error of the whole 2^-30.
constexpr double logarithm_p[] = {0x1.555548p-2,  -0x1.000008p-2, 0x1.99a47ap-3,
                                  -0x1.555b8cp-3, 0x1.233abep-3,  -0x1.fc3ep-4,
                                  0x1.e6e088p-4,  -0x1.dd9be6p-4, 0x1.13b972p-4};
constexpr std::uint64_t sqrt_half_bits = 0x3f3504f3;

struct Split {
  Expr exponent;  // i32, not yet corrected for subnormals
  Expr f;         // m − 1, exact
};
// Of a positive x that is no subnormal: 2^exponent (1 + f).
Split split(Expr x) {
  Expr bits = x.bits_as(ElementType::i32);
  Expr shifted = bits + bits.like_bits(0x3f800000 - sqrt_half_bits);
  Expr m = ((shifted & 0x7fffffull) + bits.like_bits(sqrt_half_bits)).bits_as(ElementType::f32);
  return {(shifted >> 23) - bits.like(127), m - 1};
}
// Subnormals are scaled by 2^23 first.
Split split_any(Expr x) {
  Expr subnormal = lt(x, 0x1p-126);
  Split parts = split(select(subnormal, x * 0x1p23, x));
  parts.exponent = parts.exponent - select(subnormal, parts.exponent.like(23), parts.exponent.like(0));
  return parts;
}

// What every logarithm gives at and beyond the ends of its domain: −inf where `argument` is 0, NaN below.
Expr with_special_values(Expr result, Expr argument, Expr x) {
  result = select(eq(argument, 0), x.like(-infinity), result);
  result = select(lt(argument, 0), x.like(quiet_nan), result);
  result = select(eq(x, infinity), x, result);
  return select(ne(x, x), x, result);
}

}  // namespace

// e ln 2 + log(1 + f).
Expr logarithm(Expr x) {
  Split parts = split_any(x);
  Expr f = parts.f;
  Expr e = parts.exponent.cast(ElementType::f32);
  Expr square = f * f;
  Expr tail = (square * f) * polynomial(f, logarithm_p) + e * ln2_low;
  return with_special_values(e * ln2_high + (f - (square * 0.5 - tail)), x, x);
}

// e + log(1 + f) / ln 2. log(1 + f) is held as high + low, 1 / ln 2 too; the high parts have 12 and 11 bits,
// so that their product is exact, and the sum e + product keeps what it loses. Powers of two come out
// exactly.
Expr logarithm_to_two(Expr x) {
  constexpr double inverse_high = 0x1.715p+0;
  constexpr double inverse_low = 0x1.1d94aep-14;  // of 1/ln 2 − high
  Split parts = split_any(x);
  Expr f = parts.f;
  Expr e = parts.exponent.cast(ElementType::f32);
  Expr square = f * f;
  Expr half_square = square * 0.5;
  Expr high = high_half(f - half_square);
  Expr low = ((f - high) - half_square) + (square * f) * polynomial(f, logarithm_p);
  Expr product = high * inverse_high;
  Expr rest = (low + high) * inverse_low + low * inverse_high;
  Expr sum = e + product;  // |e| ≥ |product|, or e = 0 and nothing is lost
  Expr lost = product - (sum - e);
  return with_special_values(sum + (lost + rest), x, x);
}

// log(u) with u = 1 + x rounded, plus what the rounding lost over u. Where u's exponent is 0, f is x itself.
Expr logarithm_of_one_plus(Expr x) {
  Expr u = x + 1;
  Split parts = split(u);
  Expr lost = select(gt(x, 1), x.like(1) - (u - x), x - (u - 1)) / u;
  Expr whole = eq(parts.exponent, 0);
  Expr f = select(whole, x, parts.f);
  Expr e = parts.exponent.cast(ElementType::f32);
  Expr square = f * f;
  Expr correction = e * ln2_low + select(whole, x.like(0), lost);
  Expr tail = (square * f) * polynomial(f, logarithm_p) + correction;
  Expr result = e * ln2_high + (f - (square * 0.5 - tail));
  return select(eq(x, 0), x, with_special_values(result, u, x));
}

}  // namespace halyard::ops::expansion
