#include <doctest/doctest.h>
#include <halyard/onnx/model.h>
#include <halyard/onnx/node_test.h>
#include <halyard/ops/reference.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

#include "model_writer.h"

using namespace halyard;
using halyard::onnx::Model;
using halyard::onnx::testing::ModelWriter;

namespace {

constexpr int f32 = ::onnx::TensorProto::FLOAT;
constexpr int i64 = ::onnx::TensorProto::INT64;

/// A folder of a node test, removed at the end.
class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() / ("halyard-node-test-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path_ / "test_data_set_0");
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }

  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
  }
  template <class Value>
  void tensor(const std::string& name, int type, const std::vector<std::int64_t>& shape,
              const std::vector<Value>& values) const {
    ::onnx::TensorProto proto;
    proto.set_data_type(type);
    for (std::int64_t extent : shape) proto.add_dims(extent);
    proto.set_raw_data(values.data(), values.size() * sizeof(Value));
    write("test_data_set_0/" + name, proto.SerializeAsString());
  }

 private:
  std::filesystem::path path_;
};

/// y = Tile(x, repeats): the repeats are an input, and decide y's shape.
void write_tile(const Folder& folder) {
  ModelWriter writer;
  writer.input("x", f32, {2}).input("repeats", i64, {1}).output("y", f32, {4});
  writer.node("Tile", {"x", "repeats"}, {"y"});
  folder.write("model.onnx", writer.bytes());
  folder.tensor<float>("input_0.pb", f32, {2}, {1, 2});
  folder.tensor<std::int64_t>("input_1.pb", i64, {1}, {2});
  folder.tensor<float>("output_0.pb", f32, {4}, {1, 2, 1, 2});
}

}  // namespace

TEST_CASE("a node test is read, and an input that decides a shape is fixed to its value") {
  const Folder folder;
  write_tile(folder);
  auto test = halyard::onnx::read_node_test(folder.path());
  REQUIRE_MESSAGE(test.has_value(), (test ? std::string() : test.error().message));
  REQUIRE(test->inputs.size() == 1);
  CHECK(test->graph.inputs().size() == 1);
  auto results = ops::evaluate(test->graph, test->inputs);
  REQUIRE(results.has_value());
  CHECK(ops::same_bits(results->front(), test->expected.front()));
}

TEST_CASE("damaged and missing files of a node test are named") {
  const Folder folder;
  write_tile(folder);
  folder.write("test_data_set_0/input_1.pb", "\x0a\xff\xff");
  auto damaged = halyard::onnx::read_node_test(folder.path());
  REQUIRE_FALSE(damaged.has_value());
  CHECK(damaged.error().code == ErrorCode::corrupt_data);
  CHECK(damaged.error().message.find("input_1.pb") != std::string::npos);
  std::filesystem::remove(folder.path() / "test_data_set_0/input_1.pb");
  CHECK(halyard::onnx::read_node_test(folder.path()).error().code == ErrorCode::io_error);
}

TEST_CASE("an input is given a shape or a value, and not both") {
  ModelWriter writer;
  writer.input("x", f32, {2}).input("repeats", i64, {1}).output("y", f32, {-1});
  writer.node("Tile", {"x", "repeats"}, {"y"});
  auto model = writer.parse();
  REQUIRE(model.has_value());
  const auto twice = ops::HostTensor::from_values<std::int64_t>({1}, std::vector<std::int64_t>{2}).value();
  const auto message = [&](const halyard::onnx::InputShapes& shapes,
                           const halyard::onnx::FixedInputs& fixed) {
    auto graph = model->graph(shapes, fixed);
    return graph ? std::string() : graph.error().message;
  };
  CHECK(message({{"x", {2}}}, {{"repeats", twice}}).empty());
  CHECK(message({{"x", {2}}, {"repeats", {1}}}, {}).find("give those a fixed value") != std::string::npos);
  CHECK(message({{"x", {2}}}, {}) == "onnx: input 'repeats: i64[1]' is given neither a shape nor a value");
  CHECK(message({{"x", {2}}, {"repeats", {1}}}, {{"repeats", twice}}) ==
        "onnx: input 'repeats: i64[1]' is given both a shape and a value");
  CHECK(message({{"repeats", {1}}}, {{"x", twice}}) ==
        "onnx: input 'x: f32[2]' is given a value of type i64");
}

TEST_CASE("the page names the operators that are read, and no others") {
  std::ifstream file(HALYARD_SOURCE_FOLDER "/docs/onnx.md");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  const std::size_t begin = page.find("## Operators"), end = page.find("## ", begin + 1);
  REQUIRE(end != std::string::npos);
  const std::string list = page.substr(begin, end - begin);
  std::vector<std::string> named;
  const std::regex word("`([A-Za-z0-9]+)`");
  for (std::sregex_iterator at(list.begin(), list.end(), word); at != std::sregex_iterator(); ++at)
    named.push_back((*at)[1]);
  std::vector<std::string> read;
  for (std::string_view name : halyard::onnx::operator_names()) read.emplace_back(name);
  CHECK(named == read);
}
