#include "legalizer.h"

#include <fmt/format.h>
#include <algorithm>
#include <functional>

namespace halyard::fusion {
namespace {

using program::Instruction;
using program::MemoryRef;
using program::Op;
using program::ValueId;

bool any_instruction(const program::Block& block, const std::function<bool(const Instruction&)>& matches) {
  for (const Instruction& instruction : block.body) {
    if (matches(instruction)) return true;
    for (const program::Block& inner : instruction.blocks)
      if (any_instruction(inner, matches)) return true;
  }
  return false;
}

}  // namespace

Result<program::Program> legalize(const program::Program& program, const DeviceFacts& facts) {
  Legalizer legalizer(program, facts);
  if (!legalizer.is_needed()) return program;
  return legalizer.run();
}

Legalizer::Form Legalizer::form(ElementType element) const {
  switch (element) {
    case ElementType::i8:
    case ElementType::i16:
    case ElementType::u8:
    case ElementType::u16:
      return Form::narrow_integer;
    case ElementType::bf16:
      return Form::half;
    case ElementType::f16: {
      bool native = facts_.trusted_f16 && contains(facts_.arithmetic_types, element) &&
                    contains(facts_.storage_types, element);
      return native ? Form::same : Form::half;
    }
    case ElementType::i64:
    case ElementType::u64:
      return contains(facts_.arithmetic_types, element) ? Form::same : Form::pair;
    default:
      return Form::same;
  }
}

ElementType Legalizer::carrier(ElementType element) const {
  switch (form(element)) {
    case Form::same:
      return element;
    case Form::narrow_integer:
      return is_signed(element) ? ElementType::i32 : ElementType::u32;
    default:
      return ElementType::u32;
  }
}

ElementType Legalizer::buffer_element(ElementType element) const {
  if (element == ElementType::boolean) return ElementType::u8;
  switch (form(element)) {
    case Form::same:
      return element;
    case Form::pair:
      return ElementType::u32;
    default:
      return byte_size(element) == 1 ? ElementType::u8 : ElementType::u16;
  }
}

ElementType Legalizer::shared_element(ElementType element) const {
  return element == ElementType::boolean ? ElementType::u32 : carrier(element);
}

ElementType Legalizer::element_of(MemoryRef memory) const {
  return memory.space == MemoryRef::Space::buffer ? source_.buffers[memory.index].element
                                                  : source_.shared[memory.index].element;
}

bool Legalizer::is_needed() const {
  auto changes = [&](ElementType element) { return form(element) != Form::same; };
  for (Type type : source_.values)
    if (changes(type.element)) return true;
  for (const auto& buffer : source_.buffers)
    if (buffer_element(buffer.element) != buffer.element || changes(buffer.element)) return true;
  for (const auto& array : source_.shared)
    if (shared_element(array.element) != array.element) return true;
  for (const auto& scalar : source_.scalars)
    if (byte_size(scalar.element) < 4 || changes(scalar.element)) return true;
  return any_instruction(source_.body, [&](const Instruction& i) {
    if (i.op == Op::fma && !(facts_.fused_fma && facts_.fused_fma_f64)) return true;
    if (i.type.element == ElementType::f32 &&
        ((i.op == Op::div && !facts_.exact_division) || (i.op == Op::sqrt && !facts_.exact_sqrt)))
      return true;
    return i.op == Op::cast && is_float(i.type.element) && byte_size(old_type(i.operands[0]).element) == 8;
  });
}

Result<program::Program> Legalizer::run() {
  for (Type type : source_.values)
    if (type.element == ElementType::f64 && !contains(facts_.arithmetic_types, type.element))
      return fail(
          ErrorCode::unsupported,
          fmt::format("legalize: program {} computes in f64, which this device cannot; cast to f32 or "
                      "choose another device",
                      source_.name));
  if (!facts_.fused_fma_f64 && !contains(facts_.arithmetic_types, ElementType::u64) &&
      any_instruction(source_.body, [](const Instruction& i) {
        return i.op == Op::fma && i.type.element == ElementType::f64;
      }))
    return fail(
        ErrorCode::unsupported,
        fmt::format("legalize: program {} needs an f64 fma that rounds once, which this device lacks "
                    "and, without 64-bit integers, cannot compute; compute in f32, or in numerics mode "
                    "'standard'",
                    source_.name));
  HALYARD_TRY(declare_interface());
  block(source_.body);
  return std::move(builder_).finish();
}

Status Legalizer::declare_interface() {
  program::Program& target = builder_.program();
  target.note = source_.note;
  std::copy_n(source_.workgroup_size, 3, target.workgroup_size);
  target.subgroup_size = source_.subgroup_size;
  for (const auto& buffer : source_.buffers)
    builder_.buffer(buffer.name, buffer_element(buffer.element), buffer.access);
  for (const auto& array : source_.shared) {
    std::uint64_t count = std::uint64_t{array.count} * (form(array.element) == Form::pair ? 2 : 1);
    builder_.shared(array.name, shared_element(array.element), static_cast<std::uint32_t>(count));
  }

  bool in_words = std::any_of(source_.scalars.begin(), source_.scalars.end(), [&](const auto& scalar) {
    return byte_size(scalar.element) < 4 || form(scalar.element) != Form::same;
  });
  if (!in_words) {
    for (const auto& scalar : source_.scalars)
      scalars_.push_back({builder_.parameter(scalar.name, scalar.element)});
  } else {
    std::vector<std::uint32_t> offsets = program::scalar_offsets(source_);
    std::vector<ValueId> words;
    for (std::uint32_t offset = 0; offset < offsets.back(); offset += 4)
      words.push_back(builder_.parameter(fmt::format("word{}", offset / 4), ElementType::u32));
    for (std::size_t i = 0; i < source_.scalars.size(); ++i)
      scalars_.push_back(from_block_words(source_.scalars[i].element, offsets[i], words));
  }
  // Dominates everything, so that `opaque` may use it anywhere.
  bool narrows = any_instruction(source_.body, [&](const Instruction& i) {
    return i.op == Op::cast && is_float(i.type.element) && byte_size(old_type(i.operands[0]).element) == 8;
  });
  if (narrows) {
    ValueId grid = builder_.cast(ElementType::u32, builder_.builtin(program::Builtin::grid_x));
    opaque_zero_ = op(Op::shr, grid, u32(31, 1));
    builder_.note("zero, which no compiler can know: keeps conversions from being elided");
  }
  return {};
}

Legalizer::Carried Legalizer::from_block_words(ElementType element, std::uint32_t offset,
                                               std::span<const ValueId> words) {
  ValueId first = words[offset / 4];
  if (byte_size(element) == 8) {
    if (form(element) == Form::pair) return {first, words[offset / 4 + 1]};
    ValueId both = builder_.insert(builder_.splat(first, 2), words[offset / 4 + 1], 1);
    return {builder_.bitcast({element, 1}, both)};
  }
  if (byte_size(element) == 4) return {builder_.bitcast({element, 1}, first)};
  ValueId shifted = op(Op::shr, first, u32(8 * (offset % 4), 1));
  if (offset % 4 == 0) shifted = first;
  if (element == ElementType::boolean)
    return {compare(Op::ne, op(Op::bit_and, shifted, u32(0xff, 1)), u32(0, 1))};
  if (form(element) == Form::narrow_integer)
    return {normalized(element, builder_.cast(carrier(element), shifted))};
  ValueId bits = op(Op::bit_and, shifted, u32(0xffff, 1));
  if (form(element) == Form::half) return {bits};
  return {builder_.cast(ElementType::f16, widened(ElementType::f16, bits))};
}

ValueId Legalizer::normalized(ElementType element, ValueId value) {
  Type type = builder_.type(value);
  unsigned bits = 8 * static_cast<unsigned>(byte_size(element));
  if (!is_signed(element))
    return op(Op::bit_and, value, builder_.constant_bits(type, (std::uint64_t{1} << bits) - 1));
  ValueId amount = builder_.constant_bits(type, 32 - bits);
  return op(Op::shr, op(Op::shl, value, amount), amount);
}

void Legalizer::block(const program::Block& block) {
  for (const Instruction& i : block.body) {
    if (i.op == Op::yield) continue;
    instruction(i);
    if (!i.note.empty() && i.op != Op::comment) builder_.note(i.note);
  }
}

void Legalizer::instruction(const Instruction& i) {
  switch (i.op) {
    case Op::constant:
      return define(i, constant(i.type, i.immediate));
    case Op::parameter:
      return define(i, scalars_[i.immediate]);
    case Op::builtin:
      return define(i, {builder_.builtin(static_cast<program::Builtin>(i.immediate))});
    case Op::iota:
    case Op::splat:
    case Op::extract:
    case Op::shuffle:
    case Op::insert:
    case Op::shuffle_xor:
    case Op::shuffle_lane:
    case Op::broadcast_lane:
      return define(i, vector_operation(i));
    case Op::cast:
      return define(i, cast(i));
    case Op::bitcast:
      return define(i, bitcast(i));
    case Op::load:
      return define(i, load(i));
    case Op::gather:
      return define(i, gather(i));
    case Op::store:
      return store(i);
    case Op::scatter:
      return scatter(i);
    case Op::prefetch:
      return;  // a hint that no SPIR-V device takes
    case Op::barrier:
      return builder_.barrier(static_cast<program::Scope>(i.immediate));
    case Op::for_loop:
      return for_loop(i);
    case Op::if_else:
      return if_else(i);
    case Op::comment:
      return builder_.comment(i.note);
    case Op::yield:
      return;
    default:
      return define(i, lane_wise(i));
  }
}

Legalizer::Carried Legalizer::constant(Type type, std::uint64_t bits) {
  switch (form(type.element)) {
    case Form::pair:
      return wide_constant(bits, type.lanes);
    case Form::narrow_integer: {
      unsigned shift = 64 - 8 * static_cast<unsigned>(byte_size(type.element));
      std::uint64_t extended =
          is_signed(type.element)
              ? static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << shift) >> shift)
              : bits;
      return {builder_.constant_bits({carrier(type.element), type.lanes}, extended)};
    }
    default:
      return {builder_.constant_bits({carrier(type.element), type.lanes}, bits)};
  }
}

