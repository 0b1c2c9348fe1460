#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include "test_tensors.h"

/// The elementary functions of f32 and f64 against the C library's in the next wider type (whose own error is
/// far below a unit of the narrower), on samples of all exponents and on evenly spread arguments. The bounds
/// are the table's.
namespace halyard::ops::testing {
namespace {

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;
template <class T>
using Bits = std::conditional_t<std::is_same_v<T, float>, std::uint32_t, std::uint64_t>;
template <class T>
constexpr T greatest = std::numeric_limits<T>::max();

/// Where results vanish or overflow, a little beyond; and the angle from which on the reduction is another.
template <class T>
struct Ends {
  static constexpr bool narrow = std::is_same_v<T, float>;
  static constexpr double exp_low = narrow ? -104 : -746, exp_high = narrow ? 89 : 710;
  static constexpr double exp2_low = narrow ? -151 : -1076, exp2_high = narrow ? 129 : 1025;
  static constexpr double expm1_low = narrow ? -30 : -60;
  static constexpr double erf = narrow ? 5 : 7;
  static constexpr double angle = narrow ? 12867 : 1647099;
  static constexpr int right_angles = narrow ? 8191 : 100'000;
};

template <class T>
double bound_of(Primitive primitive) {
  const ErrorBound& bound = row(primitive).error;
  return Ends<T>::narrow ? bound.ulp_f32 : bound.ulp_f64;
}

/// |got − exact| in units in the last place of the T nearest to exact. Equal infinities and NaNs are 0 apart.
template <class T>
double ulp_distance(T got, Wide<T> exact) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr int digits = std::numeric_limits<T>::digits;
  auto nearest = static_cast<T>(exact);
  if (std::isnan(exact)) return std::isnan(got) ? 0 : infinity;
  if (std::isinf(nearest)) {
    // Past the largest T: infinity is right, and so is the largest one within a unit.
    if (got == nearest) return 0;
    const Wide<T> unit = std::ldexp(Wide<T>{1}, std::numeric_limits<T>::max_exponent - digits);
    return std::isinf(exact) ? infinity : static_cast<double>(std::fabs(got - exact) / unit);
  }
  int exponent = 0;
  std::frexp(exact, &exponent);
  const Wide<T> unit =
      std::ldexp(Wide<T>{1}, std::max(exponent - digits, std::numeric_limits<T>::min_exponent - digits));
  return static_cast<double>(std::fabs(static_cast<Wide<T>>(got) - exact) / unit);
}

/// `count` numbers of any exponent and sign with magnitude up to `limit`.
template <class T>
std::vector<T> of_all_exponents(std::size_t count, T limit) {
  Noise noise(7);
  std::vector<T> arguments;
  while (arguments.size() < count) {
    auto value = std::bit_cast<T>(static_cast<Bits<T>>(noise.bits() >> (64 - 8 * sizeof(T))));
    if (std::fabs(value) <= limit) arguments.push_back(value);
  }
  return arguments;
}

/// `count` numbers between two ends.
template <class T>
std::vector<T> spread(std::size_t count, double low, double high) {
  Noise noise(11);
  std::vector<T> arguments;
  for (std::size_t i = 0; i < count; ++i)
    arguments.push_back(
        static_cast<T>(low + (high - low) * std::ldexp(static_cast<double>(noise.bits() >> 11), -53)));
  return arguments;
}

/// Next to the multiples of π/2.
template <class T>
std::vector<T> near_right_angles() {
  std::vector<T> arguments;
  for (int n = 1; n <= Ends<T>::right_angles; ++n)
    arguments.push_back(static_cast<T>(n * 1.57079632679489661923132169163975144L));
  return arguments;
}

constexpr std::size_t samples = 200'000;

template <class T, class Exact>
void check(Primitive primitive, const std::vector<T>& arguments, const Exact& exact) {
  auto values = values_of<T>(run(primitive, {vector_of(arguments)}));
  double worst = 0;
  T where = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    double distance = ulp_distance<T>(values[i], exact(static_cast<Wide<T>>(arguments[i])));
    if (!(distance <= worst)) {
      worst = distance;
      where = arguments[i];
    }
  }
  INFO(name(primitive) << ": " << worst << " ULP at " << where);
  CHECK(worst <= bound_of<T>(primitive));
}

