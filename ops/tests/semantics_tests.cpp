#include <cmath>
#include <limits>
#include "test_tensors.h"

/// The semantics that are fixed because vendors differ, each a fact.
namespace halyard::ops::testing {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr std::int32_t int_min = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t int_max = std::numeric_limits<std::int32_t>::max();

Attributes over(std::vector<std::int64_t> axes) {
  Attributes attributes;
  attributes.axes = std::move(axes);
  return attributes;
}

Attributes to(ElementType element) {
  Attributes attributes;
  attributes.element = element;
  return attributes;
}

bool all_nan(const HostTensor& tensor) {
  for (double value : doubles_of(tensor))
    if (!std::isnan(value)) return false;
  return true;
}

}  // namespace

TEST_CASE("NaN propagates through min and max from either side") {
  HostTensor left = vector_of<float>({nan, 1, nan});
  HostTensor right = vector_of<float>({1, nan, nan});
  CHECK(all_nan(run(Primitive::max, {left, right})));
  CHECK(all_nan(run(Primitive::min, {left, right})));
}

TEST_CASE("max of zeros of both signs is +0, min is -0, in either order") {
  HostTensor left = vector_of<float>({-0.0f, 0.0f});
  HostTensor right = vector_of<float>({0.0f, -0.0f});
  for (float value : values_of<float>(run(Primitive::max, {left, right}))) CHECK_FALSE(std::signbit(value));
  for (float value : values_of<float>(run(Primitive::min, {left, right}))) CHECK(std::signbit(value));
}

TEST_CASE("max and min order infinities and negative numbers") {
  HostTensor left = vector_of<float>({-infinity, -2, infinity, -3});
  HostTensor right = vector_of<float>({-1, -1, 1, -4});
  CHECK(values_of<float>(run(Primitive::max, {left, right})) == std::vector<float>{-1, -1, infinity, -3});
  CHECK(values_of<float>(run(Primitive::min, {left, right})) == std::vector<float>{-infinity, -2, 1, -4});
}

TEST_CASE("atan2 has IEEE 754's values at zeros and infinities, and NaN propagates") {
  constexpr float pi = 0x1.921fb6p+1f;
  HostTensor y =
      vector_of<float>({0, -0.0f, 0, -0.0f, 1, -1, infinity, infinity, -infinity, 1, -1, infinity, nan, 1});
  HostTensor x = vector_of<float>(
      {0, 0, -0.0f, -1, 0, -0.0f, infinity, -infinity, -infinity, infinity, -infinity, 1, 1, nan});
  std::vector<float> wanted{0, -0.0f, pi,    -pi, pi / 2, -pi / 2, pi / 4, 3 * (pi / 4), -3 * (pi / 4),
                            0, -pi,   pi / 2};
  auto angles = values_of<float>(run(Primitive::atan2, {y, x}));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    INFO("case " << i);
    CHECK(angles[i] == wanted[i]);
    CHECK(std::signbit(angles[i]) == std::signbit(wanted[i]));
  }
  CHECK(std::isnan(angles[12]));
  CHECK(std::isnan(angles[13]));
}

TEST_CASE(
    "floor_div rounds toward -inf and mod has the divisor's sign; by zero they give -1 and the dividend") {
  HostTensor a = vector_of<std::int32_t>({7, -7, 7, -7, 6, 5, int_min, -6});
  HostTensor b = vector_of<std::int32_t>({2, 2, -2, -2, -3, 0, -1, 3});
  CHECK(values_of<std::int32_t>(run(Primitive::floor_div, {a, b})) ==
        std::vector<std::int32_t>{3, -4, -4, 3, -2, -1, int_min, -2});
  CHECK(values_of<std::int32_t>(run(Primitive::mod, {a, b})) ==
        std::vector<std::int32_t>{1, 1, -1, -1, 0, 5, 0, 0});
  HostTensor u = vector_of<std::uint8_t>({7, 9});
  HostTensor v = vector_of<std::uint8_t>({2, 0});
  CHECK(values_of<std::uint8_t>(run(Primitive::floor_div, {u, v})) == std::vector<std::uint8_t>{3, 255});
  CHECK(values_of<std::uint8_t>(run(Primitive::mod, {u, v})) == std::vector<std::uint8_t>{1, 9});
  CHECK(values_of<float>(run(Primitive::floor_div, {vector_of<float>({7, -7}), vector_of<float>({2, 2})})) ==
        std::vector<float>{3, -4});
  CHECK(values_of<float>(run(Primitive::floor_div, {vector_of<float>({-1, 1, -1e-30f, 0}),
                                                    vector_of<float>({infinity, infinity, 1e30f, -2})})) ==
        std::vector<float>{-1, 0, -1, 0});
}

