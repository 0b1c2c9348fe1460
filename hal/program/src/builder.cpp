#include <halyard/base/half.h>
#include <halyard/program/builder.h>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

namespace halyard::program {
namespace {

std::uint64_t bits_of(ElementType element, double value) {
  switch (element) {
    case ElementType::f64:
      return std::bit_cast<std::uint64_t>(value);
    case ElementType::f32:
      return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    case ElementType::f16:
      return f16_from_double(value);
    case ElementType::bf16:
      return bf16_from_double(value);
    case ElementType::boolean:
      return value != 0;
    default:
      break;
  }
  std::uint64_t bits = value < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value))
                                 : static_cast<std::uint64_t>(value);
  std::size_t bytes = byte_size(element);
  return bytes == 8 ? bits : bits & ((std::uint64_t{1} << (8 * bytes)) - 1);
}

std::int64_t sign_extend(ElementType element, std::uint64_t bits) {
  unsigned shift = 64 - 8 * static_cast<unsigned>(byte_size(element));
  auto shifted = static_cast<std::int64_t>(bits << shift);
  return is_signed(element) ? shifted >> shift : static_cast<std::int64_t>(bits);
}

std::uint64_t truncate(ElementType element, std::uint64_t bits) {
  std::size_t bytes = byte_size(element);
  return bytes == 8 ? bits : bits & ((std::uint64_t{1} << (8 * bytes)) - 1);
}

}  // namespace

Builder::Builder(std::string name) {
  program_.name = std::move(name);
  open_.push_back(&program_.body);
}

Program Builder::finish() && {
  return std::move(program_);
}

ValueId Builder::new_value(Type type) {
  program_.values.push_back(type);
  constants_.push_back(0);
  return static_cast<ValueId>(program_.values.size() - 1);
}

Instruction& Builder::append(Op op, Type type) {
  Instruction& instruction = open_.back()->body.emplace_back();
  instruction.op = op;
  instruction.type = type;
  return instruction;
}

ValueId Builder::append_result(Instruction instruction) {
  ValueId result = new_value(instruction.type);
  instruction.results = {result};
  open_.back()->body.push_back(std::move(instruction));
  return result;
}

MemoryRef Builder::buffer(std::string name, ElementType element, Access access) {
  program_.buffers.push_back({std::move(name), element, access});
  return {MemoryRef::Space::buffer, static_cast<std::uint32_t>(program_.buffers.size() - 1)};
}

MemoryRef Builder::shared(std::string name, ElementType element, std::uint32_t count) {
  program_.shared.push_back({std::move(name), element, count});
  return {MemoryRef::Space::shared, static_cast<std::uint32_t>(program_.shared.size() - 1)};
}

ValueId Builder::parameter(std::string name, ElementType element) {
  program_.scalars.push_back({name, element});
  Instruction instruction{
      .op = Op::parameter, .type = {element, 1}, .immediate = program_.scalars.size() - 1};
  instruction.note = std::move(name);
  return append_result(std::move(instruction));
}

ValueId Builder::builtin(Builtin which) {
  return append_result(
      {.op = Op::builtin, .type = {ElementType::i32, 1}, .immediate = static_cast<std::uint64_t>(which)});
}

ValueId Builder::constant_bits(Type type, std::uint64_t bits) {
  bits = truncate(type.element, bits);
  ValueId result = append_result({.op = Op::constant, .type = type, .immediate = bits});
  constant_bits_.push_back(bits);
  constants_[index(result)] = static_cast<std::int64_t>(constant_bits_.size());
  return result;
}

ValueId Builder::constant(Type type, double value) {
  return constant_bits(type, bits_of(type.element, value));
}

ValueId Builder::iota(Type type, std::int64_t first) {
  return append_result(
      {.op = Op::iota, .type = type, .immediate = truncate(type.element, static_cast<std::uint64_t>(first))});
}

bool Builder::is_constant(ValueId value, std::uint64_t* bits) const {
  std::int64_t slot = constants_[index(value)];
  if (slot == 0) return false;
  if (bits) *bits = constant_bits_[static_cast<std::size_t>(slot - 1)];
  return true;
}

ValueId Builder::unary(Op op, ValueId a) {
  return append_result({.op = op, .type = type(a), .operands = {a}});
}

