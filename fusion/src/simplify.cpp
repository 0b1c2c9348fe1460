#include <halyard/fusion/simplify.h>

#include <fmt/format.h>
#include <halyard/ops/reference.h>
#include <xxhash.h>
#include <algorithm>
#include <bit>
#include <unordered_map>
#include "cluster_to_tile.h"
#include "graph_key.h"

namespace halyard::fusion {
namespace {

using ops::NodeId;
using ops::Primitive;

/// The bits of one in a type; multiplication by it changes nothing.
std::uint64_t one_bits(ElementType type) {
  return ops::HostTensor::scalar(type, 1).bits_at(0);
}

std::uint64_t negative_zero_bits(ElementType type) {
  return is_float(type) ? std::uint64_t{1} << (8 * byte_size(type) - 1) : 0;
}

/// Whether every value of `from` stands in `to` unchanged.
bool widens(ElementType from, ElementType to) {
  if (from == to || from == ElementType::boolean) return true;
  auto digits = [](ElementType type) {  // bits of the significand or magnitude
    switch (type) {
      case ElementType::f16:
        return 11;
      case ElementType::bf16:
        return 8;
      case ElementType::f32:
        return 24;
      case ElementType::f64:
        return 53;
      default:
        return static_cast<int>(8 * byte_size(type)) - (is_signed(type) ? 1 : 0);
    }
  };
  if (to == ElementType::boolean) return false;
  if (is_float(from)) return to == ElementType::f64 || (to == ElementType::f32 && from != ElementType::f64);
  if (is_float(to)) return to != ElementType::f16 && digits(from) <= digits(to);
  if (is_signed(from) && !is_signed(to)) return false;
  return digits(from) <= digits(to);
}

class Simplifier {
 public:
  Simplifier(const ops::Graph& graph, const SimplifyOptions& options, SimplifyReport& report)
      : source_(graph), options_(options), report_(report) {}

  Result<ops::Graph> run();

 private:
  const ops::Node& node(NodeId id) const { return result_.node(id); }
  Result<NodeId> append(Primitive primitive, std::vector<NodeId> operands, ops::Attributes attributes,
                        const std::string& name);
  NodeId constant(ops::HostTensor value, const std::string& name);
  std::optional<ops::HostTensor> constant_value(NodeId id) const;
  std::optional<std::uint64_t> uniform_bits(NodeId id) const;
  Result<std::optional<NodeId>> fold(Primitive primitive, const std::vector<NodeId>& operands,
                                     const ops::Attributes& attributes, const std::string& name);
  Result<std::optional<NodeId>> algebra(Primitive primitive, const std::vector<NodeId>& operands,
                                        const ops::Attributes& attributes, const std::string& name);
  std::optional<NodeId> identity_operand(Primitive primitive, const std::vector<NodeId>& operands) const;
  Result<std::optional<NodeId>> simplify_view(Primitive primitive, NodeId operand,
                                              const ops::Attributes& attributes, const std::string& name);
  Result<ops::Graph> without_unused() const;

