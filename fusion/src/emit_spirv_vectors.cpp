#include "spirv_emitter.h"

#include <algorithm>

namespace halyard::fusion::spirv {

using program::Instruction;
using program::Op;
using program::Type;

Id Emitter::lane_of(const Parts& parts, Type type, std::uint32_t lane) {
  std::uint32_t width = part_lanes(type);
  if (width == 1) return parts[lane];
  return emit(spv::OpCompositeExtract, element_type(type.element), {parts[lane / width], lane % width});
}

Emitter::Parts Emitter::from_lanes(Type type, std::span<const Id> lanes) {
  std::uint32_t width = part_lanes(type);
  if (width == 1) return {lanes.begin(), lanes.end()};
  Parts result;
  for (std::uint32_t part = 0; part < part_count(type); ++part)
    result.push_back(emit(spv::OpCompositeConstruct, part_type(type), lanes.subspan(part * width, width)));
  return result;
}

Emitter::Parts Emitter::splat(const Instruction& instruction) {
  Id scalar = parts(instruction.operands[0])[0];
  std::uint32_t width = part_lanes(instruction.type);
  if (width == 1) return {scalar};
  Id part = emit(spv::OpCompositeConstruct, part_type(instruction.type), std::vector<Id>(width, scalar));
  return Parts(part_count(instruction.type), part);
}

Emitter::Parts Emitter::insert(const Instruction& instruction) {
  Parts result = parts(instruction.operands[0]);
  Id scalar = parts(instruction.operands[1])[0];
  std::uint32_t width = part_lanes(instruction.type);
  auto lane = static_cast<std::uint32_t>(instruction.immediate);
  if (width == 1)
    result[lane] = scalar;
  else
    result[lane / width] = emit(spv::OpCompositeInsert, part_type(instruction.type),
                                {scalar, result[lane / width], lane % width});
  return result;
}

Emitter::Parts Emitter::shuffle(const Instruction& instruction) {
  Type source = type_of(instruction.operands[0]);
  std::uint32_t source_width = part_lanes(source);
  Parts all = parts(instruction.operands[0]);
  const Parts& second = parts(instruction.operands[1]);
  all.insert(all.end(), second.begin(), second.end());

  std::uint32_t width = part_lanes(instruction.type);
  Parts result;
  for (std::uint32_t part = 0; part < part_count(instruction.type); ++part) {
    auto lanes = std::span(instruction.indices).subspan(part * width, width);
    std::vector<std::uint32_t> used;
    for (std::int32_t lane : lanes) {
      std::uint32_t from = static_cast<std::uint32_t>(lane) / source_width;
      if (std::find(used.begin(), used.end(), from) == used.end()) used.push_back(from);
    }
    bool whole = used.size() == 1 && width == source_width;
    for (std::uint32_t k = 0; whole && k < width; ++k)
      whole = static_cast<std::uint32_t>(lanes[k]) % source_width == k;
    if (whole) {
      result.push_back(all[used[0]]);
    } else if (width > 1 && source_width > 1 && used.size() <= 2) {
      if (used.size() == 1) used.push_back(used[0]);
      Words operands{all[used[0]], all[used[1]]};
      for (std::int32_t lane : lanes) {
        auto number = static_cast<std::uint32_t>(lane);
        operands.push_back(number % source_width + (number / source_width == used[0] ? 0 : source_width));
      }
      result.push_back(emit(spv::OpVectorShuffle, part_type(instruction.type), operands));
    } else {
      std::vector<Id> scalars;
      for (std::int32_t lane : lanes)
        scalars.push_back(lane_of(all, source, static_cast<std::uint32_t>(lane)));
      result.push_back(width == 1 ? scalars[0]
                                  : emit(spv::OpCompositeConstruct, part_type(instruction.type), scalars));
    }
  }
  return result;
}

/// Between element widths the first lanes take the low bits, as OpBitcast does. `legalize` leaves no widths
/// but 32 and 64 (and f16 alone with itself).
Emitter::Parts Emitter::bitcast(const Instruction& instruction) {
  Type from = type_of(instruction.operands[0]);
  Type to = instruction.type;
  const Parts& source = parts(instruction.operands[0]);
  std::size_t from_bytes = byte_size(from.element);
  std::size_t to_bytes = byte_size(to.element);
  Parts result;
  if (from_bytes == to_bytes) {
    Id type = part_type(to);
    if (type == part_type(from)) return source;
    for (Id part : source) result.push_back(emit(spv::OpBitcast, type, {part}));
    return result;
  }
  Id wide = element_type(from_bytes > to_bytes ? from.element : to.element);
  Id narrow_element = element_type(from_bytes > to_bytes ? to.element : from.element);
  Id pair = vector_of(narrow_element, 2);
  std::vector<Id> lanes;
  if (from_bytes > to_bytes) {
    for (std::uint32_t lane = 0; lane < from.lanes; ++lane) {
      Id halves = emit(spv::OpBitcast, pair, {lane_of(source, from, lane)});
      for (std::uint32_t half = 0; half < 2; ++half)
        lanes.push_back(emit(spv::OpCompositeExtract, narrow_element, {halves, half}));
    }
  } else {
    for (std::uint32_t lane = 0; lane < from.lanes; lane += 2) {
      Id low = lane_of(source, from, lane);
      Id halves = emit(spv::OpCompositeConstruct, pair, {low, lane_of(source, from, lane + 1)});
      lanes.push_back(emit(spv::OpBitcast, wide, {halves}));
    }
  }
  return from_lanes(to, lanes);
}

Emitter::Parts Emitter::subgroup_exchange(const Instruction& instruction) {
  module_.capability(spv::CapabilityGroupNonUniform);
  module_.capability(instruction.op == Op::broadcast_lane ? spv::CapabilityGroupNonUniformBallot
                                                          : spv::CapabilityGroupNonUniformShuffle);
  Type type = instruction.type;
  const Parts& source = parts(instruction.operands[0]);
  // Booleans and other widths than 32 bits travel as words: the extended subgroup types are optional.
  Type as_word{ElementType::u32, type.lanes};
  std::size_t bytes = byte_size(type.element);
  Parts result;
  if (type.element == ElementType::boolean) {
    for (Id part : source)
      result.push_back(
          cast_part(as_word, type, exchange_part(instruction, as_word, cast_part(type, as_word, part))));
  } else if (type.element == ElementType::f16) {
    Type wide{ElementType::f32, type.lanes};
    for (Id part : source)
      result.push_back(cast_part(wide, type, exchange_part(instruction, wide, cast_part(type, wide, part))));
  } else if (bytes == 8) {
    Type halves{ElementType::u32, 2};
    std::vector<Id> lanes;
    for (std::uint32_t lane = 0; lane < type.lanes; ++lane) {
      Id sent = emit(spv::OpBitcast, part_type(halves), {lane_of(source, type, lane)});
      lanes.push_back(
          emit(spv::OpBitcast, element_type(type.element), {exchange_part(instruction, halves, sent)}));
    }
    return from_lanes(type, lanes);
  } else {
    for (Id part : source) result.push_back(exchange_part(instruction, type, part));
  }
  return result;
}

Id Emitter::exchange_part(const Instruction& instruction, Type type, Id value) {
  Id scope = word(spv::ScopeSubgroup);
  Id result_type = part_type(type);
  if (instruction.op == Op::shuffle_xor)
    return emit(spv::OpGroupNonUniformShuffleXor, result_type,
                {scope, value, word(static_cast<std::uint32_t>(instruction.immediate))});
  if (instruction.op == Op::shuffle_lane)
    return emit(spv::OpGroupNonUniformShuffle, result_type,
                {scope, value, parts(instruction.operands[1])[0]});
  return emit(spv::OpGroupNonUniformBroadcast, result_type,
              {scope, value, word(static_cast<std::uint32_t>(instruction.immediate))});
}

}  // namespace halyard::fusion::spirv
