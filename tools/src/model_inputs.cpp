#include "model_inputs.h"

#include "commands.h"

#include <fmt/format.h>
#include <halyard/hal/nearest_name.h>
#include <halyard/ops/npy.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <random>

namespace halyard::tools {
namespace {

constexpr std::string_view random_prefix = "random:";

Result<ops::Shape> parse_shape(std::string_view text) {
  std::vector<std::int64_t> extents;
  std::string_view rest = text;
  while (!rest.empty()) {
    std::int64_t extent = 0;
    auto [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), extent);
    const auto used = static_cast<std::size_t>(end - rest.data());
    const bool separated =
        used == rest.size() || ((rest[used] == 'x' || rest[used] == ',') && used + 1 < rest.size());
    if (problem != std::errc() || extent < 0 || !separated)
      return fail(ErrorCode::invalid_argument,
                  fmt::format("--input: '{}' is no shape; write it like 8x128", text));
    extents.push_back(extent);
    rest.remove_prefix(used == rest.size() ? used : used + 1);
  }
  return ops::Shape::create(std::move(extents));
}

Result<ops::HostTensor> random_tensor(ElementType element, const ops::Shape& shape) {
  HALYARD_ASSIGN(ops::HostTensor tensor, ops::HostTensor::allocate(element, shape));
  std::mt19937_64 generator(20260301);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    const double value = is_float(element) ? uniform(generator) : static_cast<double>(generator() >> 63);
    tensor.set_bits_at(i, ops::HostTensor::scalar(element, value).bits_at(0));
  }
  return tensor;
}

/// NAME=WHAT pairs, each name known to the model.
Result<std::map<std::string, std::string>> split(const onnx::Model& model,
                                                 const std::vector<std::string>& arguments) {
  std::map<std::string, std::string> pairs;
  std::vector<std::string> names;
  for (const onnx::ValueInfo& input : model.inputs()) names.push_back(input.name);
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos)
      return fail(ErrorCode::invalid_argument,
                  fmt::format("--input: '{}' should be NAME=FILE.npy or NAME=random:SHAPE", argument));
    std::string name = argument.substr(0, equals);
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      std::string list;
      for (const onnx::ValueInfo& input : model.inputs()) list += "\n  " + input.text();
      std::string nearest = hal::nearest_name(name, names);
      return fail(ErrorCode::invalid_argument,
                  fmt::format("--input: the model has no input '{}'{}; its inputs are:{}", name,
                              nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest), list));
    }
    if (!pairs.emplace(name, argument.substr(equals + 1)).second)
      return fail(ErrorCode::invalid_argument, fmt::format("--input: '{}' is given twice", name));
  }
  return pairs;
}

/// A shape that the input could have, as --input takes it.
std::string example_shape(const onnx::ValueInfo& info) {
  std::string text;
  for (std::size_t i = 0; i < info.dimensions.size(); ++i) {
    const std::int64_t open = i == 0 ? 1 : 32;
    text += fmt::format("{}{}", i == 0 ? "" : "x", info.symbols[i].empty() ? info.dimensions[i] : open);
  }
  return text;
}

}  // namespace

Result<std::vector<ops::HostTensor>> read_inputs(const onnx::Model& model,
                                                 const std::vector<std::string>& arguments) {
  HALYARD_ASSIGN(auto pairs, split(model, arguments));
  std::vector<ops::HostTensor> inputs;
  for (const onnx::ValueInfo& info : model.inputs()) {
    auto given = pairs.find(info.name);
    if (given == pairs.end())
      return fail(ErrorCode::invalid_argument,
                  fmt::format("input '{}' is missing; add --input {}=FILE.npy or --input {}=random:{}",
                              info.text(), info.name, info.name, example_shape(info)));
    std::string_view what = given->second;
    if (what.starts_with(random_prefix)) {
      HALYARD_ASSIGN(ops::Shape shape, parse_shape(what.substr(random_prefix.size())));
      HALYARD_ASSIGN(ops::HostTensor tensor, random_tensor(info.element, shape));
      inputs.push_back(std::move(tensor));
      continue;
    }
    HALYARD_ASSIGN(ops::HostTensor tensor, ops::read_npy(given->second));
    if (tensor.element() != info.element)
      return fail(ErrorCode::invalid_argument,
                  fmt::format("--input: '{}' holds {} but the model declares {}; convert it first",
                              given->second, name(tensor.element()), info.text()));
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

namespace {

/// The shape that an argument of `explain` gives.
Result<ops::Shape> given_shape(const std::string& argument) {
  std::string_view what = argument;
  if (what.ends_with(".npy")) {
    HALYARD_ASSIGN(ops::HostTensor tensor, ops::read_npy(argument));
    return tensor.shape();
  }
  if (what.starts_with(random_prefix)) what.remove_prefix(random_prefix.size());
  return parse_shape(what);
}

/// Extents by the name of an open dimension, which is one size over all inputs; "?" is no name.
using OpenExtents = std::map<std::string, std::int64_t>;

ops::Shape assumed_shape(const onnx::ValueInfo& info, std::int64_t otherwise, OpenExtents& open) {
  std::vector<std::int64_t> extents;
  for (std::size_t i = 0; i < info.dimensions.size(); ++i) {
    std::int64_t extent = info.dimensions[i] >= 0 ? info.dimensions[i] : i == 0 ? 1 : otherwise;
    if (info.dimensions[i] < 0 && info.symbols[i] != "?")
      extent = open.emplace(info.symbols[i], extent).first->second;
    extents.push_back(extent);
  }
  return ops::Shape(extents);
}

}  // namespace

Result<onnx::InputShapes> input_shapes(const onnx::Model& model, const std::vector<std::string>& arguments,
                                       std::int64_t otherwise) {
  HALYARD_ASSIGN(auto pairs, split(model, arguments));
  onnx::InputShapes shapes;
  OpenExtents open;
  for (const onnx::ValueInfo& info : model.inputs()) {
    auto given = pairs.find(info.name);
    if (given == pairs.end()) continue;
    HALYARD_ASSIGN(ops::Shape shape, given_shape(given->second));
    for (std::size_t i = 0; i < std::min(shape.rank(), info.symbols.size()); ++i)
      if (!info.symbols[i].empty() && info.symbols[i] != "?") open.emplace(info.symbols[i], shape[i]);
    shapes.emplace(info.name, std::move(shape));
  }
  for (const onnx::ValueInfo& info : model.inputs())
    if (!shapes.contains(info.name)) shapes.emplace(info.name, assumed_shape(info, otherwise, open));
  return shapes;
}

ops::Graph load_graph(const std::string& path, const std::vector<std::string>& inputs,
                      std::int64_t open_extent) {
  onnx::Model model = value_or_exit(onnx::Model::load(path));
  const onnx::InputShapes shapes = argument_or_exit(input_shapes(model, inputs, open_extent));
  return value_or_exit(model.graph(shapes));
}

onnx::InputShapes shapes_of(const onnx::Model& model, const std::vector<ops::HostTensor>& inputs) {
  onnx::InputShapes shapes;
  for (std::size_t i = 0; i < inputs.size(); ++i) shapes[model.inputs()[i].name] = inputs[i].shape();
  return shapes;
}

}  // namespace halyard::tools
