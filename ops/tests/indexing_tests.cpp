#include <halyard/ops/indexing.h>
#include <cmath>
#include <limits>
#include "test_tensors.h"

namespace halyard::ops::testing {
namespace {

using Ids = std::span<const NodeId>;

HostTensor counting(Shape shape) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.count(); ++i) values.push_back(static_cast<double>(i));
  return numbers_of(ElementType::f32, std::move(shape), values);
}

}  // namespace

TEST_CASE("take_along reads each row at its own indices, from the end and clamped too") {
  const HostTensor x = counting({2, 3}), at = numbers_of(ElementType::i64, {2, 2}, {2, -3, -1, 7});
  CHECK(doubles_of(made_of({x, at}, [](GraphBuilder& b, Ids ids) {
          return take_along(b, ids[0], ids[1], 1);
        })) == std::vector<double>{2, 0, 5, 5});
  const HostTensor down = numbers_of(ElementType::i32, {1, 2}, {1, 0});
  CHECK(doubles_of(made_of({x, down}, [](GraphBuilder& b, Ids ids) {
          return take_along(b, ids[0], ids[1], 0);
        })) == std::vector<double>{3, 1});
}

TEST_CASE("gather_nd reads whole slices, and apart for each batch") {
  const HostTensor x = counting({2, 2, 3});
  const HostTensor at = numbers_of(ElementType::i64, {2, 2}, {0, 1, 1, -2});
  const HostTensor slices =
      made_of({x, at}, [](GraphBuilder& b, Ids ids) { return gather_nd(b, ids[0], ids[1]); });
  CHECK(slices.shape() == Shape{2, 3});
  CHECK(doubles_of(slices) == std::vector<double>{3, 4, 5, 6, 7, 8});
  const HostTensor apart = numbers_of(ElementType::i64, {2, 1}, {1, 0});
  CHECK(doubles_of(made_of({x, apart}, [](GraphBuilder& b, Ids ids) {
          return gather_nd(b, ids[0], ids[1], 1);
        })) == std::vector<double>{3, 4, 5, 6, 7, 8});
}

TEST_CASE("scatter_along writes where the indices say, the last one wins, and what is outside is dropped") {
  const HostTensor base = counting({3, 3}), updates = numbers_of(ElementType::f32, {2, 2}, {10, 11, 12, 13});
  const HostTensor at = numbers_of(ElementType::i64, {2, 2}, {0, 5, 0, -1});
  CHECK(doubles_of(made_of({base, at, updates}, [](GraphBuilder& b, Ids ids) {
          return scatter_along(b, Primitive::scatter_set, ids[0], ids[1], ids[2], 0);
        })) == std::vector<double>{12, 1, 2, 3, 4, 5, 6, 13, 8});
  CHECK(doubles_of(made_of({base, at, updates}, [](GraphBuilder& b, Ids ids) {
          return scatter_along(b, Primitive::scatter_add, ids[0], ids[1], ids[2], 0);
        })) == std::vector<double>{22, 1, 2, 3, 4, 5, 6, 20, 8});
}

TEST_CASE("a scatter leaves rows without updates as they are, a zero's sign too") {
  const HostTensor base = vector_of<float>({-0.0f, -0.0f}), at = vector_of<std::int64_t>({1}),
                   updates = vector_of<float>({-0.0f});
  const HostTensor result = made_of({base, at, updates}, [](GraphBuilder& b, Ids ids) {
    return b.scatter(Primitive::scatter_add, ids[0], ids[1], ids[2], 0);
  });
  CHECK(std::signbit(result.at(0)));
  CHECK_FALSE(std::signbit(result.at(1)));
}

TEST_CASE("scatter_nd writes slices; a position outside any axis is none") {
  const HostTensor base = counting({2, 3}), updates = numbers_of(ElementType::f32, {3}, {10, 20, 30});
  const HostTensor at = numbers_of(ElementType::i64, {3, 2}, {0, -1, 1, 3, -2, 0});
  CHECK(doubles_of(made_of({base, at, updates}, [](GraphBuilder& b, Ids ids) {
          return scatter_nd(b, Primitive::scatter_add, ids[0], ids[1], ids[2]);
        })) == std::vector<double>{30, 1, 12, 3, 4, 5});
  const HostTensor rows = numbers_of(ElementType::i64, {1, 1}, {1}),
                   row = numbers_of(ElementType::f32, {1, 3}, {7, 8, 9});
  CHECK(doubles_of(made_of({base, rows, row}, [](GraphBuilder& b, Ids ids) {
          return scatter_nd(b, Primitive::scatter_set, ids[0], ids[1], ids[2]);
        })) == std::vector<double>{0, 1, 2, 7, 8, 9});
}

TEST_CASE("sorting puts NaN last, keeps equal elements in order, and -0 equals +0") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(),
                  infinity = std::numeric_limits<float>::infinity();
  const HostTensor x = vector_of<float>({0.0f, nan, 3, -0.0f, -infinity, 3, infinity});
  Attributes along;
  along.axes = {0};
  CHECK(values_of<std::int64_t>(run(Primitive::argsort, {x}, along)) ==
        std::vector<std::int64_t>{4, 0, 3, 2, 5, 6, 1});
  along.descending = true;
  CHECK(values_of<std::int64_t>(run(Primitive::argsort, {x}, along)) ==
        std::vector<std::int64_t>{1, 6, 2, 5, 0, 3, 4});
  const HostTensor sorted = made_of({x}, [](GraphBuilder& b, Ids ids) { return sort(b, ids[0], 0); });
  CHECK(sorted.at(0) == -infinity);
  CHECK(std::signbit(sorted.at(2)));
  CHECK(std::isnan(sorted.at(6)));
}

TEST_CASE("top_k gives the greatest or the least with their indices, and says when there are too few") {
  const HostTensor x = numbers_of(ElementType::i32, {2, 4}, {3, 1, 3, 2, -1, -4, -2, -3});
  const auto best = [&](bool indices) {
    return doubles_of(made_of({x}, [&](GraphBuilder& b, Ids ids) -> Result<NodeId> {
      HALYARD_ASSIGN(TopK top, top_k(b, ids[0], 2, 1));
      return indices ? top.indices : top.values;
    }));
  };
  CHECK(best(false) == std::vector<double>{3, 3, -1, -2});
  CHECK(best(true) == std::vector<double>{0, 2, 0, 2});
  Graph graph;
  GraphBuilder builder(graph);
  const NodeId id = builder.input("x", ElementType::f32, Shape{3}).value();
  CHECK(top_k(builder, id, 4, 0).error().message == "top_k: 4 elements along axis 0 of [3]");
}

TEST_CASE("padding from the tensor itself: edge, reflect, wrap") {
  const HostTensor x = vector_of<float>({1, 2, 3});
  const auto padded = [&](PadMode mode) {
    return doubles_of(
        made_of({x}, [&](GraphBuilder& b, Ids ids) { return pad_from(b, ids[0], {2}, {2}, mode); }));
  };
  CHECK(padded(PadMode::edge) == std::vector<double>{1, 1, 1, 2, 3, 3, 3});
  CHECK(padded(PadMode::reflect) == std::vector<double>{3, 2, 1, 2, 3, 2, 1});
  CHECK(padded(PadMode::wrap) == std::vector<double>{2, 3, 1, 2, 3, 1, 2});
  Graph graph;
  GraphBuilder builder(graph);
  const NodeId id = builder.input("x", ElementType::f32, Shape{3}).value();
  CHECK(pad_from(builder, id, {3}, {0}, PadMode::reflect).error().code == ErrorCode::invalid_argument);
}

}  // namespace halyard::ops::testing
