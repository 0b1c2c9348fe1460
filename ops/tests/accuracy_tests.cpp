#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include "test_tensors.h"

/// The elementary functions against the C library's double ones (whose own error is far below a unit of f32),
/// on samples of all exponents and on evenly spread arguments. The bounds are the table's.
namespace halyard::ops::testing {
namespace {

/// |got − exact| in units in the last place of the f32 nearest to exact. Equal infinities and NaNs are 0
/// apart.
double ulp_distance(float got, double exact) {
  auto nearest = static_cast<float>(exact);
  if (std::isnan(exact)) return std::isnan(got) ? 0 : std::numeric_limits<double>::infinity();
  if (std::isinf(nearest)) {
    // Past the largest f32: infinity is right, and so is the largest one within a unit.
    if (got == nearest) return 0;
    return std::isinf(exact) ? std::numeric_limits<double>::infinity() : std::fabs(got - exact) / 0x1p104;
  }
  int exponent = 0;
  std::frexp(exact, &exponent);
  double unit = std::ldexp(1.0, std::max(exponent - 24, -149));
  return std::fabs(static_cast<double>(got) - exact) / unit;
}

struct Worst {
  double ulp = 0;
  float argument = 0;
};

Worst worst_of(Primitive primitive, const std::vector<float>& arguments,
               const std::function<double(double)>& exact) {
  auto values = values_of<float>(run(primitive, {vector_of(arguments)}));
  Worst worst;
  for (std::size_t i = 0; i < values.size(); ++i) {
    double distance = ulp_distance(values[i], exact(arguments[i]));
    if (!(distance <= worst.ulp)) worst = {distance, arguments[i]};
  }
  return worst;
}

/// `count` floats of any exponent and sign with magnitude below `limit`.
std::vector<float> of_all_exponents(std::size_t count, float limit) {
  Noise noise(7);
  std::vector<float> arguments;
  while (arguments.size() < count) {
    auto value = std::bit_cast<float>(static_cast<std::uint32_t>(noise.bits() >> 32));
    if (std::fabs(value) <= limit) arguments.push_back(value);
  }
  return arguments;
}

std::vector<float> spread(std::size_t count, double low, double high) {
  Noise noise(11);
  std::vector<float> arguments;
  for (std::size_t i = 0; i < count; ++i)
    arguments.push_back(static_cast<float>(low + (high - low) * (0.5 + 0.5 * noise.number())));
  return arguments;
}

constexpr std::size_t samples = 200'000;

void check(Primitive primitive, const std::vector<float>& arguments,
           const std::function<double(double)>& exact) {
  Worst worst = worst_of(primitive, arguments, exact);
  INFO(name(primitive) << ": " << worst.ulp << " ULP at " << worst.argument);
  CHECK(worst.ulp <= row(primitive).error.ulp_f32);
}

}  // namespace

TEST_CASE("exp is within 2 ULP, subnormal results included") {
  auto exact = [](double x) { return std::exp(x); };
  check(Primitive::exp, spread(samples, -104, 89), exact);
  check(Primitive::exp, spread(samples, -1, 1), exact);
  check(Primitive::exp, of_all_exponents(samples, std::numeric_limits<float>::max()), exact);
}

TEST_CASE("log is within 2 ULP, subnormal arguments included") {
  auto exact = [](double x) { return x < 0 ? std::nan("") : std::log(x); };
  check(Primitive::log, of_all_exponents(samples, std::numeric_limits<float>::max()), exact);
  check(Primitive::log, spread(samples, 0.5, 2), exact);
}

TEST_CASE("tanh is within 2 ULP") {
  auto exact = [](double x) { return std::tanh(x); };
  check(Primitive::tanh, spread(samples, -10, 10), exact);
  check(Primitive::tanh, spread(samples, -1, 1), exact);
  check(Primitive::tanh, of_all_exponents(samples, std::numeric_limits<float>::max()), exact);
}

TEST_CASE("erf is within 2 ULP") {
  auto exact = [](double x) { return std::erf(x); };
  check(Primitive::erf, spread(samples, -5, 5), exact);
  check(Primitive::erf, spread(samples, -1, 1), exact);
  check(Primitive::erf, of_all_exponents(samples, std::numeric_limits<float>::max()), exact);
}

TEST_CASE("sin and cos are within 2 ULP up to 12867") {
  auto sine = [](double x) { return std::sin(x); };
  auto cosine = [](double x) { return std::cos(x); };
  check(Primitive::sin, spread(samples, -12867, 12867), sine);
  check(Primitive::cos, spread(samples, -12867, 12867), cosine);
  check(Primitive::sin, of_all_exponents(samples, 12867), sine);
  check(Primitive::cos, of_all_exponents(samples, 12867), cosine);
  std::vector<float> near_multiples;
  for (int n = 1; n <= 8191; ++n) near_multiples.push_back(static_cast<float>(n * 1.5707963267948966));
  check(Primitive::sin, near_multiples, sine);
  check(Primitive::cos, near_multiples, cosine);
}

TEST_CASE("exp2 and expm1 are within 2 ULP, subnormal results included") {
  auto two = [](double x) { return std::exp2(x); };
  check(Primitive::exp2, spread(samples, -151, 129), two);
  check(Primitive::exp2, of_all_exponents(samples, std::numeric_limits<float>::max()), two);
  auto minus_one = [](double x) { return std::expm1(x); };
  check(Primitive::expm1, spread(samples, -30, 90), minus_one);
  check(Primitive::expm1, spread(samples, -2, 2), minus_one);
  check(Primitive::expm1, of_all_exponents(samples, std::numeric_limits<float>::max()), minus_one);
}

TEST_CASE("log2 and log1p are within 2 ULP, subnormal arguments included") {
  auto two = [](double x) { return x < 0 ? std::nan("") : std::log2(x); };
  check(Primitive::log2, of_all_exponents(samples, std::numeric_limits<float>::max()), two);
  check(Primitive::log2, spread(samples, 0.5, 2), two);
  auto one_plus = [](double x) { return x < -1 ? std::nan("") : std::log1p(x); };
  check(Primitive::log1p, of_all_exponents(samples, std::numeric_limits<float>::max()), one_plus);
  check(Primitive::log1p, spread(samples, -1, 2), one_plus);
}

TEST_CASE("exp2 of integers and log2 of powers of two are exact") {
  std::vector<float> integers;
  std::vector<float> powers;
  for (int n = -149; n <= 127; ++n) {
    integers.push_back(static_cast<float>(n));
    powers.push_back(std::ldexp(1.0f, n));
  }
  CHECK(values_of<float>(run(Primitive::exp2, {vector_of(integers)})) == powers);
  CHECK(values_of<float>(run(Primitive::log2, {vector_of(powers)})) == integers);
}

TEST_CASE("tan is within 2 ULP up to 12867") {
  auto exact = [](double x) { return std::tan(x); };
  check(Primitive::tan, spread(samples, -12867, 12867), exact);
  check(Primitive::tan, of_all_exponents(samples, 12867), exact);
  std::vector<float> near_multiples;
  for (int n = 1; n <= 8191; ++n) near_multiples.push_back(static_cast<float>(n * 1.5707963267948966));
  check(Primitive::tan, near_multiples, exact);
}

TEST_CASE("asin, acos and atan are within 2 ULP") {
  auto sine = [](double x) { return std::asin(x); };
  auto cosine = [](double x) { return std::acos(x); };
  auto tangent = [](double x) { return std::atan(x); };
  for (const auto& arguments : {spread(samples, -1, 1), of_all_exponents(samples, 1)}) {
    check(Primitive::asin, arguments, sine);
    check(Primitive::acos, arguments, cosine);
  }
  check(Primitive::atan, spread(samples, -10, 10), tangent);
  check(Primitive::atan, of_all_exponents(samples, std::numeric_limits<float>::max()), tangent);
}

TEST_CASE("sinh and cosh are within 2 ULP, up to where the result overflows") {
  auto sine = [](double x) { return std::sinh(x); };
  auto cosine = [](double x) { return std::cosh(x); };
  for (const auto& arguments : {spread(samples, -90, 90), spread(samples, -2, 2),
                                of_all_exponents(samples, std::numeric_limits<float>::max())}) {
    check(Primitive::sinh, arguments, sine);
    check(Primitive::cosh, arguments, cosine);
  }
}

TEST_CASE("atan2 is within 2 ULP in all quadrants") {
  Noise noise(17);
  std::vector<float> y = of_all_exponents(samples, std::numeric_limits<float>::max());
  std::vector<float> x;
  for (std::size_t i = 0; i < samples; ++i) {
    // Half of the points lie near the origin's circle, the others anywhere.
    if (i % 2 == 0) y[i] = noise.number();
    x.push_back(i % 2 == 0 ? noise.number() : y[(i * 7919) % samples]);
  }
  auto values = values_of<float>(run(Primitive::atan2, {vector_of(y), vector_of(x)}));
  double worst = 0;
  for (std::size_t i = 0; i < samples; ++i)
    worst = std::max(
        worst, ulp_distance(values[i], std::atan2(static_cast<double>(y[i]), static_cast<double>(x[i]))));
  CHECK(worst <= row(Primitive::atan2).error.ulp_f32);
}

TEST_CASE("rem of floats is C's fmod to the bit, mod is Python's") {
  std::vector<float> a = of_all_exponents(samples, std::numeric_limits<float>::infinity());
  std::vector<float> b;
  Noise noise(19);
  for (std::size_t i = 0; i < samples; ++i)
    b.push_back(i % 2 == 0 ? a[(i * 7919) % samples] : 10 * noise.number());
  auto rests = values_of<float>(run(Primitive::rem, {vector_of(a), vector_of(b)}));
  auto floored = values_of<float>(run(Primitive::mod, {vector_of(a), vector_of(b)}));
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < samples; ++i) {
    float rest = std::fmod(a[i], b[i]);
    float mod = rest != 0 && std::signbit(rest) != std::signbit(b[i]) ? rest + b[i] : rest;
    if (mod == 0) mod = std::copysign(0.0f, b[i]);
    const auto same = [](float got, float wanted) {
      return std::isnan(wanted) ? std::isnan(got)
                                : std::bit_cast<std::uint32_t>(got) == std::bit_cast<std::uint32_t>(wanted);
    };
    wrong += !same(rests[i], rest) || !same(floored[i], mod);
  }
  CHECK(wrong == 0);
}

