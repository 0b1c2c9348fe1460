#include <doctest/doctest.h>
#include <halyard/onnx/model.h>
#include <halyard/ops/reference.h>

#include <sys/stat.h>
#include <unistd.h>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "model_writer.h"

using namespace halyard;
using halyard::onnx::InputShapes;
using halyard::onnx::Model;
using halyard::onnx::testing::ModelWriter;

namespace {

constexpr int f32 = ::onnx::TensorProto::FLOAT;
constexpr int i64 = ::onnx::TensorProto::INT64;

ops::HostTensor floats(ops::Shape shape, const std::vector<float>& values) {
  auto tensor = ops::HostTensor::from_values<float>(std::move(shape), values);
  REQUIRE(tensor.has_value());
  return *tensor;
}

std::vector<float> evaluate(const Model& model, const std::vector<ops::HostTensor>& inputs) {
  InputShapes shapes;
  for (std::size_t i = 0; i < inputs.size(); ++i) shapes[model.inputs()[i].name] = inputs[i].shape();
  auto graph = model.graph(shapes);
  REQUIRE_MESSAGE(graph.has_value(), graph.error().message);
  auto results = ops::evaluate(*graph, inputs);
  REQUIRE_MESSAGE(results.has_value(), results.error().message);
  auto values = results->front().values<float>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("a model with an open batch runs at any batch size") {
  ModelWriter writer;
  writer.input("x", f32, {-1, 2}).output("y", f32, {-1, 2}).floats("w", {1, 2, 3, 4}, {2, 2});
  writer.node("MatMul", {"x", "w"}, {"y"});
  auto model = writer.parse();
  REQUIRE_MESSAGE(model.has_value(), model.error().message);
  CHECK(model->inputs()[0].text() == "x: f32[batch, 2]");
  CHECK(evaluate(*model, {floats({1, 2}, {1, 1})}) == std::vector<float>{4, 6});
  CHECK(evaluate(*model, {floats({2, 2}, {1, 0, 0, 1})}) == std::vector<float>{1, 2, 3, 4});
}

TEST_CASE("shape arithmetic is folded away") {
  ModelWriter writer;
  writer.input("x", f32, {-1, 6})
      .output("y", f32, {-1, 2, 3})
      .integers("zero", {0}, true)
      .integers("first", {0})
      .integers("rest", {2, 3});
  writer.node("Shape", {"x"}, {"shape"});
  writer.node("Gather", {"shape", "zero"}, {"batch"});
  writer.node("Unsqueeze", {"batch", "first"}, {"batch_list"});
  ModelWriter::attribute(writer.node("Concat", {"batch_list", "rest"}, {"target"}), "axis", 0);
  writer.node("Reshape", {"x", "target"}, {"y"});
  auto model = writer.parse();
  REQUIRE_MESSAGE(model.has_value(), model.error().message);
  auto graph = model->graph({{"x", ops::Shape{4, 6}}});
  REQUIRE_MESSAGE(graph.has_value(), graph.error().message);
  CHECK(graph->node(graph->outputs()[0].node).primitive == ops::Primitive::reshape);
  CHECK(graph->node(graph->outputs()[0].node).shape == ops::Shape{4, 2, 3});
}

TEST_CASE("softmax before version 13 normalizes all axes from its axis on, later one axis") {
  for (int opset : {11, 13}) {
    ModelWriter writer(opset);
    writer.input("x", f32, {1, 2, 2}).output("y", f32, {1, 2, 2});
    ModelWriter::attribute(writer.node("Softmax", {"x"}, {"y"}), "axis", 1);
    auto model = writer.parse();
    REQUIRE(model.has_value());
    auto y = evaluate(*model, {floats({1, 2, 2}, {0, 0, 0, 0})});
    CHECK(y == std::vector<float>(4, opset < 13 ? 0.25f : 0.5f));
  }
}

TEST_CASE("a slice with a negative step runs down to the first element") {
  ModelWriter writer;
  writer.input("x", f32, {4})
      .output("y", f32, {4})
      .integers("start", {-1})
      .integers("end", {-9223372036854775807})
      .integers("axis", {0})
      .integers("step", {-1});
  writer.node("Slice", {"x", "start", "end", "axis", "step"}, {"y"});
  auto model = writer.parse();
  REQUIRE(model.has_value());
  CHECK(evaluate(*model, {floats({4}, {1, 2, 3, 4})}) == std::vector<float>{4, 3, 2, 1});
}

TEST_CASE("an operator that is lacking is named with its node and version before anything runs") {
  ModelWriter writer;
  writer.input("x", f32, {2}).output("y", f32, {2});
  writer.node("NonMaxSuppression", {"x"}, {"y"});
  auto model = writer.parse();
  REQUIRE(!model.has_value());
  CHECK(model.error().code == ErrorCode::unsupported);
  CHECK(model.error().message.find("NonMaxSuppression (version 14)") != std::string::npos);
  CHECK(model.error().message.find("the_NonMaxSuppression") != std::string::npos);
}

TEST_CASE("an input of the wrong shape, an unknown one and a missing one are named") {
  ModelWriter writer;
  writer.input("x", f32, {-1, 2}).input("z", f32, {-1}).output("y", f32, {-1, 2});
  writer.node("Identity", {"x"}, {"y"});
  auto model = writer.parse();
  REQUIRE(model.has_value());
  for (const auto& [shapes, text] :
       {std::pair<InputShapes, const char*>{{{"x", ops::Shape{1, 3}}, {"z", ops::Shape{1}}},
                                            "'x: f32[batch, 2]' cannot have shape [1, 3]"},
        {{{"x", ops::Shape{1, 2}}, {"z", ops::Shape{2}}}, "'z: f32[batch]' cannot have shape [2]"},
        {{{"x", ops::Shape{1, 2}}}, "'z: f32[batch]' is given neither a shape nor a value"},
        {{{"q", ops::Shape{1, 2}}}, "no input 'q'"}}) {
    auto graph = model->graph(shapes);
    REQUIRE(!graph.has_value());
    CHECK_MESSAGE(graph.error().message.find(text) != std::string::npos, graph.error().message);
  }
}

TEST_CASE("damaged and hostile files give errors") {
  CHECK(!Model::parse({}).has_value());
  std::string noise = "this is not a model";
  CHECK(!Model::parse(std::as_bytes(std::span(noise.data(), noise.size()))).has_value());

  ModelWriter writer;
  writer.input("x", f32, {2}).output("y", f32, {2}).floats("w", {1, 2}, {2});
  writer.node("Add", {"x", "w"}, {"y"});
  std::string whole = writer.bytes();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    auto model = Model::parse(std::as_bytes(std::span(whole.data(), length)));
    if (model) (void)model->graph({{"x", ops::Shape{2}}});
  }

  SUBCASE("a tensor that promises more elements than it holds") {
    writer.proto().mutable_graph()->mutable_initializer(0)->set_dims(0, std::int64_t{1} << 40);
    CHECK(writer.parse().error().code == ErrorCode::corrupt_data);
  }
  SUBCASE("a tensor whose extents overflow") {
    writer.proto().mutable_graph()->mutable_initializer(0)->add_dims(std::int64_t{1} << 62);
    CHECK(!writer.parse().has_value());
  }
  SUBCASE("external data outside the model's folder") {
    auto& tensor = *writer.proto().mutable_graph()->mutable_initializer(0);
    tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
    auto& location = *tensor.add_external_data();
    location.set_key("location");
    location.set_value("../../etc/passwd");
    CHECK(!writer.parse().has_value());
  }
  SUBCASE("two nodes that define one value") {
    ModelWriter::attribute(writer.node("Flatten", {"x"}, {"y"}), "axis", 0);
    auto model = writer.parse();
    REQUIRE(!model.has_value());
    CHECK_MESSAGE(
        model.error().message.find("node 1 'the_Flatten' (Flatten) defines 'y'") != std::string::npos,
        model.error().message);
    CHECK(model.error().message.find("node 0 'the_Add'") != std::string::npos);
  }
  SUBCASE("a node that defines an initializer's value") {
    writer.node("Identity", {"x"}, {"w"});
    CHECK(!writer.parse().has_value());
  }
  SUBCASE("an attribute given twice") {
    auto& node = writer.node("Flatten", {"x"}, {"flat"});
    ModelWriter::attribute(node, "axis", 0);
    ModelWriter::attribute(node, "axis", 1);
    CHECK(writer.parse().error().message.find("'axis' twice") != std::string::npos);
  }
  SUBCASE("two inputs of one name") {
    writer.input("x", f32, {2});
    CHECK(writer.parse().error().message.find("two inputs are named 'x'") != std::string::npos);
  }
  SUBCASE("a tensor of more axes than files of tensors have") {
    auto& tensor = *writer.proto().mutable_graph()->mutable_initializer(0);
    for (int i = 0; i < 64; ++i) tensor.add_dims(1);
    CHECK(writer.parse().error().message.find("'w' has 65 axes; at most 64") != std::string::npos);
  }
  SUBCASE("an operator of a domain of its own") {
    writer.node("Add", {"x", "w"}, {"other"}).set_domain("elsewhere");
    CHECK(writer.parse().error().message.find("elsewhere.Add (a domain that the model does not import)") !=
          std::string::npos);
    auto& imported = *writer.proto().add_opset_import();
    imported.set_domain("elsewhere");
    imported.set_version(3);
    CHECK(writer.parse().error().message.find("elsewhere.Add (version 3)") != std::string::npos);
  }
  SUBCASE("messages nested deeper than they are read") {
    auto* graph = writer.proto().mutable_graph();
    for (int i = 0; i < 40; ++i) {
      auto& branch = *graph->add_node()->add_attribute();
      branch.set_type(::onnx::AttributeProto::GRAPH);
      graph = branch.mutable_g();
    }
    CHECK(writer.parse().error().message.find("nests more than 64 levels deep") != std::string::npos);
  }
  SUBCASE("a node that uses a value nothing defines") {
    writer.proto().mutable_graph()->mutable_node(0)->set_input(1, "nowhere");
    auto model = writer.parse();
    REQUIRE(model.has_value());
    auto graph = model->graph({{"x", ops::Shape{2}}});
    REQUIRE(!graph.has_value());
    CHECK(graph.error().message.find("the_Add") != std::string::npos);
    CHECK(graph.error().message.find("'nowhere'") != std::string::npos);
  }
  SUBCASE("a node without its operands") {
    writer.proto().mutable_graph()->mutable_node(0)->clear_input();
    auto model = writer.parse();
    REQUIRE(model.has_value());
    CHECK(!model->graph({{"x", ops::Shape{2}}}).has_value());
  }
  SUBCASE("an output that is computed in another type than declared") {
    writer.proto().mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
        i64);
    auto model = writer.parse();
    REQUIRE(model.has_value());
    CHECK(!model->graph({{"x", ops::Shape{2}}}).has_value());
  }
}

