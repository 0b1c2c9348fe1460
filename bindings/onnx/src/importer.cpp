#include "importer.h"

#include <fmt/format.h>
#include <halyard/ops/reference.h>

#include <algorithm>
#include <cmath>

namespace halyard::onnx {
namespace {

/// Constants larger than this are computed at run time rather than kept (bytes).
constexpr std::size_t largest_folded = std::size_t{64} << 20;

/// Loops are written out, and loops in loops multiply: more nodes of branches than this make no graph that
/// anyone waits for.
constexpr std::int64_t most_in_branches = std::int64_t{1} << 16;

}  // namespace

Result<ops::NodeId> ImportContext::operand(std::size_t number) const {
  if (has(number)) return *operands[number];
  return fail(ErrorCode::corrupt_data, fmt::format("operand {} is missing", number));
}

Result<ops::HostTensor> ImportContext::known(std::size_t number) const {
  HALYARD_ASSIGN(ops::NodeId id, operand(number));
  const ops::Node& node_of_operand = builder.node(id);
  if (node_of_operand.value) return *node_of_operand.value;
  return fail(ErrorCode::unsupported,
              fmt::format("operand {} ('{}') must be known when the model is compiled, but it "
                          "depends on the values of the inputs; give those a fixed value",
                          number, node.input(static_cast<int>(number))));
}

Result<std::vector<std::int64_t>> ImportContext::known_integers(std::size_t number) const {
  HALYARD_ASSIGN(ops::HostTensor tensor, known(number));
  if (!is_integer(tensor.element()) || tensor.shape().rank() > 1)
    return fail(ErrorCode::corrupt_data,
                fmt::format("operand {} must be a list of integers, not {}{}", number,
                            halyard::name(tensor.element()), tensor.shape().text()));
  std::vector<std::int64_t> values;
  const std::size_t bytes = byte_size(tensor.element());
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    auto shifted = static_cast<std::int64_t>(tensor.bits_at(i) << (64 - 8 * bytes));
    values.push_back(is_signed(tensor.element()) ? shifted >> (64 - 8 * bytes)
                                                 : static_cast<std::int64_t>(tensor.bits_at(i)));
  }
  return values;
}

Result<double> ImportContext::known_number(std::size_t number, double otherwise) const {
  if (!has(number)) return otherwise;
  HALYARD_ASSIGN(ops::HostTensor tensor, known(number));
  if (tensor.count() == 1) return tensor.at(0);
  return fail(ErrorCode::corrupt_data,
              fmt::format("operand {} must be one number, not {}", number, tensor.shape().text()));
}

Result<std::int64_t> ImportContext::known_integer(std::size_t number, std::int64_t otherwise) const {
  HALYARD_ASSIGN(double value, known_number(number, static_cast<double>(otherwise)));
  if (std::fabs(value) < 0x1p53 && std::trunc(value) == value) return static_cast<std::int64_t>(value);
  return fail(ErrorCode::corrupt_data,
              fmt::format("operand {} must be a whole number, not {}", number, value));
}

Result<std::vector<std::int64_t>> ImportContext::axes(std::size_t number) const {
  if (attributes.has("axes")) return attributes.integers("axes");
  if (has(number)) return known_integers(number);
  return std::vector<std::int64_t>{};
}

