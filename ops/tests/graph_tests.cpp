#include <halyard/ops/graph_builder.h>
#include <halyard/ops/reference.h>
#include <limits>
#include "test_tensors.h"

namespace halyard::ops::testing {
namespace {

struct Fixture {
  Graph graph;
  GraphBuilder builder{graph};

  NodeId input(std::string name, const Shape& shape, ElementType element = ElementType::f32) {
    return graph.input(std::move(name), element, shape).value();
  }
  /// The values of `node` for one f32 input holding 0, 1, 2, ….
  std::vector<double> computed(NodeId node) {
    REQUIRE(graph.output(node).has_value());
    std::vector<HostTensor> inputs;
    for (NodeId id : graph.inputs()) {
      std::vector<double> counting(static_cast<std::size_t>(graph.node(id).shape.count()));
      for (std::size_t i = 0; i < counting.size(); ++i) counting[i] = static_cast<double>(i);
      inputs.push_back(numbers_of(graph.node(id).element, graph.node(id).shape, counting));
    }
    auto results = evaluate(graph, inputs);
    REQUIRE(results.has_value());
    return doubles_of(results->back());
  }
};

}  // namespace

TEST_CASE("the table has a docstring for every row, and a meaning for all but inputs and constants") {
  for (const PrimitiveRow& row : rows()) {
    INFO(row.name);
    CHECK_FALSE(row.doc.empty());
    CHECK(parse_primitive(row.name) == row.primitive);
    bool is_given = row.primitive == Primitive::input || row.primitive == Primitive::constant;
    CHECK((row.expand != nullptr) == (row.kind == Kind::elementwise));
    CHECK((row.reference != nullptr) == (row.kind != Kind::elementwise && !is_given));
  }
  CHECK_FALSE(parse_primitive("no such thing").has_value());
}

TEST_CASE("shapes reject negative extents and element counts that overflow") {
  CHECK_FALSE(Shape::create({2, -1}).has_value());
  CHECK_FALSE(Shape::create({std::int64_t{1} << 40, std::int64_t{1} << 40}).has_value());
  CHECK_FALSE(Shape::create({0, std::int64_t{1} << 40, std::int64_t{1} << 40}).has_value());
  CHECK(Shape::create({0, 5})->count() == 0);
  CHECK(Shape{}.count() == 1);
  CHECK(Shape{2, 3, 4}.row_major_strides() == std::vector<std::int64_t>{12, 4, 1});
}

TEST_CASE("shapes broadcast by NumPy's rule") {
  CHECK(broadcast_shapes(Shape{3, 1}, Shape{4}).value() == Shape{3, 4});
  CHECK(broadcast_shapes(Shape{}, Shape{2, 0}).value() == Shape{2, 0});
  CHECK(broadcast_shapes(Shape{1}, Shape{0}).value() == Shape{0});
  auto refused = broadcast_shapes(Shape{2, 3}, Shape{4});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message.find("[2, 3]") != std::string::npos);
}

TEST_CASE("elementwise operands are broadcast by explicit nodes") {
  Fixture f;
  NodeId sum = f.builder.binary(Primitive::add, f.input("a", {2, 3}), f.input("b", {3})).value();
  CHECK(f.builder.shape(sum) == Shape{2, 3});
  CHECK(f.graph.node(f.graph.node(sum).operands[1]).primitive == Primitive::broadcast);
  CHECK(f.graph.verify().has_value());
  CHECK(f.computed(sum) == std::vector<double>{0, 2, 4, 3, 5, 7});
}

TEST_CASE("mixing element types is an error that names cast") {
  Fixture f;
  auto result = f.builder.binary(Primitive::add, f.input("a", {2}), f.input("b", {2}, ElementType::f16));
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().message == "add: operands of different types, f32 and f16: cast one of them");
  CHECK(f.graph.size() == 2);
}

TEST_CASE("a function refuses element types its row does not allow, naming those it takes") {
  Fixture f;
  auto result = f.builder.unary(Primitive::exp, f.input("a", {2}, ElementType::i32));
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == ErrorCode::unsupported);
  CHECK(result.error().message == "exp: no i32 operands; it takes f16, bf16, f32, f64: cast first");
}