TEST_CASE("dropout passes its operand through in inference, and is refused in training") {
  struct Case {
    std::optional<std::int64_t> training;  ///< none: given at run time
    bool uses_mask;
    const char* refusal;  ///< empty: it runs
  };
  for (const Case& expected : {Case{0, false, ""}, Case{1, false, "training_mode ('training') is true"},
                               Case{{}, false, "operand 2 ('training') must be known"}, Case{0, true, ""}}) {
    CAPTURE(expected.refusal);
    ModelWriter writer;
    writer.input("x", f32, {2}).output("y", f32, {2}).floats("ratio", {0.5f}, {});
    if (expected.training)
      writer.integers("training", {*expected.training}, true);
    else
      writer.input("training", i64, {});
    writer.node("Dropout", {"x", "ratio", "training"}, {"y", "mask"});
    if (expected.uses_mask) writer.node("Not", {"mask"}, {"dropped"});
    auto model = writer.parse();
    REQUIRE(model.has_value());
    InputShapes shapes{{"x", ops::Shape{2}}};
    if (!expected.training) shapes["training"] = ops::Shape{};
    auto graph = model->graph(shapes);
    CHECK(graph.has_value() == std::string_view(expected.refusal).empty());
    if (graph) continue;
    CHECK_MESSAGE(graph.error().message.find(expected.refusal) != std::string::npos, graph.error().message);
    CHECK(graph.error().message.find("'the_Dropout'") != std::string::npos);
  }
}

