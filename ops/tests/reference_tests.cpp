#include <halyard/ops/reduction_order.h>
#include <cmath>
#include <numeric>
#include "test_tensors.h"

namespace halyard::ops::testing {
namespace {

Attributes over(std::vector<std::int64_t> axes) {
  Attributes attributes;
  attributes.axes = std::move(axes);
  return attributes;
}

/// The row rule written again, in the plainest way, for one chunk.
float lanes_folded(const std::vector<float>& x) {
  std::vector<float> lanes(128, 0.0f);
  for (std::size_t k = 0; k < x.size(); ++k) lanes[k % 128] = lanes[k % 128] + x[k];
  for (std::size_t half : {64, 32, 16, 8, 4, 2, 1})
    for (std::size_t j = 0; j < half; ++j) lanes[j] = lanes[j] + lanes[j + half];
  return lanes[0];
}

std::vector<float> noise_values(std::int64_t count) {
  return values_of<float>(Noise(static_cast<std::uint64_t>(count)).tensor(Shape{count}));
}

}  // namespace

TEST_CASE("a row's sum takes 128 lanes, then folds by halving") {
  for (std::int64_t count : {1, 5, 127, 128, 129, 1000, 4096}) {
    std::vector<float> x = noise_values(count);
    CHECK(values_of<float>(run(Primitive::reduce_sum, {vector_of(x)}, over({0})))[0] == lanes_folded(x));
  }
}

TEST_CASE("a long row's sum is the row rule over its chunks of 4096") {
  std::vector<float> x = noise_values(4096 * 2 + 77);
  std::vector<float> chunks;
  for (std::size_t first = 0; first < x.size(); first += 4096) {
    std::size_t end = std::min(x.size(), first + 4096);
    chunks.push_back(lanes_folded(
        {x.begin() + static_cast<std::ptrdiff_t>(first), x.begin() + static_cast<std::ptrdiff_t>(end)}));
  }
  CHECK(values_of<float>(run(Primitive::reduce_sum, {vector_of(x)}, over({0})))[0] == lanes_folded(chunks));
}

TEST_CASE("a column's sum ascends within chunks of 64") {
  std::int64_t rows = 150;
  HostTensor x = Noise(1).tensor(Shape{rows, 3});
  auto sums = values_of<float>(run(Primitive::reduce_sum, {x}, over({0})));
  for (std::int64_t column = 0; column < 3; ++column) {
    std::vector<float> chunks;
    for (std::int64_t first = 0; first < rows; first += 64) {
      float total = 0;
      for (std::int64_t row = first; row < std::min(rows, first + 64); ++row)
        total = total + static_cast<float>(x.at(row * 3 + column));
      chunks.push_back(total);
    }
    float expected = ((0.0f + chunks[0]) + chunks[1]) + chunks[2];
    CHECK(sums[static_cast<std::size_t>(column)] == expected);
  }
}

TEST_CASE("a row's sum does not depend on the other rows") {
  HostTensor x = Noise(2).tensor(Shape{5, 1000});
  auto sums = values_of<float>(run(Primitive::reduce_sum, {x}, over({1})));
  std::vector<float> third(x.values<float>().begin() + 2000, x.values<float>().begin() + 3000);
  CHECK(sums[2] == values_of<float>(run(Primitive::reduce_sum, {vector_of(third)}, over({0})))[0]);
}

TEST_CASE("several reduced axes are linearized row-major") {
  HostTensor x = Noise(3).tensor(Shape{4, 6, 50});
  HostTensor flat = x.reshaped(Shape{4, 300}).value();
  CHECK(same_bits(run(Primitive::reduce_sum, {x}, over({1, 2})),
                  run(Primitive::reduce_sum, {flat}, over({1}))));
}

TEST_CASE("a product is one fma chain per 512, chunks added ascending") {
  std::int64_t depth = 1100;
  HostTensor a = Noise(4).tensor(Shape{3, depth});
  HostTensor b = Noise(5).tensor(Shape{depth, 21});
  Attributes attributes;
  attributes.dot = {{1}, {0}, {}, {}};
  for (bool fused : {true, false}) {
    auto result = values_of<float>(run(Primitive::dot_general, {a, b}, attributes, {.fused_fma = fused}));
    for (std::int64_t row = 0; row < 3; ++row)
      for (std::int64_t column = 0; column < 21; ++column) {
        std::vector<float> chunks;
        for (std::int64_t first = 0; first < depth; first += 512) {
          float chain = 0;
          for (std::int64_t k = first; k < std::min(depth, first + 512); ++k) {
            auto x = static_cast<float>(a.at(row * depth + k));
            auto y = static_cast<float>(b.at(k * 21 + column));
            chain = fused ? std::fma(x, y, chain) : chain + x * y;
          }
          chunks.push_back(chain);
        }
        CHECK(result[static_cast<std::size_t>(row * 21 + column)] == (chunks[0] + chunks[1]) + chunks[2]);
      }
  }
}

TEST_CASE("a batched product equals the products of its batches") {
  HostTensor a = Noise(6).tensor(Shape{2, 3, 5, 7});
  HostTensor b = Noise(7).tensor(Shape{2, 3, 7, 4});
  Attributes batched;
  batched.dot = {{3}, {2}, {0, 1}, {0, 1}};
  HostTensor all = run(Primitive::dot_general, {a, b}, batched);
  CHECK(all.shape() == Shape{2, 3, 5, 4});
  Attributes plain;
  plain.dot = {{1}, {0}, {}, {}};
  auto part = [](const HostTensor& tensor, std::int64_t first, const Shape& shape) {
    const float* data = tensor.values<float>().data() + first;
    return HostTensor::from_values<float>(shape, std::span(data, static_cast<std::size_t>(shape.count())))
        .value();
  };
  for (std::int64_t batch = 0; batch < 6; ++batch) {
    HostTensor one =
        run(Primitive::dot_general, {part(a, batch * 35, {5, 7}), part(b, batch * 28, {7, 4})}, plain);
    CHECK(same_bits(one, part(all, batch * 20, {5, 4})));
  }
}

TEST_CASE("a product with no terms is +0, and integer products wrap") {
  Attributes plain;
  plain.dot = {{1}, {0}, {}, {}};
  HostTensor none = run(Primitive::dot_general,
                        {HostTensor::allocate(ElementType::f32, Shape{2, 0}).value(),
                         HostTensor::allocate(ElementType::f32, Shape{0, 2}).value()},
                        plain);
  CHECK(values_of<float>(none) == std::vector<float>{0, 0, 0, 0});
  HostTensor a =
      HostTensor::from_values<std::int32_t>(Shape{1, 2}, std::vector<std::int32_t>{1 << 30, 1}).value();
  HostTensor b = HostTensor::from_values<std::int32_t>(Shape{2, 1}, std::vector<std::int32_t>{4, 5}).value();
  CHECK(run(Primitive::dot_general, {a, b}, plain).at(0) == 5);
}

TEST_CASE("a cumulative sum is the tree of steps 1, 2, 4, 8 over groups of 16") {
  std::vector<float> x = noise_values(40);
  auto scan_group = [](std::vector<float> group) {
    for (std::size_t step : {1, 2, 4, 8}) {
      std::vector<float> before = group;
      for (std::size_t i = step; i < group.size(); ++i) group[i] = before[i - step] + before[i];
    }
    return group;
  };
  std::vector<float> expected;
  std::vector<float> totals;
  for (std::size_t first = 0; first < x.size(); first += 16) {
    std::size_t end = std::min(x.size(), first + 16);
    auto group = scan_group(
        {x.begin() + static_cast<std::ptrdiff_t>(first), x.begin() + static_cast<std::ptrdiff_t>(end)});
    totals.push_back(group.back());
    expected.insert(expected.end(), group.begin(), group.end());
  }
  totals = scan_group(totals);
  for (std::size_t i = 16; i < x.size(); ++i) expected[i] = totals[i / 16 - 1] + expected[i];
  CHECK(values_of<float>(run(Primitive::cumulative_sum, {vector_of(x)}, over({0}))) == expected);
  Attributes exclusive = over({0});
  exclusive.exclusive = true;
  auto shifted = values_of<float>(run(Primitive::cumulative_sum, {vector_of(x)}, exclusive));
  CHECK(shifted[0] == 0);
  CHECK(std::equal(shifted.begin() + 1, shifted.end(), expected.begin()));
}

TEST_CASE("cumulative products, least and greatest follow the same tree, from their own identities") {
  Attributes along = over({0});
  HostTensor x = vector_of<std::int32_t>({3, -1, 4, -1, 5});
  CHECK(values_of<std::int32_t>(run(Primitive::cumulative_prod, {x}, along)) ==
        std::vector<std::int32_t>{3, -3, -12, 12, 60});
  CHECK(values_of<std::int32_t>(run(Primitive::cumulative_min, {x}, along)) ==
        std::vector<std::int32_t>{3, -1, -1, -1, -1});
  CHECK(values_of<std::int32_t>(run(Primitive::cumulative_max, {x}, along)) ==
        std::vector<std::int32_t>{3, 3, 4, 4, 5});
  along.exclusive = true;
  CHECK(values_of<std::int32_t>(run(Primitive::cumulative_prod, {x}, along))[0] == 1);
  CHECK(values_of<std::int32_t>(run(Primitive::cumulative_min, {x}, along))[0] ==
        std::numeric_limits<std::int32_t>::max());
  auto greatest = values_of<float>(run(
      Primitive::cumulative_max, {vector_of<float>({1, std::numeric_limits<float>::quiet_NaN(), 2})}, along));
  CHECK(greatest[0] == -std::numeric_limits<float>::infinity());
  CHECK(greatest[1] == 1);
  CHECK(std::isnan(greatest[2]));
}

TEST_CASE("movement puts every element in its place") {
  HostTensor x = vector_of<std::int32_t>({0, 1, 2, 3, 4, 5}).reshaped(Shape{2, 3}).value();
  CHECK(values_of<std::int32_t>(run(Primitive::permute, {x}, over({1, 0}))) ==
        std::vector<std::int32_t>{0, 3, 1, 4, 2, 5});
  CHECK(values_of<std::int32_t>(run(Primitive::reverse, {x}, over({1}))) ==
        std::vector<std::int32_t>{2, 1, 0, 5, 4, 3});
  Attributes slice;
  slice.starts = {1, 0};
  slice.steps = {1, 2};
  slice.shape = {1, 2};
  CHECK(values_of<std::int32_t>(run(Primitive::slice, {x}, slice)) == std::vector<std::int32_t>{3, 5});
  Attributes pad;
  pad.starts = {0, 1};
  pad.ends = {1, 0};
  pad.value_bits = 9;
  CHECK(values_of<std::int32_t>(run(Primitive::pad, {x}, pad)) ==
        std::vector<std::int32_t>{9, 0, 1, 2, 9, 3, 4, 5, 9, 9, 9, 9});
  Attributes broadcast;
  broadcast.shape = {2, 2, 3};
  CHECK(values_of<std::int32_t>(run(Primitive::broadcast, {x}, broadcast)) ==
        std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5});
  CHECK(values_of<std::int32_t>(run(Primitive::concat, {x, x}, over({1}))) ==
        std::vector<std::int32_t>{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5});
  HostTensor rows = vector_of<std::int64_t>({1, 1, 0, 0}).reshaped(Shape{2, 2}).value();
  HostTensor taken = run(Primitive::take, {x, rows}, over({0}));
  CHECK(taken.shape() == Shape{2, 2, 3});
  CHECK(values_of<std::int32_t>(taken) == std::vector<std::int32_t>{3, 4, 5, 3, 4, 5, 0, 1, 2, 0, 1, 2});
  Attributes iota = over({1});
  iota.shape = {2, 3};
  iota.element = ElementType::f32;
  CHECK(values_of<float>(run(Primitive::iota, {}, iota)) == std::vector<float>{0, 1, 2, 0, 1, 2});
}

