#include "elementwise_oracle.h"

#include <halyard/base/half.h>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "real.h"

namespace halyard::conformance {
namespace {

using ops::Primitive;
constexpr double wrong = std::numeric_limits<double>::infinity();

int width_of(ElementType element) {
  return element == ElementType::boolean ? 1 : static_cast<int>(8 * byte_size(element));
}

/// The bits that an integer type keeps of a value: it wraps.
std::uint64_t kept_bits(__int128 value, ElementType element) {
  const auto bits = static_cast<std::uint64_t>(value);
  const int width = width_of(element);
  return width == 64 ? bits : bits & ((1ull << width) - 1);
}

__int128 greatest(ElementType element) {
  const __int128 one = 1;
  return (one << (width_of(element) - (is_signed(element) ? 1 : 0))) - 1;
}
__int128 least(ElementType element) {
  return is_signed(element) ? -greatest(element) - 1 : 0;
}

// ---- integers and booleans

__int128 floored_quotient(__int128 a, __int128 b) {
  const __int128 quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

__int128 shifted(Primitive primitive, __int128 a, __int128 amount, ElementType element) {
  const bool within = amount >= 0 && amount < width_of(element);
  if (primitive == Primitive::shl) return within ? a << static_cast<int>(amount) : 0;
  if (within) return a >> static_cast<int>(amount);
  return a < 0 ? -1 : 0;
}

/// Division and what it leaves, by the rules of DESIGN: x / 0 = −1, x rem 0 = x.
std::optional<__int128> divided(Primitive primitive, __int128 a, __int128 b) {
  switch (primitive) {
    case Primitive::div:
      return b == 0 ? -1 : a / b;
    case Primitive::rem:
      return b == 0 ? a : a % b;
    case Primitive::floor_div:
      return b == 0 ? -1 : floored_quotient(a, b);
    case Primitive::mod:
      return b == 0 ? a : a - floored_quotient(a, b) * b;
    default:
      return std::nullopt;
  }
}

std::optional<bool> compared(Primitive primitive, bool less, bool equal) {
  switch (primitive) {
    case Primitive::eq:
      return equal;
    case Primitive::ne:
      return !equal;
    case Primitive::lt:
      return less;
    case Primitive::le:
      return less || equal;
    case Primitive::gt:
      return !less && !equal;
    case Primitive::ge:
      return !less;
    default:
      return std::nullopt;
  }
}

/// Words 0 and 1 of Philox 4×32-10 (Salmon et al., SC 2011), as its authors write it: with products of 64
/// bits.
std::uint64_t philox(std::uint64_t counter, std::uint64_t key) {
  std::uint64_t c[] = {counter & 0xffffffff, counter >> 32, 0, 0};
  std::uint64_t k[] = {key & 0xffffffff, key >> 32};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = 0xd2511f53 * c[0], b = 0xcd9e8d57 * c[2];
    c[0] = (b >> 32) ^ c[1] ^ k[0];
    c[2] = (a >> 32) ^ c[3] ^ k[1];
    c[1] = b & 0xffffffff;
    c[3] = a & 0xffffffff;
    k[0] = (k[0] + 0x9e3779b9) & 0xffffffff;
    k[1] = (k[1] + 0xbb67ae85) & 0xffffffff;
  }
  return c[0] | (c[1] << 32);
}

/// The exact integer, before it wraps.
std::optional<__int128> of_integers(Primitive primitive, std::span<const Scalar> operands) {
  const __int128 a = operands[0].integer();
  const __int128 b = operands.size() > 1 ? operands[1].integer() : 0;
  const __int128 c = operands.size() > 2 ? operands[2].integer() : 0;
  if (auto result = divided(primitive, a, b)) return result;
  if (auto result = compared(primitive, a < b, a == b)) return *result;
  switch (primitive) {
    case Primitive::neg:
      return -a;
    case Primitive::abs:
      return a < 0 ? -a : a;
    case Primitive::sign:
      return (a > 0) - (a < 0);
    case Primitive::relu:
      return a > 0 ? a : 0;
    case Primitive::logical_not:
      return a == 0;
    case Primitive::bit_not:
      return ~a;
    case Primitive::add:
      return a + b;
    case Primitive::sub:
      return a - b;
    case Primitive::mul:
      return static_cast<__int128>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b));
    case Primitive::min:
      return std::min(a, b);
    case Primitive::max:
      return std::max(a, b);
    case Primitive::bit_and:
      return a & b;
    case Primitive::bit_or:
      return a | b;
    case Primitive::bit_xor:
      return a ^ b;
    case Primitive::shl:
    case Primitive::shr:
      return shifted(primitive, a, b, operands[0].element);
    case Primitive::philox:
      return philox(operands[0].bits, operands[1].bits);
    case Primitive::clamp:
      return std::min(std::max(a, b), c);
    case Primitive::fma:
      return static_cast<__int128>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b)) + c;
    default:
      return std::nullopt;
  }
}

// ---- floats

using MpfrUnary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
using MpfrBinary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);

