#include <fmt/format.h>
#include <halyard/ops/npy.h>
#include <halyard/ops/tensor.h>
#include <ostream>
#include <unordered_map>
#include "tensor_node.h"

/// Recording and evaluation. The operations on tensors are in tensor_operations.cpp.
namespace halyard::ops {

TensorError::TensorError(Error error) : std::runtime_error(error.message), error_(std::move(error)) {}

namespace detail {

std::mutex& recording_mutex() {
  static std::mutex mutex;
  return mutex;
}

TensorNode::~TensorNode() {
  std::vector<NodeRef> pending = std::move(operands);
  while (!pending.empty()) {
    NodeRef node = std::move(pending.back());
    pending.pop_back();
    // Nobody else can take a reference to a node that this is the only one to.
    if (node.use_count() != 1) continue;
    for (NodeRef& operand : node->operands) pending.push_back(std::move(operand));
    node->operands.clear();
  }
}

NodeRef value_node(StoredTensorRef value, bool is_literal) {
  auto node = std::make_shared<TensorNode>();
  node->element = value->element();
  node->shape = value->shape();
  node->value = std::move(value);
  node->is_literal = is_literal;
  return node;
}

namespace {

/// Nodes of the tensor world for the nodes of a small graph whose inputs are `operands`.
NodeRef splice(const Graph& graph, NodeId wanted, std::span<const Tensor> operands) {
  std::vector<NodeRef> made;
  std::size_t next_operand = 0;
  for (const Node& node : graph.nodes()) {
    if (node.primitive == Primitive::input) {
      made.push_back(operands[next_operand++].node());
      continue;
    }
    if (node.primitive == Primitive::constant) {
      made.push_back(value_node(store(*node.value), true));
      continue;
    }
    auto recorded = std::make_shared<TensorNode>();
    recorded->primitive = node.primitive;
    recorded->attributes = node.attributes;
    recorded->element = node.element;
    recorded->shape = node.shape;
    for (NodeId operand : node.operands) recorded->operands.push_back(made[index(operand)]);
    made.push_back(std::move(recorded));
  }
  return made[index(wanted)];
}

/// The graph that computes some tensors, and what its inputs are given.
struct Collected {
  Graph graph;
  std::vector<StoredTensorRef> inputs;
};

/// Walks from the wanted nodes to values, without recursion; holds the mutex.
class Collector {
 public:
  Result<Collected> collect(std::span<const NodeRef> wanted) {
    std::lock_guard lock(recording_mutex());
    for (const NodeRef& node : wanted) HALYARD_TRY(visit(node.get()));
    for (const NodeRef& node : wanted) HALYARD_TRY(collected_.graph.output(ids_.at(node.get())));
    return std::move(collected_);
  }

 private:
  struct Frame {
    const TensorNode* node;
    std::size_t next_operand;
  };

  Status visit(const TensorNode* root) {
    std::vector<Frame> stack{{root, 0}};
    while (!stack.empty()) {
      Frame& top = stack.back();
      const TensorNode* node = top.node;
      bool done = ids_.contains(node);
      if (!done && !node->value && top.next_operand < node->operands.size()) {
        stack.push_back({node->operands[top.next_operand++].get(), 0});
        continue;
      }
      if (!done) {
        HALYARD_ASSIGN(NodeId id, node->value ? leaf(*node) : operation(*node));
        ids_.emplace(node, id);
      }
      stack.pop_back();
    }
    return {};
  }

  Result<NodeId> leaf(const TensorNode& node) {
    const auto* host = dynamic_cast<const HostStoredTensor*>(node.value.get());
    if (node.is_literal && host != nullptr) return collected_.graph.constant(host->tensor());
    collected_.inputs.push_back(node.value);
    return collected_.graph.input(fmt::format("input_{}", collected_.inputs.size() - 1), node.element,
                                  node.shape);
  }

  Result<NodeId> operation(const TensorNode& node) {
    std::vector<NodeId> operands;
    for (const NodeRef& operand : node.operands) operands.push_back(ids_.at(operand.get()));
    return collected_.graph.append(node.primitive, std::move(operands), node.attributes);
  }

  Collected collected_;
  std::unordered_map<const TensorNode*, NodeId> ids_;
};

Status evaluate_nodes(std::span<const NodeRef> wanted) {
  HALYARD_ASSIGN(Collected collected, Collector().collect(wanted));
  ExecuteOptions options{current_device(), current_fusion()};
  HALYARD_ASSIGN(std::vector<StoredTensorRef> results,
                 current_executor()->run(collected.graph, collected.inputs, options));
  if (results.size() != wanted.size())
    return fail(ErrorCode::internal,
                fmt::format("eval: the executor gave {} results for {}", results.size(), wanted.size()));
  std::vector<NodeRef> released;  // destroyed after the mutex is let go
  std::lock_guard lock(recording_mutex());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]->value) continue;  // another thread was first, with the same bits
    wanted[i]->value = std::move(results[i]);
    for (NodeRef& operand : wanted[i]->operands) released.push_back(std::move(operand));
    wanted[i]->operands.clear();
  }
  return {};
}

