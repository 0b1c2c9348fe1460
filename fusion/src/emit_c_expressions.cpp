#include <bit>
#include <cmath>
#include <limits>

#include "c_printer.h"

namespace halyard::fusion {

using program::Op;
using program::Type;

namespace {

bool is_half(ElementType element) {
  return element == ElementType::f16 || element == ElementType::bf16;
}

std::string_view unsigned_type(std::size_t bytes) {
  return bytes == 8 ? "unsigned long long" : "unsigned";
}

std::string_view operator_of(Op op) {
  switch (op) {
    case Op::add:
      return "+";
    case Op::sub:
      return "-";
    case Op::mul:
      return "*";
    case Op::div:
      return "/";
    case Op::rem:
      return "%";
    case Op::bit_and:
      return "&";
    case Op::bit_or:
      return "|";
    case Op::bit_xor:
      return "^";
    case Op::shl:
      return "<<";
    case Op::shr:
      return ">>";
    case Op::eq:
      return "==";
    case Op::ne:
      return "!=";
    case Op::lt:
      return "<";
    case Op::le:
      return "<=";
    case Op::gt:
      return ">";
    case Op::ge:
      return ">=";
    default:
      return "?";
  }
}

/// The shortest decimal that reads back to the same bits.
template <class Float>
std::string float_literal(Float value, std::string_view suffix) {
  std::string digits = fmt::format("{}", value);
  if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
  return digits + std::string(suffix);
}

}  // namespace

std::string c_literal(ElementType element, std::uint64_t bits) {
  switch (element) {
    case ElementType::boolean:
      return bits ? "true" : "false";
    case ElementType::f32: {
      auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
      return std::isfinite(value) ? float_literal(value, "f") : fmt::format("__uint_as_float({:#x}u)", bits);
    }
    case ElementType::f64: {
      auto value = std::bit_cast<double>(bits);
      return std::isfinite(value) ? float_literal(value, "")
                                  : fmt::format("__longlong_as_double((long long){:#x}ull)", bits);
    }
    case ElementType::f16:
    case ElementType::bf16:
      return fmt::format("(unsigned short){:#06x}", bits);
    case ElementType::u8:
    case ElementType::u16:
      return fmt::format("({}){}", c_type(element), bits);
    case ElementType::u32:
      return fmt::format("{}u", bits);
    case ElementType::u64:
      return fmt::format("{}ull", bits);
    case ElementType::i8:
      return fmt::format("(signed char){}", static_cast<int>(static_cast<std::int8_t>(bits)));
    case ElementType::i16:
      return fmt::format("(short){}", static_cast<std::int16_t>(bits));
    case ElementType::i32: {
      auto value = static_cast<std::int32_t>(bits);
      return value == std::numeric_limits<std::int32_t>::min() ? "(-2147483647 - 1)"
                                                               : fmt::format("{}", value);
    }
    case ElementType::i64: {
      auto value = static_cast<std::int64_t>(bits);
      return value == std::numeric_limits<std::int64_t>::min() ? "(-9223372036854775807ll - 1)"
                                                               : fmt::format("{}ll", value);
    }
  }
  return "?";
}

std::string CPrinter::to_float(ElementType element, const std::string& value) {
  (element == ElementType::f16 ? needs_f16_ : needs_bf16_) = true;
  return fmt::format("hy_f32_from_{}({})", name(element), value);
}

std::string CPrinter::from_float(ElementType element, const std::string& value) {
  (element == ElementType::f16 ? needs_f16_ : needs_bf16_) = true;
  return fmt::format("hy_{}_from_f32({})", name(element), value);
}

std::string CPrinter::arithmetic(const program::Instruction& instruction, const Lanes& operands) {
  const Op op = instruction.op;
  const ElementType element = instruction.type.element;
  const bool may_wrap = op == Op::add || op == Op::sub || op == Op::mul;
  if (is_index_[index(instruction.results[0])] && may_wrap &&
      (element == ElementType::i32 || element == ElementType::i64))
    return fmt::format("{} {} {}", operands[0], operator_of(op), operands[1]);
  if (element == ElementType::boolean) {
    if (op == Op::bit_not) return fmt::format("!{}", operands[0]);
    return fmt::format("{} {} {}", operands[0],
                       op == Op::bit_xor   ? "!="
                       : op == Op::bit_and ? "&&"
                                           : "||",
                       operands[1]);
  }
  if (is_half(element)) return half_arithmetic(op, element, operands);
  return is_float(element) ? float_arithmetic(op, element, operands)
                           : integer_arithmetic(op, element, operands);
}

std::string CPrinter::float_arithmetic(Op op, ElementType element, const Lanes& operands) {
  const bool wide = element == ElementType::f64;
  const std::string_view suffix = wide ? "" : "f";
  std::string_view pattern;
  switch (op) {
    case Op::add:
      pattern = wide ? dialect_.add_f64 : dialect_.add_f32;
      break;
    case Op::sub:
      pattern = wide ? dialect_.sub_f64 : dialect_.sub_f32;
      break;
    case Op::mul:
      pattern = wide ? dialect_.mul_f64 : dialect_.mul_f32;
      break;
    case Op::div:
      pattern = wide ? dialect_.div_f64 : dialect_.div_f32;
      break;
    case Op::sqrt:
      pattern = wide ? dialect_.sqrt_f64 : dialect_.sqrt_f32;
      break;
    case Op::fma:
      pattern = wide ? dialect_.fma_f64 : dialect_.fma_f32;
      break;
    case Op::neg:
      return fmt::format("-({})", operands[0]);
    case Op::abs:
      return fmt::format("fabs{}({})", suffix, operands[0]);
    case Op::floor:
      return fmt::format("floor{}({})", suffix, operands[0]);
    case Op::ceil:
      return fmt::format("ceil{}({})", suffix, operands[0]);
    case Op::trunc:
      return fmt::format("trunc{}({})", suffix, operands[0]);
    default:
      return fmt::format("rint{}({})", suffix, operands[0]);
  }
  return fmt::format(fmt::runtime(pattern), operands[0], operands.size() > 1 ? operands[1] : "",
                     operands.size() > 2 ? operands[2] : "");
}

/// Through f32, rounded once more: innocuous for all but fma, which has functions of its own. Signs are bits.
std::string CPrinter::half_arithmetic(Op op, ElementType element, const Lanes& operands) {
  if (op == Op::neg) return fmt::format("(unsigned short)({} ^ 0x8000)", operands[0]);
  if (op == Op::abs) return fmt::format("(unsigned short)({} & 0x7fff)", operands[0]);
  if (op == Op::fma) {
    (element == ElementType::f16 ? needs_f16_ : needs_bf16_fma_) = true;
    return fmt::format("hy_fma_{}({}, {}, {})", name(element), operands[0], operands[1], operands[2]);
  }
  Lanes wide;
  for (const std::string& operand : operands) wide.push_back(to_float(element, operand));
  return from_float(element, float_arithmetic(op, ElementType::f32, wide));
}

/// Signed arithmetic that may wrap is done unsigned, for in C++ signed overflow is undefined.
std::string CPrinter::integer_arithmetic(Op op, ElementType element, const Lanes& operands) {
  const std::size_t bytes = byte_size(element);
  const std::string_view type = c_type(element);
  const std::string_view wrapping = unsigned_type(bytes);
  const bool plain = type == wrapping;  // u32, u64: nothing to convert
  const std::string& a = operands[0];
  const std::string b = operands.size() > 1 ? operands[1] : "";
  switch (op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
      if (plain) return fmt::format("{} {} {}", a, operator_of(op), b);
      return fmt::format("({})(({}){} {} ({}){})", type, wrapping, a, operator_of(op), wrapping, b);
    case Op::shl:
      if (plain) return fmt::format("{} << {}", a, b);
      return fmt::format("({})(({}){} << {})", type, wrapping, a, b);
    case Op::neg:
      return fmt::format("({})(0u - ({}){})", type, wrapping, a);
    case Op::abs:
      if (!is_signed(element)) return a;
      return fmt::format("{} < 0 ? ({})(0u - ({}){}) : {}", a, type, wrapping, a, a);
    case Op::bit_not:
      return fmt::format("({})~{}", type, a);
    case Op::mul_high:
      return fmt::format("__{}mul{}hi({}, {})", is_signed(element) ? "" : "u", bytes == 8 ? "64" : "", a, b);
    default:
      if (bytes >= 4) return fmt::format("{} {} {}", a, operator_of(op), b);
      return fmt::format("({})({} {} {})", type, a, operator_of(op), b);
  }
}

std::string CPrinter::comparison(Op op, ElementType element, const Lanes& operands) {
  if (is_half(element))
    return fmt::format("{} {} {}", to_float(element, operands[0]), operator_of(op),
                       to_float(element, operands[1]));
  return fmt::format("{} {} {}", operands[0], operator_of(op), operands[1]);
}

std::string CPrinter::cast(ElementType from, ElementType to, const std::string& value) {
  if (from == to) return value;
  if (to == ElementType::boolean)
    return fmt::format("{} != 0", is_half(from) ? to_float(from, value) : value);
  if (is_half(to)) return cast_to_half(from, to, value);
  if (is_half(from)) return fmt::format("({}){}", c_type(to), to_float(from, value));
  return fmt::format("({}){}", c_type(to), value);
}

/// What f32 cannot hold exactly is rounded to odd on the way.
std::string CPrinter::cast_to_half(ElementType from, ElementType to, const std::string& value) {
  if (is_half(from)) return from_float(to, to_float(from, value));
  if (from == ElementType::f32) return from_float(to, value);
  if (byte_size(from) < 4) return from_float(to, fmt::format("(float){}", value));
  needs_odd_ = true;
  std::string exact = value;
  if (from == ElementType::i64)
    exact = fmt::format(
        "hy_odd_f64({0} < 0 ? 0ull - (unsigned long long){0} : (unsigned long long){0}, {0} < 0)", value);
  else if (from == ElementType::u64)
    exact = fmt::format("hy_odd_f64({}, false)", value);
  else if (from != ElementType::f64)
    exact = fmt::format("(double){}", value);
  return from_float(to, fmt::format("hy_odd_f32({})", exact));
}

/// The element's bits as an unsigned integer of its size, at least 32 bits wide.
std::string CPrinter::to_bits(ElementType element, const std::string& value) const {
  switch (element) {
    case ElementType::f32:
      return fmt::format("__float_as_uint({})", value);
    case ElementType::f64:
      return fmt::format("(unsigned long long)__double_as_longlong({})", value);
    case ElementType::i8:
      return fmt::format("(unsigned)(unsigned char){}", value);
    case ElementType::i16:
      return fmt::format("(unsigned)(unsigned short){}", value);
    default:
      return fmt::format("({}){}", unsigned_type(byte_size(element)), value);
  }
}

std::string CPrinter::from_bits(ElementType element, const std::string& bits) const {
  if (element == ElementType::f32) return fmt::format("__uint_as_float((unsigned)({}))", bits);
  if (element == ElementType::f64) return fmt::format("__longlong_as_double((long long)({}))", bits);
  return fmt::format("({})({})", c_type(element), bits);
}

CPrinter::Lanes CPrinter::bitcast(Type from, Type to, const Lanes& lanes) {
  const std::size_t from_bytes = byte_size(from.element);
  const std::size_t to_bytes = byte_size(to.element);
  Lanes result;
  for (std::size_t i = 0; i < to.lanes; ++i) {
    if (to_bytes <= from_bytes) {
      std::size_t parts = from_bytes / to_bytes;
      std::string bits = to_bits(from.element, lanes[i / parts]);
      result.push_back(from_bits(
          to.element, i % parts ? fmt::format("({}) >> {}", bits, i % parts * to_bytes * 8) : bits));
      continue;
    }
    std::size_t parts = to_bytes / from_bytes;
    std::string bits;
    for (std::size_t k = 0; k < parts; ++k)
      bits += fmt::format("{}({})({}) << {}", k ? " | " : "", unsigned_type(to_bytes),
                          to_bits(from.element, lanes[i * parts + k]), k * from_bytes * 8);
    result.push_back(from_bits(to.element, bits));
  }
  return result;
}

}  // namespace halyard::fusion
