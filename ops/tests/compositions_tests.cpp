#include <halyard/ops/tensor.h>
#include <cmath>
#include <limits>
#include "test_tensors.h"

namespace halyard::ops::testing {
namespace {

Tensor noise(Shape shape, std::uint64_t seed = 1) {
  return Tensor(Noise(seed).tensor(std::move(shape)));
}

void check_close(const Tensor& tensor, const std::vector<double>& expected, double tolerance = 1e-6) {
  auto values = doubles_of(tensor.host());
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    INFO("element " << i);
    CHECK(std::fabs(values[i] - expected[i]) <= tolerance);
  }
}

constexpr float infinity = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("softmax of a row sums to one and matches its definition") {
  Tensor x = noise({3, 17});
  auto values = doubles_of(x.host());
  std::vector<double> expected;
  for (std::size_t row = 0; row < 3; ++row) {
    double total = 0;
    for (std::size_t i = 0; i < 17; ++i) total += std::exp(values[row * 17 + i]);
    for (std::size_t i = 0; i < 17; ++i) expected.push_back(std::exp(values[row * 17 + i]) / total);
  }
  check_close(softmax(x), expected);
  check_close(exp(log_softmax(x)), expected);
}

TEST_CASE("softmax does not overflow, and of a fully masked row is NaN") {
  check_close(softmax(Tensor::from<float>({1000, 1000})), {0.5, 0.5});
  for (float value : softmax(Tensor::from<float>({-infinity, -infinity})).values<float>())
    CHECK(std::isnan(value));
  check_close(softmax(Tensor::from<float>({-infinity, 0})), {0, 1});
}

TEST_CASE("logsumexp neither overflows nor loses infinities, over any axes") {
  check_close(logsumexp(Tensor::from<float>({1000, 1000})), {1000 + std::log(2.0)}, 1e-4);
  CHECK(logsumexp(Tensor::from<float>({-infinity, -infinity})).item() == -infinity);
  CHECK(logsumexp(Tensor::from<float>({1, infinity})).item() == infinity);
  Tensor x = noise({2, 3, 4});
  CHECK(logsumexp(x, {0, 2}).shape() == Shape{3});
  CHECK(logsumexp(x, {0, 2}, true).shape() == Shape{1, 3, 1});
  check_close(logsumexp(x, {0, 2}), doubles_of(log(exp(x).sum({0, 2})).host()));
}

TEST_CASE("norm is the root of the sum of squares") {
  check_close(norm(Tensor::from<float>({3, 4})), {5});
  CHECK(norm(noise({2, 3, 4}), {1}, true).shape() == Shape{2, 1, 4});
}

TEST_CASE("one_hot is 1 at its index and 0 beyond the range; lower_triangle keeps the diagonal") {
  CHECK(one_hot(Tensor::from<std::int64_t>({1, 3, -1}), 3).values<float>() ==
        std::vector<float>{0, 1, 0, 0, 0, 0, 0, 0, 0});
  CHECK(lower_triangle(2, 3).values<bool>() == std::vector<bool>{true, false, false, true, true, false});
  CHECK(lower_triangle(2, 3, 1).values<bool>() == std::vector<bool>{true, true, false, true, true, true});
}

TEST_CASE("philox gives the bits that its authors publish") {
  // Random123's known answers for philox4x32-10: counter 0, key 0: 6627e8d5 e169c58d …
  const HostTensor zero = vector_of<std::uint64_t>({0});
  CHECK(values_of<std::uint64_t>(run(Primitive::philox, {zero, zero})) ==
        std::vector<std::uint64_t>{0xe169c58d6627e8d5});
}

TEST_CASE("random numbers have the moments of their distributions, and a seed decides them") {
  const Shape shape{100, 200};
  auto uniform = doubles_of(random_uniform(shape, 5).host());
  auto normal = doubles_of(random_normal(shape, 5).host());
  double mean = 0, square = 0, normal_mean = 0, normal_square = 0;
  for (std::size_t i = 0; i < uniform.size(); ++i) {
    CHECK((uniform[i] >= 0 && uniform[i] < 1));
    mean += uniform[i] / 20000;
    square += uniform[i] * uniform[i] / 20000;
    normal_mean += normal[i] / 20000;
    normal_square += normal[i] * normal[i] / 20000;
  }
  CHECK(std::fabs(mean - 0.5) < 0.01);
  CHECK(std::fabs(square - 1.0 / 3) < 0.01);
  CHECK(std::fabs(normal_mean) < 0.03);
  CHECK(std::fabs(normal_square - 1) < 0.04);
  CHECK(std::fabs(random_bernoulli(shape, 0.25, 5).cast(ElementType::f32).mean().item() - 0.25) < 0.01);
  CHECK(same_bits(random_normal(shape, 5).host(), random_normal(shape, 5).host()));
  CHECK_FALSE(same_bits(random_uniform(shape, 6).host(), random_uniform(shape, 5).host()));
}

TEST_CASE("softmax takes any axis") {
  Tensor x = noise({4, 5});
  CHECK(softmax(x, 0).values<float>()[1] == doctest::Approx(softmax(x.transpose(), -1).values<float>()[4]));
}

TEST_CASE("layer norm has mean bias and deviation scale") {
  Tensor x = noise({4, 384});
  Tensor normalized = layer_norm(x);
  check_close(normalized.mean({1}), std::vector<double>(4, 0));
  check_close((normalized * normalized).mean({1}), std::vector<double>(4, 1), 1e-4);
  Tensor scaled = layer_norm(x, Tensor::full({384}, 2), Tensor::full({384}, 3));
  check_close(scaled - (normalized * 2 + 3), std::vector<double>(4 * 384, 0));
}

TEST_CASE("rms norm and L2 normalization have unit length") {
  Tensor x = noise({3, 64});
  Tensor rms = rms_norm(x);
  check_close((rms * rms).mean({1}), std::vector<double>(3, 1), 1e-4);
  Tensor unit = l2_normalize(x);
  check_close((unit * unit).sum({1}), std::vector<double>(3, 1));
}

TEST_CASE("gelu, its tanh form and silu match their definitions") {
  std::vector<float> x{-4, -1, -0.1f, 0, 0.5f, 2, 10};
  std::vector<double> exact;
  std::vector<double> approximate;
  std::vector<double> swish;
  for (float value : x) {
    exact.push_back(0.5 * value * (1 + std::erf(value / std::sqrt(2.0))));
    approximate.push_back(0.5 * value *
                          (1 + std::tanh(std::sqrt(2 / M_PI) * (value + 0.044715 * std::pow(value, 3)))));
    swish.push_back(value / (1 + std::exp(-static_cast<double>(value))));
  }
  Tensor tensor = Tensor::from<float>(x, Shape{7});
  check_close(gelu(tensor), exact);
  check_close(gelu_tanh(tensor), approximate);
  check_close(silu(tensor), swish);
}

TEST_CASE("compositions on f16 and bf16 compute in f32 and round at the end") {
  Tensor x = noise({4, 33});
  for (ElementType element : {ElementType::f16, ElementType::bf16}) {
    Tensor narrow = x.cast(element);
    Tensor wide = narrow.cast(ElementType::f32);
    CHECK(same_bits(softmax(narrow).host(), softmax(wide).cast(element).host()));
    CHECK(same_bits(layer_norm(narrow).host(), layer_norm(wide).cast(element).host()));
    CHECK(same_bits(gelu(narrow).host(), gelu(wide).cast(element).host()));
    CHECK(softmax(narrow).element() == element);
  }
}

TEST_CASE("compositions refuse integers") {
  Tensor integers = Tensor::from<std::int32_t>({1, 2});
  CHECK_THROWS_WITH_AS(softmax(integers), doctest::Contains("softmax: takes floats, not i32"), TensorError);
  CHECK_THROWS_AS(integers.mean(), TensorError);
  CHECK_THROWS_AS(gelu(integers), TensorError);
}

TEST_CASE("embedding takes rows of the table for indices of any shape") {
  Tensor table = Tensor::arange(6, ElementType::f32).reshape({3, 2});
  Tensor indices = Tensor::from<std::int64_t>({2, 0, 1, 1}).reshape({2, 2});
  Tensor rows = embedding(table, indices);
  CHECK(rows.shape() == Shape{2, 2, 2});
  CHECK(rows.values<float>() == std::vector<float>{4, 5, 0, 1, 2, 3, 2, 3});
}

TEST_CASE("linear is a product with the transposed weight, plus bias") {
  Tensor x = noise({2, 3, 8});
  Tensor weight = noise({5, 8}, 2);
  Tensor bias = noise({5}, 3);
  Tensor result = linear(x, weight, bias);
  CHECK(result.shape() == Shape{2, 3, 5});
  CHECK(same_bits(result.host(), (matmul(x, weight.transpose()) + bias).host()));
}

TEST_CASE("attention is softmax of scaled scores times values, masked positions ignored") {
  Tensor query = noise({2, 4, 6, 8}, 1);
  Tensor key = noise({2, 4, 5, 8}, 2);
  Tensor value = noise({2, 4, 5, 3}, 3);
  Tensor result = attention(query, key, value);
  CHECK(result.shape() == Shape{2, 4, 6, 3});
  Tensor scores = matmul(query, key.transpose()) * (1 / std::sqrt(8.0));
  CHECK(same_bits(result.host(), matmul(softmax(scores), value).host()));
  Tensor mask = Tensor::from<float>({0, 0, 0, -infinity, -infinity});
  Tensor masked = attention(query, key, value, mask);
  Tensor shortened =
      attention(query, key[{ellipsis, Slice{0, 3}, Slice{}}], value[{ellipsis, Slice{0, 3}, Slice{}}]);
  check_close(masked - shortened, std::vector<double>(2 * 4 * 6 * 3, 0));
}

TEST_CASE("causal attention sees no later key, and its last query stands at the last key") {
  const Tensor query = noise({2, 3, 4}, 1), key = noise({2, 5, 4}, 2), value = noise({2, 5, 4}, 3);
  const Tensor result = attention(query, key, value, std::nullopt, true);
  for (std::int64_t row = 0; row < 3; ++row) {
    const Slice seen{0, row + 3};
    const Tensor alone = attention(query[{ellipsis, Slice{row, row + 1}, Slice{}}],
                                   key[{ellipsis, seen, Slice{}}], value[{ellipsis, seen, Slice{}}]);
    check_close(result[{ellipsis, Slice{row, row + 1}, Slice{}}], doubles_of(alone.host()));
  }
}

TEST_CASE("grouped heads share keys and values") {
  const Tensor query = noise({2, 6, 3, 4}, 1), key = noise({2, 2, 5, 4}, 2), value = noise({2, 2, 5, 4}, 3);
  const Tensor mask = noise({2, 6, 3, 5}, 4);
  const Tensor result = attention(query, key, value, mask);
  CHECK(result.shape() == Shape{2, 6, 3, 4});
  for (std::int64_t head = 0; head < 6; ++head) {
    const Slice own{head, head + 1}, shared{head / 3, head / 3 + 1};
    const Tensor alone = attention(query[{Slice{}, own}], key[{Slice{}, shared}], value[{Slice{}, shared}],
                                   mask[{Slice{}, own}]);
    check_close(result[{Slice{}, own}], doubles_of(alone.host()));
  }
}

TEST_CASE("a row's attention does not change with the batch it is in") {
  Tensor query = noise({4, 6, 8}, 1);
  Tensor whole = attention(query, query, query);
  Tensor alone = attention(query[{Slice{2, 3}}], query[{Slice{2, 3}}], query[{Slice{2, 3}}]);
  CHECK(same_bits(whole[{Slice{2, 3}}].host(), alone.host()));
}

TEST_CASE("masked mean averages the positions whose mask is not zero") {
  Tensor x = Tensor::arange(12, ElementType::f32).reshape({2, 3, 2});
  Tensor mask = Tensor::from<std::int64_t>({1, 1, 0, 0, 0, 0}).reshape({2, 3});
  check_close(masked_mean(x, mask), {1, 2, 0, 0});
}

TEST_CASE("one layer of a BERT encoder computes with masks, heads and norms") {
  std::int64_t batch = 2;
  std::int64_t tokens = 5;
  std::int64_t width = 12;
  std::int64_t heads = 3;
  Tensor ids = Tensor::from<std::int64_t>({1, 2, 3, 4, 0, 5, 6, 0, 0, 0}).reshape({batch, tokens});
  Tensor attend = (ids != 0).cast(ElementType::i64);
  Tensor bias = (1 - attend.cast(ElementType::f32)[{Slice{}, new_axis, new_axis}]) * -3.4028234663852886e38;
  Tensor hidden =
      embedding(noise({7, width}, 1), ids) + embedding(noise({tokens, width}, 2), Tensor::arange(tokens));
  hidden = layer_norm(hidden, noise({width}, 3), noise({width}, 4), 1e-12);
  auto split = [&](std::uint64_t seed) {
    return linear(hidden, noise({width, width}, seed))
        .reshape({batch, tokens, heads, width / heads})
        .permute({0, 2, 1, 3});
  };
  Tensor context = attention(split(5), split(6), split(7), bias);
  CHECK(context.shape() == Shape{batch, heads, tokens, width / heads});
  Tensor merged = context.permute({0, 2, 1, 3}).reshape({batch, tokens, width});
  Tensor attended = layer_norm(linear(merged, noise({width, width}, 8)) + hidden);
  Tensor inner = gelu(linear(attended, noise({4 * width, width}, 9)));
  Tensor out = layer_norm(linear(inner, noise({width, 4 * width}, 10)) + attended);
  Tensor sentence = l2_normalize(masked_mean(out, attend));
  CHECK(sentence.shape() == Shape{batch, width});
  check_close((sentence * sentence).sum({1}), {1, 1});
}

}  // namespace halyard::ops::testing