ValueId Builder::binary(Op op, ValueId a, ValueId b) {
  Type t = type(a);
  std::uint64_t x = 0;
  std::uint64_t y = 0;
  bool x_known = is_integer(t.element) && is_constant(a, &x);
  bool y_known = is_integer(t.element) && is_constant(b, &y);
  if (x_known && y_known) {
    if (op == Op::add) return constant_bits(t, x + y);
    if (op == Op::sub) return constant_bits(t, x - y);
    if (op == Op::mul) return constant_bits(t, x * y);
    std::int64_t divisor = sign_extend(t.element, y);
    if (divisor > 0 && op == Op::div && is_signed(t.element))
      return constant_bits(t, static_cast<std::uint64_t>(sign_extend(t.element, x) / divisor));
    if (divisor > 0 && op == Op::rem && is_signed(t.element))
      return constant_bits(t, static_cast<std::uint64_t>(sign_extend(t.element, x) % divisor));
  }
  if (y_known && y == 0 && (op == Op::add || op == Op::sub)) return a;
  if (x_known && x == 0 && op == Op::add) return b;
  if (y_known && y == 1 && (op == Op::mul || op == Op::div)) return a;
  if (x_known && x == 1 && op == Op::mul) return b;
  if (op == Op::mul && x_known && x == 0) return a;
  if (op == Op::mul && y_known && y == 0) return b;
  if (op == Op::rem && y_known && y == 1) return constant_bits(t, 0);
  return append_result({.op = op, .type = t, .operands = {a, b}});
}

ValueId Builder::compare(Op op, ValueId a, ValueId b) {
  return append_result({.op = op, .type = {ElementType::boolean, type(a).lanes}, .operands = {a, b}});
}

ValueId Builder::fma(ValueId a, ValueId b, ValueId c) {
  return append_result({.op = Op::fma, .type = type(a), .operands = {a, b, c}});
}

ValueId Builder::select(ValueId condition, ValueId a, ValueId b) {
  return append_result({.op = Op::select, .type = type(a), .operands = {condition, a, b}});
}

ValueId Builder::cast(ElementType to, ValueId a) {
  Type from = type(a);
  if (from.element == to) return a;
  std::uint64_t bits = 0;
  if (is_integer(from.element) && is_integer(to) && is_constant(a, &bits))
    return constant_bits({to, from.lanes}, static_cast<std::uint64_t>(sign_extend(from.element, bits)));
  return append_result({.op = Op::cast, .type = {to, from.lanes}, .operands = {a}});
}

ValueId Builder::bitcast(Type to, ValueId a) {
  if (type(a) == to) return a;
  return append_result({.op = Op::bitcast, .type = to, .operands = {a}});
}

ValueId Builder::splat(ValueId scalar, std::uint16_t lanes) {
  if (lanes == 1) return scalar;
  Type t{type(scalar).element, lanes};
  std::uint64_t bits = 0;
  if (is_constant(scalar, &bits)) return constant_bits(t, bits);
  return append_result({.op = Op::splat, .type = t, .operands = {scalar}});
}

ValueId Builder::extract(ValueId vector, std::uint32_t lane) {
  if (type(vector).lanes == 1) return vector;
  return append_result(
      {.op = Op::extract, .type = {type(vector).element, 1}, .immediate = lane, .operands = {vector}});
}

ValueId Builder::insert(ValueId vector, ValueId scalar, std::uint32_t lane) {
  return append_result(
      {.op = Op::insert, .type = type(vector), .immediate = lane, .operands = {vector, scalar}});
}

ValueId Builder::shuffle(ValueId a, ValueId b, std::vector<std::int32_t> indices) {
  Type t{type(a).element, static_cast<std::uint16_t>(indices.size())};
  return append_result({.op = Op::shuffle, .type = t, .operands = {a, b}, .indices = std::move(indices)});
}

ValueId Builder::slice(ValueId vector, std::uint32_t first, std::uint16_t lanes) {
  if (first == 0 && lanes == type(vector).lanes) return vector;
  if (lanes == 1) return extract(vector, first);
  std::vector<std::int32_t> indices(lanes);
  for (std::uint32_t i = 0; i < lanes; ++i) indices[i] = static_cast<std::int32_t>(first + i);
  return shuffle(vector, vector, std::move(indices));
}

ValueId Builder::concat(ValueId low, ValueId high) {
  std::uint32_t lanes = 2u * type(low).lanes;
  std::vector<std::int32_t> indices(lanes);
  for (std::uint32_t i = 0; i < lanes; ++i) indices[i] = static_cast<std::int32_t>(i);
  return shuffle(low, high, std::move(indices));
}

ElementType Builder::element(MemoryRef memory) const {
  return memory.space == MemoryRef::Space::buffer ? program_.buffers[memory.index].element
                                                  : program_.shared[memory.index].element;
}

ValueId Builder::load(MemoryRef memory, ValueId index, std::uint16_t lanes, ValueId mask,
                      std::uint32_t alignment) {
  Instruction instruction{
      .op = Op::load, .type = {element(memory), lanes}, .memory = memory, .alignment = alignment};
  instruction.operands = {index};
  if (mask != no_value) instruction.operands.push_back(mask);
  return append_result(std::move(instruction));
}

void Builder::store(MemoryRef memory, ValueId index, ValueId value, ValueId mask, std::uint32_t alignment) {
  Instruction& instruction = append(Op::store, type(value));
  instruction.memory = memory;
  instruction.alignment = alignment;
  instruction.operands = {index, value};
  if (mask != no_value) instruction.operands.push_back(mask);
}

