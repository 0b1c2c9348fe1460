#include <doctest/doctest.h>
#include <halyard/ops/graph_builder.h>
#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "judge.h"
#include "real.h"
#include "values.h"

/// The oracle must be right and strict: what it lets through decides what a device may do.
namespace halyard::conformance {
namespace {

using ops::Primitive;
constexpr float infinity = std::numeric_limits<float>::infinity();

Scalar f32(float value) {
  return {ElementType::f32, std::bit_cast<std::uint32_t>(value)};
}
Scalar i32(std::int32_t value) {
  return {ElementType::i32, static_cast<std::uint32_t>(value)};
}

double error(Primitive primitive, std::vector<Scalar> operands, const Scalar& result,
             Allowance allowance = {}) {
  return elementwise_error(primitive, operands, result, allowance);
}

/// A graph of one primitive; the judgement of a result.
Judgement judged(Primitive primitive, const ops::Attributes& attributes,
                 const std::vector<ops::HostTensor>& operands, const ops::HostTensor& result) {
  ops::Graph graph;
  std::vector<ops::NodeId> inputs;
  for (const ops::HostTensor& operand : operands)
    inputs.push_back(
        graph.input("x" + std::to_string(inputs.size()), operand.element(), operand.shape()).value());
  const ops::NodeId node = graph.append(primitive, inputs, attributes).value();
  return judge(graph.node(node), operands, result, {});
}

ops::HostTensor floats(ops::Shape shape, std::vector<float> values) {
  return ops::HostTensor::from_values<float>(std::move(shape), values).value();
}

}  // namespace

TEST_CASE("a correctly rounded result is within half a unit, its neighbour is not") {
  const float quotient = 1.0f / 3.0f;
  CHECK(error(Primitive::div, {f32(1), f32(3)}, f32(quotient)) <= 1);
  CHECK(error(Primitive::div, {f32(1), f32(3)}, f32(std::nextafter(quotient, 1.0f))) > 1);
  CHECK(error(Primitive::sqrt, {f32(2)}, f32(std::sqrt(2.0f))) <= 1);
  CHECK(error(Primitive::sqrt, {f32(2)}, f32(std::nextafter(std::sqrt(2.0f), 0.0f))) > 1);
}

TEST_CASE("a function may be off by what the table says, and by no more") {
  const auto value = static_cast<float>(std::exp(1.5));
  CHECK(error(Primitive::exp, {f32(1.5f)}, f32(value)) <= 1);
  float far = value;
  for (int i = 0; i < 3; ++i) far = std::nextafter(far, infinity);
  CHECK(error(Primitive::exp, {f32(1.5f)}, f32(far)) > 1);
}

TEST_CASE("NaN and infinities must match in kind, zeros in sign") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(error(Primitive::max, {f32(nan), f32(1)}, f32(nan)) == 0);
  CHECK(error(Primitive::max, {f32(nan), f32(1)}, f32(1)) > 1);
  CHECK(error(Primitive::max, {f32(-0.0f), f32(0.0f)}, f32(-0.0f)) > 1);
  CHECK(error(Primitive::relu, {f32(-0.0f)}, f32(-0.0f)) > 1);
  CHECK(error(Primitive::exp, {f32(100)}, f32(infinity)) == 0);
  CHECK(error(Primitive::exp, {f32(100)}, f32(std::numeric_limits<float>::max())) > 1);
  CHECK(error(Primitive::log, {f32(0)}, f32(-infinity)) == 0);
  CHECK(error(Primitive::log, {f32(-1)}, f32(-infinity)) > 1);
}

TEST_CASE("a flushed subnormal is excused only where the device says that it flushes") {
  const float least = std::numeric_limits<float>::min();
  CHECK(error(Primitive::mul, {f32(least), f32(0.5f)}, f32(0)) > 1);
  CHECK(error(Primitive::mul, {f32(least), f32(0.5f)}, f32(0), {.flushes_subnormals = true}) == 0);
  CHECK(error(Primitive::mul, {f32(least), f32(3)}, f32(0), {.flushes_subnormals = true}) > 1);
}

TEST_CASE("integers follow the fixed semantics to the bit") {
  const std::int32_t least = std::numeric_limits<std::int32_t>::min();
  CHECK(error(Primitive::div, {i32(7), i32(0)}, i32(-1)) == 0);
  CHECK(error(Primitive::div, {i32(least), i32(-1)}, i32(least)) == 0);
  CHECK(error(Primitive::rem, {i32(7), i32(0)}, i32(7)) == 0);
  CHECK(error(Primitive::mod, {i32(-7), i32(3)}, i32(2)) == 0);
  CHECK(error(Primitive::mod, {i32(-7), i32(3)}, i32(-1)) > 1);
  CHECK(error(Primitive::shl, {i32(1), i32(32)}, i32(0)) == 0);
  CHECK(error(Primitive::shr, {i32(-8), i32(40)}, i32(-1)) == 0);
  CHECK(error(Primitive::mul, {i32(65536), i32(65536)}, i32(0)) == 0);
}