TEST_CASE("two inputs of one name are refused") {
  Fixture f;
  f.input("a", {2});
  CHECK_FALSE(f.graph.input("a", ElementType::f32, {2}).has_value());
}

TEST_CASE("views that change nothing add no node") {
  Fixture f;
  NodeId a = f.input("a", {2, 3});
  CHECK(f.builder.reshape(a, {2, -1}).value() == a);
  CHECK(f.builder.permute(a, {0, 1}).value() == a);
  CHECK(f.builder.broadcast(a, {2, 3}).value() == a);
  CHECK(f.builder.cast(a, ElementType::f32).value() == a);
  CHECK(f.builder.slice_axis(a, 0, std::nullopt, std::nullopt).value() == a);
}

TEST_CASE("slices follow Python for negative bounds, overlong bounds and negative steps") {
  auto sliced = [](std::optional<std::int64_t> start, std::optional<std::int64_t> stop, std::int64_t step) {
    Fixture f;
    return f.computed(f.builder.slice_axis(f.input("a", {6}), -1, start, stop, step).value());
  };
  CHECK(sliced(1, 4, 1) == std::vector<double>{1, 2, 3});
  CHECK(sliced(-2, {}, 1) == std::vector<double>{4, 5});
  CHECK(sliced({}, 100, 2) == std::vector<double>{0, 2, 4});
  CHECK(sliced({}, {}, -1) == std::vector<double>{5, 4, 3, 2, 1, 0});
  CHECK(sliced(4, 0, -2) == std::vector<double>{4, 2});
  CHECK(sliced(4, {}, -3) == std::vector<double>{4, 1});
  CHECK(sliced(4, 2, 1).empty());
  CHECK(sliced({}, {}, -100) == std::vector<double>{5});
  CHECK(sliced({}, std::numeric_limits<std::int64_t>::max(), 1).size() == 6);
  CHECK(
      sliced(std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min(), -1).size() ==
      6);
}

TEST_CASE("matmul takes vectors, matrices and broadcast batches as NumPy does") {
  Fixture f;
  NodeId matrix = f.input("matrix", {2, 3});
  NodeId vector = f.input("vector", {3});
  NodeId batch = f.input("batch", {4, 1, 3, 5});
  NodeId left = f.input("left", {6, 2, 3});
  auto shape_of = [&](NodeId a, NodeId b) { return f.builder.shape(f.builder.matmul(a, b).value()); };
  CHECK(shape_of(vector, vector) == Shape{});
  CHECK(shape_of(matrix, vector) == Shape{2});
  CHECK(shape_of(left, vector) == Shape{6, 2});
  CHECK(shape_of(left, batch) == Shape{4, 6, 2, 5});
  CHECK(f.builder.matmul(matrix, matrix).error().message == "matmul: [2, 3] and [2, 3] do not multiply");
  CHECK(f.computed(f.builder.matmul(matrix, vector).value()) == std::vector<double>{5, 14});
}

TEST_CASE("a vector times a batch of matrices keeps the batch first") {
  Fixture f;
  NodeId vector = f.input("vector", {3});
  NodeId batch = f.input("batch", {4, 3, 5});
  CHECK(f.builder.shape(f.builder.matmul(vector, batch).value()) == Shape{4, 5});
}

TEST_CASE("dot_general lays out batch, lhs free and rhs free axes in that order") {
  Fixture f;
  NodeId a = f.input("a", {2, 7, 3});
  NodeId b = f.input("b", {5, 3, 2});
  NodeId dot = f.builder.dot_general(a, b, {{2}, {1}, {0}, {2}}).value();
  CHECK(f.builder.shape(dot) == Shape{2, 7, 5});
  CHECK_FALSE(f.builder.dot_general(a, b, {{2}, {0}, {}, {}}).has_value());
  CHECK_FALSE(f.builder.dot_general(a, b, {{2, 2}, {1, 1}, {}, {}}).has_value());
  CHECK_FALSE(f.builder.dot_general(a, b, {{9}, {1}, {}, {}}).has_value());
}