Legalizer::Carried Legalizer::vector_operation(const Instruction& i) {
  ElementType element = i.type.element;
  if (i.op == Op::iota) {
    if (form(element) == Form::pair) {
      Carried first = wide_constant(i.immediate, i.type.lanes);
      return wide_add({builder_.iota({ElementType::u32, i.type.lanes}), all_zero(i.type.lanes)}, first);
    }
    ValueId counted = builder_.iota({carrier(element), i.type.lanes}, static_cast<std::int64_t>(i.immediate));
    return {form(element) == Form::narrow_integer ? normalized(element, counted) : counted};
  }
  auto apply = [&](auto half) -> ValueId {
    ValueId a = half(i.operands[0]);
    auto number = static_cast<std::uint32_t>(i.immediate);
    switch (i.op) {
      case Op::splat:
        return builder_.splat(a, i.type.lanes);
      case Op::extract:
        return builder_.extract(a, number);
      case Op::shuffle:
        return builder_.shuffle(a, half(i.operands[1]), i.indices);
      case Op::insert:
        return builder_.insert(a, half(i.operands[1]), number);
      case Op::shuffle_xor:
        return builder_.shuffle_xor(a, number);
      case Op::shuffle_lane:
        return builder_.shuffle_lane(a, low(i.operands[1]));
      default:
        return builder_.broadcast_lane(a, number);
    }
  };
  Carried result{apply([&](ValueId value) { return low(value); })};
  if (form(element) == Form::pair) result.high = apply([&](ValueId value) { return carried(value).high; });
  return result;
}

