#include <algorithm>
#include <cmath>

#include "judge.h"

/// Where each element of a result comes from, by the definitions in the table's docstrings.
namespace halyard::conformance {
namespace {

using ops::Attributes;
using ops::HostTensor;
using ops::Primitive;
using Position = std::vector<std::int64_t>;

Scalar element_at(const HostTensor& tensor, const Position& position) {
  return Scalar::of(tensor, number_of(position, tensor.shape().extents()));
}

Scalar padded(const Attributes& attributes, const HostTensor& operand, const Position& position) {
  Position from = position;
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    from[axis] -= attributes.starts[axis];
    if (from[axis] < 0 || from[axis] >= operand.shape()[axis])
      return {operand.element(), attributes.value_bits};
  }
  return element_at(operand, from);
}

Scalar concatenated(const Attributes& attributes, std::span<const HostTensor> operands,
                    const Position& position) {
  const auto axis = static_cast<std::size_t>(attributes.axes[0]);
  Position from = position;
  std::size_t part = 0;
  while (from[axis] >= operands[part].shape()[axis]) from[axis] -= operands[part++].shape()[axis];
  return element_at(operands[part], from);
}

Scalar broadcast_element(const HostTensor& operand, const Position& position) {
  const std::size_t missing = position.size() - operand.shape().rank();
  Position from(position.begin() + static_cast<std::ptrdiff_t>(missing), position.end());
  for (std::size_t axis = 0; axis < from.size(); ++axis)
    if (operand.shape()[axis] == 1) from[axis] = 0;
  return element_at(operand, from);
}

Scalar taken(const Attributes& attributes, std::span<const HostTensor> operands, const Position& position) {
  const auto axis = static_cast<std::size_t>(attributes.axes[0]);
  const std::size_t index_rank = operands[1].shape().rank();
  const auto begin = position.begin() + static_cast<std::ptrdiff_t>(axis);
  const Position of_index(begin, begin + static_cast<std::ptrdiff_t>(index_rank));
  const std::int64_t extent = operands[0].shape()[axis];
  auto index = static_cast<std::int64_t>(element_at(operands[1], of_index).integer());
  if (index < 0) index += extent;
  Position from(position.begin(), begin);
  from.push_back(std::clamp<std::int64_t>(index, 0, extent - 1));
  from.insert(from.end(), begin + static_cast<std::ptrdiff_t>(index_rank), position.end());
  return element_at(operands[0], from);
}

Scalar windowed(const Attributes& attributes, const HostTensor& operand, const Position& position) {
  const std::size_t rank = operand.shape().rank();
  Position from(position.begin(), position.begin() + static_cast<std::ptrdiff_t>(rank));
  for (std::size_t i = 0; i < attributes.axes.size(); ++i) {
    std::int64_t& at = from[static_cast<std::size_t>(attributes.axes[i])];
    at = at * attributes.steps[i] + position[rank + i] * attributes.dilations[i];
  }
  return element_at(operand, from);
}

}  // namespace

Scalar moved_element(const ops::Node& node, std::span<const HostTensor> operands, const Position& position) {
  const Attributes& attributes = node.attributes;
  Position from = position;
  switch (node.primitive) {
    case Primitive::iota:
      return Scalar::of(
          HostTensor::scalar(node.element,
                             static_cast<double>(position[static_cast<std::size_t>(attributes.axes[0])])),
          0);
    case Primitive::reshape:
      return Scalar::of(operands[0], number_of(position, node.shape.extents()));
    case Primitive::permute:
      for (std::size_t i = 0; i < from.size(); ++i)
        from[static_cast<std::size_t>(attributes.axes[i])] = position[i];
      return element_at(operands[0], from);
    case Primitive::broadcast:
      return broadcast_element(operands[0], position);
    case Primitive::slice:
      for (std::size_t i = 0; i < from.size(); ++i)
        from[i] = attributes.starts[i] + position[i] * attributes.steps[i];
      return element_at(operands[0], from);
    case Primitive::reverse:
      for (std::int64_t axis : attributes.axes) {
        const auto i = static_cast<std::size_t>(axis);
        from[i] = operands[0].shape()[i] - 1 - from[i];
      }
      return element_at(operands[0], from);
    case Primitive::pad:
      return padded(attributes, operands[0], position);
    case Primitive::concat:
      return concatenated(attributes, operands, position);
    case Primitive::windows:
      return windowed(attributes, operands[0], position);
    case Primitive::take:
      return taken(attributes, operands, position);
    case Primitive::scatter_set: {
      const std::vector<std::int64_t> named = updates_of(node, operands, position);
      return named.empty() ? element_at(operands[0], position) : Scalar::of(operands[2], named.back());
    }
    default:
      return {ElementType::boolean, ~0ull};  // no definition here: nothing equals this
  }
}

}  // namespace halyard::conformance
