#include "function_parts.h"

namespace halyard::ops::expansion {
namespace {

// What log(1 + f) has beyond f − f²/2, for f = m − 1.
Expr logarithm_tail(Expr f, Expr square) {
  const FunctionTable& t = table_of(f);
  if (!t.logarithm_by_quotient) return (square * f) * polynomial(f, t.logarithm);
  Expr s = f / (f + 2);
  Expr z = s * s;
  return s * (square * 0.5 + z * polynomial(z, t.logarithm));
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
  const FunctionTable& t = table_of(x);
  Split parts = split_any(x);
  Expr f = parts.m - 1;  // exact
  Expr e = parts.exponent.cast(t.element);
  Expr square = f * f;
  Expr tail = logarithm_tail(f, square) + e * t.ln2_low;
  return with_special_values(e * t.ln2_high + (f - (square * 0.5 - tail)), x, x);
}

// e + log(1 + f) / ln 2. log(1 + f) is held as high + low, 1 / ln 2 too; the product of the high parts is
// exact, and the sum e + product keeps what it loses. Powers of two come out exactly.
Expr logarithm_to_two(Expr x) {
  const FunctionTable& t = table_of(x);
  Split parts = split_any(x);
  Expr f = parts.m - 1;
  Expr e = parts.exponent.cast(t.element);
  Expr square = f * f;
  Expr half_square = square * 0.5;
  Expr high = high_half(f - half_square);
  Expr low = ((f - high) - half_square) + logarithm_tail(f, square);
  Expr product = high * t.inverse_ln2_high;
  Expr rest = (low + high) * t.inverse_ln2_low + low * t.inverse_ln2_high;
  Expr sum = e + product;  // |e| ≥ |product|, or e = 0 and nothing is lost
  Expr lost = product - (sum - e);
  return with_special_values(sum + (lost + rest), x, x);
}

// log(u) with u = 1 + x rounded, plus what the rounding lost over u. Where u's exponent is 0, f is x itself.
Expr logarithm_of_one_plus(Expr x) {
  const FunctionTable& t = table_of(x);
  Expr u = x + 1;
  Split parts = split_normal(u);
  Expr lost = select(gt(x, 1), x.like(1) - (u - x), x - (u - 1)) / u;
  Expr whole = eq(parts.exponent, 0);
  Expr f = select(whole, x, parts.m - 1);
  Expr e = parts.exponent.cast(t.element);
  Expr square = f * f;
  Expr correction = e * t.ln2_low + select(whole, x.like(0), lost);
  Expr tail = logarithm_tail(f, square) + correction;
  Expr result = e * t.ln2_high + (f - (square * 0.5 - tail));
  return select(eq(x, 0), x, with_special_values(result, u, x));
}

}  // namespace halyard::ops::expansion
