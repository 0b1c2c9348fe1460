#include "legalizer.h"

namespace halyard::fusion {

using program::MemoryRef;
using program::Op;
using program::ValueId;

/// Indices stay i64 only where the device has it.
ValueId Legalizer::memory_index(ValueId index) {
  Type type = old_type(index);
  ValueId value = low(index);
  return form(type.element) == Form::pair ? as(ElementType::i32, value) : value;
}

/// What a load gave, as the carried form of `element`. Shared arrays hold the carried form itself.
ValueId Legalizer::element_from_memory(ElementType element, bool is_shared, ValueId loaded) {
  if (element == ElementType::boolean) {
    ValueId bits = is_shared ? loaded : builder_.cast(ElementType::u32, loaded);
    return compare(Op::ne, bits, u32_like(bits, 0));
  }
  if (form(element) == Form::same || is_shared) return loaded;
  ValueId bits = builder_.cast(ElementType::u32, loaded);
  if (form(element) == Form::half || !is_signed(element)) return bits;
  return normalized(element, builder_.cast(ElementType::i32, bits));
}

ValueId Legalizer::element_to_memory(ElementType element, bool is_shared, ValueId value) {
  if (element == ElementType::boolean) {
    ValueId bits = builder_.cast(ElementType::u32, value);
    return is_shared ? bits : builder_.cast(ElementType::u8, bits);
  }
  if (form(element) == Form::same || is_shared) return value;
  return builder_.cast(buffer_element(element), builder_.cast(ElementType::u32, value));
}

std::uint32_t Legalizer::memory_alignment(const Instruction& i) const {
  auto bytes = static_cast<std::uint32_t>(byte_size(element_of(i.memory)));
  if (i.alignment == 0 || bytes >= 4 || i.memory.space == MemoryRef::Space::buffer) return i.alignment;
  return i.alignment * (4 / bytes);
}

/// Each lane of a mask twice, for the two words of its element.
ValueId Legalizer::doubled_mask(ValueId mask) {
  std::uint16_t n = lanes(mask);
  if (n == 1) return builder_.splat(mask, 2);
  std::vector<std::int32_t> order;
  for (std::int32_t lane = 0; lane < n; ++lane) order.insert(order.end(), {lane, lane});
  return builder_.shuffle(mask, mask, order);
}

Legalizer::Carried Legalizer::load(const Instruction& i) {
  ElementType element = element_of(i.memory);
  bool is_shared = i.memory.space == MemoryRef::Space::shared;
  ValueId mask = i.operands.size() > 1 ? low(i.operands[1]) : program::no_value;
  ValueId place = memory_index(i.operands[0]);
  if (form(element) != Form::pair)
    return {element_from_memory(element, is_shared,
                                builder_.load(i.memory, place, i.type.lanes, mask, memory_alignment(i)))};
  if (mask != program::no_value) mask = doubled_mask(mask);
  std::uint16_t n = i.type.lanes;
  ValueId first = op(Op::mul, place, builder_.constant_like(place, 2));
  std::uint32_t alignment = i.alignment == 0 ? 8 : i.alignment;
  ValueId words = builder_.load(i.memory, first, static_cast<std::uint16_t>(2 * n), mask, alignment);
  if (n == 1) return {builder_.extract(words, 0), builder_.extract(words, 1)};
  std::vector<std::int32_t> even, odd;
  for (std::int32_t lane = 0; lane < n; ++lane) {
    even.push_back(2 * lane);
    odd.push_back(2 * lane + 1);
  }
  return {builder_.shuffle(words, words, even), builder_.shuffle(words, words, odd)};
}

void Legalizer::store(const Instruction& i) {
  ElementType element = element_of(i.memory);
  bool is_shared = i.memory.space == MemoryRef::Space::shared;
  ValueId mask = i.operands.size() > 2 ? low(i.operands[2]) : program::no_value;
  ValueId place = memory_index(i.operands[0]);
  Carried value = carried(i.operands[1]);
  if (form(element) != Form::pair) {
    builder_.store(i.memory, place, element_to_memory(element, is_shared, value.low), mask,
                   memory_alignment(i));
    return;
  }
  if (mask != program::no_value) mask = doubled_mask(mask);
  std::uint16_t n = i.type.lanes;
  std::vector<std::int32_t> order;
  for (std::int32_t lane = 0; lane < n; ++lane) order.insert(order.end(), {lane, n + lane});
  ValueId words = n == 1 ? builder_.insert(builder_.splat(value.low, 2), value.high, 1)
                         : builder_.shuffle(value.low, value.high, order);
  ValueId first = op(Op::mul, place, builder_.constant_like(place, 2));
  builder_.store(i.memory, first, words, mask, i.alignment == 0 ? 8 : i.alignment);
}

Legalizer::Carried Legalizer::gather(const Instruction& i) {
  ElementType element = element_of(i.memory);
  bool is_shared = i.memory.space == MemoryRef::Space::shared;
  ValueId mask = i.operands.size() > 1 ? low(i.operands[1]) : program::no_value;
  ValueId places = memory_index(i.operands[0]);
  if (form(element) != Form::pair)
    return {element_from_memory(element, is_shared, builder_.gather(i.memory, places, mask))};
  ValueId first = op(Op::mul, places, builder_.constant_like(places, 2));
  ValueId second = op(Op::add, first, builder_.constant_like(places, 1));
  return {builder_.gather(i.memory, first, mask), builder_.gather(i.memory, second, mask)};
}

void Legalizer::scatter(const Instruction& i) {
  ElementType element = element_of(i.memory);
  bool is_shared = i.memory.space == MemoryRef::Space::shared;
  ValueId mask = i.operands.size() > 2 ? low(i.operands[2]) : program::no_value;
  ValueId places = memory_index(i.operands[0]);
  Carried value = carried(i.operands[1]);
  if (form(element) != Form::pair) {
    builder_.scatter(i.memory, places, element_to_memory(element, is_shared, value.low), mask);
    return;
  }
  ValueId first = op(Op::mul, places, builder_.constant_like(places, 2));
  ValueId second = op(Op::add, first, builder_.constant_like(places, 1));
  builder_.scatter(i.memory, first, value.low, mask);
  builder_.scatter(i.memory, second, value.high, mask);
}

}  // namespace halyard::fusion
