// Lane-wise arithmetic and vector operations.
#include <fmt/format.h>
#include <array>
#include <bit>
#include "emit_llvm_printer.h"

namespace halyard::fusion {

std::string LlvmPrinter::literal(ElementType element, std::uint64_t bits) {
  switch (element) {
    case ElementType::boolean:
      return bits & 1 ? "true" : "false";
    case ElementType::f64:
      return fmt::format("0x{:016X}", bits);
    case ElementType::f32: {
      // LLVM writes a float as the double of the same value; widen the bits of a NaN by hand, to keep them.
      auto single = static_cast<std::uint32_t>(bits);
      std::uint64_t wide = std::bit_cast<std::uint64_t>(static_cast<double>(std::bit_cast<float>(single)));
      if ((single & 0x7fffffffu) > 0x7f800000u)
        wide = (std::uint64_t{single & 0x80000000u} << 32) | 0x7ff0000000000000u |
               (std::uint64_t{single & 0x7fffffu} << 29);
      return fmt::format("0x{:016X}", wide);
    }
    default: {
      unsigned shift = 64 - 8 * static_cast<unsigned>(byte_size(element));
      return std::to_string(static_cast<std::int64_t>(bits << shift) >> shift);
    }
  }
}

std::string LlvmPrinter::splat_literal(const std::string& element_type, const std::string& value,
                                       std::uint16_t lanes) {
  return lanes == 1 ? value : fmt::format("splat ({} {})", element_type, value);
}

void LlvmPrinter::print_constant(const Instruction& instruction) {
  Type t = instruction.type;
  constants_[program::index(instruction.results[0])] = instruction.immediate;
  set_name(instruction.results[0],
           splat_literal(register_type({t.element, 1}), literal(t.element, instruction.immediate), t.lanes));
}

void LlvmPrinter::print_iota(const Instruction& instruction) {
  Type t = instruction.type;
  if (t.lanes == 1) return set_name(instruction.results[0], literal(t.element, instruction.immediate));
  std::string lanes;
  for (unsigned i = 0; i < t.lanes; ++i)
    lanes += fmt::format("{}{} {}", i ? ", " : "", register_type({t.element, 1}),
                         literal(t.element, instruction.immediate + i));
  set_name(instruction.results[0], fmt::format("<{}>", lanes));
}

void LlvmPrinter::print_unary(const Instruction& instruction) {
  Type t = instruction.type;
  std::string value = name(instruction.operands[0]);
  std::string value_type = register_type(t);
  bool small = is_small_float(t.element);
  auto splat_of = [&](const char* bits) {
    return splat_literal(register_type({t.element, 1}), bits, t.lanes);
  };
  switch (instruction.op) {
    case Op::bit_not:
      return define(instruction, fmt::format("xor {} {}, {}", value_type, value,
                                             splat_of(t.element == ElementType::boolean ? "true" : "-1")));
    case Op::neg:
      if (small)
        return define(instruction, fmt::format("xor {} {}, {}", value_type, value, splat_of("-32768")));
      if (is_float(t.element)) return define(instruction, fmt::format("fneg {} {}", value_type, value));
      return define(instruction, fmt::format("sub {} {}, {}", value_type, splat_of("0"), value));
    case Op::abs:
      if (small)
        return define(instruction, fmt::format("and {} {}, {}", value_type, value, splat_of("32767")));
      if (is_float(t.element))
        return define(instruction,
                      call(value_type, "llvm.fabs" + suffix(t.element, t.lanes), {value_type + " " + value}));
      if (!is_signed(t.element)) return set_name(instruction.results[0], value);
      return define(instruction, call(value_type, "llvm.abs" + suffix(t.element, t.lanes),
                                      {value_type + " " + value, "i1 false"}));
    default:
      break;
  }
  const char* intrinsic = "llvm.sqrt";
  if (instruction.op != Op::sqrt) {
    intrinsic = instruction.op == Op::floor   ? "llvm.floor"
                : instruction.op == Op::ceil  ? "llvm.ceil"
                : instruction.op == Op::trunc ? "llvm.trunc"
                                              : "llvm.roundeven";
    if (!options_.has_rounding)
      return error(ErrorCode::unsupported,
                   "floor, ceil, trunc and round_even need a processor with SSE4.1: use another device");
  }
  if (!is_float(t.element))
    return error(ErrorCode::invalid_argument, fmt::format("{} of {}", intrinsic, halyard::name(t.element)));
  ElementType computed = small ? ElementType::f32 : t.element;
  std::string computed_type = register_type({computed, t.lanes});
  if (small) value = widen(value, t);
  std::string expression =
      call(computed_type, intrinsic + suffix(computed, t.lanes), {computed_type + " " + value});
  if (!small) return define(instruction, expression);
  set_name(instruction.results[0], narrow(temporary(expression), t));
}

void LlvmPrinter::print_binary(const Instruction& instruction) {
  Type t = instruction.type;
  bool floating = is_float(t.element);
  bool with_sign = is_signed(t.element);
  const char* operation = nullptr;
  switch (instruction.op) {
    case Op::add:
      operation = floating ? "fadd" : "add";
      break;
    case Op::sub:
      operation = floating ? "fsub" : "sub";
      break;
    case Op::mul:
      operation = floating ? "fmul" : "mul";
      break;
    case Op::div:
      operation = floating ? "fdiv" : with_sign ? "sdiv" : "udiv";
      break;
    case Op::rem:
      operation = floating ? nullptr : with_sign ? "srem" : "urem";
      break;
    case Op::bit_and:
      operation = floating ? nullptr : "and";
      break;
    case Op::bit_or:
      operation = floating ? nullptr : "or";
      break;
    case Op::bit_xor:
      operation = floating ? nullptr : "xor";
      break;
    case Op::shl:
      operation = floating ? nullptr : "shl";
      break;
    default:
      operation = floating ? nullptr : with_sign ? "ashr" : "lshr";
      break;
  }
  if (!operation)
    return error(ErrorCode::invalid_argument,
                 fmt::format("operation number {} is not defined for {}",
                             static_cast<unsigned>(instruction.op), halyard::name(t.element)));
  std::string a = name(instruction.operands[0]);
  std::string b = name(instruction.operands[1]);
  bool cannot_wrap = is_integer(t.element) && with_sign &&
                     is_index_[program::index(instruction.results[0])] &&
                     (instruction.op == Op::add || instruction.op == Op::sub || instruction.op == Op::mul);
  if (!is_small_float(t.element))
    return define(instruction, fmt::format("{}{} {} {}, {}", operation, cannot_wrap ? " nsw" : "",
                                           register_type(t), a, b));
  std::string wide_a = widen(a, t);
  std::string wide_b = widen(b, t);
  std::string wide = temporary(fmt::format("{} {} {}, {}", operation, wide_type(t.lanes), wide_a, wide_b));
  set_name(instruction.results[0], narrow(wide, t));
}

void LlvmPrinter::print_mul_high(const Instruction& instruction) {
  Type t = instruction.type;
  if (!is_integer(t.element))
    return error(ErrorCode::invalid_argument, fmt::format("mul_high of {}", halyard::name(t.element)));
  unsigned bits = 8 * static_cast<unsigned>(byte_size(t.element));
  std::string narrow_type = integer_type(bits, t.lanes);
  std::string double_type = integer_type(2 * bits, t.lanes);
  const char* extend = is_signed(t.element) ? "sext" : "zext";
  std::string a = temporary(fmt::format("{} {} to {}", extend, typed(instruction.operands[0]), double_type));
  std::string b = temporary(fmt::format("{} {} to {}", extend, typed(instruction.operands[1]), double_type));
  std::string product = temporary(fmt::format("mul {} {}, {}", double_type, a, b));
  std::string amount = splat_literal(integer_type(2 * bits, 1), std::to_string(bits), t.lanes);
  std::string high = temporary(fmt::format("lshr {} {}, {}", double_type, product, amount));
  define(instruction, fmt::format("trunc {} {} to {}", double_type, high, narrow_type));
}

void LlvmPrinter::print_compare(const Instruction& instruction) {
  // per operation: ordered floats (`ne` is true on NaN), signed integers, unsigned integers and booleans
  static constexpr std::array<std::array<const char*, 3>, 6> predicates{{{"oeq", "eq", "eq"},
                                                                         {"une", "ne", "ne"},
                                                                         {"olt", "slt", "ult"},
                                                                         {"ole", "sle", "ule"},
                                                                         {"ogt", "sgt", "ugt"},
                                                                         {"oge", "sge", "uge"}}};
  Type t = type(instruction.operands[0]);
  auto row = static_cast<std::size_t>(instruction.op) - static_cast<std::size_t>(Op::eq);
  std::string a = name(instruction.operands[0]);
  std::string b = name(instruction.operands[1]);
  std::string operand_type = register_type(t);
  if (is_small_float(t.element)) {
    a = widen(a, t);
    b = widen(b, t);
    operand_type = wide_type(t.lanes);
  }
  bool floating = is_float(t.element);
  std::size_t column = floating ? 0 : is_signed(t.element) ? 1 : 2;
  define(instruction, fmt::format("{} {} {} {}, {}", floating ? "fcmp" : "icmp", predicates[row][column],
                                  operand_type, a, b));
}

void LlvmPrinter::print_fma(const Instruction& instruction) {
  Type t = instruction.type;
  if (!is_float(t.element))
    return error(ErrorCode::invalid_argument, fmt::format("fma of {}", halyard::name(t.element)));
  std::string t_name = register_type(t);
  if (!is_small_float(t.element) && options_.has_fma)
    return define(instruction, call(t_name, "llvm.fma" + suffix(t.element, t.lanes),
                                    {typed(instruction.operands[0]), typed(instruction.operands[1]),
                                     typed(instruction.operands[2])}));
  if (t.element == ElementType::f64)
    return error(
        ErrorCode::unsupported,
        "fma of f64 needs a processor with FMA: compile for the unfused class or use another device");
  std::string odd = exact_fma_in_double(instruction);
  std::string double_type = register_type({ElementType::f64, t.lanes});
  if (t.element == ElementType::f32)
    return define(instruction, fmt::format("fptrunc {} {} to {}", double_type, odd, t_name));
  set_name(instruction.results[0], narrow(round_double_to_odd_float(odd, t.lanes), t));
}

/// a * b + c rounded to odd in f64. The product of two f32 is exact there; the sum's error comes from Knuth's
/// TwoSum; rounding a round-to-odd result once more, to at most 51 bits, equals rounding the exact sum (Boldo
/// and Melquiond 2008, as in halyard/base/half.h).
std::string LlvmPrinter::exact_fma_in_double(const Instruction& instruction) {
  Type t = instruction.type;
  std::string f64 = register_type({ElementType::f64, t.lanes});
  std::string i64 = integer_type(64, t.lanes);
  std::string wide[3];
  for (std::size_t i = 0; i < 3; ++i) {
    std::string value = name(instruction.operands[i]);
    if (is_small_float(t.element)) value = widen(value, t);
    wide[i] = temporary(fmt::format("fpext {} {} to {}", wide_type(t.lanes), value, f64));
  }
  auto floating = [&](const char* op, const std::string& a, const std::string& b) {
    return temporary(fmt::format("{} {} {}, {}", op, f64, a, b));
  };
  std::string product = floating("fmul", wide[0], wide[1]);
  std::string sum = floating("fadd", product, wide[2]);
  std::string part = floating("fsub", sum, product);
  std::string rest = floating("fsub", sum, part);
  std::string product_error = floating("fsub", product, rest);
  std::string addend_error = floating("fsub", wide[2], part);
  std::string residue = floating("fadd", product_error, addend_error);
  auto constant = [&](const char* value) { return splat_literal("i64", value, t.lanes); };
  std::string zero = splat_literal("double", "0.0", t.lanes);
  std::string inexact = temporary(fmt::format("fcmp one {} {}, {}", f64, residue, zero));
  std::string bits = temporary(fmt::format("bitcast {} {} to {}", f64, sum, i64));
  std::string residue_bits = temporary(fmt::format("bitcast {} {} to {}", f64, residue, i64));
  // away from zero if the residue has the sum's sign, toward zero otherwise; only if the last bit is even
  std::string signs = temporary(fmt::format("xor {} {}, {}", i64, bits, residue_bits));
  std::string sign = temporary(fmt::format("ashr {} {}, {}", i64, signs, constant("63")));
  std::string step = temporary(fmt::format("or {} {}, {}", i64, sign, constant("1")));
  std::string moved = temporary(fmt::format("add {} {}, {}", i64, bits, step));
  std::string last = temporary(fmt::format("and {} {}, {}", i64, bits, constant("1")));
  std::string even = temporary(fmt::format("icmp eq {} {}, {}", i64, last, constant("0")));
  std::string adjust = temporary(fmt::format("and {} {}, {}", integer_type(1, t.lanes), inexact, even));
  std::string odd = temporary(
      fmt::format("select {} {}, {} {}, {} {}", integer_type(1, t.lanes), adjust, i64, moved, i64, bits));
  return temporary(fmt::format("bitcast {} {} to {}", i64, odd, f64));
}

void LlvmPrinter::print_splat(const Instruction& instruction) {
  Type t = instruction.type;
  if (t.lanes == 1) return set_name(instruction.results[0], name(instruction.operands[0]));
  std::string vector = register_type(t);
  std::string first =
      temporary(fmt::format("insertelement {} poison, {}, i32 0", vector, typed(instruction.operands[0])));
  define(instruction, fmt::format("shufflevector {} {}, {} poison, <{} x i32> zeroinitializer", vector, first,
                                  vector, t.lanes));
}

void LlvmPrinter::print_shuffle(const Instruction& instruction) {
  Type operand = type(instruction.operands[0]);
  std::string sources[2];
  std::string vector = fmt::format("<{} x {}>", operand.lanes, register_type({operand.element, 1}));
  for (std::size_t i = 0; i < 2; ++i) {
    sources[i] = name(instruction.operands[i]);
    if (operand.lanes == 1)
      sources[i] = temporary(
          fmt::format("insertelement {} poison, {}, i32 0", vector, typed(instruction.operands[i])));
  }
  std::string mask;
  for (std::int32_t lane : instruction.indices)
    mask += fmt::format("{}i32 {}", mask.empty() ? "" : ", ", lane < 0 ? "poison" : std::to_string(lane));
  std::string expression = fmt::format("shufflevector {} {}, {} {}, <{} x i32> <{}>", vector, sources[0],
                                       vector, sources[1], instruction.indices.size(), mask);
  if (instruction.indices.size() != 1) return define(instruction, expression);
  std::string single = temporary(expression);
  define(instruction,
         fmt::format("extractelement <1 x {}> {}, i32 0", register_type({operand.element, 1}), single));
}

}  // namespace halyard::fusion