TEST_CASE("a cast truncates and saturates, rounds to even, and NaN becomes 0") {
  const auto to_i8 = [](std::int8_t value) {
    return Scalar{ElementType::i8, static_cast<std::uint8_t>(value)};
  };
  CHECK(error(Primitive::cast, {f32(300)}, to_i8(127)) == 0);
  CHECK(error(Primitive::cast, {f32(-1.9f)}, to_i8(-1)) == 0);
  CHECK(error(Primitive::cast, {f32(std::numeric_limits<float>::quiet_NaN())}, to_i8(0)) == 0);
  CHECK(error(Primitive::cast, {i32(300)}, to_i8(44)) == 0);
  CHECK(error(Primitive::cast, {f32(2049)}, {ElementType::f16, 0x6800}) <= 1);  // 2048, a tie to even
  CHECK(error(Primitive::cast, {f32(2049)}, {ElementType::f16, 0x6801}) <=
        1);  // 2050: as near, judged by the bits
  CHECK(error(Primitive::cast, {f32(2049.5f)}, {ElementType::f16, 0x6800}) > 1);
}

TEST_CASE("the rounded exact sum is within its bound, a dropped term is not") {
  std::vector<float> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1.0f / static_cast<float>(i + 1);
  double exact = 0;
  for (float value : values) exact += value;
  const auto sum = static_cast<float>(exact);
  ops::Attributes over;
  over.axes = {0};
  CHECK(judged(Primitive::reduce_sum, over, {floats({1000}, values)}, floats({}, {sum})).within_bound());
  CHECK_FALSE(judged(Primitive::reduce_sum, over, {floats({1000}, values)}, floats({}, {sum - values.back()}))
                  .within_bound());
}

TEST_CASE("argmax takes the first of equals, and the first NaN") {
  ops::Attributes along;
  along.axes = {0};
  along.element = ElementType::i32;
  const auto at = [&](std::vector<float> values, std::int32_t index) {
    return judged(Primitive::argmax, along, {floats({4}, std::move(values))},
                  ops::HostTensor::from_values<std::int32_t>({}, std::vector{index}).value())
        .within_bound();
  };
  CHECK(at({1, 3, 3, 2}, 1));
  CHECK_FALSE(at({1, 3, 3, 2}, 2));
  CHECK(at({1, std::nanf(""), infinity, std::nanf("")}, 1));
}

TEST_CASE("a product with swapped operands or a wrong axis is found") {
  ops::Attributes dot;
  dot.dot.lhs_contracting = {1};
  dot.dot.rhs_contracting = {0};
  const auto a = floats({2, 2}, {1, 2, 3, 4}), b = floats({2, 2}, {5, 6, 7, 8});
  CHECK(judged(Primitive::dot_general, dot, {a, b}, floats({2, 2}, {19, 22, 43, 50})).within_bound());
  CHECK_FALSE(judged(Primitive::dot_general, dot, {a, b}, floats({2, 2}, {23, 34, 31, 46})).within_bound());
}

TEST_CASE("rounding to a format knows subnormals, overflow and ties") {
  CHECK(round_to(Real(65519), ElementType::f16).to_double() == 65504);
  CHECK(round_to(Real(65520), ElementType::f16).is_infinite());
  CHECK(round_to(Real(0x1p-25), ElementType::f16).to_double() == 0);
  CHECK(round_to(Real(0x1.8p-25), ElementType::f16).to_double() == 0x1p-24);
  CHECK(round_to(Real(257), ElementType::bf16).to_double() == 256);
  CHECK(round_to(Real::of_integer((static_cast<__int128>(1) << 100) + 1), ElementType::f64).to_double() ==
        0x1p100);
}

TEST_CASE("special values meet in every pair") {
  const std::int64_t count = special_count(ElementType::f32);
  Random random(1);
  const ops::Shape shape{count * count};
  const auto left = make_values(ElementType::f32, shape, Values::special, 0, random, false).value();
  const auto right = make_values(ElementType::f32, shape, Values::special, 1, random, false).value();
  std::set<std::pair<std::uint64_t, std::uint64_t>> pairs;
  for (std::int64_t i = 0; i < left.count(); ++i) pairs.emplace(left.bits_at(i), right.bits_at(i));
  CHECK(pairs.size() == static_cast<std::size_t>(count * count));
}

}  // namespace halyard::conformance