bool has_value(const NodeRef& node) {
  std::lock_guard lock(recording_mutex());
  return node->value != nullptr;
}

}  // namespace

Tensor record(std::span<const Tensor> operands, const Step& step) {
  Graph graph;
  std::vector<NodeId> ids;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    auto id = graph.input(std::to_string(i), operands[i].element(), operands[i].shape());
    if (!id) throw TensorError(id.error());
    ids.push_back(*id);
  }
  GraphBuilder builder(graph);
  Result<NodeId> result = step(builder, ids);
  if (!result) throw TensorError(result.error());
  return Tensor(splice(graph, *result, operands));
}

}  // namespace detail

Tensor::Tensor() : Tensor(0.0f) {}
Tensor::Tensor(HostTensor value) : Tensor(store(std::move(value))) {}
Tensor::Tensor(StoredTensorRef value) : node_(detail::value_node(std::move(value), false)) {}
Tensor::Tensor(double value) : Tensor(static_cast<float>(value)) {}
Tensor::Tensor(float value)
    : node_(detail::value_node(store(HostTensor::scalar(ElementType::f32, value)), true)) {}
Tensor::Tensor(int value)
    : node_(detail::value_node(store(HostTensor::scalar(ElementType::i32, value)), true)) {}
Tensor::Tensor(std::int64_t value)
    : node_(detail::value_node(
          store(HostTensor::scalar_bits(ElementType::i64, static_cast<std::uint64_t>(value))), true)) {}
Tensor::Tensor(bool value)
    : node_(detail::value_node(store(HostTensor::scalar(ElementType::boolean, value)), true)) {}

Tensor Tensor::from_result(Result<HostTensor> result) {
  if (!result) throw TensorError(result.error());
  return Tensor(std::move(*result));
}

Tensor Tensor::full(Shape shape, double value, ElementType element) {
  return detail::record({}, [&](GraphBuilder& builder, auto) { return builder.full(element, shape, value); });
}

Tensor Tensor::arange(std::int64_t count, ElementType element) {
  return detail::record({},
                        [&](GraphBuilder& builder, auto) { return builder.iota(element, Shape{count}, 0); });
}

Tensor Tensor::load(const std::filesystem::path& npy) {
  return from_result(read_npy(npy));
}

void Tensor::save(const std::filesystem::path& npy) const {
  auto status = write_npy(npy, host());
  if (!status) throw TensorError(status.error());
}

ElementType Tensor::element() const {
  return node_->element;
}
const Shape& Tensor::shape() const {
  return node_->shape;
}

std::int64_t Tensor::extent(std::int64_t axis) const {
  auto normalized = normalize_axis(axis, shape().rank());
  if (!normalized) throw TensorError(normalized.error());
  return shape()[static_cast<std::size_t>(*normalized)];
}

const Tensor& Tensor::eval() const {
  ops::eval({*this});
  return *this;
}

bool Tensor::is_evaluated() const {
  return detail::has_value(node_);
}

HostTensor Tensor::host() const {
  eval();
  StoredTensorRef value;
  {
    std::lock_guard lock(detail::recording_mutex());
    value = node_->value;
  }
  auto host = value->to_host();
  if (!host) throw TensorError(host.error());
  return std::move(*host);
}

double Tensor::item() const {
  if (shape().count() != 1)
    throw TensorError(
        {ErrorCode::invalid_argument, fmt::format("item: a tensor of shape {} has {} elements, not one",
                                                  shape().text(), shape().count())});
  return host().at(0);
}

std::string Tensor::text() const {
  return format(host());
}

void Tensor::check_element(ElementType wanted) const {
  if (wanted != element())
    throw TensorError(
        {ErrorCode::invalid_argument,
         fmt::format("values: the tensor holds {}, not {}: cast first", name(element()), name(wanted))});
}

void eval(std::span<const Tensor> tensors) {
  std::vector<detail::NodeRef> wanted;
  for (const Tensor& tensor : tensors)
    if (!detail::has_value(tensor.node())) wanted.push_back(tensor.node());
  if (wanted.empty()) return;
  auto status = detail::evaluate_nodes(wanted);
  if (!status) throw TensorError(status.error());
}

std::ostream& operator<<(std::ostream& stream, const Tensor& tensor) {
  return stream << tensor.text();
}

}  // namespace halyard::ops