Legalizer::Carried Legalizer::lane_wise(const Instruction& i) {
  if (i.op == Op::select) {
    ValueId condition = low(i.operands[0]);
    if (form(i.type.element) == Form::pair)
      return wide_select(condition, carried(i.operands[1]), carried(i.operands[2]));
    return {builder_.select(condition, low(i.operands[1]), low(i.operands[2]))};
  }
  switch (form(old_type(i.operands[0]).element)) {
    case Form::pair:
      return wide_operation(i);
    case Form::half:
      return half_operation(i);
    case Form::narrow_integer:
      return narrow_integer(i);
    case Form::same:
      break;
  }
  if (i.op >= Op::eq && i.op <= Op::ge) return {compare(i.op, low(i.operands[0]), low(i.operands[1]))};
  if (i.type.element == ElementType::f32 && i.operands.size() < 3)
    return {f32_operation(i.op, low(i.operands[0]),
                          i.operands.size() == 2 ? low(i.operands[1]) : program::no_value)};
  switch (i.operands.size()) {
    case 1:
      return {builder_.unary(i.op, low(i.operands[0]))};
    case 2:
      return {op(i.op, low(i.operands[0]), low(i.operands[1]))};
    default:
      if (!(i.type.element == ElementType::f64 ? facts_.fused_fma_f64 : facts_.fused_fma))
        return {exact_fma(low(i.operands[0]), low(i.operands[1]), low(i.operands[2]))};
      return {builder_.fma(low(i.operands[0]), low(i.operands[1]), low(i.operands[2]))};
  }
}

Legalizer::Carried Legalizer::narrow_integer(const Instruction& i) {
  if (i.op >= Op::eq && i.op <= Op::ge) return {compare(i.op, low(i.operands[0]), low(i.operands[1]))};
  ValueId result = i.operands.size() == 1 ? builder_.unary(i.op, low(i.operands[0]))
                                          : op(i.op, low(i.operands[0]), low(i.operands[1]));
  return {normalized(i.type.element, result)};
}

}  // namespace halyard::fusion