  const ops::Graph& source_;
  const SimplifyOptions& options_;
  SimplifyReport& report_;
  ops::Graph result_;
  std::unordered_map<std::string, NodeId> known_;
};

NodeId Simplifier::constant(ops::HostTensor value, const std::string& name) {
  XXH128_hash_t hash = XXH3_128bits(value.data(), value.byte_count());
  std::string key = fmt::format("constant {} {} {:x}{:x}", static_cast<int>(value.element()),
                                value.shape().text(), hash.high64, hash.low64);
  auto found = known_.find(key);
  if (found != known_.end()) {
    ++report_.merged;
    return found->second;
  }
  NodeId made = result_.constant(std::move(value), name);
  known_.emplace(std::move(key), made);
  return made;
}

/// The value of a constant, or of a broadcast one.
std::optional<ops::HostTensor> Simplifier::constant_value(NodeId id) const {
  const ops::Node& source = node(id);
  if (source.primitive == Primitive::constant) return *source.value;
  if (source.primitive != Primitive::broadcast || source.shape.count() > options_.fold_elements)
    return std::nullopt;
  const ops::Node& inner = node(source.operands[0]);
  if (inner.primitive != Primitive::constant) return std::nullopt;
  auto spread = ops::evaluate_primitive(Primitive::broadcast, std::vector{*inner.value}, source.attributes,
                                        options_.numeric);
  if (!spread) return std::nullopt;
  return std::move(*spread);
}

std::optional<std::uint64_t> Simplifier::uniform_bits(NodeId id) const {
  const ops::Node* source = &node(id);
  while (is_view(source->primitive)) source = &node(source->operands[0]);
  if (source->primitive != Primitive::constant || source->value->count() > options_.fold_elements ||
      !is_uniform_constant(*source))
    return std::nullopt;
  return source->value->bits_at(0);
}

Result<std::optional<NodeId>> Simplifier::fold(Primitive primitive, const std::vector<NodeId>& operands,
                                               const ops::Attributes& attributes, const std::string& name) {
  const ops::PrimitiveRow& row = ops::row(primitive);
  if (row.kind == ops::Kind::source || primitive == Primitive::broadcast) return std::nullopt;
  std::vector<ops::TensorType> types;
  for (NodeId operand : operands) types.push_back(node(operand).type());
  HALYARD_ASSIGN(ops::TensorType type, ops::infer(primitive, types, attributes));
  // Equal elements everywhere: compute one of them.
  if (row.kind == ops::Kind::elementwise) {
    std::vector<ops::HostTensor> scalars;
    for (NodeId operand : operands)
      if (auto bits = uniform_bits(operand))
        scalars.push_back(ops::HostTensor::scalar_bits(node(operand).element, *bits));
    if (scalars.size() == operands.size()) {
      HALYARD_ASSIGN(ops::HostTensor value,
                     ops::evaluate_primitive(primitive, scalars, attributes, options_.numeric));
      ++report_.folded;
      NodeId scalar = constant(std::move(value), name);
      if (type.shape.rank() == 0) return scalar;
      HALYARD_ASSIGN(NodeId spread,
                     append(Primitive::broadcast, {scalar}, {.shape = type.shape.vector()}, name));
      return spread;
    }
  }
  std::int64_t work = type.shape.count();
  for (const ops::TensorType& operand : types) work = std::max(work, operand.shape.count());
  if (row.kind == ops::Kind::contraction)
    for (std::int64_t axis : attributes.dot.lhs_contracting)
      work = type.shape.count() * types[0].shape[static_cast<std::size_t>(axis)];
  if (type.shape.count() > options_.fold_elements || work > options_.fold_operations) return std::nullopt;
  std::vector<ops::HostTensor> values;
  for (NodeId operand : operands) {
    auto value = constant_value(operand);
    if (!value) return std::nullopt;
    values.push_back(std::move(*value));
  }
  HALYARD_ASSIGN(ops::HostTensor value,
                 ops::evaluate_primitive(primitive, values, attributes, options_.numeric));
  ++report_.folded;
  return constant(std::move(value), name);
}

/// Which operand the result always equals, to the bit: x * 1, x / 1, x - 0, x + (-0), integer x + 0.
std::optional<NodeId> Simplifier::identity_operand(Primitive primitive,
                                                   const std::vector<NodeId>& operands) const {
  if (operands.size() != 2) return std::nullopt;
  ElementType type = node(operands[0]).element;
  auto is = [&](NodeId id, std::uint64_t bits) { return uniform_bits(id) == bits; };
  switch (primitive) {
    case Primitive::mul:
      if (is(operands[1], one_bits(type))) return operands[0];
      if (is(operands[0], one_bits(type))) return operands[1];
      return std::nullopt;
    case Primitive::div:
      if (is(operands[1], one_bits(type))) return operands[0];
      return std::nullopt;
    case Primitive::sub:
      if (is(operands[1], 0)) return operands[0];
      return std::nullopt;
    case Primitive::add:  // +0 would turn -0 into +0
      if (is(operands[1], negative_zero_bits(type))) return operands[0];
      if (is(operands[0], negative_zero_bits(type))) return operands[1];
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

Result<std::optional<NodeId>> Simplifier::simplify_view(Primitive primitive, NodeId operand,
                                                        const ops::Attributes& attributes,
                                                        const std::string& name) {
  const ops::Node inner = node(operand);  // a copy: appending moves nodes
  HALYARD_ASSIGN(ops::TensorType type,
                 ops::infer(primitive, std::vector<ops::TensorType>{inner.type()}, attributes));
  if (primitive == Primitive::permute) {
    bool sorted = std::is_sorted(attributes.axes.begin(), attributes.axes.end());
    if (sorted) return operand;
    if (inner.primitive == Primitive::permute) {
      ops::Attributes joined;
      for (std::int64_t axis : attributes.axes)
        joined.axes.push_back(inner.attributes.axes[static_cast<std::size_t>(axis)]);
      HALYARD_ASSIGN(NodeId made, append(Primitive::permute, {inner.operands[0]}, joined, name));
      return made;
    }
    // Only axes of extent 1 change places: the elements stay where they are.
    std::vector<std::int64_t> moved;
    for (std::int64_t axis : attributes.axes)
      if (inner.shape[static_cast<std::size_t>(axis)] != 1) moved.push_back(axis);
    if (std::is_sorted(moved.begin(), moved.end())) {
      HALYARD_ASSIGN(NodeId made,
                     append(Primitive::reshape, {operand}, {.shape = type.shape.vector()}, name));
      return made;
    }
    return std::nullopt;
  }
  if (type.shape == inner.shape) {
    if (primitive == Primitive::reshape || primitive == Primitive::broadcast || primitive == Primitive::slice)
      return operand;
    if (primitive == Primitive::reverse && attributes.axes.empty()) return operand;
  }
  if (inner.primitive == primitive &&
      (primitive == Primitive::reshape || primitive == Primitive::broadcast)) {
    HALYARD_ASSIGN(NodeId made, append(primitive, {inner.operands[0]}, attributes, name));
    return made;
  }
  return std::nullopt;
}

Result<std::optional<NodeId>> Simplifier::algebra(Primitive primitive, const std::vector<NodeId>& operands,
                                                  const ops::Attributes& attributes,
                                                  const std::string& name) {
  if (is_view(primitive)) return simplify_view(primitive, operands[0], attributes, name);
  if (auto same = identity_operand(primitive, operands)) return *same;
  if (operands.empty()) return std::nullopt;
  const ops::Node inner = node(operands[0]);
  if (primitive == Primitive::cast) {
    if (attributes.element == inner.element) return operands[0];
    if (inner.primitive == Primitive::cast && widens(node(inner.operands[0]).element, inner.element)) {
      HALYARD_ASSIGN(NodeId made, append(Primitive::cast, {inner.operands[0]}, attributes, name));
      return made;
    }
  }
  bool involution =
      primitive == Primitive::neg || primitive == Primitive::logical_not || primitive == Primitive::bit_not;
  if (involution && inner.primitive == primitive) return inner.operands[0];
  return std::nullopt;
}

Result<NodeId> Simplifier::append(Primitive primitive, std::vector<NodeId> operands,
                                  ops::Attributes attributes, const std::string& name) {
  HALYARD_ASSIGN(std::optional<NodeId> simpler, algebra(primitive, operands, attributes, name));
  if (simpler) {
    ++report_.rewritten;
    return *simpler;
  }
  HALYARD_ASSIGN(std::optional<NodeId> folded, fold(primitive, operands, attributes, name));
  if (folded) return *folded;
  std::string key = fmt::format("{} ", static_cast<int>(primitive));
  append_attributes(key, attributes);
  for (NodeId operand : operands) key += fmt::format(" %{}", ops::index(operand));
  auto found = known_.find(key);
  if (found != known_.end()) {
    ++report_.merged;
    return found->second;
  }
  HALYARD_ASSIGN(NodeId made, result_.append(primitive, std::move(operands), std::move(attributes), name));
  known_.emplace(std::move(key), made);
  return made;
}

Result<ops::Graph> Simplifier::without_unused() const {
  std::vector<bool> used(result_.size(), false);
  for (const ops::GraphOutput& output : result_.outputs()) used[ops::index(output.node)] = true;
  for (std::size_t i = result_.size(); i-- > 0;)
    if (used[i])
      for (NodeId operand : result_.nodes()[i].operands) used[ops::index(operand)] = true;
  ops::Graph kept;
  std::vector<NodeId> map(result_.size());
  for (std::size_t i = 0; i < result_.size(); ++i) {
    const ops::Node& source = result_.nodes()[i];
    if (source.primitive == Primitive::input) {
      HALYARD_ASSIGN(map[i], kept.input(source.name, source.element, source.shape));
      continue;
    }
    if (!used[i]) {
      ++report_.removed;
      continue;
    }
    if (source.primitive == Primitive::constant) {
      map[i] = kept.constant(*source.value, source.name);
      continue;
    }
    std::vector<NodeId> operands;
    for (NodeId operand : source.operands) operands.push_back(map[ops::index(operand)]);
    HALYARD_ASSIGN(map[i],
                   kept.append(source.primitive, std::move(operands), source.attributes, source.name));
  }
  for (const ops::GraphOutput& output : result_.outputs())
    HALYARD_TRY(kept.output(map[ops::index(output.node)], output.name));
  return kept;
}

Result<ops::Graph> Simplifier::run() {
  std::vector<NodeId> map;
  for (const ops::Node& source : source_.nodes()) {
    if (source.primitive == Primitive::input) {
      HALYARD_ASSIGN(NodeId made, result_.input(source.name, source.element, source.shape));
      map.push_back(made);
      continue;
    }
    if (source.primitive == Primitive::constant) {
      map.push_back(constant(*source.value, source.name));
      continue;
    }
    std::vector<NodeId> operands;
    for (NodeId operand : source.operands) operands.push_back(map[ops::index(operand)]);
    HALYARD_ASSIGN(NodeId made,
                   append(source.primitive, std::move(operands), source.attributes, source.name));
    map.push_back(made);
  }
  for (const ops::GraphOutput& output : source_.outputs())
    HALYARD_TRY(result_.output(map[ops::index(output.node)], output.name));
  return without_unused();
}

}  // namespace

Result<ops::Graph> simplify(const ops::Graph& graph, const SimplifyOptions& options, SimplifyReport* report) {
  SimplifyReport own;
  return Simplifier(graph, options, report ? *report : own).run();
}

}  // namespace halyard::fusion