TEST_CASE("sigmoid is within 2.5 ULP, far below zero too") {
  auto exact = [](double x) { return 1 / (1 + std::exp(-x)); };
  check(Primitive::sigmoid, spread(samples, -103, 20), exact);
  check(Primitive::sigmoid, spread(samples, -1, 1), exact);
}

TEST_CASE("pow is within 2 ULP") {
  auto check_pow = [](const std::vector<float>& x, const std::vector<float>& y) {
    auto values = values_of<float>(run(Primitive::pow, {vector_of(x), vector_of(y)}));
    double worst = 0;
    std::size_t where = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      double distance =
          ulp_distance(values[i], std::pow(static_cast<double>(x[i]), static_cast<double>(y[i])));
      if (!(distance <= worst)) {
        worst = distance;
        where = i;
      }
    }
    INFO(worst << " ULP at pow(" << x[where] << ", " << y[where] << ") = " << values[where]);
    CHECK(worst <= row(Primitive::pow).error.ulp_f32);
  };
  Noise noise(3);
  std::vector<float> bases;
  std::vector<float> exponents;
  for (std::size_t i = 0; i < samples; ++i) {
    bases.push_back(std::exp2(20 * noise.number()));
    exponents.push_back(8 * noise.number());
  }
  check_pow(bases, exponents);
  for (std::size_t i = 0; i < samples; ++i) {
    bases[i] = 1 + 0.01f * noise.number();
    exponents[i] = 8000 * noise.number();
  }
  check_pow(bases, exponents);
  check_pow(of_all_exponents(samples, std::numeric_limits<float>::max()), std::vector<float>(samples, 2));
  check_pow(of_all_exponents(samples, std::numeric_limits<float>::max()), std::vector<float>(samples, 0.5));
}

