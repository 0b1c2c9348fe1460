#include <doctest/doctest.h>
#include <halyard/onnx/model.h>
#include <halyard/ops/reference.h>

#include <cmath>
#include <string>
#include <vector>

#include "model_writer.h"

using namespace halyard;
using halyard::onnx::InputShapes;
using halyard::onnx::testing::ModelWriter;

/// What ONNX's own tests of its operators leave open: forms that are refused, and hostile ones.
namespace {

constexpr int f32 = ::onnx::TensorProto::FLOAT;
constexpr int i64 = ::onnx::TensorProto::INT64;

/// A graph that is an attribute of a node.
struct Body {
  ::onnx::GraphProto graph;
  Body& input(const char* name) {
    graph.add_input()->set_name(name);
    return *this;
  }
  Body& output(const char* name) {
    graph.add_output()->set_name(name);
    return *this;
  }
  ::onnx::NodeProto& node(const char* type, const std::vector<const char*>& inputs, const char* result) {
    ::onnx::NodeProto& made = *graph.add_node();
    made.set_op_type(type);
    for (const char* each : inputs) made.add_input(each);
    made.add_output(result);
    return made;
  }
};

void attach(::onnx::NodeProto& node, const Body& body) {
  ::onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name("body");
  attribute.set_type(::onnx::AttributeProto::GRAPH);
  *attribute.mutable_g() = body.graph;
}

/// A body that adds x to its state and collects it.
Body adding() {
  Body body;
  body.input("i").input("go").input("s");
  body.node("Add", {"s", "x"}, "next");
  body.node("Identity", {"next"}, "kept");
  return body.output("go").output("next").output("kept");
}

Result<ops::Graph> graph_of(const ModelWriter& writer) {
  auto model = writer.parse();
  if (!model) return tl::unexpected(model.error());
  InputShapes shapes;
  for (const auto& input : model->inputs()) {
    std::vector<std::int64_t> extents = input.dimensions;
    shapes[input.name] = ops::Shape(extents);
  }
  return model->graph(shapes);
}

std::vector<double> results_of(const ModelWriter& writer, const std::vector<std::vector<float>>& inputs,
                               std::size_t number = 0) {
  auto graph = graph_of(writer);
  REQUIRE_MESSAGE(graph.has_value(), graph.error().message);
  std::vector<ops::HostTensor> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    auto tensor = ops::HostTensor::from_values<float>(graph->node(graph->inputs()[i]).shape, inputs[i]);
    REQUIRE(tensor.has_value());
    values.push_back(*tensor);
  }
  auto results = ops::evaluate(*graph, values);
  REQUIRE_MESSAGE(results.has_value(), results.error().message);
  std::vector<double> list;
  for (std::int64_t i = 0; i < (*results)[number].count(); ++i) list.push_back((*results)[number].at(i));
  return list;
}

std::string refusal_of(const ModelWriter& writer) {
  auto graph = graph_of(writer);
  return graph ? "it is read" : graph.error().message;
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

/// A Loop of `trips` iterations of `body` from state x.
ModelWriter loop_of(const Body& body, std::int64_t trips, bool collects = true) {
  ModelWriter writer;
  writer.input("x", f32, {2}).output("y", f32, {2}).integers("trips", {trips}, true);
  attach(writer.node("Loop", {"trips", "", "x"},
                     collects ? std::vector<const char*>{"y", "all"} : std::vector<const char*>{"y"}),
         body);
  return writer;
}

}  // namespace

TEST_CASE("a loop runs as often as it says, and collects what each iteration gives") {
  ModelWriter writer = loop_of(adding(), 3);
  writer.output("all", f32, {3, 2});
  CHECK(results_of(writer, {{1, 10}}) == std::vector<double>{4, 40});
  CHECK(results_of(writer, {{1, 10}}, 1) == std::vector<double>{2, 20, 3, 30, 4, 40});
}

