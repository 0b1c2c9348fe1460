#include <fmt/format.h>
#include <halyard/ops/reference.h>
#include <halyard/program/interpret.h>
#include <algorithm>
#include <array>
#include <limits>
#include <optional>

namespace halyard::ops {
namespace {

using program::Access;
using program::Interpreter;
using program::ValueId;

/// Lanes that one workgroup of the elementwise program handles.
constexpr std::uint16_t block_lanes = 1024;

/// result[i] = expression(operands[i]…) for i < count, a block per workgroup.
program::Program elementwise_program(Primitive primitive, std::span<const HostTensor> operands,
                                     const Attributes& attributes, const NumericClass& numeric,
                                     ElementType result) {
  program::Builder builder{std::string(name(primitive))};
  std::vector<program::MemoryRef> inputs;
  for (std::size_t i = 0; i < operands.size(); ++i)
    inputs.push_back(builder.buffer(fmt::format("operand_{}", i), operands[i].element(), Access::read));
  program::MemoryRef output = builder.buffer("result", result, Access::write);
  ValueId count = builder.parameter("count", ElementType::i64);
  ValueId block = builder.cast(ElementType::i64, builder.builtin(program::Builtin::workgroup_x));
  ValueId base = builder.mul(block, builder.i64(block_lanes));
  ValueId left = builder.splat(builder.sub(count, base), block_lanes);
  ValueId mask = builder.compare(program::Op::lt, builder.iota({ElementType::i64, block_lanes}), left);
  std::vector<ValueId> values;
  for (program::MemoryRef input : inputs) values.push_back(builder.load(input, base, block_lanes, mask));
  builder.store(output, base, row(primitive).expand(builder, values, attributes, numeric), mask);
  return std::move(builder).finish();
}

Status evaluate_elementwise(Primitive primitive, std::span<const HostTensor> operands,
                            const Attributes& attributes, const NumericClass& numeric, HostTensor& result) {
  if (result.count() == 0) return {};
  HALYARD_ASSIGN(Interpreter interpreter, Interpreter::prepare(elementwise_program(
                                              primitive, operands, attributes, numeric, result.element())));
  std::vector<program::BufferView> buffers;
  for (const HostTensor& operand : operands)
    buffers.push_back({const_cast<std::byte*>(operand.data()), operand.byte_count()});
  buffers.push_back({result.mutable_data(), result.byte_count()});
  std::int64_t count = result.count();
  std::int64_t blocks = (count + block_lanes - 1) / block_lanes;
  if (blocks > std::numeric_limits<std::int32_t>::max())
    return fail(ErrorCode::unsupported, fmt::format("{}: {} elements are too many", name(primitive), count));
  std::array<std::uint32_t, 3> grid{static_cast<std::uint32_t>(blocks), 1, 1};
  return interpreter.run(grid, buffers, std::as_bytes(std::span(&count, 1)));
}

}  // namespace

Result<HostTensor> evaluate_primitive(Primitive primitive, std::span<const HostTensor> operands,
                                      const Attributes& attributes, const NumericClass& numeric) {
  const PrimitiveRow& row = ops::row(primitive);
  std::vector<TensorType> types;
  for (const HostTensor& operand : operands) types.push_back({operand.element(), operand.shape()});
  HALYARD_ASSIGN(TensorType type, infer(primitive, types, attributes));
  if (row.expand == nullptr && row.reference == nullptr)
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}: has no meaning of its own to evaluate", row.name));
  HALYARD_ASSIGN(HostTensor result, HostTensor::allocate(type.element, std::move(type.shape)));
  if (row.expand != nullptr)
    HALYARD_TRY(evaluate_elementwise(primitive, operands, attributes, numeric, result));
  else
    HALYARD_TRY(row.reference(operands, attributes, numeric, result));
  return result;
}

Result<std::vector<HostTensor>> evaluate(const Graph& graph, std::span<const HostTensor> inputs,
                                         const NumericClass& numeric) {
  if (inputs.size() != graph.inputs().size())
    return fail(ErrorCode::invalid_argument, fmt::format("evaluate: {} inputs given, the graph has {}",
                                                         inputs.size(), graph.inputs().size()));
  std::vector<std::size_t> last_use(graph.size(), 0);
  for (std::size_t i = 0; i < graph.size(); ++i)
    for (NodeId operand : graph.nodes()[i].operands) last_use[index(operand)] = i;
  for (const GraphOutput& output : graph.outputs()) last_use[index(output.node)] = graph.size();

  std::vector<std::optional<HostTensor>> values(graph.size());
  std::size_t next_input = 0;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (node.primitive == Primitive::input) {
      const HostTensor& given = inputs[next_input++];
      if (given.element() != node.element || given.shape() != node.shape)
        return fail(ErrorCode::invalid_argument,
                    fmt::format("evaluate: input '{}' is {}, not {}{}", node.name, node.type().text(),
                                name(given.element()), given.shape().text()));
      values[i] = given;
      continue;
    }
    if (node.primitive == Primitive::constant) {
      values[i] = *node.value;
      continue;
    }
    if (last_use[i] == 0) continue;  // nobody reads it
    std::vector<HostTensor> operands;
    for (NodeId operand : node.operands) operands.push_back(*values[index(operand)]);
    HALYARD_ASSIGN(values[i], evaluate_primitive(node.primitive, operands, node.attributes, numeric));
    for (NodeId operand : node.operands)
      if (last_use[index(operand)] == i) values[index(operand)].reset();
  }
  std::vector<HostTensor> results;
  for (const GraphOutput& output : graph.outputs()) results.push_back(*values[index(output.node)]);
  return results;
}

}  // namespace halyard::ops