TEST_CASE("a power takes integer exponents, and an integer base whole ones of at least 0") {
  ModelWriter mixed;
  mixed.input("x", f32, {3}).output("y", f32, {3}).integers("exponents", {3, 0, -1});
  mixed.node("Pow", {"x", "exponents"}, {"y"});
  auto model = mixed.parse();
  REQUIRE(model.has_value());
  CHECK(evaluate(*model, {floats({3}, {2, 5, 4})}) == std::vector<float>{8, 1, 0.25f});
  for (const auto& [exponent, expected] : {std::pair<std::int64_t, std::vector<float>>{0, {1, 1}},
                                           {1, {-3, 2}},
                                           {5, {-243, 32}},
                                           {6, {729, 64}},
                                           {-1, {}}}) {
    CAPTURE(exponent);
    ModelWriter whole;
    whole.input("x", f32, {2}).output("y", f32, {2}).integers("exponent", {exponent}, true);
    ModelWriter::attribute(whole.node("Cast", {"x"}, {"base"}), "to", i64);
    whole.node("Pow", {"base", "exponent"}, {"power"});
    ModelWriter::attribute(whole.node("Cast", {"power"}, {"y"}), "to", f32);
    model = whole.parse();
    REQUIRE(model.has_value());
    if (!expected.empty()) {
      CHECK(evaluate(*model, {floats({2}, {-3, 2})}) == expected);
      continue;
    }
    auto graph = model->graph({{"x", ops::Shape{2}}});
    REQUIRE_FALSE(graph.has_value());
    CHECK(graph.error().code == ErrorCode::unsupported);
    CHECK(graph.error().message.find("a base of i64") != std::string::npos);
  }
}

