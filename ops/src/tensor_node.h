#pragma once

#include <halyard/ops/executor.h>
#include <halyard/ops/graph_builder.h>
#include <halyard/ops/tensor.h>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace halyard::ops::detail {

/// A recorded operation, or a value. Type and shape never change; `operands` and `value` change once, when
/// the value is computed, under `recording_mutex`.
struct TensorNode {
  Primitive primitive = Primitive::constant;
  Attributes attributes;
  ElementType element = ElementType::f32;
  Shape shape;
  std::vector<std::shared_ptr<TensorNode>> operands;
  StoredTensorRef value;
  bool is_literal =
      false;  ///< a number written in the program: becomes a constant of the graph, not an input

  TensorNode() = default;
  TensorNode(const TensorNode&) = delete;
  TensorNode& operator=(const TensorNode&) = delete;
  /// Releases long chains of operands without recursion.
  ~TensorNode();
};

using NodeRef = std::shared_ptr<TensorNode>;

/// Guards `value` and `operands` of all nodes. Held for bookkeeping only, never while a graph runs.
std::mutex& recording_mutex();

NodeRef value_node(StoredTensorRef value, bool is_literal);

/// Records what `step` builds on graph inputs that stand for `operands`; throws `TensorError`.
using Step = std::function<Result<NodeId>(GraphBuilder&, std::span<const NodeId>)>;
Tensor record(std::span<const Tensor> operands, const Step& step);
inline Tensor record(std::initializer_list<Tensor> operands, const Step& step) {
  return record(std::span<const Tensor>(operands.begin(), operands.size()), step);
}

}  // namespace halyard::ops::detail
