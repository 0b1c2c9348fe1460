#include "spirv_emitter.h"

#include <bit>

namespace halyard::fusion::spirv {

using program::Instruction;
using program::Op;
using program::Type;

Id Emitter::emit_float(spv::Op op, Id type, std::initializer_list<Id> operands) {
  Id result = emit(op, type, operands);
  module_.decorate(result, spv::DecorationNoContraction);
  return result;
}

Id Emitter::emit_extended(GLSLstd450 instruction, Id type, std::initializer_list<Id> operands,
                          bool is_float) {
  Words words{module_.extended_instructions(), static_cast<std::uint32_t>(instruction)};
  words.insert(words.end(), operands.begin(), operands.end());
  Id result = emit(spv::OpExtInst, type, words);
  if (is_float) module_.decorate(result, spv::DecorationNoContraction);
  return result;
}

Emitter::Parts Emitter::lane_wise(const Instruction& instruction) {
  Type operand_type = type_of(instruction.operands[0]);
  bool is_compare = instruction.op >= Op::eq && instruction.op <= Op::ge;
  Parts result;
  for (std::uint32_t part = 0; part < part_count(instruction.type); ++part) {
    std::vector<Id> operands;
    for (program::ValueId operand : instruction.operands) operands.push_back(parts(operand)[part]);
    if (is_compare)
      result.push_back(compare_part(instruction.op, operand_type, operands));
    else if (instruction.op == Op::cast)
      result.push_back(cast_part(operand_type, instruction.type, operands[0]));
    else if (instruction.op == Op::select)
      result.push_back(emit(spv::OpSelect, part_type(instruction.type), operands));
    else
      result.push_back(arithmetic_part(instruction.op, instruction.type, operands));
  }
  return result;
}

Id Emitter::arithmetic_part(Op op, Type type, std::span<const Id> operands) {
  if (type.element == ElementType::boolean) return boolean_part(op, part_type(type), operands);
  if (!is_float(type.element)) return integer_part(op, type, operands);
  bool rounds_to_integer = op >= Op::floor && op <= Op::round_even;
  if (type.element == ElementType::f64 && rounds_to_integer) {
    const bool by_addition = contains(options_.facts.arithmetic_types, ElementType::u64);
    Id rounded = 0;
    if (op == Op::round_even && by_addition)
      rounded = rounded_magnitude(type, operands[0]);
    else if (op == Op::trunc && by_addition)
      rounded = truncated_magnitude(type, operands[0]);
    else
      rounded = float_part(op, part_type(type), operands);
    return with_sign_of(type, rounded, operands[0]);
  }
  bool inexact_in_f16 = op == Op::div || op == Op::sqrt;
  if (type.element != ElementType::f16 || !inexact_in_f16) return float_part(op, part_type(type), operands);
  // Vulkan asks little of f16 division and square root; through f32 both are rounded correctly, since 24 bits
  // are at least 2 * 11 + 2 (Figueroa, "When is double rounding innocuous?", 1995).
  Type wide{ElementType::f32, type.lanes};
  std::vector<Id> widened;
  for (Id operand : operands) widened.push_back(cast_part(type, wide, operand));
  return cast_part(wide, type, float_part(op, part_type(wide), widened));
}

/// |x| rounded to an integer, ties to even, by an addition whose own rounding does it: Mesa 25 rounds an f64
/// of 1.5 to 1.
Id Emitter::rounded_magnitude(Type type, Id x) {
  const Id id = part_type(type);
  const Id operand[] = {x};
  const Id magnitude = float_part(Op::abs, id, operand);
  const Id integers_only = part_constant(type, std::bit_cast<std::uint64_t>(0x1p52));
  const Id raised[] = {magnitude, integers_only};
  const Id sum[] = {float_part(Op::add, id, raised), integers_only};
  const Id rounded = float_part(Op::sub, id, sum);
  return emit(spv::OpSelect, id, {compare_part(Op::lt, type, raised), rounded, magnitude});
}

/// The rounded one, less 1 where it lies above |x|: Mesa's Trunc keeps a fraction of an f64 beyond 2^32
/// (22.3.6, 25.0.7).
Id Emitter::truncated_magnitude(Type type, Id x) {
  const Id id = part_type(type);
  const Id operand[] = {x};
  const Id above[] = {float_part(Op::abs, id, operand), rounded_magnitude(type, x)};
  const Id less_one[] = {above[1], part_constant(type, std::bit_cast<std::uint64_t>(1.0))};
  return emit(spv::OpSelect, id,
              {compare_part(Op::lt, type, above), float_part(Op::sub, id, less_one), above[1]});
}

/// Rounding to an integer keeps the sign, down to -0; Mesa 22 loses that of an f64.
Id Emitter::with_sign_of(Type type, Id rounded, Id x) {
  if (!contains(options_.facts.arithmetic_types, ElementType::u64)) return rounded;
  Type bits_type{ElementType::u64, type.lanes};
  Id bits = part_type(bits_type);
  Id sign = emit(spv::OpBitwiseAnd, bits,
                 {emit(spv::OpBitcast, bits, {x}), part_constant(bits_type, std::uint64_t{1} << 63)});
  Id with_sign = emit(spv::OpBitwiseOr, bits, {emit(spv::OpBitcast, bits, {rounded}), sign});
  return emit(spv::OpBitcast, part_type(type), {with_sign});
}

Id Emitter::float_part(Op op, Id type, std::span<const Id> x) {
  switch (op) {
    case Op::add:
      return emit_float(spv::OpFAdd, type, {x[0], x[1]});
    case Op::sub:
      return emit_float(spv::OpFSub, type, {x[0], x[1]});
    case Op::mul:
      return emit_float(spv::OpFMul, type, {x[0], x[1]});
    case Op::div:
      return emit_float(spv::OpFDiv, type, {x[0], x[1]});
    case Op::neg:
      return emit_float(spv::OpFNegate, type, {x[0]});
    case Op::abs:
      return emit_extended(GLSLstd450FAbs, type, {x[0]}, true);
    case Op::sqrt:
      return emit_extended(GLSLstd450Sqrt, type, {x[0]}, true);
    case Op::fma:
      return emit_extended(GLSLstd450Fma, type, {x[0], x[1], x[2]}, true);
    case Op::floor:
      return emit_extended(GLSLstd450Floor, type, {x[0]}, true);
    case Op::ceil:
      return emit_extended(GLSLstd450Ceil, type, {x[0]}, true);
    case Op::trunc:
      return emit_extended(GLSLstd450Trunc, type, {x[0]}, true);
    default:
      return emit_extended(GLSLstd450RoundEven, type, {x[0]}, true);
  }
}

Id Emitter::integer_part(Op op, Type t, std::span<const Id> x) {
  Id type = part_type(t);
  bool has_sign = is_signed(t.element);
  switch (op) {
    case Op::add:
      return emit(spv::OpIAdd, type, {x[0], x[1]});
    case Op::sub:
      return emit(spv::OpISub, type, {x[0], x[1]});
    case Op::mul:
      return emit(spv::OpIMul, type, {x[0], x[1]});
    case Op::div:
      return emit(has_sign ? spv::OpSDiv : spv::OpUDiv, type, {x[0], x[1]});
    case Op::rem: {
      if (!has_sign) return emit(spv::OpUMod, type, {x[0], x[1]});
      // Vulkan leaves OpSRem undefined for negative operands; division is defined.
      Id quotient = emit(spv::OpSDiv, type, {x[0], x[1]});
      return emit(spv::OpISub, type, {x[0], emit(spv::OpIMul, type, {quotient, x[1]})});
    }
    case Op::neg:
      return emit(spv::OpSNegate, type, {x[0]});
    case Op::abs:
      if (!has_sign) return x[0];
      return emit_extended(GLSLstd450SAbs, type, {x[0]}, false);
    case Op::mul_high:
      return high_product(t, x[0], x[1]);
    case Op::bit_and:
      return emit(spv::OpBitwiseAnd, type, {x[0], x[1]});
    case Op::bit_or:
      return emit(spv::OpBitwiseOr, type, {x[0], x[1]});
    case Op::bit_xor:
      return emit(spv::OpBitwiseXor, type, {x[0], x[1]});
    case Op::bit_not:
      return emit(spv::OpNot, type, {x[0]});
    case Op::shl:
      return emit(spv::OpShiftLeftLogical, type, {x[0], x[1]});
    default:
      return emit(has_sign ? spv::OpShiftRightArithmetic : spv::OpShiftRightLogical, type, {x[0], x[1]});
  }
}

Id Emitter::high_product(Type t, Id a, Id b) {
  Id type = part_type(t);
  Id pair = module_.type(spv::OpTypeStruct, {type, type});
  Id product = emit(is_signed(t.element) ? spv::OpSMulExtended : spv::OpUMulExtended, pair, {a, b});
  return emit(spv::OpCompositeExtract, type, {product, 1u});
}

Id Emitter::boolean_part(Op op, Id type, std::span<const Id> x) {
  switch (op) {
    case Op::bit_and:
      return emit(spv::OpLogicalAnd, type, {x[0], x[1]});
    case Op::bit_or:
      return emit(spv::OpLogicalOr, type, {x[0], x[1]});
    case Op::bit_not:
      return emit(spv::OpLogicalNot, type, {x[0]});
    default:
      return emit(spv::OpLogicalNotEqual, type, {x[0], x[1]});
  }
}

namespace {

struct CompareOps {
  spv::Op on_float, on_signed, on_unsigned;
};

CompareOps compare_ops(Op op) {
  switch (op) {
    case Op::eq:
      return {spv::OpFOrdEqual, spv::OpIEqual, spv::OpIEqual};
    case Op::ne:
      return {spv::OpFUnordNotEqual, spv::OpINotEqual, spv::OpINotEqual};
    case Op::lt:
      return {spv::OpFOrdLessThan, spv::OpSLessThan, spv::OpULessThan};
    case Op::le:
      return {spv::OpFOrdLessThanEqual, spv::OpSLessThanEqual, spv::OpULessThanEqual};
    case Op::gt:
      return {spv::OpFOrdGreaterThan, spv::OpSGreaterThan, spv::OpUGreaterThan};
    default:
      return {spv::OpFOrdGreaterThanEqual, spv::OpSGreaterThanEqual, spv::OpUGreaterThanEqual};
  }
}

}  // namespace

Id Emitter::compare_part(Op op, Type t, std::span<const Id> x) {
  Id result = part_type({ElementType::boolean, t.lanes});
  if (t.element == ElementType::boolean) {
    if (op == Op::eq) return emit(spv::OpLogicalEqual, result, {x[0], x[1]});
    if (op == Op::ne) return emit(spv::OpLogicalNotEqual, result, {x[0], x[1]});
    Type as_word{ElementType::u32, t.lanes};
    Id words[2] = {cast_part(t, as_word, x[0]), cast_part(t, as_word, x[1])};
    return compare_part(op, as_word, words);
  }
  CompareOps ops = compare_ops(op);
  spv::Op chosen = is_float(t.element)    ? ops.on_float
                   : is_signed(t.element) ? ops.on_signed
                                          : ops.on_unsigned;
  return emit(chosen, result, {x[0], x[1]});
}

/// By halves: each is exact, and so is the product; the sum rounds once. SwiftShader's own conversion does
/// not round numbers of more than 24 bits correctly.
Id Emitter::u32_to_f32(Type to, Id x) {
  Type word_type{ElementType::u32, to.lanes};
  Id words = part_type(word_type);
  Id type = part_type(to);
  Id upper = emit(spv::OpShiftRightLogical, words, {x, part_constant(word_type, 16)});
  Id lower = emit(spv::OpBitwiseAnd, words, {x, part_constant(word_type, 0xffff)});
  Id scale = part_constant(to, 0x47800000u);  // 65536
  Id scaled = emit_float(spv::OpFMul, type, {emit(spv::OpConvertSToF, type, {upper}), scale});
  return emit_float(spv::OpFAdd, type, {scaled, emit(spv::OpConvertSToF, type, {lower})});
}

Id Emitter::cast_part(Type from, Type to, Id x) {
  Id type = part_type(to);
  if (from.element == to.element) return x;
  if (to.element == ElementType::boolean)
    return emit(is_float(from.element) ? spv::OpFUnordNotEqual : spv::OpINotEqual, type,
                {x, part_constant(from, 0)});
  if (from.element == ElementType::boolean) {
    std::uint64_t one = to.element == ElementType::f16   ? 0x3c00u
                        : to.element == ElementType::f32 ? 0x3f800000u
                        : to.element == ElementType::f64 ? 0x3ff0000000000000u
                                                         : 1u;
    return emit(spv::OpSelect, type, {x, part_constant(to, one), part_constant(to, 0)});
  }
  if (is_float(from.element) && is_float(to.element)) return emit(spv::OpFConvert, type, {x});
  if (is_float(from.element))
    return emit(is_signed(to.element) ? spv::OpConvertFToS : spv::OpConvertFToU, type, {x});
  if (from.element == ElementType::u32 && to.element == ElementType::f32) return u32_to_f32(to, x);
  if (is_float(to.element))
    return emit(is_signed(from.element) ? spv::OpConvertSToF : spv::OpConvertUToF, type, {x});
  // Integers: u8 and u16 are held as zero-extended words.
  if (byte_size(to.element) < 4) {
    std::uint64_t mask = byte_size(to.element) == 1 ? 0xffu : 0xffffu;
    Type as_word{ElementType::u32, to.lanes};
    Id narrowed = byte_size(from.element) == 8 ? emit(spv::OpUConvert, part_type(as_word), {x}) : x;
    return emit(spv::OpBitwiseAnd, part_type(as_word), {narrowed, part_constant(as_word, mask)});
  }
  bool wide_from = byte_size(from.element) == 8;
  bool wide_to = byte_size(to.element) == 8;
  if (wide_from == wide_to) return x;
  if (wide_to && is_signed(from.element)) return sign_extended(to, x);
  return emit(spv::OpUConvert, type, {x});
}

/// As a pair of words, which is what drivers without 64-bit integers make of it anyway: Mesa 22.3.6 compares
/// an OpSConvert's result wrongly (docs/software_drivers.md).
Id Emitter::sign_extended(Type to, Id x) {
  const Type words{ElementType::i32, to.lanes}, wide{to.element, 1};
  const Id high = emit(spv::OpShiftRightArithmetic, part_type(words), {x, part_constant(words, 31)});
  const Id word = module_.type_int(32), pair = vector_of(word, 2);
  if (to.lanes == 1)
    return emit(spv::OpBitcast, part_type(wide), {emit(spv::OpCompositeConstruct, pair, {x, high})});
  std::vector<Id> lanes;
  for (std::uint32_t i = 0; i < to.lanes; ++i) {
    const Id halves =
        emit(spv::OpCompositeConstruct, pair,
             {emit(spv::OpCompositeExtract, word, {x, i}), emit(spv::OpCompositeExtract, word, {high, i})});
    lanes.push_back(emit(spv::OpBitcast, part_type(wide), {halves}));
  }
  return emit(spv::OpCompositeConstruct, part_type(to), lanes);
}

Emitter::Parts Emitter::iota(const Instruction& instruction) {
  std::uint64_t mask = byte_size(instruction.type.element) == 8 ? ~std::uint64_t{0} : 0xffffffffu;
  Parts result;
  std::uint32_t width = part_lanes(instruction.type);
  for (std::uint32_t part = 0; part < part_count(instruction.type); ++part) {
    std::vector<Id> lanes;
    for (std::uint32_t lane = 0; lane < width; ++lane)
      lanes.push_back(
          scalar_constant(instruction.type.element, (instruction.immediate + part * width + lane) & mask));
    result.push_back(width == 1 ? lanes[0] : module_.constant_composite(part_type(instruction.type), lanes));
  }
  return result;
}

}  // namespace halyard::fusion::spirv
