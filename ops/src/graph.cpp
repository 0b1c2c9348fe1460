#include <fmt/format.h>
#include <fmt/ranges.h>
#include <halyard/ops/graph.h>
#include <unordered_set>

namespace halyard::ops {

Result<NodeId> Graph::input(std::string name, ElementType element, const Shape& shape) {
  for (NodeId id : inputs_)
    if (node(id).name == name)
      return fail(ErrorCode::invalid_argument,
                  fmt::format("input: the graph has an input named '{}' already", name));
  Node made{.primitive = Primitive::input, .element = element, .name = std::move(name)};
  made.attributes.element = element;
  made.attributes.shape = shape.vector();
  HALYARD_ASSIGN(TensorType type, infer(Primitive::input, {}, made.attributes));
  made.shape = std::move(type.shape);
  nodes_.push_back(std::move(made));
  inputs_.push_back(static_cast<NodeId>(nodes_.size() - 1));
  return inputs_.back();
}

NodeId Graph::constant(HostTensor value, std::string name) {
  Node made{.primitive = Primitive::constant, .element = value.element(), .shape = value.shape()};
  made.name = std::move(name);
  made.attributes.element = value.element();
  made.attributes.shape = value.shape().vector();
  made.value = std::make_shared<const HostTensor>(std::move(value));
  nodes_.push_back(std::move(made));
  return static_cast<NodeId>(nodes_.size() - 1);
}

Result<NodeId> Graph::append(Primitive primitive, std::vector<NodeId> operands, Attributes attributes,
                             std::string name) {
  if (primitive == Primitive::input || primitive == Primitive::constant)
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}: use Graph::{}", ops::name(primitive), ops::name(primitive)));
  std::vector<TensorType> types;
  for (NodeId operand : operands) {
    if (index(operand) >= nodes_.size())
      return fail(ErrorCode::invalid_argument,
                  fmt::format("{}: operand %{} does not exist (the graph has {} nodes)", ops::name(primitive),
                              index(operand), nodes_.size()));
    types.push_back(node(operand).type());
  }
  HALYARD_ASSIGN(TensorType type, infer(primitive, types, attributes));
  Node made{.primitive = primitive, .operands = std::move(operands), .attributes = std::move(attributes)};
  made.element = type.element;
  made.shape = std::move(type.shape);
  made.name = std::move(name);
  nodes_.push_back(std::move(made));
  return static_cast<NodeId>(nodes_.size() - 1);
}

Status Graph::output(NodeId node, std::string name) {
  if (index(node) >= nodes_.size())
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("output: node %{} does not exist (the graph has {} nodes)", index(node), nodes_.size()));
  outputs_.push_back({std::move(name), node});
  return {};
}

Status Graph::verify() const {
  auto bad = [](std::size_t i, std::string_view problem) {
    return fail(ErrorCode::invalid_argument, fmt::format("graph: node %{}: {}", i, problem));
  };
  std::unordered_set<std::string> input_names;
  std::size_t input_count = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    std::vector<TensorType> types;
    for (NodeId operand : node.operands) {
      if (index(operand) >= i)
        return bad(i, fmt::format("uses %{}, which does not come before it", index(operand)));
      types.push_back(nodes_[index(operand)].type());
    }
    HALYARD_ASSIGN(TensorType type, infer(node.primitive, types, node.attributes));
    if (type != node.type())
      return bad(i, fmt::format("is declared {} but {} gives {}", node.type().text(), name(node.primitive),
                                type.text()));
    bool is_constant = node.primitive == Primitive::constant;
    if (is_constant != (node.value != nullptr)) return bad(i, "constants, and they alone, have a value");
    if (is_constant && (node.value->element() != node.element || node.value->shape() != node.shape))
      return bad(i, "the constant's value has another type");
    if (node.primitive == Primitive::input) {
      ++input_count;
      if (!input_names.insert(node.name).second)
        return bad(i, fmt::format("second input named '{}'", node.name));
    }
  }
  if (input_count != inputs_.size()) return bad(nodes_.size(), "the list of inputs is incomplete");
  for (const GraphOutput& output : outputs_)
    if (index(output.node) >= nodes_.size())
      return bad(index(output.node), "is an output but does not exist");
  return {};
}

namespace {

/// The attributes the primitive's rule reads, e.g. ", axes=[1], keep_dims".
std::string attribute_text(const Node& node) {
  const Attributes& a = node.attributes;
  std::string text;
  auto list = [&](std::string_view name, const std::vector<std::int64_t>& values) {
    if (!values.empty()) text += fmt::format(", {}=[{}]", name, fmt::join(values, ", "));
  };
  list("axes", a.axes);
  list("starts", a.starts);
  list("ends", a.ends);
  list("steps", a.steps);
  if (node.primitive == Primitive::windows) list("window", a.shape);
  list("dilations", a.dilations);
  list("lhs_batch", a.dot.lhs_batch);
  list("lhs_contracting", a.dot.lhs_contracting);
  list("rhs_batch", a.dot.rhs_batch);
  list("rhs_contracting", a.dot.rhs_contracting);
  if (a.keep_dims) text += ", keep_dims";
  if (a.exclusive) text += ", exclusive";
  if (a.descending) text += ", descending";
  if (node.primitive == Primitive::pad) text += fmt::format(", value_bits={:#x}", a.value_bits);
  return text;
}

std::string operand_text(const Node& node) {
  if (node.primitive == Primitive::input) return fmt::format("'{}'", node.name);
  if (node.primitive == Primitive::constant)
    return node.value->count() == 1 ? fmt::format("{}", node.value->at(0))
                                    : fmt::format("{} bytes", node.value->byte_count());
  std::vector<std::string> names;
  for (NodeId operand : node.operands) names.push_back(fmt::format("%{}", index(operand)));
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::string Graph::text() const {
  std::string text;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    text += fmt::format("%{} = {}({}{}) : {}", i, ops::name(node.primitive), operand_text(node),
                        attribute_text(node), node.type().text());
    if (!node.name.empty() && node.primitive != Primitive::input) text += fmt::format("  # {}", node.name);
    text += '\n';
  }
  for (const GraphOutput& output : outputs_)
    text +=
        fmt::format("output %{}{}\n", index(output.node), output.name.empty() ? "" : "  # " + output.name);
  return text;
}

}  // namespace halyard::ops