template <class T, class Exact>
void check(Primitive primitive, const std::vector<T>& a, const std::vector<T>& b, const Exact& exact) {
  auto values = values_of<T>(run(primitive, {vector_of(a), vector_of(b)}));
  double worst = 0;
  std::size_t where = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    double distance =
        ulp_distance<T>(values[i], exact(static_cast<Wide<T>>(a[i]), static_cast<Wide<T>>(b[i])));
    if (!(distance <= worst)) {
      worst = distance;
      where = i;
    }
  }
  INFO(name(primitive) << ": " << worst << " ULP at " << a[where] << ", " << b[where]);
  CHECK(worst <= bound_of<T>(primitive));
}

}  // namespace

TEST_CASE_TEMPLATE("exp, exp2 and expm1 are within their bounds, subnormal results included", T, float,
                   double) {
  auto exact = [](auto x) { return std::exp(x); };
  check(Primitive::exp, spread<T>(samples, Ends<T>::exp_low, Ends<T>::exp_high), exact);
  check(Primitive::exp, spread<T>(samples, -1, 1), exact);
  check(Primitive::exp, of_all_exponents(samples, greatest<T>), exact);
  auto two = [](auto x) { return std::exp2(x); };
  check(Primitive::exp2, spread<T>(samples, Ends<T>::exp2_low, Ends<T>::exp2_high), two);
  check(Primitive::exp2, of_all_exponents(samples, greatest<T>), two);
  auto minus_one = [](auto x) { return std::expm1(x); };
  check(Primitive::expm1, spread<T>(samples, Ends<T>::expm1_low, Ends<T>::exp_high + 1), minus_one);
  check(Primitive::expm1, spread<T>(samples, -2, 2), minus_one);
  check(Primitive::expm1, of_all_exponents(samples, greatest<T>), minus_one);
}

TEST_CASE_TEMPLATE("log, log2 and log1p are within their bounds, subnormal arguments included", T, float,
                   double) {
  auto exact = [](auto x) { return x < 0 ? std::nan("") : std::log(x); };
  check(Primitive::log, of_all_exponents(samples, greatest<T>), exact);
  check(Primitive::log, spread<T>(samples, 0.5, 2), exact);
  auto two = [](auto x) { return x < 0 ? std::nan("") : std::log2(x); };
  check(Primitive::log2, of_all_exponents(samples, greatest<T>), two);
  check(Primitive::log2, spread<T>(samples, 0.5, 2), two);
  auto one_plus = [](auto x) { return x < -1 ? std::nan("") : std::log1p(x); };
  check(Primitive::log1p, of_all_exponents(samples, greatest<T>), one_plus);
  check(Primitive::log1p, spread<T>(samples, -1, 2), one_plus);
}

TEST_CASE_TEMPLATE("exp2 of integers and log2 of powers of two are exact", T, float, double) {
  std::vector<T> integers;
  std::vector<T> powers;
  for (int n = std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits;
       n < std::numeric_limits<T>::max_exponent; ++n) {
    integers.push_back(static_cast<T>(n));
    powers.push_back(std::ldexp(T{1}, n));
  }
  CHECK(values_of<T>(run(Primitive::exp2, {vector_of(integers)})) == powers);
  CHECK(values_of<T>(run(Primitive::log2, {vector_of(powers)})) == integers);
}

TEST_CASE_TEMPLATE("tanh, sinh and cosh are within their bounds, up to where they overflow", T, float,
                   double) {
  auto tangent = [](auto x) { return std::tanh(x); };
  auto sine = [](auto x) { return std::sinh(x); };
  auto cosine = [](auto x) { return std::cosh(x); };
  for (const auto& arguments :
       {spread<T>(samples, -Ends<T>::exp_high - 1, Ends<T>::exp_high + 1), spread<T>(samples, -10, 10),
        spread<T>(samples, -2, 2), of_all_exponents(samples, greatest<T>)}) {
    check(Primitive::tanh, arguments, tangent);
    check(Primitive::sinh, arguments, sine);
    check(Primitive::cosh, arguments, cosine);
  }
}

TEST_CASE_TEMPLATE("erf is within its bound", T, float, double) {
  auto exact = [](auto x) { return std::erf(x); };
  check(Primitive::erf, spread<T>(samples, -Ends<T>::erf, Ends<T>::erf), exact);
  check(Primitive::erf, spread<T>(samples, -1, 1), exact);
  check(Primitive::erf, of_all_exponents(samples, greatest<T>), exact);
}

TEST_CASE_TEMPLATE("sigmoid is within its bound, far below zero too", T, float, double) {
  auto exact = [](auto x) { return 1 / (1 + std::exp(-x)); };
  check(Primitive::sigmoid, spread<T>(samples, Ends<T>::exp_low, 40), exact);
  check(Primitive::sigmoid, spread<T>(samples, -3, 3), exact);
}