TEST_CASE("rem of floats by zero or of infinity is NaN, by infinity the dividend") {
  HostTensor a = vector_of<float>({1, infinity, 5.5f, -5.5f, -0.0f});
  HostTensor b = vector_of<float>({0, 2, infinity, 2, 2});
  auto rests = values_of<float>(run(Primitive::rem, {a, b}));
  CHECK(std::isnan(rests[0]));
  CHECK(std::isnan(rests[1]));
  CHECK(rests[2] == 5.5f);
  CHECK(rests[3] == -1.5f);
  CHECK(std::signbit(rests[4]));
}

TEST_CASE("is_inf and is_finite tell infinities, NaN and numbers apart") {
  HostTensor x = vector_of<float>({1, infinity, -infinity, nan});
  CHECK(doubles_of(run(Primitive::is_inf, {x})) == std::vector<double>{0, 1, 1, 0});
  CHECK(doubles_of(run(Primitive::is_finite, {x})) == std::vector<double>{1, 0, 0, 0});
}

TEST_CASE("relu keeps NaN and turns -0 into +0") {
  auto values = values_of<float>(run(Primitive::relu, {vector_of<float>({nan, -0.0f, -1, 2, infinity})}));
  CHECK(std::isnan(values[0]));
  CHECK_FALSE(std::signbit(values[1]));
  CHECK(values[2] == 0);
  CHECK(values[3] == 2);
  CHECK(values[4] == infinity);
}

TEST_CASE("clamp propagates NaN of the value and of the bounds") {
  HostTensor x = vector_of<float>({nan, 1, 1});
  HostTensor low = vector_of<float>({0, nan, 0});
  HostTensor high = vector_of<float>({2, 2, nan});
  CHECK(all_nan(run(Primitive::clamp, {x, low, high})));
}

TEST_CASE("clamp with low above high gives high") {
  auto result = run(Primitive::clamp, {vector_of<float>({0}), vector_of<float>({3}), vector_of<float>({1})});
  CHECK(values_of<float>(result) == std::vector<float>{1});
}

TEST_CASE("a maximum over elements with a NaN is NaN wherever it stands") {
  for (int position = 0; position < 3; ++position) {
    std::vector<float> values{1, 2, 3};
    values[static_cast<std::size_t>(position)] = nan;
    CHECK(all_nan(run(Primitive::reduce_max, {vector_of(values)}, over({0}))));
    CHECK(all_nan(run(Primitive::reduce_min, {vector_of(values)}, over({0}))));
  }
}

TEST_CASE("argmax takes the lowest index among equals, and zeros of both signs are equal") {
  CHECK(run(Primitive::argmax, {vector_of<float>({1, 3, 3, 2})}, over({0})).at(0) == 1);
  CHECK(run(Primitive::argmin, {vector_of<float>({1, 0, 0, 2})}, over({0})).at(0) == 1);
  CHECK(run(Primitive::argmax, {vector_of<float>({-0.0f, 0.0f})}, over({0})).at(0) == 0);
}

TEST_CASE("the first NaN wins argmax and argmin") {
  HostTensor x = vector_of<float>({1, nan, infinity, nan});
  CHECK(run(Primitive::argmax, {x}, over({0})).at(0) == 1);
  CHECK(run(Primitive::argmin, {x}, over({0})).at(0) == 1);
}

TEST_CASE("float to integer truncates toward zero") {
  auto result = run(Primitive::cast, {vector_of<float>({1.9f, -1.9f, 0.5f, -0.5f})}, to(ElementType::i32));
  CHECK(values_of<std::int32_t>(result) == std::vector<std::int32_t>{1, -1, 0, 0});
}

