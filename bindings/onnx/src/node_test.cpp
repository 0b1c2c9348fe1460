#include <halyard/onnx/node_test.h>

#include <fmt/format.h>
#include <halyard/onnx/model.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "contents.h"

namespace halyard::onnx {
namespace {

Result<ops::HostTensor> read_tensor_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  if (!file) return fail(ErrorCode::io_error, fmt::format("onnx: cannot read '{}'", path.string()));
  ::onnx::TensorProto proto;
  if (!proto.ParseFromString(bytes))
    return fail(ErrorCode::corrupt_data, fmt::format("onnx: '{}' holds no tensor", path.string()));
  auto tensor = read_tensor(proto, {});
  if (!tensor)
    return fail(tensor.error().code, fmt::format("{} (file '{}')", tensor.error().message, path.string()));
  return tensor;
}

/// The same bits as bf16: NumPy, which wrote the files, has only u16 for them.
Result<ops::HostTensor> as_bf16(const ops::HostTensor& tensor) {
  HALYARD_ASSIGN(ops::HostTensor result, ops::HostTensor::allocate(ElementType::bf16, tensor.shape()));
  for (std::int64_t i = 0; i < tensor.count(); ++i) result.set_bits_at(i, tensor.bits_at(i));
  return result;
}

/// The tensors of `values`, in their order.
Result<std::vector<ops::HostTensor>> read_tensor_files(const std::filesystem::path& folder,
                                                       std::string_view kind,
                                                       const std::vector<ValueInfo>& values) {
  std::vector<ops::HostTensor> tensors;
  for (const ValueInfo& value : values) {
    HALYARD_ASSIGN(ops::HostTensor tensor,
                   read_tensor_file(folder / fmt::format("{}_{}.pb", kind, tensors.size())));
    if (value.element == ElementType::bf16 && tensor.element() == ElementType::u16) {
      HALYARD_ASSIGN(tensor, as_bf16(tensor));
    }
    bool fits = tensor.element() == value.element && tensor.shape().rank() == value.dimensions.size();
    for (std::size_t i = 0; fits && i < value.dimensions.size(); ++i)
      fits = value.dimensions[i] < 0 || value.dimensions[i] == tensor.shape()[i];
    if (!fits)
      return fail(ErrorCode::unsupported,
                  fmt::format("onnx: the test contradicts itself: its model declares '{}', its data are {}{}",
                              value.text(), halyard::name(tensor.element()), tensor.shape().text()));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

using Numbers = std::set<std::size_t>;

/// Sets of inputs to fix, the smallest first: none, one, all small lists of integers, all but the first, all.
std::vector<Numbers> attempts(const std::vector<ops::HostTensor>& inputs) {
  std::vector<Numbers> sets{{}};
  Numbers lists, all;
  for (std::size_t i = inputs.size(); i-- > 0;) {
    all.insert(i);
    if (!is_integer(inputs[i].element()) || inputs[i].shape().rank() > 1) continue;
    lists.insert(i);
    sets.push_back({i});
  }
  for (std::size_t i = inputs.size(); i-- > 0;)
    if (!lists.contains(i)) sets.push_back({i});
  sets.push_back(lists);
  Numbers others = all;
  others.erase(0);
  sets.push_back(others);
  sets.push_back(all);
  return sets;
}

Result<NodeTest> built(const Model& model, const std::vector<ops::HostTensor>& inputs, const Numbers& fixed) {
  InputShapes shapes;
  FixedInputs values;
  NodeTest test;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = model.inputs()[i].name;
    if (fixed.contains(i)) {
      values.emplace(name, inputs[i]);
      continue;
    }
    shapes.emplace(name, inputs[i].shape());
    test.inputs.push_back(inputs[i]);
  }
  HALYARD_ASSIGN(test.graph, model.graph(shapes, values));
  return test;
}

/// Tests whose data were computed from something else than their model says, and what that is.
const std::map<std::string_view, std::string_view> contradictions{
    {"test_adam_multiple", "its data were made with epsilon 0.01, its model leaves it at 1e-6"},
};

}  // namespace

Result<NodeTest> read_node_test(const std::filesystem::path& folder) {
  if (auto found = contradictions.find(folder.filename().string()); found != contradictions.end())
    return fail(ErrorCode::unsupported, fmt::format("onnx: the test contradicts itself: {}", found->second));
  HALYARD_ASSIGN(Model model, Model::load(folder / "model.onnx"));
  const std::filesystem::path data = folder / "test_data_set_0";
  HALYARD_ASSIGN(std::vector<ops::HostTensor> inputs, read_tensor_files(data, "input", model.inputs()));
  HALYARD_ASSIGN(std::vector<ops::HostTensor> expected, read_tensor_files(data, "output", model.outputs()));
  Error error;
  for (const Numbers& fixed : attempts(inputs)) {
    Result<NodeTest> test = built(model, inputs, fixed);
    if (test) {
      test->expected = std::move(expected);
      return test;
    }
    error = std::move(test).error();
    if (error.code != ErrorCode::unsupported) break;
  }
  return tl::unexpected(std::move(error));
}

}  // namespace halyard::onnx
