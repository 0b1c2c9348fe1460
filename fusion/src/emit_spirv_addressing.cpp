#include "spirv_emitter.h"

#include <halyard/hal/spirv_kernel_abi.h>
#include <algorithm>
#include <bit>

namespace halyard::fusion::spirv {

using program::Access;
using program::Instruction;
using program::MemoryRef;
using program::Op;

ElementType Emitter::memory_element(MemoryRef memory) const {
  return memory.space == MemoryRef::Space::buffer ? program_.buffers[memory.index].element
                                                  : program_.shared[memory.index].element;
}

/// Whether the device has arrays of this narrow type. An address becomes a pointer to one only through a
/// 64-bit integer: spirv-val takes no OpBitcast for those.
bool Emitter::can_store(ElementType element) const {
  bool reachable = !uses_physical_addresses() || contains(options_.facts.arithmetic_types, ElementType::u64);
  return reachable && contains(options_.facts.storage_types, element);
}

Emitter::MemoryLayout Emitter::layout(MemoryRef memory) {
  MemoryLayout result;
  result.element = memory_element(memory);
  result.bytes = result.unit_bytes = static_cast<std::uint32_t>(byte_size(result.element));
  bool is_narrow_integer = result.element == ElementType::u8 || result.element == ElementType::u16;
  if (memory.space == MemoryRef::Space::shared) {
    result.unit_type = element_type(result.element);
  } else if (is_narrow_integer && !can_store(result.element)) {
    result.in_words = true;
    result.unit_bytes = 4;
    result.unit_type = module_.type_int(32);
  } else if (is_narrow_integer) {
    module_.capability(result.bytes == 1 ? spv::CapabilityStorageBuffer8BitAccess
                                         : spv::CapabilityStorageBuffer16BitAccess);
    result.unit_type = module_.type_int(8 * result.bytes);
  } else {
    if (result.element == ElementType::f16) module_.capability(spv::CapabilityStorageBuffer16BitAccess);
    result.unit_type = element_type(result.element);
  }
  return result;
}

Id Emitter::paired_type(MemoryRef memory, const MemoryLayout& layout, std::uint32_t lanes) {
  const bool wanted = options_.loads_in_pairs && !uses_physical_addresses() && lanes % 2 == 0 &&
                      layout.unit_bytes == 4 && program_.buffers[memory.index].access == Access::read;
  return wanted ? vector_of(element_type(ElementType::u64), lanes / 2) : 0;
}

Emitter::View& Emitter::view(MemoryRef memory, std::uint32_t lanes) {
  auto [place, is_new] = buffer_views_.try_emplace({memory.index, lanes});
  View& view = place->second;
  if (!is_new) return view;
  const program::BufferParameter& buffer = program_.buffers[memory.index];
  MemoryLayout kept = layout(memory);
  view.read_as = paired_type(memory, kept, lanes);
  Id vector = view.read_as != 0 ? view.read_as : vector_of(kept.unit_type, lanes);
  Id array = module_.type_runtime_array(vector, lanes * kept.unit_bytes);
  Id block = module_.type_structure({&array, 1});
  module_.decorate(block, spv::DecorationBlock);
  module_.member_decorate(block, 0, spv::DecorationOffset, {0});
  if (buffer.access == Access::read) module_.member_decorate(block, 0, spv::DecorationNonWritable);
  if (buffer.access == Access::read_write && reads_coherently_)
    module_.member_decorate(block, 0, spv::DecorationCoherent);
  spv::StorageClass storage =
      uses_physical_addresses() ? spv::StorageClassPhysicalStorageBuffer : spv::StorageClassStorageBuffer;
  view.pointer_type = module_.type_pointer(storage, vector);
  view.block_pointer_type = module_.type_pointer(storage, block);
  std::string name = lanes == 1 ? buffer.name : buffer.name + "_x" + std::to_string(lanes);
  if (options_.names) module_.name(block, name + "_block");
  if (uses_physical_addresses()) return view;
  view.variable = module_.global_variable(view.block_pointer_type, storage);
  module_.decorate(view.variable, spv::DecorationDescriptorSet, {HY_SPIRV_DESCRIPTOR_SET});
  module_.decorate(view.variable, spv::DecorationBinding, {memory.index});
  if (options_.names) module_.name(view.variable, name);
  return view;
}

namespace {

void visit(const program::Block& block, const std::function<void(const Instruction&)>& see) {
  for (const Instruction& instruction : block.body) {
    see(instruction);
    for (const program::Block& inner : instruction.blocks) visit(inner, see);
  }
}

}  // namespace

/// The width in which every access to a shared array can be made: arrays cannot be seen in two widths.
std::uint32_t Emitter::shared_lanes(std::uint32_t number) const {
  auto bytes = static_cast<std::uint32_t>(byte_size(program_.shared[number].element));
  std::uint32_t common = 0;
  visit(program_.body, [&](const Instruction& i) {
    bool accesses = i.op == Op::load || i.op == Op::store || i.op == Op::gather || i.op == Op::scatter;
    if (!accesses || i.memory != MemoryRef{MemoryRef::Space::shared, number}) return;
    bool consecutive = i.op == Op::load || i.op == Op::store;
    std::uint32_t aligned = std::max(1u, i.alignment / bytes);
    std::uint32_t lanes = consecutive ? std::min({4u, std::uint32_t{i.type.lanes}, aligned}) : 1u;
    bool masked = i.operands.size() > (i.op == Op::load ? 1u : 2u);
    if (masked) lanes = 1;
    common = common == 0 ? lanes : common == lanes ? lanes : 1u;
  });
  return std::bit_floor(std::max(1u, common));
}

void Emitter::declare_shared() {
  for (std::uint32_t number = 0; number < program_.shared.size(); ++number) {
    const program::SharedArray& array = program_.shared[number];
    Shared shared;
    shared.lanes = shared_lanes(number);
    Id vector = vector_of(layout({MemoryRef::Space::shared, number}).unit_type, shared.lanes);
    std::uint32_t length = std::max(1u, (array.count + shared.lanes - 1) / shared.lanes);
    Id array_type = module_.type(spv::OpTypeArray, {vector, word(length)});
    shared.pointer_type = module_.type_pointer(spv::StorageClassWorkgroup, vector);
    shared.variable = module_.global_variable(module_.type_pointer(spv::StorageClassWorkgroup, array_type),
                                              spv::StorageClassWorkgroup);
    if (options_.names) module_.name(shared.variable, array.name);
    shared_.push_back(shared);
  }
}

Id Emitter::base_address(std::uint32_t buffer, const View& view) {
  Id pair = vector_of(module_.type_int(32), 2);
  Id member = emit(spv::OpAccessChain, module_.type_pointer(spv::StorageClassPushConstant, pair),
                   {address_block_, word(buffer)});
  Id words = emit(spv::OpLoad, pair, {member});
  ElementType element = program_.buffers[buffer].element;
  if (byte_size(element) >= 4 || !can_store(element))
    return emit(spv::OpBitcast, view.block_pointer_type, {words});
  Id address = emit(spv::OpBitcast, element_type(ElementType::u64), {words});
  return emit(spv::OpConvertUToPtr, view.block_pointer_type, {address});
}

Id Emitter::pointer(MemoryRef memory, std::uint32_t lanes, Index place) {
  if (memory.space == MemoryRef::Space::shared) {
    const Shared& shared = shared_[memory.index];
    return emit(spv::OpAccessChain, shared.pointer_type, {shared.variable, place.id});
  }
  View seen = view(memory, lanes);
  Id block = uses_physical_addresses() ? base_address(memory.index, seen) : seen.variable;
  return emit(spv::OpAccessChain, seen.pointer_type, {block, word(0), place.id});
}

Id Emitter::load_unit(MemoryRef memory, const MemoryLayout& layout, std::uint32_t lanes, Index place) {
  Id from = pointer(memory, lanes, place);
  Id type = vector_of(layout.unit_type, lanes);
  if (memory.space == MemoryRef::Space::buffer && uses_physical_addresses())
    return emit(spv::OpLoad, type, {from, spv::MemoryAccessAlignedMask, lanes * layout.unit_bytes});
  Id read_as = memory.space == MemoryRef::Space::buffer ? view(memory, lanes).read_as : 0;
  if (read_as != 0) return emit(spv::OpBitcast, type, {emit(spv::OpLoad, read_as, {from})});
  return emit(spv::OpLoad, type, {from});
}

void Emitter::store_unit(MemoryRef memory, const MemoryLayout& layout, std::uint32_t lanes, Index place,
                         Id value) {
  Id to = pointer(memory, lanes, place);
  if (memory.space == MemoryRef::Space::buffer && uses_physical_addresses())
    module_.append(spv::OpStore, {to, value, spv::MemoryAccessAlignedMask, lanes * layout.unit_bytes});
  else
    module_.append(spv::OpStore, {to, value});
}

/// Descriptors span less than 4 GiB, so that 32 bits count their elements; device addresses may need more.
Emitter::Index Emitter::index_of(const Instruction& instruction, std::uint32_t lane) {
  program::ValueId operand = instruction.operands[0];
  program::Type type = type_of(operand);
  Id id = lane_of(parts(operand), type, lane);
  if (byte_size(type.element) < 8) return {id, false};
  bool keep = uses_physical_addresses() && instruction.memory.space == MemoryRef::Space::buffer;
  if (keep) return {id, true};
  return {emit(spv::OpUConvert, module_.type_int(32), {id}), false};
}

Id Emitter::index_constant(Index like, std::uint32_t value) {
  return like.wide ? scalar_constant(ElementType::u64, value) : word(value);
}

Emitter::Index Emitter::index_plus(Index place, std::uint32_t offset) {
  if (offset == 0) return place;
  Id type = module_.type_int(place.wide ? 64 : 32);
  return {emit(spv::OpIAdd, type, {place.id, index_constant(place, offset)}), place.wide};
}

Emitter::Index Emitter::index_shifted(Index place, std::uint32_t amount) {
  if (amount == 0) return place;
  Id type = module_.type_int(place.wide ? 64 : 32);
  return {emit(spv::OpShiftRightLogical, type, {place.id, index_constant(place, amount)}), place.wide};
}

}  // namespace halyard::fusion::spirv