TEST_CASE("float to integer saturates, and NaN becomes 0") {
  HostTensor x = vector_of<float>({nan, infinity, -infinity, 3e9f, -3e9f, 2147483648.0f, -2147483648.0f});
  CHECK(values_of<std::int32_t>(run(Primitive::cast, {x}, to(ElementType::i32))) ==
        std::vector<std::int32_t>{0, int_max, int_min, int_max, int_min, int_max, int_min});
  CHECK(values_of<std::uint8_t>(run(Primitive::cast, {x}, to(ElementType::u8))) ==
        std::vector<std::uint8_t>{0, 255, 0, 255, 0, 255, 0});
  CHECK(values_of<std::int8_t>(run(Primitive::cast, {x}, to(ElementType::i8))) ==
        std::vector<std::int8_t>{0, 127, -128, 127, -128, 127, -128});
  CHECK(values_of<std::uint32_t>(run(Primitive::cast, {x}, to(ElementType::u32)))[5] == 2147483648u);
  CHECK(values_of<std::int64_t>(run(Primitive::cast, {x}, to(ElementType::i64)))[3] == 3000000000ll);
  CHECK(values_of<std::int64_t>(run(Primitive::cast, {x}, to(ElementType::i64)))[1] ==
        std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("saturation holds from f64 and from f16 too") {
  HostTensor wide = vector_of<double>({1e300, -1e300, std::nan(""), 1.5});
  CHECK(values_of<std::int64_t>(run(Primitive::cast, {wide}, to(ElementType::i64))) ==
        std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::max(),
                                  std::numeric_limits<std::int64_t>::min(), 0, 1});
  HostTensor half = numbers_of(ElementType::f16, Shape{3}, {infinity, nan, -300});
  CHECK(values_of<std::int8_t>(run(Primitive::cast, {half}, to(ElementType::i8))) ==
        std::vector<std::int8_t>{127, 0, -128});
}

TEST_CASE("a cast to bool is whether the value is not zero; NaN is true") {
  auto result = run(Primitive::cast, {vector_of<float>({0, -0.0f, 0.5f, nan})}, to(ElementType::boolean));
  CHECK(doubles_of(result) == std::vector<double>{0, 0, 1, 1});
  CHECK(doubles_of(run(Primitive::cast, {flags_of({true, false})}, to(ElementType::f16))) ==
        std::vector<double>{1, 0});
}

TEST_CASE("a cast always rounds to nearest even") {
  // 1 + 2^-11 is halfway between two f16; 1 + 3·2^-11 too.
  HostTensor x = vector_of<float>({1 + 0x1p-11f, 1 + 0x3p-11f, 65520.0f, 65519.0f});
  CHECK(doubles_of(run(Primitive::cast, {x}, to(ElementType::f16))) ==
        std::vector<double>{1, 1 + 0x1p-9, infinity, 65504});
  HostTensor y = vector_of<float>({1 + 0x1p-8f, 1 + 0x3p-8f});
  CHECK(doubles_of(run(Primitive::cast, {y}, to(ElementType::bf16))) == std::vector<double>{1, 1 + 0x1p-6});
}

TEST_CASE("f64 to f16 rounds once, not by way of f32") {
  // Just above halfway between 1 and 1 + 2^-10: rounding to f32 first would land on the tie and then on 1.
  HostTensor x = vector_of<double>({1 + 0x1p-11 + 0x1p-40, -(1 + 0x1p-11 + 0x1p-40), 1e300, 0x1p-25});
  CHECK(doubles_of(run(Primitive::cast, {x}, to(ElementType::f16))) ==
        std::vector<double>{1 + 0x1p-10, -(1 + 0x1p-10), infinity, 0});
  HostTensor y = vector_of<double>({1 + 0x1p-8 + 0x1p-40});
  CHECK(doubles_of(run(Primitive::cast, {y}, to(ElementType::bf16))) == std::vector<double>{1 + 0x1p-7});
}

TEST_CASE("integer x / 0 is -1 with remainder x") {
  HostTensor x = vector_of<std::int32_t>({7, -7, 0, int_min});
  HostTensor zero = vector_of<std::int32_t>({0, 0, 0, 0});
  CHECK(values_of<std::int32_t>(run(Primitive::div, {x, zero})) == std::vector<std::int32_t>{-1, -1, -1, -1});
  CHECK(values_of<std::int32_t>(run(Primitive::rem, {x, zero})) == values_of<std::int32_t>(x));
  HostTensor u = vector_of<std::uint32_t>({7});
  CHECK(values_of<std::uint32_t>(run(Primitive::div, {u, vector_of<std::uint32_t>({0})}))[0] == 0xffffffffu);
}

TEST_CASE("integer MIN / -1 is MIN with remainder 0") {
  HostTensor x = vector_of<std::int32_t>({int_min, 5});
  HostTensor minus_one = vector_of<std::int32_t>({-1, -1});
  CHECK(values_of<std::int32_t>(run(Primitive::div, {x, minus_one})) ==
        std::vector<std::int32_t>{int_min, -5});
  CHECK(values_of<std::int32_t>(run(Primitive::rem, {x, minus_one})) == std::vector<std::int32_t>{0, 0});
  HostTensor wide = vector_of<std::int64_t>({std::numeric_limits<std::int64_t>::min()});
  CHECK(values_of<std::int64_t>(run(Primitive::div, {wide, vector_of<std::int64_t>({-1})})) ==
        values_of<std::int64_t>(wide));
}

TEST_CASE("integer division truncates and the remainder has the dividend's sign") {
  HostTensor a = vector_of<std::int32_t>({7, -7, 7, -7});
  HostTensor b = vector_of<std::int32_t>({2, 2, -2, -2});
  CHECK(values_of<std::int32_t>(run(Primitive::div, {a, b})) == std::vector<std::int32_t>{3, -3, -3, 3});
  CHECK(values_of<std::int32_t>(run(Primitive::rem, {a, b})) == std::vector<std::int32_t>{1, -1, 1, -1});
}

TEST_CASE("a shift by the width or more gives 0, an arithmetic right shift the sign") {
  HostTensor a = vector_of<std::int32_t>({-5, 5, -5, 1, 1});
  HostTensor amount = vector_of<std::int32_t>({32, 40, -1, 31, 32});
  CHECK(values_of<std::int32_t>(run(Primitive::shl, {a, amount})) ==
        std::vector<std::int32_t>{0, 0, 0, int_min, 0});
  CHECK(values_of<std::int32_t>(run(Primitive::shr, {a, amount})) ==
        std::vector<std::int32_t>{-1, 0, -1, 0, 0});
  HostTensor u = vector_of<std::uint32_t>({0x80000000u, 0x80000000u});
  CHECK(values_of<std::uint32_t>(run(Primitive::shr, {u, vector_of<std::uint32_t>({31, 32})})) ==
        std::vector<std::uint32_t>{1, 0});
  HostTensor narrow = vector_of<std::uint8_t>({1, 1});
  CHECK(values_of<std::uint8_t>(run(Primitive::shl, {narrow, vector_of<std::uint8_t>({7, 8})})) ==
        std::vector<std::uint8_t>{128, 0});
}

TEST_CASE("comparisons with NaN are false, but inequality is true") {
  HostTensor a = vector_of<float>({nan, 1});
  HostTensor b = vector_of<float>({nan, nan});
  for (Primitive primitive : {Primitive::eq, Primitive::lt, Primitive::le, Primitive::gt, Primitive::ge})
    CHECK(doubles_of(run(primitive, {a, b})) == std::vector<double>{0, 0});
  CHECK(doubles_of(run(Primitive::ne, {a, b})) == std::vector<double>{1, 1});
}

TEST_CASE("booleans compare with false below true") {
  HostTensor a = flags_of({false, false, true, true});
  HostTensor b = flags_of({false, true, false, true});
  CHECK(doubles_of(run(Primitive::eq, {a, b})) == std::vector<double>{1, 0, 0, 1});
  CHECK(doubles_of(run(Primitive::ne, {a, b})) == std::vector<double>{0, 1, 1, 0});
  CHECK(doubles_of(run(Primitive::lt, {a, b})) == std::vector<double>{0, 1, 0, 0});
  CHECK(doubles_of(run(Primitive::le, {a, b})) == std::vector<double>{1, 1, 0, 1});
  CHECK(doubles_of(run(Primitive::gt, {a, b})) == std::vector<double>{0, 0, 1, 0});
  CHECK(doubles_of(run(Primitive::ge, {a, b})) == std::vector<double>{1, 0, 1, 1});
}

TEST_CASE("the sign of a zero is that zero and the sign of NaN is NaN") {
  auto values = values_of<float>(run(Primitive::sign, {vector_of<float>({-3, -0.0f, 0.0f, 2, nan})}));
  CHECK(values[0] == -1);
  CHECK(std::signbit(values[1]));
  CHECK(values[1] == 0);
  CHECK_FALSE(std::signbit(values[2]));
  CHECK(values[3] == 1);
  CHECK(std::isnan(values[4]));
}

TEST_CASE("round goes to the nearest integer, ties to even") {
  auto result = run(Primitive::round, {vector_of<float>({0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 2.4f})});
  CHECK(values_of<float>(result) == std::vector<float>{0, 2, 2, -0.0f, -2, 2});
}

TEST_CASE("an f16 operation is computed in f32 and rounded") {
  HostTensor a = numbers_of(ElementType::f16, Shape{2}, {2048, 60000});
  HostTensor b = numbers_of(ElementType::f16, Shape{2}, {1, 60000});
  // 2049 is halfway between 2048 and 2050; 120000 overflows f16.
  CHECK(doubles_of(run(Primitive::add, {a, b})) == std::vector<double>{2048, infinity});
}

TEST_CASE("a sum of f16 accumulates in f32 and rounds once") {
  HostTensor x = numbers_of(ElementType::f16, Shape{4096}, std::vector<double>(4096, 1.0));
  CHECK(run(Primitive::reduce_sum, {x}, over({0})).at(0) == 4096);  // f16 alone would stop at 2048
}

TEST_CASE("a product of f16 matrices accumulates in f32, rounds once, or not at all if f32 is asked") {
  HostTensor a = numbers_of(ElementType::f16, Shape{1, 3}, {2048, 1, 0.5});
  HostTensor b = numbers_of(ElementType::f16, Shape{3, 1}, {1, 1, 1});
  Attributes attributes;
  attributes.dot = {{1}, {0}, {}, {}};
  CHECK(run(Primitive::dot_general, {a, b}, attributes).at(0) == 2050);
  attributes.element = ElementType::f32;
  HostTensor wide = run(Primitive::dot_general, {a, b}, attributes);
  CHECK(wide.element() == ElementType::f32);
  CHECK(wide.at(0) == 2049.5);
}

TEST_CASE("fma rounds once in the fused class and twice in the unfused") {
  float x = 1 + 0x1p-23f;
  HostTensor a = vector_of<float>({x});
  HostTensor minus = vector_of<float>({-(x * x)});
  CHECK(values_of<float>(run(Primitive::fma, {a, a, minus}))[0] == 0x1p-46f);
  CHECK(values_of<float>(run(Primitive::fma, {a, a, minus}, {}, {.fused_fma = false}))[0] == 0);
}

TEST_CASE("empty tensors are legal everywhere") {
  HostTensor empty = HostTensor::allocate(ElementType::f32, Shape{0, 3}).value();
  CHECK(run(Primitive::exp, {empty}).count() == 0);
  CHECK(values_of<float>(run(Primitive::reduce_sum, {empty}, over({0}))) == std::vector<float>{0, 0, 0});
  CHECK(values_of<float>(run(Primitive::reduce_prod, {empty}, over({0}))) == std::vector<float>{1, 1, 1});
  CHECK(values_of<float>(run(Primitive::reduce_max, {empty}, over({0}))) == std::vector<float>(3, -infinity));
  CHECK(values_of<float>(run(Primitive::reduce_min, {empty}, over({0}))) == std::vector<float>(3, infinity));
  CHECK(run(Primitive::reduce_sum, {empty}, over({1})).count() == 0);
  CHECK(run(Primitive::cumulative_sum, {empty}, over({0})).count() == 0);
  Attributes product;
  product.dot = {{0}, {0}, {}, {}};
  HostTensor result = run(Primitive::dot_general, {empty, empty}, product);
  CHECK(result.shape() == Shape{3, 3});
  for (float value : values_of<float>(result)) CHECK(value == 0);
}

TEST_CASE("a negative index counts from the end, and indices are clamped into range") {
  HostTensor data = vector_of<float>({10, 20, 30});
  HostTensor indices = vector_of<std::int64_t>({0, -1, 2, 5, -9});
  CHECK(values_of<float>(run(Primitive::take, {data, indices}, over({0}))) ==
        std::vector<float>{10, 30, 30, 30, 10});
}

TEST_CASE("pow follows IEEE 754 at its special values") {
  HostTensor x =
      vector_of<float>({nan, 1, 0, -0.0f, -0.0f, -2, -2, -8, 0.5f, 2, -1, -infinity, -infinity, 0, 1.5f});
  HostTensor y =
      vector_of<float>({0, nan, -1, -1, 3, 3, 2, 1.0f / 3, infinity, -infinity, infinity, 3, -3, 0, 1e30f});
  auto values = values_of<float>(run(Primitive::pow, {x, y}));
  CHECK(values[0] == 1);
  CHECK(values[1] == 1);
  CHECK(values[2] == infinity);
  CHECK(values[3] == -infinity);
  CHECK(values[4] == 0);
  CHECK(std::signbit(values[4]));
  CHECK(values[5] == -8);
  CHECK(values[6] == 4);
  CHECK(std::isnan(values[7]));
  CHECK(values[8] == 0);
  CHECK(values[9] == 0);
  CHECK(values[10] == 1);
  CHECK(values[11] == -infinity);
  CHECK(values[12] == 0);
  CHECK(std::signbit(values[12]));
  CHECK(values[13] == 1);
  CHECK(values[14] == infinity);
}

}  // namespace halyard::ops::testing