TEST_CASE("elementwise results do not depend on where an element stands in its block") {
  Noise noise(8);
  HostTensor x = noise.tensor(Shape{2500});
  auto values = values_of<float>(run(Primitive::erf, {x}));
  for (std::int64_t i : {0, 1023, 1024, 2047, 2048, 2499}) {
    auto alone = run(Primitive::erf, {vector_of<float>({static_cast<float>(x.at(i))})});
    CHECK(values[static_cast<std::size_t>(i)] == values_of<float>(alone)[0]);
  }
}

TEST_CASE("every elementwise primitive runs on every element type its row allows, at any number of lanes") {
  for (const PrimitiveRow& row : rows()) {
    if (row.kind != Kind::elementwise) continue;
    for (std::size_t type = 0; type < element_type_facts.size(); ++type) {
      auto element = static_cast<ElementType>(type);
      if (!contains(row.allowed, element)) continue;
      HostTensor x = numbers_of(element, Shape{3}, {0, 1, 1});
      std::vector<HostTensor> operands(static_cast<std::size_t>(row.operands), x);
      if (row.element_rule == ElementRule::select) operands[0] = flags_of({true, false, true});
      Attributes attributes;
      if (row.element_rule == ElementRule::conversion) attributes.element = element;
      auto result = evaluate_primitive(row.primitive, operands, attributes);
      INFO(row.name << " on " << name(element));
      REQUIRE_MESSAGE(result.has_value(), (result ? "" : result.error().message));
      CHECK(result->count() == 3);
    }
  }
}

TEST_CASE("cast runs between every pair of element types and keeps small numbers") {
  for (std::size_t from = 0; from < element_type_facts.size(); ++from)
    for (std::size_t to = 0; to < element_type_facts.size(); ++to) {
      Attributes attributes;
      attributes.element = static_cast<ElementType>(to);
      HostTensor x = numbers_of(static_cast<ElementType>(from), Shape{2}, {0, 1});
      CHECK(doubles_of(run(Primitive::cast, {x}, attributes)) == std::vector<double>{0, 1});
    }
}

}  // namespace halyard::ops::testing