ValueId Builder::gather(MemoryRef memory, ValueId indices, ValueId mask) {
  Instruction instruction{.op = Op::gather, .type = {element(memory), type(indices).lanes}, .memory = memory};
  instruction.operands = {indices};
  if (mask != no_value) instruction.operands.push_back(mask);
  return append_result(std::move(instruction));
}

void Builder::scatter(MemoryRef memory, ValueId indices, ValueId value, ValueId mask) {
  Instruction& instruction = append(Op::scatter, type(value));
  instruction.memory = memory;
  instruction.operands = {indices, value};
  if (mask != no_value) instruction.operands.push_back(mask);
}

void Builder::prefetch(MemoryRef memory, ValueId index) {
  Instruction& instruction = append(Op::prefetch, {element(memory), 1});
  instruction.memory = memory;
  instruction.operands = {index};
}

void Builder::barrier(Scope scope) {
  append(Op::barrier, {}).immediate = static_cast<std::uint64_t>(scope);
}

ValueId Builder::shuffle_xor(ValueId value, std::uint32_t lane_mask) {
  return append_result(
      {.op = Op::shuffle_xor, .type = type(value), .immediate = lane_mask, .operands = {value}});
}

ValueId Builder::shuffle_lane(ValueId value, ValueId lane) {
  return append_result({.op = Op::shuffle_lane, .type = type(value), .operands = {value, lane}});
}

ValueId Builder::broadcast_lane(ValueId value, std::uint32_t lane) {
  return append_result(
      {.op = Op::broadcast_lane, .type = type(value), .immediate = lane, .operands = {value}});
}

std::vector<ValueId> Builder::for_loop(ValueId lower, ValueId upper, ValueId step,
                                       std::vector<ValueId> initial, const LoopBody& body,
                                       std::uint32_t unroll) {
  auto block = std::make_unique<Block>();
  ValueId induction = new_value(type(lower));
  block->arguments.push_back(induction);
  std::vector<ValueId> carried;
  for (ValueId value : initial) carried.push_back(new_value(type(value)));
  block->arguments.insert(block->arguments.end(), carried.begin(), carried.end());

  open_.push_back(block.get());
  std::vector<ValueId> yielded = body(induction, carried);
  append(Op::yield, {}).operands = std::move(yielded);
  open_.pop_back();

  Instruction loop{.op = Op::for_loop, .immediate = unroll};
  loop.operands = {lower, upper, step};
  loop.operands.insert(loop.operands.end(), initial.begin(), initial.end());
  for (ValueId value : initial) loop.results.push_back(new_value(type(value)));
  std::vector<ValueId> results = loop.results;
  loop.blocks.push_back(std::move(*block));
  open_.back()->body.push_back(std::move(loop));
  return results;
}

std::vector<ValueId> Builder::if_else(ValueId condition, const Branch& then_body, const Branch& else_body) {
  Instruction branch{.op = Op::if_else, .operands = {condition}};
  std::vector<Type> types;
  for (const Branch* body : {&then_body, &else_body}) {
    auto block = std::make_unique<Block>();
    open_.push_back(block.get());
    std::vector<ValueId> yielded = (*body)();
    if (types.empty())
      for (ValueId value : yielded) types.push_back(type(value));
    append(Op::yield, {}).operands = std::move(yielded);
    open_.pop_back();
    branch.blocks.push_back(std::move(*block));
  }
  for (Type t : types) branch.results.push_back(new_value(t));
  std::vector<ValueId> results = branch.results;
  open_.back()->body.push_back(std::move(branch));
  return results;
}

void Builder::if_then(ValueId condition, const std::function<void()>& then_body) {
  if_else(
      condition,
      [&] {
        then_body();
        return std::vector<ValueId>{};
      },
      [] { return std::vector<ValueId>{}; });
}

void Builder::comment(std::string text) {
  append(Op::comment, {}).note = std::move(text);
}

void Builder::note(std::string text) {
  if (!open_.back()->body.empty()) open_.back()->body.back().note = std::move(text);
}

std::vector<std::uint32_t> scalar_offsets(const Program& program) {
  std::vector<std::uint32_t> offsets;
  std::uint32_t end = 0;
  for (const ScalarParameter& scalar : program.scalars) {
    auto bytes = static_cast<std::uint32_t>(byte_size(scalar.element));
    end = (end + bytes - 1) / bytes * bytes;
    offsets.push_back(end);
    end += bytes;
  }
  offsets.push_back((end + 7) / 8 * 8);
  return offsets;
}

std::uint64_t shared_bytes(const Program& program) {
  std::uint64_t total = 0;
  for (const SharedArray& array : program.shared)
    total = (total + 63) / 64 * 64 + static_cast<std::uint64_t>(array.count) * byte_size(array.element);
  return total;
}

}  // namespace halyard::program