Status Importer::declare_inputs(const InputShapes& shapes, const FixedInputs& fixed) {
  std::vector<std::string_view> given_names;
  for (const auto& [name, shape] : shapes) given_names.push_back(name);
  for (const auto& [name, value] : fixed) given_names.push_back(name);
  for (std::string_view name : given_names) {
    bool known = std::any_of(model_.inputs.begin(), model_.inputs.end(),
                             [&](const ValueInfo& i) { return i.name == name; });
    if (known) continue;
    std::string list;
    for (const ValueInfo& input : model_.inputs) list += "\n  " + input.text();
    return fail(ErrorCode::invalid_argument,
                fmt::format("onnx: the model has no input '{}'; its inputs are:{}", name, list));
  }
  std::map<std::string, std::int64_t> symbols;
  for (const ValueInfo& input : model_.inputs) {
    const auto given = shapes.find(input.name);
    const auto value = fixed.find(input.name);
    if ((given == shapes.end()) == (value == fixed.end()))
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("onnx: input '{}' is given {}", input.text(),
                      given == shapes.end() ? "neither a shape nor a value" : "both a shape and a value"));
    if (value != fixed.end() && value->second.element() != input.element)
      return fail(ErrorCode::invalid_argument,
                  fmt::format("onnx: input '{}' is given a value of type {}", input.text(),
                              halyard::name(value->second.element())));
    const ops::Shape& shape = value != fixed.end() ? value->second.shape() : given->second;
    bool fits = shape.rank() == input.dimensions.size();
    for (std::size_t i = 0; fits && i < shape.rank(); ++i) {
      fits = input.dimensions[i] < 0 || input.dimensions[i] == shape[i];
      if (input.dimensions[i] >= 0 || input.symbols[i] == "?") continue;
      auto [symbol, is_new] = symbols.emplace(input.symbols[i], shape[i]);
      fits = fits && symbol->second == shape[i];
    }
    if (!fits)
      return fail(ErrorCode::invalid_argument,
                  fmt::format("onnx: input '{}' cannot have shape {} (sizes of one name must agree "
                              "over all inputs)",
                              input.text(), shape.text()));
    if (value != fixed.end()) {
      values_[input.name] = builder_.constant(value->second, input.name);
      continue;
    }
    HALYARD_ASSIGN(values_[input.name], builder_.input(input.name, input.element, shape));
  }
  return {};
}

Result<ops::NodeId> Importer::lookup(const std::string& name) {
  auto value = values_.find(name);
  if (value != values_.end()) return value->second;
  auto initializer = model_.initializers.find(name);
  if (initializer == model_.initializers.end())
    return fail(ErrorCode::corrupt_data, fmt::format("it uses '{}', which nothing before it defines", name));
  ops::NodeId id = builder_.constant(initializer->second, name);
  values_[name] = id;
  return id;
}

Result<ops::NodeId> Importer::fold(ops::NodeId id, std::size_t first_new) {
  const ops::Node& target = graph_.node(id);
  if (target.value || ops::index(id) < first_new) return id;
  if (static_cast<std::size_t>(target.shape.count()) * byte_size(target.element) > largest_folded) return id;
  // Only what this ONNX node appended is looked at: its operands are constants or they are not.
  ops::Graph part;
  std::map<std::uint32_t, ops::NodeId> copies;
  auto copy_of = [&](ops::NodeId original) -> std::optional<ops::NodeId> {
    auto found = copies.find(ops::index(original));
    if (found != copies.end()) return found->second;
    const ops::Node& node = graph_.node(original);
    if (!node.value) return std::nullopt;
    return copies[ops::index(original)] = part.constant(*node.value);
  };
  for (std::size_t i = first_new; i <= ops::index(id); ++i) {
    const auto original = static_cast<ops::NodeId>(i);
    const ops::Node& node = graph_.node(original);
    if (node.value) continue;
    std::vector<ops::NodeId> operands;
    for (ops::NodeId operand : node.operands) {
      auto copy = copy_of(operand);
      if (!copy) return id;
      operands.push_back(*copy);
    }
    HALYARD_ASSIGN(copies[static_cast<std::uint32_t>(i)],
                   part.append(node.primitive, operands, node.attributes));
  }
  HALYARD_TRY(part.output(copies[ops::index(id)]));
  HALYARD_ASSIGN(std::vector<ops::HostTensor> results, ops::evaluate(part, {}));
  return builder_.constant(std::move(results[0]), graph_.node(id).name);
}

