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
  for (Primitive odd : {Primitive::tanh, Primitive::erf, Primitive::sin})
    CHECK(std::signbit(values_of<float>(run(odd, {x}))[3]));
  HostTensor nan = vector_of<float>({std::numeric_limits<float>::quiet_NaN()});
  for (Primitive primitive : {Primitive::exp, Primitive::log, Primitive::tanh, Primitive::erf, Primitive::sin,
                              Primitive::cos, Primitive::sigmoid, Primitive::sqrt, Primitive::rsqrt})
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