Real unary(MpfrUnary function, const Real& x) {
  Real result;
  function(result.get(), x.get(), MPFR_RNDN);
  return result;
}
Real binary(MpfrBinary function, const Real& a, const Real& b) {
  Real result;
  function(result.get(), a.get(), b.get(), MPFR_RNDN);
  return result;
}

struct UnaryRow {
  Primitive primitive;
  MpfrUnary function;
};
constexpr UnaryRow unary_rows[] = {
    {Primitive::neg, mpfr_neg},   {Primitive::abs, mpfr_abs},   {Primitive::sqrt, mpfr_sqrt},
    {Primitive::exp, mpfr_exp},   {Primitive::exp2, mpfr_exp2}, {Primitive::expm1, mpfr_expm1},
    {Primitive::log, mpfr_log},   {Primitive::log2, mpfr_log2}, {Primitive::log1p, mpfr_log1p},
    {Primitive::sin, mpfr_sin},   {Primitive::cos, mpfr_cos},   {Primitive::tan, mpfr_tan},
    {Primitive::asin, mpfr_asin}, {Primitive::acos, mpfr_acos}, {Primitive::atan, mpfr_atan},
    {Primitive::sinh, mpfr_sinh}, {Primitive::cosh, mpfr_cosh}, {Primitive::tanh, mpfr_tanh},
    {Primitive::erf, mpfr_erf},
};

Real not_a_number() {
  Real result;
  mpfr_set_nan(result.get());
  return result;
}

std::optional<Real> of_one(Primitive primitive, const Real& x) {
  for (const UnaryRow& row : unary_rows)
    if (row.primitive == primitive) return unary(row.function, x);
  Real result;
  switch (primitive) {
    case Primitive::sign:
      if (x.is_nan() || x.is_zero()) return x;
      return Real(x.is_negative() ? -1 : 1);
    case Primitive::floor:
      mpfr_floor(result.get(), x.get());
      return result;
    case Primitive::ceil:
      mpfr_ceil(result.get(), x.get());
      return result;
    case Primitive::trunc:
      mpfr_trunc(result.get(), x.get());
      return result;
    case Primitive::round:
      mpfr_roundeven(result.get(), x.get());
      return result;
    case Primitive::rsqrt:
      return Real(1) / unary(mpfr_sqrt, x);
    case Primitive::reciprocal:
      return Real(1) / x;
    case Primitive::sigmoid:
      return Real(1) / (Real(1) + unary(mpfr_exp, unary(mpfr_neg, x)));
    case Primitive::relu:
      if (x.is_nan()) return x;
      return x.is_negative() || x.is_zero() ? Real(0) : x;
    default:
      return std::nullopt;
  }
}

/// NaN propagates, max(−0, +0) = +0, min(−0, +0) = −0.
Real extreme(const Real& a, const Real& b, bool larger) {
  if (a.is_nan() || b.is_nan()) return not_a_number();
  if (a.is_zero() && b.is_zero()) return a.is_negative() == larger ? b : a;
  return (a < b) == larger ? b : a;
}

/// The sign of the divisor, of a 0 too; what is left is rounded once more, when the divisor is added.
Real modulo(const Real& a, const Real& b) {
  Real rest = binary(mpfr_fmod, a, b);
  if (rest.is_nan()) return rest;
  if (rest.is_zero()) {
    mpfr_setsign(rest.get(), rest.get(), b.is_negative() ? 1 : 0, MPFR_RNDN);
    return rest;
  }
  return rest.is_negative() != b.is_negative() ? rest + b : rest;
}

/// The floor of the rounded quotient; −1 where a negative one vanishes.
Real floored(const Real& a, const Real& b, ElementType element) {
  Real quotient = round_to(a / b, ops::accumulator(element));
  if (quotient.is_zero() && !a.is_zero() && a.is_negative() != b.is_negative()) return Real(-1);
  mpfr_floor(quotient.get(), quotient.get());
  return round_to(quotient, element);
}

std::optional<Real> of_two(Primitive primitive, const Real& a, const Real& b, ElementType element) {
  switch (primitive) {
    case Primitive::add:
      return a + b;
    case Primitive::sub:
      return a - b;
    case Primitive::mul:
      return a * b;
    case Primitive::div:
      return a / b;
    case Primitive::rem:
      return binary(mpfr_fmod, a, b);
    case Primitive::mod:
      return modulo(a, b);
    case Primitive::floor_div:
      return floored(a, b, element);
    case Primitive::pow:
      return binary(mpfr_pow, a, b);
    case Primitive::atan2:
      return binary(mpfr_atan2, a, b);
    case Primitive::min:
      return extreme(a, b, false);
    case Primitive::max:
      return extreme(a, b, true);
    default:
      return std::nullopt;
  }
}

std::optional<Real> of_floats(Primitive primitive, std::span<const Scalar> operands,
                              const Allowance& allowance) {
  const ElementType element = operands[0].element;
  const Real a(operands[0].number());
  if (operands.size() == 1) return of_one(primitive, a);
  const Real b(operands[1].number());
  if (operands.size() == 2) return of_two(primitive, a, b, element);
  const Real c(operands[2].number());
  if (primitive == Primitive::clamp) return extreme(extreme(a, b, true), c, false);
  if (primitive != Primitive::fma) return std::nullopt;
  // 16-bit operands are multiplied in f32, where their product is exact.
  const ElementType wide = ops::accumulator(element);
  return (allowance.fused_fma ? a * b : round_to(a * b, wide)) + c;
}