Status Importer::import_node(const ::onnx::NodeProto& node, std::size_t position) {
  const OperatorRow* row = find_operator(node.domain(), node.op_type());
  auto located = [&](const Error& error) {
    // An operation's invalid argument comes from the file.
    const ErrorCode code = error.code == ErrorCode::invalid_argument ? ErrorCode::corrupt_data : error.code;
    return fail(code, fmt::format("onnx: node {} '{}' ({}): {}", position, node.name(), node.op_type(),
                                  error.message));
  };
  if (!row) return located({ErrorCode::unsupported, "the operator is not supported"});
  ImportContext context{*this, builder_, node, NodeAttributes(node), model_.opset, {}};
  for (const std::string& input : node.input()) {
    if (input.empty()) {
      context.operands.emplace_back();
      continue;
    }
    auto id = lookup(input);
    if (!id) return located(id.error());
    context.operands.emplace_back(*id);
  }
  for (std::size_t i = 0; i < row->min_operands; ++i)
    if (!context.has(i)) return located({ErrorCode::corrupt_data, fmt::format("operand {} is missing", i)});
  const std::size_t first_new = graph_.size();
  auto results = row->import(context);
  if (!results) return located(results.error());
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    if (static_cast<std::size_t>(i) >= results->size()) {
      if (!used_.contains(node.output(i))) continue;
      return located({ErrorCode::unsupported,
                      fmt::format("its result {} ('{}') is used, and is not supported", i, node.output(i))});
    }
    auto id = fold((*results)[static_cast<std::size_t>(i)], first_new);
    if (!id) return located(id.error());
    values_[node.output(i)] = *id;
  }
  return {};
}

Results Importer::branch(const ::onnx::GraphProto& graph, const std::vector<NodeId>& inputs) {
  if (graph.input_size() != static_cast<int>(inputs.size()))
    return fail(ErrorCode::corrupt_data, fmt::format("its body '{}' declares {} inputs, and is given {}",
                                                     graph.name(), graph.input_size(), inputs.size()));
  imported_in_branches_ += graph.node_size() + 1;  // so that empty bodies count, too
  if (imported_in_branches_ > most_in_branches)
    return fail(ErrorCode::unsupported,
                fmt::format("the loops written out have more than {} nodes", most_in_branches));
  const std::map<std::string, ops::NodeId> outer = values_;
  const std::set<std::string_view> outer_used = used_;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    values_[graph.input(static_cast<int>(i)).name()] = inputs[i];
  for (const auto& initializer : graph.initializer()) {
    auto [constant, is_new] = branch_constants_.try_emplace(&initializer);
    if (is_new) {
      HALYARD_ASSIGN(ops::HostTensor value, read_tensor(initializer, {}));
      constant->second = builder_.constant(std::move(value), initializer.name());
    }
    values_[initializer.name()] = constant->second;
  }
  for (const auto& node : graph.node()) used_.insert(node.input().begin(), node.input().end());
  for (const auto& output : graph.output()) used_.insert(output.name());
  for (int i = 0; i < graph.node_size(); ++i)
    HALYARD_TRY(import_node(graph.node(i), static_cast<std::size_t>(i)));
  std::vector<ops::NodeId> results;
  for (const auto& output : graph.output()) {
    HALYARD_ASSIGN(ops::NodeId id, lookup(output.name()));
    results.push_back(id);
  }
  values_ = outer;
  used_ = outer_used;
  return results;
}

Result<ops::Graph> Importer::run(const InputShapes& shapes, const FixedInputs& fixed) {
  HALYARD_TRY(declare_inputs(shapes, fixed));
  const auto& proto = model_.proto.graph();
  for (const auto& node : proto.node()) used_.insert(node.input().begin(), node.input().end());
  for (const auto& output : proto.output()) used_.insert(output.name());
  for (int i = 0; i < proto.node_size(); ++i)
    HALYARD_TRY(import_node(proto.node(i), static_cast<std::size_t>(i)));
  for (const ValueInfo& output : model_.outputs) {
    auto id = lookup(output.name);
    if (!id)
      return fail(id.error().code, fmt::format("onnx: output '{}': {}", output.name, id.error().message));
    if (builder_.element(*id) != output.element)
      return fail(ErrorCode::corrupt_data,
                  fmt::format("onnx: output '{}' is declared {} but computed as {}", output.name,
                              halyard::name(output.element), halyard::name(builder_.element(*id))));
    HALYARD_TRY(graph_.output(*id, output.name));
  }
  return std::move(graph_);
}

}  // namespace halyard::onnx