TEST_CASE("a loop stops when its condition says so, if that is known") {
  Body body;
  body.input("i").input("go").input("s");
  body.node("Less", {"i", "limit"}, "more");
  body.node("Add", {"s", "x"}, "next");
  body.output("more").output("next");
  ModelWriter known = loop_of(body, 500, false);
  known.integers("limit", {2}, true);
  CHECK(results_of(known, {{1, 10}}) == std::vector<double>{4, 40});
  ModelWriter unknown = loop_of(body, 500, false);
  unknown.input("limit", i64, {});
  CHECK(contains(refusal_of(unknown), "whether iteration 0 is the last depends on the values of the inputs"));
}

TEST_CASE("loops that are too long, too deep or malformed are refused") {
  CHECK(contains(refusal_of(loop_of(adding(), 513)), "more than 512 iterations are not read"));
  CHECK(contains(refusal_of(loop_of(adding(), std::int64_t{1} << 62)), "must be a whole number"));
  CHECK(contains(refusal_of(loop_of(adding(), 0)), "no iteration runs"));

  // 512 · 512 · 512 iterations.
  Body deep = adding();
  for (int level = 0; level < 2; ++level) {
    Body outer;
    outer.input("i").input("go").input("s");
    attach(outer.node("Loop", {"trips", "", "s"}, "next"), deep);
    deep = outer.output("go").output("next");
  }
  CHECK(contains(refusal_of(loop_of(deep, 512, false)), "more than 65536 nodes"));

  // 512 · 512 · 512 iterations of nothing.
  Body empty;
  empty.input("i").input("go").input("s").output("go").output("s");
  for (int level = 0; level < 2; ++level) {
    Body outer;
    outer.input("i").input("go").input("s");
    attach(outer.node("Loop", {"trips", "", "s"}, "next"), empty);
    empty = outer.output("go").output("next");
  }
  CHECK(contains(refusal_of(loop_of(empty, 512, false)), "more than 65536 nodes"));

  Body few = adding();
  few.graph.mutable_input()->RemoveLast();
  CHECK(contains(refusal_of(loop_of(few, 3)), "declares 2 inputs, and is given 3"));
  Body silent = adding();
  silent.graph.mutable_output()->DeleteSubrange(1, 2);
  CHECK(contains(refusal_of(loop_of(silent, 3)), "its body gives 1 results, for 1 states"));

  ModelWriter open;
  open.input("x", f32, {2}).input("trips", i64, {}).output("y", f32, {2});
  attach(open.node("Loop", {"trips", "", "x"}, {"y"}), adding());
  CHECK(contains(refusal_of(open), "operand 0 ('trips') must be known"));
}

TEST_CASE("a scan goes over rows forwards and backwards; rows of two counts are refused") {
  Body body;
  body.input("s").input("row").input("other");
  body.node("Mul", {"row", "other"}, "product");
  body.node("Add", {"s", "product"}, "next");
  body.node("Identity", {"next"}, "kept");
  body.output("next").output("kept");
  const auto scan = [&](std::int64_t rows) {
    ModelWriter writer;
    writer.input("a", f32, {2, 2})
        .input("b", f32, {rows, 2})
        .output("y", f32, {2})
        .output("all", f32, {2, 2});
    writer.floats("zero", {0, 0}, {2});
    ::onnx::NodeProto& node = writer.node("Scan", {"zero", "a", "b"}, {"y", "all"});
    attach(node, body);
    ModelWriter::attribute(node, "num_scan_inputs", std::int64_t{2});
    ModelWriter::attribute(node, "scan_input_directions", std::vector<std::int64_t>{0, 1});
    return writer;
  };
  // 1·30 + 3·10, 2·40 + 4·20
  CHECK(results_of(scan(2), {{1, 2, 3, 4}, {10, 20, 30, 40}}) == std::vector<double>{60, 160});
  CHECK(results_of(scan(2), {{1, 2, 3, 4}, {10, 20, 30, 40}}, 1) == std::vector<double>{30, 80, 60, 160});
  CHECK(contains(refusal_of(scan(3)), "scanned operands of 2 and 3 rows"));
}

