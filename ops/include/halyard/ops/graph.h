#pragma once

#include <halyard/ops/host_tensor.h>
#include <halyard/ops/primitive.h>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace halyard::ops {

/// Names a node of one graph: an index, always smaller than that of every node that uses it.
enum class NodeId : std::uint32_t {};
constexpr std::uint32_t index(NodeId id) {
  return static_cast<std::uint32_t>(id);
}

/// One SSA value and the operation that makes it.
struct Node {
  Primitive primitive = Primitive::input;
  std::vector<NodeId> operands;
  Attributes attributes;
  ElementType element = ElementType::f32;
  Shape shape;
  std::string name;                         ///< for readers; inputs' names are unique
  std::shared_ptr<const HostTensor> value;  ///< constants only; shared, never copied

  TensorType type() const { return {element, shape}; }
};

struct GraphOutput {
  std::string name;
  NodeId node{};
};

/// A computation on tensors of concrete shapes: nodes in an order in which operands come first. Views
/// (reshape, permute, broadcast, slice, …) are nodes like others. A value type: copies share constants'
/// bytes. Not thread-safe while it is changed; reading is.
class Graph {
 public:
  /// A value given at run time. `invalid_argument` if the name is taken.
  Result<NodeId> input(std::string name, ElementType element, const Shape& shape);
  /// A value known now; its bytes are shared, not copied.
  NodeId constant(HostTensor value, std::string name = {});
  /// Any other primitive. Strict: elementwise operands must have one shape, axes must be normalized
  /// (`GraphBuilder` broadcasts and normalizes). Errors begin with the primitive's name and leave the graph
  /// as it was.
  Result<NodeId> append(Primitive primitive, std::vector<NodeId> operands, Attributes attributes = {},
                        std::string name = {});
  Status output(NodeId node, std::string name = {});

  std::size_t size() const { return nodes_.size(); }
  const Node& node(NodeId id) const { return nodes_[index(id)]; }
  const std::vector<Node>& nodes() const { return nodes_; }
  /// In the order they were added: the order in which run-time values are given.
  const std::vector<NodeId>& inputs() const { return inputs_; }
  const std::vector<GraphOutput>& outputs() const { return outputs_; }
  void set_name(NodeId id, std::string name) { nodes_[index(id)].name = std::move(name); }

  /// Checks the whole graph anew: operand order, the table's rules, constants' types, names.
  Status verify() const;

  /// One line per node: `%3 = add(%1, %2) : f32[2, 3]  # name`.
  std::string text() const;

 private:
  std::vector<Node> nodes_;
  std::vector<NodeId> inputs_;
  std::vector<GraphOutput> outputs_;
};

}  // namespace halyard::ops