std::optional<bool> question(Primitive primitive, std::span<const Scalar> operands) {
  const double a = operands[0].number();
  switch (primitive) {
    case Primitive::is_nan:
      return std::isnan(a);
    case Primitive::is_inf:
      return std::isinf(a);
    case Primitive::is_finite:
      return std::isfinite(a);
    default:
      break;
  }
  if (operands.size() != 2) return std::nullopt;
  const double b = operands[1].number();
  if (std::isnan(a) || std::isnan(b))
    return compared(primitive, false, false) ? std::optional(primitive == Primitive::ne) : std::nullopt;
  return compared(primitive, a < b, a == b);
}

// ---- bounds

/// What the table allows in a result of this type, in its own units in the last place.
double allowed_units(Primitive primitive, ElementType element) {
  const ops::ErrorBound& bound = ops::row(primitive).error;
  if (element == ElementType::f64) return bound.ulp_f64;
  if (element == ElementType::f32 || bound.ulp_f32 == 0) return bound.ulp_f32;
  // Computed in f32 and rounded once.
  return 0.5 + std::ldexp(bound.ulp_f32, format_of(element).digits - 24);
}

double float_error(const Real& exact, const Scalar& result, double allowed, const Allowance& allowance) {
  const double got = result.number();
  const Real least_normal(std::ldexp(1.0, format_of(result.element).least_exponent));
  if (allowance.flushes_subnormals && exact.magnitude() < least_normal &&
      std::fabs(got) <= least_normal.to_double())
    return 0;
  const double units = units_apart(got, exact, result.element, true);
  if (allowed == 0) return units == 0 ? 0 : wrong;
  return units / allowed;
}

/// Exact here means: as the cast is defined, through f32 for integers that become 16-bit floats.
double cast_error(const Scalar& from, const Scalar& result, const Allowance& allowance) {
  const ElementType to = result.element;
  if (is_float(to)) {
    Real exact = is_float(from.element) ? Real(from.number()) : Real::of_integer(from.integer());
    if (!is_float(from.element) && ops::accumulator(to) != to) exact = round_to(exact, ElementType::f32);
    return float_error(exact, result, 0.5, allowance);
  }
  __int128 exact = 0;
  if (!is_float(from.element)) {
    exact = to == ElementType::boolean ? from.integer() != 0 : from.integer();
  } else if (to == ElementType::boolean) {
    exact = from.number() != 0;
  } else if (const double value = std::trunc(from.number()); !std::isnan(value)) {
    const bool above = value >= std::ldexp(1.0, width_of(to) - (is_signed(to) ? 1 : 0));
    const bool below = value < static_cast<double>(least(to));
    exact = above ? greatest(to) : below ? least(to) : static_cast<__int128>(value);
  }
  return kept_bits(exact, to) == result.bits ? 0 : wrong;
}

bool same(const Scalar& a, const Scalar& b) {
  if (a.bits == b.bits) return true;
  return is_float(a.element) && std::isnan(a.number()) && std::isnan(b.number());
}

}  // namespace

double Scalar::number() const {
  switch (element) {
    case ElementType::f16:
      return static_cast<double>(float_from_f16(static_cast<std::uint16_t>(bits)));
    case ElementType::bf16:
      return static_cast<double>(float_from_bf16(static_cast<std::uint16_t>(bits)));
    case ElementType::f32:
      return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    case ElementType::f64:
      return std::bit_cast<double>(bits);
    default:
      return static_cast<double>(integer());
  }
}

__int128 Scalar::integer() const {
  if (!is_signed(element)) return bits;
  const int shift = 64 - static_cast<int>(8 * byte_size(element));
  return static_cast<std::int64_t>(bits << shift) >> shift;
}

Scalar Scalar::of(const ops::HostTensor& tensor, std::int64_t index) {
  return {tensor.element(), tensor.bits_at(index)};
}

double elementwise_error(Primitive primitive, std::span<const Scalar> operands, const Scalar& result,
                         const Allowance& allowance) {
  if (primitive == Primitive::select)
    return same(operands[operands[0].bits != 0 ? 1 : 2], result) ? 0 : wrong;
  if (primitive == Primitive::bitcast) return same({result.element, operands[0].bits}, result) ? 0 : wrong;
  if (primitive == Primitive::cast) return cast_error(operands[0], result, allowance);
  if (!is_float(operands[0].element)) {
    const auto exact = of_integers(primitive, operands);
    return exact && kept_bits(*exact, result.element) == result.bits ? 0 : wrong;
  }
  if (result.element == ElementType::boolean) {
    const auto answer = question(primitive, operands);
    return answer && result.bits == static_cast<std::uint64_t>(*answer) ? 0 : wrong;
  }
  const auto exact = of_floats(primitive, operands, allowance);
  if (!exact) return wrong;
  return float_error(*exact, result, allowed_units(primitive, result.element), allowance);
}

}  // namespace halyard::conformance