TEST_CASE_TEMPLATE("sin, cos and tan are within their bounds, for angles of any size", T, float, double) {
  // The arguments nearest to a multiple of π/2 (J.-M. Muller et al., Handbook of Floating-Point Arithmetic).
  const T nearest =
      static_cast<T>(Ends<T>::narrow ? std::ldexp(16367173.0, 72) : std::ldexp(6381956970095103.0, 797));
  for (const auto& arguments :
       {spread<T>(samples, -Ends<T>::angle, Ends<T>::angle), spread<T>(samples, -4, 4),
        spread<T>(samples, -1000 * Ends<T>::angle, 1000 * Ends<T>::angle),
        of_all_exponents(samples, greatest<T>), near_right_angles<T>(),
        std::vector<T>{nearest, -nearest, greatest<T>, -greatest<T>}}) {
    check(Primitive::sin, arguments, [](auto x) { return std::sin(x); });
    check(Primitive::cos, arguments, [](auto x) { return std::cos(x); });
    check(Primitive::tan, arguments, [](auto x) { return std::tan(x); });
  }
}

TEST_CASE_TEMPLATE("asin, acos and atan are within their bounds", T, float, double) {
  auto sine = [](auto x) { return std::asin(x); };
  auto cosine = [](auto x) { return std::acos(x); };
  auto tangent = [](auto x) { return std::atan(x); };
  for (const auto& arguments : {spread<T>(samples, -1, 1), of_all_exponents(samples, T{1})}) {
    check(Primitive::asin, arguments, sine);
    check(Primitive::acos, arguments, cosine);
  }
  check(Primitive::atan, spread<T>(samples, -10, 10), tangent);
  check(Primitive::atan, of_all_exponents(samples, greatest<T>), tangent);
}

TEST_CASE_TEMPLATE("atan2 is within its bound in all quadrants", T, float, double) {
  std::vector<T> y = of_all_exponents(samples, greatest<T>);
  const std::vector<T> around = spread<T>(2 * samples, -1, 1);
  std::vector<T> x;
  for (std::size_t i = 0; i < samples; ++i) {
    // Half of the points lie near the origin's circle, the others anywhere.
    if (i % 2 == 0) y[i] = around[2 * i];
    x.push_back(i % 2 == 0 ? around[2 * i + 1] : y[(i * 7919) % samples]);
  }
  check(Primitive::atan2, y, x, [](auto b, auto a) { return std::atan2(b, a); });
}

TEST_CASE_TEMPLATE("rem of floats is C's fmod to the bit, mod is Python's", T, float, double) {
  constexpr std::size_t count = samples / (Ends<T>::narrow ? 1 : 4);
  std::vector<T> a = of_all_exponents(count, std::numeric_limits<T>::infinity());
  const std::vector<T> small = spread<T>(count, -10, 10);
  std::vector<T> b;
  for (std::size_t i = 0; i < count; ++i) b.push_back(i % 2 == 0 ? a[(i * 7919) % count] : small[i]);
  const T special[] = {0,
                       -T{0},
                       1,
                       std::numeric_limits<T>::denorm_min(),
                       std::numeric_limits<T>::min(),
                       greatest<T>,
                       std::numeric_limits<T>::infinity(),
                       std::numeric_limits<T>::quiet_NaN()};
  for (T left : special) {
    for (T right : special) {
      a.push_back(left);
      b.push_back(right);
    }
  }
  auto rests = values_of<T>(run(Primitive::rem, {vector_of(a), vector_of(b)}));
  auto floored = values_of<T>(run(Primitive::mod, {vector_of(a), vector_of(b)}));
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    T rest = std::fmod(a[i], b[i]);
    T mod = rest != 0 && std::signbit(rest) != std::signbit(b[i]) ? rest + b[i] : rest;
    if (mod == 0) mod = std::copysign(T{0}, b[i]);
    const auto same = [](T got, T wanted) {
      return std::isnan(wanted) ? std::isnan(got)
                                : std::bit_cast<Bits<T>>(got) == std::bit_cast<Bits<T>>(wanted);
    };
    wrong += !same(rests[i], rest) || !same(floored[i], mod);
  }
  CHECK(wrong == 0);
}