TEST_CASE("functions give their limits at infinities, zeros and NaN") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  HostTensor x = vector_of<float>({infinity, -infinity, 0.0f, -0.0f});
  CHECK(values_of<float>(run(Primitive::exp, {x})) == std::vector<float>{infinity, 0, 1, 1});
  CHECK(values_of<float>(run(Primitive::tanh, {x})) == std::vector<float>{1, -1, 0, 0});
  CHECK(values_of<float>(run(Primitive::erf, {x})) == std::vector<float>{1, -1, 0, 0});
  CHECK(values_of<float>(run(Primitive::sigmoid, {x})) == std::vector<float>{1, 0, 0.5f, 0.5f});
  auto logs = values_of<float>(run(Primitive::log, {x}));
  CHECK(logs[0] == infinity);
  CHECK(std::isnan(logs[1]));
  CHECK(logs[2] == -infinity);
  CHECK(logs[3] == -infinity);
  for (Primitive odd : {Primitive::tanh, Primitive::erf, Primitive::sin, Primitive::tan, Primitive::asin,
                        Primitive::atan, Primitive::sinh, Primitive::expm1, Primitive::log1p})
    CHECK(std::signbit(values_of<float>(run(odd, {x}))[3]));
  CHECK(values_of<float>(run(Primitive::exp2, {x})) == std::vector<float>{infinity, 0, 1, 1});
  CHECK(values_of<float>(run(Primitive::expm1, {x})) == std::vector<float>{infinity, -1, 0, 0});
  CHECK(values_of<float>(run(Primitive::sinh, {x})) == std::vector<float>{infinity, -infinity, 0, 0});
  CHECK(values_of<float>(run(Primitive::cosh, {x})) == std::vector<float>{infinity, infinity, 1, 1});
  CHECK(values_of<float>(run(Primitive::atan, {x})) ==
        std::vector<float>{0x1.921fb6p0f, -0x1.921fb6p0f, 0, 0});
  CHECK(values_of<float>(run(Primitive::acos, {x}))[2] == 0x1.921fb6p0f);
  HostTensor ends = vector_of<float>({-1.0f, -2.0f, infinity});
  auto of_one_plus = values_of<float>(run(Primitive::log1p, {ends}));
  CHECK(of_one_plus[0] == -infinity);
  CHECK(std::isnan(of_one_plus[1]));
  CHECK(of_one_plus[2] == infinity);
  HostTensor nan = vector_of<float>({std::numeric_limits<float>::quiet_NaN()});
  for (Primitive primitive :
       {Primitive::exp, Primitive::log, Primitive::tanh, Primitive::erf, Primitive::sin, Primitive::cos,
        Primitive::sigmoid, Primitive::sqrt, Primitive::rsqrt, Primitive::exp2, Primitive::expm1,
        Primitive::log2, Primitive::log1p, Primitive::tan, Primitive::asin, Primitive::acos, Primitive::atan,
        Primitive::sinh, Primitive::cosh})
    CHECK(std::isnan(values_of<float>(run(primitive, {nan}))[0]));
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