TEST_CASE("a determinant: every exchange of rows changes the sign, and a singular matrix has none") {
  ModelWriter writer;
  writer.input("x", f32, {4, 3, 3}).output("y", f32, {4});
  writer.node("Det", {"x"}, {"y"});
  // Identity, one exchange, a cycle, equal rows.
  CHECK(results_of(writer, {{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 1,
                             0, 2, 0, 0, 0, 3, 4, 0, 0, 1, 2, 3, 1, 2, 3, 4, 5, 6}}) ==
        std::vector<double>{1, -1, 24, 0});
  for (std::int64_t rows : {2, 33}) {
    ModelWriter refused;
    refused.input("x", f32, {rows, rows == 2 ? 3 : rows}).output("y", f32, {});
    refused.node("Det", {"x"}, {"y"});
    CHECK(contains(refusal_of(refused),
                   rows == 2 ? "f32[2, 3] are no square matrices" : "matrices of 33 x 33"));
  }
}

TEST_CASE("places beyond an image are padding, whatever the grid holds") {
  for (std::int64_t align : {0, 1}) {
    ModelWriter writer(16);
    writer.input("x", f32, {1, 1, 1, 2}).input("grid", f32, {1, 1, 4, 2}).output("y", f32, {1, 1, 1, 4});
    ModelWriter::attribute(writer.node("GridSample", {"x", "grid"}, {"y"}), "align_corners", align);
    const float nan = std::nanf(""), infinite = 1 / 0.0f;
    const std::vector<double> got = results_of(writer, {{3, 5}, {0, 0, 1e30f, 0, infinite, 0, -1e30f, nan}});
    CHECK(got[0] == 4);
    CHECK(got[1] == 0);
  }
  ModelWriter misfit(16);
  misfit.input("x", f32, {1, 1, 1, 2}).input("grid", f32, {1, 1, 4, 3}).output("y", f32, {1, 1, 1, 4});
  misfit.node("GridSample", {"x", "grid"}, {"y"});
  CHECK(contains(refusal_of(misfit), "X [1, 1, 1, 2] and grid f32[1, 1, 4, 3] do not fit"));
}

TEST_CASE("n-grams whose pool is malformed are refused, and those longer than the text count nothing") {
  const auto counting = [](const std::vector<std::int64_t>& starts, const std::vector<std::int64_t>& columns,
                           std::int64_t items = 2) {
    ModelWriter writer(9);
    writer.input("x", i64, {items}).output("y", f32, {static_cast<std::int64_t>(columns.size())});
    ::onnx::NodeProto& node = writer.node("TfIdfVectorizer", {"x"}, {"y"});
    ModelWriter::attribute(node, "pool_int64s", std::vector<std::int64_t>{1, 2, 3});
    ModelWriter::attribute(node, "ngram_counts", starts);
    ModelWriter::attribute(node, "ngram_indexes", columns);
    ModelWriter::attribute(node, "max_gram_length", std::int64_t{1} << 40);
    ModelWriter::attribute(node, "max_skip_count", std::int64_t{1} << 40);
    ::onnx::AttributeProto& mode = *node.add_attribute();
    mode.set_name("mode");
    mode.set_type(::onnx::AttributeProto::STRING);
    mode.set_s("TF");
    return writer;
  };
  CHECK(refusal_of(counting({0, 1}, {0, 1})) == "it is read");
  CHECK(refusal_of(counting({0, 3, 3}, {2, 1, 0})) == "it is read");
  CHECK(contains(refusal_of(counting({0, 1}, {0, 1}, 1 << 30)), "more than 4096 comparisons"));
  CHECK(contains(refusal_of(counting({0, 2}, {0, 1, 2})), "no grams of 2"));
  CHECK(contains(refusal_of(counting({0, 4}, {0, 1, 2})), "0 to 4 are no grams of 1"));
  CHECK(contains(refusal_of(counting({0, 1}, {0, 5})), "gram 1 has none below 2"));
}
