#include "spirv_emitter.h"

#include <algorithm>
#include <bit>

namespace halyard::fusion::spirv {

using program::Instruction;
using program::MemoryRef;
using program::Op;
using program::Type;
using program::ValueId;

/// Elements that one access moves: as many as the alignment allows, at most four.
std::uint32_t Emitter::piece_lanes(const Instruction& instruction, const MemoryLayout& layout) const {
  if (instruction.memory.space == MemoryRef::Space::shared) return shared_[instruction.memory.index].lanes;
  std::uint32_t aligned = std::max(1u, instruction.alignment / layout.bytes);
  return std::bit_floor(std::min({4u, std::uint32_t{instruction.type.lanes}, aligned}));
}

Id Emitter::from_storage(const MemoryLayout& layout, std::uint32_t lanes, Id value) {
  bool is_narrow_integer = layout.element == ElementType::u8 || layout.element == ElementType::u16;
  if (!is_narrow_integer || layout.in_words) return value;
  return emit(spv::OpUConvert, vector_of(module_.type_int(32), lanes), {value});
}

Id Emitter::to_storage(const MemoryLayout& layout, std::uint32_t lanes, Id value) {
  bool is_narrow_integer = layout.element == ElementType::u8 || layout.element == ElementType::u16;
  if (!is_narrow_integer || layout.in_words) return value;
  return emit(spv::OpUConvert, vector_of(layout.unit_type, lanes), {value});
}

Id Emitter::load_element(MemoryRef memory, const MemoryLayout& layout, Index place) {
  if (!layout.in_words) return from_storage(layout, 1, load_unit(memory, layout, 1, place));
  std::uint32_t log_per_word = layout.bytes == 1 ? 2 : 1;
  Id type = module_.type_int(32);
  Id loaded = load_unit(memory, layout, 1, index_shifted(place, log_per_word));
  Id number = place.wide ? emit(spv::OpUConvert, type, {place.id}) : place.id;
  Id within = emit(spv::OpBitwiseAnd, type, {number, word((1u << log_per_word) - 1)});
  Id shift = emit(spv::OpShiftLeftLogical, type, {within, word(layout.bytes == 1 ? 3 : 4)});
  Id shifted = emit(spv::OpShiftRightLogical, type, {loaded, shift});
  return emit(spv::OpBitwiseAnd, type, {shifted, word(layout.bytes == 1 ? 0xffu : 0xffffu)});
}

/// Within a word other lanes may own the other elements: the element's bits are cleared, then set, each by an
/// atomic operation that leaves the others alone.
void Emitter::store_element(MemoryRef memory, const MemoryLayout& layout, Index place, Id value) {
  if (!layout.in_words) {
    store_unit(memory, layout, 1, place, to_storage(layout, 1, value));
    return;
  }
  std::uint32_t log_per_word = layout.bytes == 1 ? 2 : 1;
  Id type = module_.type_int(32);
  Id number = place.wide ? emit(spv::OpUConvert, type, {place.id}) : place.id;
  Id within = emit(spv::OpBitwiseAnd, type, {number, word((1u << log_per_word) - 1)});
  Id shift = emit(spv::OpShiftLeftLogical, type, {within, word(layout.bytes == 1 ? 3 : 4)});
  Id field = emit(spv::OpShiftLeftLogical, type, {word(layout.bytes == 1 ? 0xffu : 0xffffu), shift});
  Id to = pointer(memory, 1, index_shifted(place, log_per_word));
  Id scope = word(spv::ScopeDevice);
  Id relaxed = word(0);
  emit(spv::OpAtomicAnd, type, {to, scope, relaxed, emit(spv::OpNot, type, {field})});
  Id shifted = emit(spv::OpShiftLeftLogical, type, {value, shift});
  emit(spv::OpAtomicOr, type, {to, scope, relaxed, shifted});
}

/// For packed storage: how many elements an aligned access finds in each word, 0 if it must go element-wise.
std::uint32_t Emitter::elements_per_word(const Instruction& instruction, const MemoryLayout& layout) const {
  std::uint32_t per_word = 4 / layout.bytes;
  bool whole_words = layout.in_words && instruction.alignment >= 4 && instruction.type.lanes % per_word == 0;
  return whole_words ? per_word : 0;
}

Emitter::Parts Emitter::load_words(const Instruction& instruction, const MemoryLayout& layout,
                                   std::uint32_t per_word) {
  Index first = index_shifted(index_of(instruction, 0), per_word == 4 ? 2 : 1);
  Id type = module_.type_int(32);
  std::vector<Id> lanes;
  for (std::uint32_t number = 0; number < instruction.type.lanes / per_word; ++number) {
    Id loaded = load_unit(instruction.memory, layout, 1, index_plus(first, number));
    for (std::uint32_t k = 0; k < per_word; ++k)
      lanes.push_back(
          emit(spv::OpBitFieldUExtract, type, {loaded, word(8 * layout.bytes * k), word(8 * layout.bytes)}));
  }
  return from_lanes(instruction.type, lanes);
}

Emitter::Parts Emitter::load_consecutive(const Instruction& instruction) {
  MemoryLayout kept = layout(instruction.memory);
  Type type = instruction.type;
  if (std::uint32_t per_word = elements_per_word(instruction, kept))
    return load_words(instruction, kept, per_word);
  Index first = index_of(instruction, 0);
  if (kept.in_words) {
    std::vector<Id> lanes;
    for (std::uint32_t k = 0; k < type.lanes; ++k)
      lanes.push_back(load_element(instruction.memory, kept, index_plus(first, k)));
    return from_lanes(type, lanes);
  }
  std::uint32_t width = piece_lanes(instruction, kept);
  first = index_shifted(first, static_cast<std::uint32_t>(std::countr_zero(width)));
  std::vector<Id> pieces;
  for (std::uint32_t k = 0; k < type.lanes / width; ++k)
    pieces.push_back(
        from_storage(kept, width, load_unit(instruction.memory, kept, width, index_plus(first, k))));
  if (width == part_lanes(type)) return pieces;
  Parts result;
  std::uint32_t per_part = part_lanes(type) / width;
  for (std::uint32_t part = 0; part < part_count(type); ++part)
    result.push_back(emit(spv::OpCompositeConstruct, part_type(type),
                          std::span<const Id>(pieces).subspan(part * per_part, per_part)));
  return result;
}

void Emitter::store_words(const Instruction& instruction, const MemoryLayout& layout,
                          std::uint32_t per_word) {
  Index first = index_shifted(index_of(instruction, 0), per_word == 4 ? 2 : 1);
  Id type = module_.type_int(32);
  const Parts& value = parts(instruction.operands[1]);
  for (std::uint32_t number = 0; number < instruction.type.lanes / per_word; ++number) {
    Id packed = lane_of(value, instruction.type, number * per_word);
    for (std::uint32_t k = 1; k < per_word; ++k)
      packed = emit(spv::OpBitFieldInsert, type,
                    {packed, lane_of(value, instruction.type, number * per_word + k),
                     word(8 * layout.bytes * k), word(8 * layout.bytes)});
    store_unit(instruction.memory, layout, 1, index_plus(first, number), packed);
  }
}

void Emitter::store_consecutive(const Instruction& instruction) {
  MemoryLayout kept = layout(instruction.memory);
  Type type = instruction.type;
  const Parts& value = parts(instruction.operands[1]);
  if (std::uint32_t per_word = elements_per_word(instruction, kept)) {
    store_words(instruction, kept, per_word);
    return;
  }
  Index first = index_of(instruction, 0);
  std::uint32_t width = kept.in_words ? 1 : piece_lanes(instruction, kept);
  if (width == 1) {
    for (std::uint32_t k = 0; k < type.lanes; ++k)
      store_element(instruction.memory, kept, index_plus(first, k), lane_of(value, type, k));
    return;
  }
  first = index_shifted(first, static_cast<std::uint32_t>(std::countr_zero(width)));
  for (std::uint32_t k = 0; k < type.lanes / width; ++k) {
    std::uint32_t lane = k * width;
    Id piece = value[lane / part_lanes(type)];
    if (width < part_lanes(type)) {
      Words operands{piece, piece};
      for (std::uint32_t j = 0; j < width; ++j) operands.push_back(lane % part_lanes(type) + j);
      piece = emit(spv::OpVectorShuffle, vector_of(element_type(type.element), width), operands);
    }
    store_unit(instruction.memory, kept, width, index_plus(first, k), to_storage(kept, width, piece));
  }
}

Id Emitter::all_of(const Parts& mask, Type type) {
  Id result = mask[0];
  for (std::size_t part = 1; part < mask.size(); ++part)
    result = emit(spv::OpLogicalAnd, part_type(type), {result, mask[part]});
  return part_lanes(type) == 1 ? result : emit(spv::OpAll, module_.type_bool(), {result});
}

/// A masked-off element reads nothing: through a device address by a branch; through a descriptor, which
/// always has a first element, by reading that one and dropping it.
Id Emitter::masked_element(MemoryRef memory, const MemoryLayout& layout, Index place, Id mask) {
  Id type = element_type(layout.element);
  if (memory.space == MemoryRef::Space::buffer && uses_physical_addresses())
    return guarded(mask, {&type, 1}, [&] { return Parts{load_element(memory, layout, place)}; })[0];
  Id index_type = module_.type_int(place.wide ? 64 : 32);
  Id safe = emit(spv::OpSelect, index_type, {mask, place.id, index_constant(place, 0)});
  Id loaded = load_element(memory, layout, {safe, place.wide});
  return emit(spv::OpSelect, type, {mask, loaded, module_.constant_null(type)});
}

Emitter::Parts Emitter::load(const Instruction& instruction) {
  if (instruction.operands.size() < 2) return load_consecutive(instruction);
  return masked_load(instruction, instruction.operands[1]);
}

/// All lanes at once where the mask is full; else lane by lane.
Emitter::Parts Emitter::masked_load(const Instruction& instruction, ValueId mask) {
  Type type = instruction.type;
  Type mask_type = type_of(mask);
  std::vector<Id> types(part_count(type), part_type(type));
  Id full = all_of(parts(mask), mask_type);
  if (type.lanes == 1) return guarded(full, types, [&] { return load_consecutive(instruction); });

  MemoryLayout kept = layout(instruction.memory);
  Id labels[2] = {module_.new_id(), module_.new_id()};
  Id merge = module_.new_id();
  module_.append(spv::OpSelectionMerge, {merge, spv::SelectionControlMaskNone});
  module_.append(spv::OpBranchConditional, {full, labels[0], labels[1]});
  begin_block(labels[0]);
  Parts whole = load_consecutive(instruction);
  Id whole_end = current_block_;
  branch(merge);
  begin_block(labels[1]);
  Index first = index_of(instruction, 0);
  std::vector<Id> lanes;
  for (std::uint32_t k = 0; k < type.lanes; ++k)
    lanes.push_back(
        masked_element(instruction.memory, kept, index_plus(first, k), lane_of(parts(mask), mask_type, k)));
  Parts partial = from_lanes(type, lanes);
  Id partial_end = current_block_;
  branch(merge);
  begin_block(merge);
  Parts result;
  for (std::size_t part = 0; part < whole.size(); ++part)
    result.push_back(emit(spv::OpPhi, types[part], {whole[part], whole_end, partial[part], partial_end}));
  return result;
}

Emitter::Parts Emitter::gather(const Instruction& instruction) {
  MemoryLayout kept = layout(instruction.memory);
  bool masked = instruction.operands.size() > 1;
  std::vector<Id> lanes;
  for (std::uint32_t k = 0; k < instruction.type.lanes; ++k) {
    Index place = index_of(instruction, k);
    if (!masked) {
      lanes.push_back(load_element(instruction.memory, kept, place));
      continue;
    }
    Id mask = lane_of(parts(instruction.operands[1]), type_of(instruction.operands[1]), k);
    lanes.push_back(masked_element(instruction.memory, kept, place, mask));
  }
  return from_lanes(instruction.type, lanes);
}

void Emitter::store(const Instruction& instruction) {
  if (instruction.operands.size() < 3)
    store_consecutive(instruction);
  else
    masked_store(instruction, instruction.operands[2]);
}

void Emitter::masked_store(const Instruction& instruction, ValueId mask) {
  Type type = instruction.type;
  Type mask_type = type_of(mask);
  Id full = all_of(parts(mask), mask_type);
  if (type.lanes == 1) {
    guarded(full, {}, [&] {
      store_consecutive(instruction);
      return Parts{};
    });
    return;
  }
  MemoryLayout kept = layout(instruction.memory);
  Id labels[2] = {module_.new_id(), module_.new_id()};
  Id merge = module_.new_id();
  module_.append(spv::OpSelectionMerge, {merge, spv::SelectionControlMaskNone});
  module_.append(spv::OpBranchConditional, {full, labels[0], labels[1]});
  begin_block(labels[0]);
  store_consecutive(instruction);
  branch(merge);
  begin_block(labels[1]);
  Index first = index_of(instruction, 0);
  for (std::uint32_t k = 0; k < type.lanes; ++k) {
    guarded(lane_of(parts(mask), mask_type, k), {}, [&] {
      store_element(instruction.memory, kept, index_plus(first, k),
                    lane_of(parts(instruction.operands[1]), type, k));
      return Parts{};
    });
  }
  branch(merge);
  begin_block(merge);
}

void Emitter::scatter(const Instruction& instruction) {
  MemoryLayout kept = layout(instruction.memory);
  const Parts& value = parts(instruction.operands[1]);
  for (std::uint32_t k = 0; k < instruction.type.lanes; ++k) {
    Index place = index_of(instruction, k);
    Id element = lane_of(value, instruction.type, k);
    auto write = [&] {
      store_element(instruction.memory, kept, place, element);
      return Parts{};
    };
    if (instruction.operands.size() < 3)
      write();
    else
      guarded(lane_of(parts(instruction.operands[2]), type_of(instruction.operands[2]), k), {}, write);
  }
}

}  // namespace halyard::fusion::spirv
