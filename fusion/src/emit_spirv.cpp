#include "spirv_emitter.h"

#include <fmt/format.h>
#include <halyard/fusion/emit_spirv.h>
#include <halyard/hal/spirv_kernel_abi.h>

namespace halyard::fusion {

SpirvOptions spirv_options(const HyDeviceInfo& info) {
  SpirvOptions options;
  options.max_scalar_bytes = info.max_scalar_bytes;
  options.facts.storage_types = info.storage_types;
  options.facts.arithmetic_types = info.arithmetic_types;
  options.keeps_subnormals = info.declares_keeps_subnormals;
  options.rounds_to_even = info.declares_rounds_to_even;
  options.keeps_nan = info.declares_keeps_nan;
  return options;
}

Result<std::vector<std::uint32_t>> emit_spirv(const program::Program& program, const SpirvOptions& options) {
  auto legal = legalize(program, options.facts);
  if (!legal) return tl::unexpected(std::move(legal).error());
  return spirv::Emitter(*legal, options).run();
}

namespace spirv {
namespace {

using program::Builtin;
using program::Instruction;
using program::Op;

bool any_instruction(const program::Block& block, const std::function<bool(const Instruction&)>& matches) {
  for (const Instruction& instruction : block.body) {
    if (matches(instruction)) return true;
    for (const program::Block& inner : instruction.blocks)
      if (any_instruction(inner, matches)) return true;
  }
  return false;
}

std::uint32_t workgroup_lanes(const program::Program& program) {
  return program.workgroup_size[0] * program.workgroup_size[1] * program.workgroup_size[2];
}

}  // namespace

/// Element types that `legalize` would have removed.
Status Emitter::check() const {
  for (program::Type type : program_.values) {
    ElementType e = type.element;
    bool known = e == ElementType::boolean || e == ElementType::i32 || e == ElementType::u32 ||
                 e == ElementType::f32 || e == ElementType::u8 || e == ElementType::u16 ||
                 contains(options_.facts.arithmetic_types, e);
    if (!known)
      return fail(
          ErrorCode::unsupported,
          fmt::format("emit_spirv: kernel {} computes in {}, which this device neither does nor can be "
                      "given in smaller parts; cast to another type, or use another device",
                      program_.name, name(e)));
    if (type.lanes == 0 || (type.lanes & (type.lanes - 1)) != 0)
      return fail(ErrorCode::invalid_argument,
                  fmt::format("emit_spirv: program {} has a value of {} lanes; lanes are a power of two",
                              program_.name, type.lanes));
  }
  return {};
}

Result<Words> Emitter::run() {
  HALYARD_TRY(check());
  reads_coherently_ =
      workgroup_lanes(program_) > 1 &&
      any_instruction(program_.body, [](const Instruction& i) { return i.op == Op::barrier; });
  if (options_.names && !program_.note.empty()) module_.string(program_.note);
  if (uses_physical_addresses()) module_.capability(spv::CapabilityPhysicalStorageBufferAddresses);

  function_ = module_.new_id();
  if (options_.names) module_.name(function_, program_.name);
  module_.execution_mode(
      function_, spv::ExecutionModeLocalSize,
      {program_.workgroup_size[0], program_.workgroup_size[1], program_.workgroup_size[2]});
  declare_scalars();
  declare_shared();

  Id void_type = module_.type_void();
  Id function_type = module_.type(spv::OpTypeFunction, {void_type});
  module_.append(spv::OpFunction, {void_type, function_, spv::FunctionControlMaskNone, function_type});
  begin_block(module_.new_id());
  HALYARD_TRY(block(program_.body, nullptr));
  module_.append(spv::OpReturn, std::initializer_list<std::uint32_t>{});
  module_.append(spv::OpFunctionEnd, std::initializer_list<std::uint32_t>{});

  finish_views();
  declare_float_controls();
  return module_.finish(
      function_, program_.name,
      uses_physical_addresses() ? spv::AddressingModelPhysicalStorageBuffer64 : spv::AddressingModelLogical);
}

void Emitter::declare_float_controls() {
  for (std::uint32_t width : float_widths_) {
    ElementType element = width == 16 ? ElementType::f16 : width == 32 ? ElementType::f32 : ElementType::f64;
    if (contains(options_.keeps_subnormals, element)) {
      module_.capability(spv::CapabilityDenormPreserve);
      module_.execution_mode(function_, spv::ExecutionModeDenormPreserve, {width});
    }
    if (contains(options_.rounds_to_even, element)) {
      module_.capability(spv::CapabilityRoundingModeRTE);
      module_.execution_mode(function_, spv::ExecutionModeRoundingModeRTE, {width});
    }
    if (contains(options_.keeps_nan, element)) {
      module_.capability(spv::CapabilitySignedZeroInfNanPreserve);
      module_.execution_mode(function_, spv::ExecutionModeSignedZeroInfNanPreserve, {width});
    }
  }
}

/// The block that holds addresses (device address model) and scalars.
void Emitter::declare_scalars() {
  std::vector<std::uint32_t> offsets = program::scalar_offsets(program_);
  auto buffers = static_cast<std::uint32_t>(program_.buffers.size());
  auto model = static_cast<std::uint32_t>(options_.binding);
  bool by_buffer = hy_spirv_scalars_by_buffer(model, buffers, offsets.back(), options_.max_scalar_bytes) != 0;
  std::uint32_t address_bytes = uses_physical_addresses() ? 8 * buffers : 0;

  // Addresses are pairs of words, which needs no 64-bit integers.
  std::vector<Id> members;
  std::vector<std::uint32_t> member_offsets;
  std::vector<std::string> names;
  if (uses_physical_addresses()) {
    for (std::uint32_t i = 0; i < buffers; ++i) {
      members.push_back(vector_of(module_.type_int(32), 2));
      member_offsets.push_back(8 * i);
      names.push_back(program_.buffers[i].name + "_address");
    }
  }
  auto declare = [&](spv::StorageClass storage) {
    Id structure = module_.type_structure(members);
    module_.decorate(structure, spv::DecorationBlock);
    for (std::uint32_t i = 0; i < members.size(); ++i) {
      module_.member_decorate(structure, i, spv::DecorationOffset, {member_offsets[i]});
      if (storage == spv::StorageClassStorageBuffer)
        module_.member_decorate(structure, i, spv::DecorationNonWritable);
      if (options_.names) module_.member_name(structure, i, names[i]);
    }
    Id variable = module_.global_variable(module_.type_pointer(storage, structure), storage);
    if (options_.names)
      module_.name(variable, storage == spv::StorageClassPushConstant ? "arguments" : "scalars");
    return variable;
  };
  auto add_scalars = [&](std::uint32_t first_offset) {
    first_scalar_member_ = static_cast<std::uint32_t>(members.size());
    for (std::size_t i = 0; i < program_.scalars.size(); ++i) {
      members.push_back(element_type(program_.scalars[i].element));
      member_offsets.push_back(first_offset + offsets[i]);
      names.push_back(program_.scalars[i].name);
    }
  };
  Id addresses = 0;
  if (!by_buffer) add_scalars(address_bytes);
  if (!members.empty()) addresses = scalar_block_ = declare(spv::StorageClassPushConstant);
  if (by_buffer) {
    members.clear();
    member_offsets.clear();
    names.clear();
    add_scalars(0);
    scalar_storage_ = spv::StorageClassStorageBuffer;
    scalar_block_ = declare(spv::StorageClassStorageBuffer);
    module_.decorate(scalar_block_, spv::DecorationDescriptorSet, {HY_SPIRV_DESCRIPTOR_SET});
    module_.decorate(scalar_block_, spv::DecorationBinding, {buffers});
  }
  address_block_ = addresses;
}

Emitter::Parts Emitter::parameter(const Instruction& instruction) {
  auto number = static_cast<std::uint32_t>(instruction.immediate);
  Id type = element_type(program_.scalars[number].element);
  Id place = emit(spv::OpAccessChain, module_.type_pointer(scalar_storage_, type),
                  {scalar_block_, word(first_scalar_member_ + number)});
  return {emit(spv::OpLoad, type, {place})};
}

Id Emitter::builtin_variable(spv::BuiltIn which, Id type) {
  auto [place, is_new] = builtin_variables_.try_emplace(which, 0);
  if (is_new) {
    place->second =
        module_.global_variable(module_.type_pointer(spv::StorageClassInput, type), spv::StorageClassInput);
    module_.decorate(place->second, spv::DecorationBuiltIn, {static_cast<std::uint32_t>(which)});
  }
  return place->second;
}

Id Emitter::builtin_value(Builtin which) {
  Id word_type = module_.type_int(32);
  Id triple = vector_of(word_type, 3);
  auto component = [&](spv::BuiltIn variable, std::uint32_t axis) {
    Id loaded = emit(spv::OpLoad, triple, {builtin_variable(variable, triple)});
    return emit(spv::OpCompositeExtract, word_type, {loaded, axis});
  };
  auto subgroup = [&](spv::BuiltIn variable) {
    module_.capability(spv::CapabilityGroupNonUniform);
    return emit(spv::OpLoad, word_type, {builtin_variable(variable, word_type)});
  };
  auto axis = static_cast<std::uint32_t>(which);
  switch (which) {
    case Builtin::workgroup_x:
    case Builtin::workgroup_y:
    case Builtin::workgroup_z:
      return component(spv::BuiltInWorkgroupId, axis);
    case Builtin::grid_x:
    case Builtin::grid_y:
    case Builtin::grid_z:
      return component(spv::BuiltInNumWorkgroups, axis - 3);
    case Builtin::lane: {
      // With full subgroups the number follows from the subgroup's, which holds however a driver deals lanes
      // out.
      std::uint32_t size = program_.subgroup_size;
      if (size == 0 || workgroup_lanes(program_) % size != 0)
        return emit(spv::OpLoad, word_type, {builtin_variable(spv::BuiltInLocalInvocationIndex, word_type)});
      Id within = subgroup(spv::BuiltInSubgroupLocalInvocationId);
      if (workgroup_lanes(program_) == size) return within;
      Id first = emit(spv::OpIMul, word_type, {subgroup(spv::BuiltInSubgroupId), word(size)});
      return emit(spv::OpIAdd, word_type, {first, within});
    }
    case Builtin::subgroup_lane:
      return subgroup(spv::BuiltInSubgroupLocalInvocationId);
    case Builtin::subgroup:
      return subgroup(spv::BuiltInSubgroupId);
  }
  return word(0);
}

/// Decorations that need to know all views of a buffer.
void Emitter::finish_views() {
  if (uses_physical_addresses()) return;
  for (const auto& [key, seen] : buffer_views_) {
    bool alone = true;
    for (const auto& [other, unused] : buffer_views_)
      if (other.first == key.first && other.second != key.second) alone = false;
    module_.decorate(seen.variable, alone ? spv::DecorationRestrict : spv::DecorationAliased);
  }
}

Id Emitter::element_type(ElementType element) {
  switch (element) {
    case ElementType::boolean:
      return module_.type_bool();
    case ElementType::i64:
    case ElementType::u64:
      module_.capability(spv::CapabilityInt64);
      return module_.type_int(64);
    case ElementType::f16:
      module_.capability(spv::CapabilityFloat16);
      float_widths_.insert(16);
      return module_.type_float(16);
    case ElementType::f32:
      float_widths_.insert(32);
      return module_.type_float(32);
    case ElementType::f64:
      module_.capability(spv::CapabilityFloat64);
      float_widths_.insert(64);
      return module_.type_float(64);
    default:
      return module_.type_int(32);  // u8 and u16 are zero-extended words
  }
}

Id Emitter::scalar_constant(ElementType element, std::uint64_t bits) {
  if (element == ElementType::boolean) return module_.constant_bool(bits != 0);
  std::uint32_t words[2] = {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32)};
  return module_.constant(element_type(element), {words, byte_size(element) == 8 ? 2u : 1u});
}

Id Emitter::part_constant(program::Type type, std::uint64_t bits) {
  Id scalar = scalar_constant(type.element, bits);
  std::uint32_t lanes = part_lanes(type);
  if (lanes == 1) return scalar;
  return module_.constant_composite(part_type(type), std::vector<Id>(lanes, scalar));
}

}  // namespace spirv
}  // namespace halyard::fusion