TEST_CASE("a path that is no model is refused with what it is") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("halyard-paths-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "empty.onnx").close();
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  for (const auto& [path, reason] : {std::pair{folder, "it is a folder"},
                                     {folder / "absent.onnx", "there is no such file"},
                                     {folder / "pipe", "it is no regular file"},
                                     {folder / "empty.onnx", "is empty"}}) {
    auto model = Model::load(path);
    REQUIRE(!model.has_value());
    CHECK_MESSAGE(model.error().message.find(reason) != std::string::npos, model.error().message);
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("external data is read from the model's folder, and not through a link that leads out of it") {
  const auto folder = std::filesystem::temp_directory_path() / ("halyard-onnx-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder / "model");
  const float values[] = {1, 2};
  const auto write = [](const std::filesystem::path& path, const void* bytes, std::size_t count) {
    std::ofstream(path, std::ios::binary)
        .write(static_cast<const char*>(bytes), static_cast<std::streamsize>(count));
  };
  write(folder / "outside.bin", values, sizeof values);
  write(folder / "model" / "inside.bin", values, sizeof values);
  std::filesystem::create_symlink("../outside.bin", folder / "model" / "link.bin");
  std::filesystem::create_symlink("inside.bin", folder / "model" / "near.bin");
  struct Case {
    std::string location, offset, length;
    bool good;
  };
  for (const auto& [name, offset, length, good] :
       {Case{"inside.bin", "0", "8", true}, Case{"near.bin", "0", "8", true},
        Case{"link.bin", "0", "8", false}, Case{"../outside.bin", "0", "8", false},
        Case{"absent.bin", "0", "8", false}, Case{std::string("inside.bin\0x", 12), "0", "8", false},
        Case{"inside.bin", "4", "8", false}, Case{"inside.bin", "-1", "8", false},
        Case{"inside.bin", "0", "9223372036854775808", false}, Case{"inside.bin", "0", "4", false}}) {
    CAPTURE(name);
    CAPTURE(offset);
    CAPTURE(length);
    ModelWriter writer;
    writer.input("x", f32, {2}).output("y", f32, {2}).floats("w", {1, 2}, {2});
    writer.node("Add", {"x", "w"}, {"y"});
    auto& tensor = *writer.proto().mutable_graph()->mutable_initializer(0);
    tensor.clear_float_data();
    tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
    for (const auto& [key, value] : {std::pair{"location", name}, {"offset", offset}, {"length", length}}) {
      auto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    const std::string bytes = writer.bytes();
    write(folder / "model" / "model.onnx", bytes.data(), bytes.size());
    auto model = Model::load(folder / "model" / "model.onnx");
    CHECK_MESSAGE(model.has_value() == good, (model ? std::string() : model.error().message));
  }
  std::filesystem::remove_all(folder);
}