TEST_CASE("reductions over no axes named reduce all, and a scalar stays itself") {
  Fixture f;
  CHECK(f.builder.shape(f.builder.reduce(Primitive::reduce_sum, f.input("a", {2, 3}), {}).value()) ==
        Shape{});
  NodeId scalar = f.input("s", {});
  CHECK(f.builder.reduce(Primitive::reduce_max, scalar, {}).value() == scalar);
  CHECK_FALSE(f.builder.reduce(Primitive::reduce_sum, f.input("b", {2}), {1}).has_value());
  CHECK_FALSE(f.builder.reduce(Primitive::reduce_sum, f.input("c", {2}), {0, -1}).has_value());
  CHECK(f.builder.shape(f.builder.reduce(Primitive::reduce_sum, f.input("d", {2, 3}), {-1}, true).value()) ==
        Shape{2, 1});
}

TEST_CASE("inference refuses attributes that do not fit, with the primitive's name first") {
  std::vector<TensorType> x{{ElementType::f32, Shape{2, 3}}};
  auto refused = [&](Primitive primitive, const Attributes& attributes) {
    auto result = infer(primitive, x, attributes);
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().message.starts_with(name(primitive)));
  };
  Attributes a;
  refused(Primitive::permute, a);
  a.axes = {0, 0};
  refused(Primitive::permute, a);
  refused(Primitive::reduce_sum, a);
  a.axes = {5};
  refused(Primitive::concat, a);
  refused(Primitive::argmax, a);
  refused(Primitive::cumulative_sum, a);
  a.shape = {7};
  refused(Primitive::reshape, a);
  refused(Primitive::broadcast, a);
  a.shape = {2, 3};
  a.starts = {0, 1};
  a.steps = {1, 1};
  refused(Primitive::slice, a);
  a.steps = {0, 0};
  refused(Primitive::slice, a);
  a.ends = {-1, 0};
  refused(Primitive::pad, a);
  a.ends = {std::numeric_limits<std::int64_t>::max(), 0};
  refused(Primitive::pad, a);
  refused(Primitive::cast, Attributes{});
  Attributes to_f16;
  to_f16.element = ElementType::f16;
  refused(Primitive::bitcast, to_f16);
}

TEST_CASE("taking from an axis without elements is refused unless nothing is taken") {
  Fixture f;
  NodeId empty = f.input("a", {0, 4});
  CHECK_FALSE(f.builder.take(empty, f.input("i", {2}, ElementType::i64), 0).has_value());
  CHECK(f.builder.take(empty, f.input("j", {0}, ElementType::i64), 0).has_value());
}

TEST_CASE("a graph's text shows each node, its attributes and type") {
  Fixture f;
  NodeId x = f.input("x", {2, 3});
  NodeId sum = f.builder.reduce(Primitive::reduce_sum, x, {1}, true).value();
  NodeId half = f.builder.binary(Primitive::mul, sum, 0.5).value();
  REQUIRE(f.graph.output(half, "y").has_value());
  CHECK(f.graph.text() ==
        "%0 = input('x') : f32[2, 3]\n"
        "%1 = reduce_sum(%0, axes=[1], keep_dims) : f32[2, 1]\n"
        "%2 = constant(0.5) : f32[]\n"
        "%3 = broadcast(%2) : f32[2, 1]\n"
        "%4 = mul(%1, %3) : f32[2, 1]\n"
        "output %4  # y\n");
}

TEST_CASE("the evaluator refuses inputs of another type or number") {
  Fixture f;
  NodeId x = f.input("x", {2});
  REQUIRE(f.graph.output(x).has_value());
  CHECK_FALSE(evaluate(f.graph, {}).has_value());
  std::vector<HostTensor> wrong{vector_of<float>({1, 2, 3})};
  auto result = evaluate(f.graph, wrong);
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().message == "evaluate: input 'x' is f32[2], not f32[3]");
}

}  // namespace halyard::ops::testing