TEST_CASE_TEMPLATE("pow is within its bound", T, float, double) {
  auto exact = [](auto x, auto y) { return std::pow(x, y); };
  std::vector<T> bases;
  for (T x : spread<T>(samples, -20, 20)) bases.push_back(std::exp2(x));
  check(Primitive::pow, bases, spread<T>(samples, -8, 8), exact);
  const double steep = Ends<T>::exp_high / 0.01;
  check(Primitive::pow, spread<T>(samples, 0.99, 1.01), spread<T>(samples, -steep, steep), exact);
  check(Primitive::pow, of_all_exponents(samples, greatest<T>), std::vector<T>(samples, 2), exact);
  check(Primitive::pow, of_all_exponents(samples, greatest<T>), std::vector<T>(samples, T{0.5}), exact);
  check(Primitive::pow, of_all_exponents(samples, greatest<T>), spread<T>(samples, -1, 1), exact);
}

TEST_CASE_TEMPLATE("functions give their limits at infinities, zeros and NaN", T, float, double) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  constexpr auto right_angle = static_cast<T>(1.57079632679489661923132169163975144L);
  HostTensor x = vector_of<T>({infinity, -infinity, T{0}, -T{0}});
  CHECK(values_of<T>(run(Primitive::exp, {x})) == std::vector<T>{infinity, 0, 1, 1});
  CHECK(values_of<T>(run(Primitive::tanh, {x})) == std::vector<T>{1, -1, 0, 0});
  CHECK(values_of<T>(run(Primitive::erf, {x})) == std::vector<T>{1, -1, 0, 0});
  CHECK(values_of<T>(run(Primitive::sigmoid, {x})) == std::vector<T>{1, 0, T{0.5}, T{0.5}});
  auto logs = values_of<T>(run(Primitive::log, {x}));
  CHECK(logs[0] == infinity);
  CHECK(std::isnan(logs[1]));
  CHECK(logs[2] == -infinity);
  CHECK(logs[3] == -infinity);
  for (Primitive odd : {Primitive::tanh, Primitive::erf, Primitive::sin, Primitive::tan, Primitive::asin,
                        Primitive::atan, Primitive::sinh, Primitive::expm1, Primitive::log1p})
    CHECK(std::signbit(values_of<T>(run(odd, {x}))[3]));
  CHECK(values_of<T>(run(Primitive::exp2, {x})) == std::vector<T>{infinity, 0, 1, 1});
  CHECK(values_of<T>(run(Primitive::expm1, {x})) == std::vector<T>{infinity, -1, 0, 0});
  CHECK(values_of<T>(run(Primitive::sinh, {x})) == std::vector<T>{infinity, -infinity, 0, 0});
  CHECK(values_of<T>(run(Primitive::cosh, {x})) == std::vector<T>{infinity, infinity, 1, 1});
  CHECK(values_of<T>(run(Primitive::atan, {x})) == std::vector<T>{right_angle, -right_angle, 0, 0});
  CHECK(values_of<T>(run(Primitive::acos, {x}))[2] == right_angle);
  HostTensor ends = vector_of<T>({T{-1}, T{-2}, infinity});
  auto of_one_plus = values_of<T>(run(Primitive::log1p, {ends}));
  CHECK(of_one_plus[0] == -infinity);
  CHECK(std::isnan(of_one_plus[1]));
  CHECK(of_one_plus[2] == infinity);
  HostTensor nan = vector_of<T>({std::numeric_limits<T>::quiet_NaN()});
  for (Primitive primitive :
       {Primitive::exp, Primitive::log, Primitive::tanh, Primitive::erf, Primitive::sin, Primitive::cos,
        Primitive::sigmoid, Primitive::sqrt, Primitive::rsqrt, Primitive::exp2, Primitive::expm1,
        Primitive::log2, Primitive::log1p, Primitive::tan, Primitive::asin, Primitive::acos, Primitive::atan,
        Primitive::sinh, Primitive::cosh})
    CHECK(std::isnan(values_of<T>(run(primitive, {nan}))[0]));
}

TEST_CASE("functions on f16 and bf16 are those of f32, rounded") {
  Noise noise(5);
  std::vector<double> numbers;
  for (int i = 0; i < 1000; ++i) numbers.push_back(4 * noise.number());
  for (ElementType element : {ElementType::f16, ElementType::bf16}) {
    HostTensor x = numbers_of(element, Shape{1000}, numbers);
    Attributes widen;
    widen.element = ElementType::f32;
    Attributes narrow;
    narrow.element = element;
    HostTensor wide = run(Primitive::exp, {run(Primitive::cast, {x}, widen)});
    CHECK(same_bits(run(Primitive::exp, {x}), run(Primitive::cast, {wide}, narrow)));
  }
}

}  // namespace halyard::ops::testing
