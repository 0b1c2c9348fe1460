#include <doctest/doctest.h>

#include <halyard/fusion/sample_graphs.h>
#include <halyard/fusion/simplify.h>
#include <halyard/ops/graph_builder.h>
#include <halyard/ops/reference.h>
#include <algorithm>
#include "index_expression.h"
#include "memory_plan.h"

namespace halyard::fusion {
namespace {

using ops::Graph;
using ops::GraphBuilder;
using ops::NodeId;
using ops::Primitive;

std::size_t count(const Graph& graph, Primitive primitive) {
  return static_cast<std::size_t>(
      std::count_if(graph.nodes().begin(), graph.nodes().end(),
                    [&](const ops::Node& node) { return node.primitive == primitive; }));
}

}  // namespace

TEST_CASE("a product of constants becomes one constant") {
  Graph graph;
  GraphBuilder b(graph);
  NodeId x = b.input("x", ElementType::f32, {2, 2}).value();
  NodeId c = b.constant(samples::random_tensor(ElementType::f32, {2, 2}, 1));
  NodeId folded = b.matmul(c, c).value();
  REQUIRE(graph.output(b.binary(Primitive::add, x, folded).value(), "y"));
  SimplifyReport report;
  Graph simple = simplify(graph, {}, &report).value();
  CHECK(count(simple, Primitive::dot_general) == 0);
  CHECK(count(simple, Primitive::constant) == 1);
  CHECK(report.folded == 1);
}

TEST_CASE("adding +0 stays, for it turns -0 into +0; multiplying by 1 and subtracting 0 go") {
  Graph graph;
  GraphBuilder b(graph);
  NodeId x = b.input("x", ElementType::f32, {3}).value();
  NodeId y = b.binary(Primitive::mul, x, 1.0).value();
  y = b.binary(Primitive::sub, y, 0.0).value();
  y = b.binary(Primitive::add, y, 0.0).value();
  REQUIRE(graph.output(y, "y"));
  Graph simple = simplify(graph).value();
  CHECK(count(simple, Primitive::mul) == 0);
  CHECK(count(simple, Primitive::sub) == 0);
  CHECK(count(simple, Primitive::add) == 1);
}

TEST_CASE("equal nodes are computed once, and nodes nobody needs not at all") {
  Graph graph;
  GraphBuilder b(graph);
  NodeId x = b.input("x", ElementType::f32, {3}).value();
  NodeId unused = b.input("unused", ElementType::f32, {3}).value();
  NodeId first = b.unary(Primitive::exp, x).value(), second = b.unary(Primitive::exp, x).value();
  (void)b.unary(Primitive::exp, unused).value();
  REQUIRE(graph.output(b.binary(Primitive::add, first, second).value(), "y"));
  Graph simple = simplify(graph).value();
  CHECK(count(simple, Primitive::exp) == 1);
  CHECK(simple.inputs().size() == 2);
}

TEST_CASE("a cast chain goes only where it is exact") {
  Graph graph;
  GraphBuilder b(graph);
  NodeId half = b.input("half", ElementType::f16, {3}).value();
  NodeId single = b.input("single", ElementType::f32, {3}).value();
  REQUIRE(graph.output(b.cast(b.cast(half, ElementType::f32).value(), ElementType::f16).value(), "a"));
  REQUIRE(graph.output(b.cast(b.cast(single, ElementType::f16).value(), ElementType::f32).value(), "b"));
  Graph simple = simplify(graph).value();
  CHECK(simple.outputs()[0].node == simple.inputs()[0]);
  CHECK(count(simple, Primitive::cast) == 2);
}

TEST_CASE("two permutations that undo each other vanish, and chains of reshapes become one") {
  Graph graph;
  GraphBuilder b(graph);
  NodeId x = b.input("x", ElementType::f32, {2, 3, 4}).value();
  NodeId there = b.permute(x, {2, 0, 1}).value();
  NodeId back = b.permute(there, {1, 2, 0}).value();
  NodeId flat = b.reshape(b.reshape(back, {6, 4}).value(), {24}).value();
  REQUIRE(graph.output(b.unary(Primitive::neg, flat).value(), "y"));
  Graph simple = simplify(graph).value();
  CHECK(count(simple, Primitive::permute) == 0);
  CHECK(count(simple, Primitive::reshape) == 1);
}

TEST_CASE("simplification keeps the bits of random graphs") {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Graph graph = samples::random_graph(seed);
    auto inputs = samples::random_inputs(graph, seed);
    auto expected = ops::evaluate(graph, inputs).value();
    auto simple = ops::evaluate(simplify(graph).value(), inputs).value();
    REQUIRE(expected.size() == simple.size());
    for (std::size_t i = 0; i < expected.size(); ++i) CHECK(ops::same_bits(expected[i], simple[i]));
  }
}

TEST_CASE("splitting a dimension and merging it back gives the same index") {
  auto x = IndexExpression::of_axis(Axis{0}, 384);
  auto split = reshape_index({x}, {384}, {12, 32});
  REQUIRE(split);
  CHECK((*split)[0].parts[0].divisor == 32);
  CHECK((*split)[1].parts[0].modulus == 32);
  auto merged = reshape_index(*split, {12, 32}, {384});
  REQUIRE(merged);
  CHECK((*merged)[0] == x);
}

TEST_CASE("a reshape across a permutation is expressed by axes alone") {
  auto h = IndexExpression::of_axis(Axis{0}, 12), s = IndexExpression::of_axis(Axis{1}, 7),
       d = IndexExpression::of_axis(Axis{2}, 32);
  auto merged = reshape_index({s, h, d}, {7, 12, 32}, {7, 384});
  REQUIRE(merged);
  CHECK((*merged)[0] == s);
  CHECK((*merged)[1] == add(scale(h, 32), d));
}

TEST_CASE("an index that would carry from one digit into the next is not expressed") {
  auto x = shift(IndexExpression::of_axis(Axis{0}, 6), 3);  // 3 … 8
  CHECK_FALSE(digit(x, 4, 3));
  CHECK(digit(shift(scale(IndexExpression::of_axis(Axis{0}, 3), 4), 1), 4, 3));
}

TEST_CASE("values that live at the same time never share bytes, and others do") {
  std::vector<Lifetime> values{{1000, 0, 1}, {1000, 1, 2}, {1000, 2, 3}, {300, 0, 3}};
  MemoryPlan plan = plan_memory(values);
  CHECK(plan.arena_bytes < plan.unshared_bytes);
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    std::vector<Lifetime> random;
    std::uint64_t state = seed * 2654435761u + 1;
    auto next = [&state](std::uint64_t below) {
      return (state = state * 6364136223846793005u + 1442695040888963407u), (state >> 33) % below;
    };
    for (int i = 0; i < 40; ++i) {
      auto first = static_cast<std::uint32_t>(next(50));
      random.push_back({next(5000) + 1, first, first + static_cast<std::uint32_t>(next(8))});
    }
    plan = plan_memory(random);
    for (std::size_t a = 0; a < random.size(); ++a)
      for (std::size_t b = a + 1; b < random.size(); ++b) {
        if (random[a].last < random[b].first || random[b].last < random[a].first) continue;
        bool apart = plan.offsets[a] + random[a].bytes <= plan.offsets[b] ||
                     plan.offsets[b] + random[b].bytes <= plan.offsets[a];
        CHECK(apart);
      }
  }
}

}  // namespace halyard::fusion
