#pragma once

#include <doctest/doctest.h>
#include <halyard/ops/graph_builder.h>
#include <halyard/ops/host_tensor.h>
#include <halyard/ops/reference.h>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

/// Tensors for tests, made from numbers.
namespace halyard::ops::testing {

template <class T>
HostTensor vector_of(const std::vector<T>& values) {
  auto count = static_cast<std::int64_t>(values.size());
  return HostTensor::from_values<T>(Shape{count}, values).value();
}

inline HostTensor flags_of(std::initializer_list<bool> values) {
  HostTensor tensor =
      HostTensor::allocate(ElementType::boolean, Shape{static_cast<std::int64_t>(values.size())}).value();
  std::int64_t i = 0;
  for (bool value : values) tensor.set_bits_at(i++, value);
  return tensor;
}

/// A tensor of any type from numbers.
inline HostTensor numbers_of(ElementType element, Shape shape, const std::vector<double>& values) {
  HostTensor tensor = HostTensor::allocate(element, std::move(shape)).value();
  for (std::size_t i = 0; i < values.size(); ++i)
    tensor.set_bits_at(static_cast<std::int64_t>(i), HostTensor::scalar(element, values[i]).bits_at(0));
  return tensor;
}

inline HostTensor run(Primitive primitive, std::vector<HostTensor> operands,
                      const Attributes& attributes = {}, const NumericClass& numeric = {}) {
  auto result = evaluate_primitive(primitive, operands, attributes, numeric);
  REQUIRE_MESSAGE(result.has_value(), (result ? std::string() : result.error().message));
  return *result;
}

/// What a composition makes of these tensors: `make(builder, ids of the inputs)` gives one node.
template <class Make>
HostTensor made_of(const std::vector<HostTensor>& inputs, const Make& make) {
  Graph graph;
  GraphBuilder builder(graph);
  std::vector<NodeId> ids;
  for (const HostTensor& input : inputs)
    ids.push_back(builder.input("x" + std::to_string(ids.size()), input.element(), input.shape()).value());
  const Result<NodeId> result = make(builder, std::span<const NodeId>(ids));
  REQUIRE_MESSAGE(result.has_value(), (result ? std::string() : result.error().message));
  REQUIRE(graph.output(*result, "y").has_value());
  auto values = evaluate(graph, inputs);
  REQUIRE_MESSAGE(values.has_value(), (values ? std::string() : values.error().message));
  return values->front();
}

template <class T>
std::vector<T> values_of(const HostTensor& tensor) {
  REQUIRE(tensor.element() == element_type_of<T>());
  auto values = tensor.values<T>();
  return {values.begin(), values.end()};
}

inline std::vector<double> doubles_of(const HostTensor& tensor) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.count(); ++i) values.push_back(tensor.at(i));
  return values;
}

/// Deterministic numbers in [−1, 1).
class Noise {
 public:
  explicit Noise(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 1) {}
  std::uint64_t bits() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  float number() { return static_cast<float>(static_cast<double>(bits() >> 11) * 0x1p-52 - 1.0); }
  HostTensor tensor(Shape shape) {
    HostTensor result = HostTensor::allocate(ElementType::f32, std::move(shape)).value();
    for (float& value : result.mutable_values<float>()) value = number();
    return result;
  }

 private:
  std::uint64_t state_;
};

}  // namespace halyard::ops::testing
