// Conversions. The rules are those of program.h: one rounding to nearest even; float -> integer truncates and
// is undefined out of range. Where LLVM would round twice or call a runtime library (f64 or i64 to f16 and
// bf16), the value is first made exact in f32 by rounding to odd.
#include <fmt/format.h>
#include "emit_llvm_printer.h"

namespace halyard::fusion {

void LlvmPrinter::print_cast(const Instruction& instruction) {
  Type from = type(instruction.operands[0]);
  Type to = instruction.type;
  std::string value = name(instruction.operands[0]);
  std::string from_type = register_type(from);
  if (from.element == to.element) return set_name(instruction.results[0], value);

  std::string result;
  if (to.element == ElementType::boolean) {
    if (is_small_float(from.element)) {
      value = widen(value, from);
      from_type = wide_type(from.lanes);
    }
    std::string zero = splat_literal(is_float(from.element) && !is_small_float(from.element)
                                         ? register_type({from.element, 1})
                                     : is_float(from.element) ? "float"
                                                              : register_type({from.element, 1}),
                                     is_float(from.element) ? "0.0" : "0", from.lanes);
    result =
        fmt::format("{} {} {}, {}", is_float(from.element) ? "fcmp une" : "icmp ne", from_type, value, zero);
    return define(instruction, result);
  }
  result = is_float(from.element) ? cast_from_float(value, from, to) : cast_from_integer(value, from, to);
  if (result.starts_with('%')) return set_name(instruction.results[0], result);
  define(instruction, result);
}

/// Integers and boolean to integers and floats. Gives an expression, or the name of a value.
std::string LlvmPrinter::cast_from_integer(const std::string& value, Type from, Type to) {
  std::string from_type = register_type(from);
  std::string to_type = register_type(to);
  bool with_sign = is_signed(from.element);
  unsigned from_bits =
      from.element == ElementType::boolean ? 1 : 8 * static_cast<unsigned>(byte_size(from.element));
  if (is_integer(to.element)) {
    unsigned to_bits = 8 * static_cast<unsigned>(byte_size(to.element));
    if (to_bits == from_bits) return fmt::format("bitcast {} {} to {}", from_type, value, to_type);
    const char* operation = to_bits < from_bits ? "trunc" : with_sign ? "sext" : "zext";
    return fmt::format("{} {} {} to {}", operation, from_type, value, to_type);
  }
  const char* convert = with_sign ? "sitofp" : "uitofp";
  if (!is_small_float(to.element)) return fmt::format("{} {} {} to {}", convert, from_type, value, to_type);

  std::string wide = wide_type(to.lanes);
  if (from_bits <= 16)  // exact in f32
    return narrow(temporary(fmt::format("{} {} {} to {}", convert, from_type, value, wide)), to);
  auto constant = [&](long long number) {
    return splat_literal(integer_type(from_bits, 1), std::to_string(number), from.lanes);
  };
  auto typed_value = [&](const std::string& text) { return from_type + " " + text; };
  std::string overload = integer_suffix(from_bits, from.lanes);
  if (to.element == ElementType::f16) {
    // All beyond 65520 rounds to infinity, so 131072 stands for it; what remains is exact in f32.
    std::string clamped = temporary(call(from_type, (with_sign ? "llvm.smin" : "llvm.umin") + overload,
                                         {typed_value(value), typed_value(constant(131072))}));
    if (with_sign)
      clamped = temporary(
          call(from_type, "llvm.smax" + overload, {typed_value(clamped), typed_value(constant(-131072))}));
    return narrow(temporary(fmt::format("{} {} {} to {}", convert, from_type, clamped, wide)), to);
  }
  // bf16: exact in f64 once the lowest 16 of more than 40 bits are gathered into one sticky bit, which leaves
  // more than the 8 bits of bf16 and their guard untouched.
  std::string exact = value;
  if (from_bits == 64) {
    std::string low = temporary(fmt::format("and {} {}, {}", from_type, value, constant(65535)));
    std::string some = temporary(fmt::format("icmp ne {} {}, {}", from_type, low, constant(0)));
    std::string sticky = temporary(fmt::format("select {} {}, {}, {}", integer_type(1, from.lanes), some,
                                               typed_value(constant(65536)), typed_value(constant(0))));
    std::string high = temporary(fmt::format("and {} {}, {}", from_type, value, constant(-65536)));
    std::string gathered = temporary(fmt::format("or {} {}, {}", from_type, high, sticky));
    std::string offset =
        temporary(fmt::format("add {} {}, {}", from_type, value, constant(with_sign ? 1ll << 40 : 0)));
    std::string small = temporary(
        fmt::format("icmp ult {} {}, {}", from_type, offset, constant(with_sign ? 1ll << 41 : 1ll << 40)));
    exact = temporary(fmt::format("select {} {}, {}, {}", integer_type(1, from.lanes), small,
                                  typed_value(value), typed_value(gathered)));
  }
  std::string as_double = temporary(fmt::format("{} {} {} to {}", convert, from_type, exact,
                                                register_type({ElementType::f64, from.lanes})));
  return narrow(round_double_to_odd_float(as_double, from.lanes), to);
}

/// Floats to floats and integers. Gives an expression, or the name of a value.
std::string LlvmPrinter::cast_from_float(const std::string& value, Type from, Type to) {
  std::string from_type = register_type(from);
  std::string to_type = register_type(to);
  std::string source = value;
  if (is_small_float(from.element)) {
    source = widen(value, from);
    from_type = wide_type(from.lanes);
    if (to.element == ElementType::f32) return source;
  }
  if (is_integer(to.element))
    return fmt::format("{} {} {} to {}", is_signed(to.element) ? "fptosi" : "fptoui", from_type, source,
                       to_type);
  if (to.element == ElementType::f64) return fmt::format("fpext {} {} to {}", from_type, source, to_type);
  if (from.element != ElementType::f64) return narrow(source, to);
  if (to.element == ElementType::f32) return fmt::format("fptrunc {} {} to {}", from_type, source, to_type);
  return narrow(round_double_to_odd_float(source, from.lanes), to);
}

void LlvmPrinter::print_bitcast(const Instruction& instruction) {
  Type from = type(instruction.operands[0]);
  Type to = instruction.type;
  std::string value = to_memory(name(instruction.operands[0]), from);  // a boolean counts as its byte
  if (memory_type(from) == memory_type(to)) return set_name(instruction.results[0], from_memory(value, to));
  std::string expression = fmt::format("bitcast {} {} to {}", memory_type(from), value, memory_type(to));
  if (to.element != ElementType::boolean) return define(instruction, expression);
  set_name(instruction.results[0], from_memory(temporary(expression), to));
}

std::string LlvmPrinter::widen(const std::string& bits, Type type) {
  std::string small = integer_type(16, type.lanes);
  std::string i32 = integer_type(32, type.lanes);
  if (type.element == ElementType::bf16) {
    std::string extended = temporary(fmt::format("zext {} {} to {}", small, bits, i32));
    std::string shifted =
        temporary(fmt::format("shl {} {}, {}", i32, extended, splat_literal("i32", "16", type.lanes)));
    return temporary(fmt::format("bitcast {} {} to {}", i32, shifted, wide_type(type.lanes)));
  }
  if (!options_.has_half_conversion) return widen_f16_by_integers(bits, type.lanes);
  std::string half = type.lanes == 1 ? "half" : fmt::format("<{} x half>", type.lanes);
  std::string as_half = temporary(fmt::format("bitcast {} {} to {}", small, bits, half));
  return temporary(fmt::format("fpext {} {} to {}", half, as_half, wide_type(type.lanes)));
}

std::string LlvmPrinter::narrow(const std::string& wide, Type type) {
  if (type.element == ElementType::bf16) return narrow_to_bf16(wide, type.lanes);
  if (!options_.has_half_conversion) return narrow_to_f16_by_integers(wide, type.lanes);
  std::string half = type.lanes == 1 ? "half" : fmt::format("<{} x half>", type.lanes);
  std::string as_half = temporary(fmt::format("fptrunc {} {} to {}", wide_type(type.lanes), wide, half));
  return temporary(fmt::format("bitcast {} {} to {}", half, as_half, integer_type(16, type.lanes)));
}

namespace {

/// Writes short integer sequences over one vector type.
struct IntegerText {
  std::string type;
  std::uint16_t lanes;
  std::string constant(long long value) const {
    return lanes == 1 ? std::to_string(value) : fmt::format("splat (i32 {})", value);
  }
  std::string apply(const char* operation, const std::string& a, const std::string& b) const {
    return fmt::format("{} {} {}, {}", operation, type, a, b);
  }
  std::string apply(const char* operation, const std::string& a, long long b) const {
    return apply(operation, a, constant(b));
  }
  std::string choose(const std::string& condition, const std::string& a, const std::string& b) const {
    return fmt::format("select {} {}, {} {}, {} {}", lanes == 1 ? "i1" : fmt::format("<{} x i1>", lanes),
                       condition, type, a, type, b);
  }
};

}  // namespace

/// Moves exponent and mantissa into place and scales by 2^112, exact for subnormals too.
std::string LlvmPrinter::widen_f16_by_integers(const std::string& bits, std::uint16_t lanes) {
  IntegerText i32{integer_type(32, lanes), lanes};
  std::string f32 = wide_type(lanes);
  std::string extended = temporary(fmt::format("zext {} {} to {}", integer_type(16, lanes), bits, i32.type));
  std::string magnitude = temporary(i32.apply("and", extended, 0x7fff));
  std::string shifted = temporary(i32.apply("shl", magnitude, 13));
  std::string tiny = temporary(fmt::format("bitcast {} {} to {}", i32.type, shifted, f32));
  std::string scaled = temporary(
      fmt::format("fmul {} {}, {}", f32, tiny, splat_literal("float", "0x46F0000000000000", lanes)));
  std::string finite = temporary(fmt::format("bitcast {} {} to {}", f32, scaled, i32.type));
  std::string special = temporary(i32.apply("or", shifted, 0x7f800000));
  std::string is_special = temporary(i32.apply("icmp uge", magnitude, 0x7c00));
  std::string value = temporary(i32.choose(is_special, special, finite));
  std::string sign_bit = temporary(i32.apply("and", extended, 0x8000));
  std::string sign = temporary(i32.apply("shl", sign_bit, 16));
  std::string result = temporary(i32.apply("or", value, sign));
  return temporary(fmt::format("bitcast {} {} to {}", i32.type, result, f32));
}

/// As `f16_from_float` of halyard/base/half.h; a subnormal result is rounded by adding 0.5, whose last place
/// is that of binary16's subnormals.
std::string LlvmPrinter::narrow_to_f16_by_integers(const std::string& wide, std::uint16_t lanes) {
  IntegerText i32{integer_type(32, lanes), lanes};
  std::string f32 = wide_type(lanes);
  std::string bits = temporary(fmt::format("bitcast {} {} to {}", f32, wide, i32.type));
  std::string high = temporary(i32.apply("lshr", bits, 16));
  std::string sign = temporary(i32.apply("and", high, 0x8000));
  std::string magnitude = temporary(i32.apply("and", bits, 0x7fffffff));

  std::string lowest = temporary(i32.apply("lshr", magnitude, 13));
  std::string tie = temporary(i32.apply("and", lowest, 1));
  std::string biased = temporary(i32.apply("add", magnitude, 0xfff - 0x38000000ll));
  std::string rounded = temporary(i32.apply("add", biased, tie));
  std::string normal = temporary(i32.apply("lshr", rounded, 13));

  std::string positive = temporary(fmt::format("bitcast {} {} to {}", i32.type, magnitude, f32));
  std::string aligned =
      temporary(fmt::format("fadd {} {}, {}", f32, positive, splat_literal("float", "5.000000e-01", lanes)));
  std::string aligned_bits = temporary(fmt::format("bitcast {} {} to {}", f32, aligned, i32.type));
  std::string subnormal = temporary(i32.apply("sub", aligned_bits, 0x3f000000));

  std::string is_subnormal = temporary(i32.apply("icmp ult", magnitude, 0x38800000));
  std::string overflows = temporary(i32.apply("icmp uge", magnitude, 0x47800000));
  std::string is_nan = temporary(i32.apply("icmp ugt", magnitude, 0x7f800000));
  std::string finite = temporary(i32.choose(is_subnormal, subnormal, normal));
  std::string bounded = temporary(i32.choose(overflows, i32.constant(0x7c00), finite));
  std::string chosen = temporary(i32.choose(is_nan, i32.constant(0x7e00), bounded));
  std::string result = temporary(i32.apply("or", chosen, sign));
  return temporary(fmt::format("trunc {} {} to {}", i32.type, result, integer_type(16, lanes)));
}

/// As `bf16_from_float` of halyard/base/half.h.
std::string LlvmPrinter::narrow_to_bf16(const std::string& wide, std::uint16_t lanes) {
  IntegerText i32{integer_type(32, lanes), lanes};
  std::string bits = temporary(fmt::format("bitcast {} {} to {}", wide_type(lanes), wide, i32.type));
  std::string high = temporary(i32.apply("lshr", bits, 16));
  std::string tie = temporary(i32.apply("and", high, 1));
  std::string biased = temporary(i32.apply("add", bits, 0x7fff));
  std::string rounded = temporary(i32.apply("add", biased, tie));
  std::string shifted = temporary(i32.apply("lshr", rounded, 16));
  std::string nan_sign = temporary(i32.apply("and", high, 0x8000));
  std::string nan = temporary(i32.apply("or", nan_sign, 0x7fc0));
  std::string is_nan = temporary(fmt::format("fcmp uno {} {}, {}", wide_type(lanes), wide, wide));
  std::string result = temporary(i32.choose(is_nan, nan, shifted));
  return temporary(fmt::format("trunc {} {} to {}", i32.type, result, integer_type(16, lanes)));
}

/// As `round_to_odd` of halyard/base/half.h, without its case for infinity: an overflow then gives the
/// largest float, which f16 and bf16 round to infinity as well.
std::string LlvmPrinter::round_double_to_odd_float(const std::string& value, std::uint16_t lanes) {
  IntegerText i32{integer_type(32, lanes), lanes};
  std::string f32 = wide_type(lanes);
  std::string f64 = register_type({ElementType::f64, lanes});
  std::string overload = suffix(ElementType::f64, lanes);
  std::string nearest = temporary(fmt::format("fptrunc {} {} to {}", f64, value, f32));
  std::string back = temporary(fmt::format("fpext {} {} to {}", f32, nearest, f64));
  std::string inexact = temporary(fmt::format("fcmp one {} {}, {}", f64, back, value));
  std::string back_size = temporary(call(f64, "llvm.fabs" + overload, {f64 + " " + back}));
  std::string size = temporary(call(f64, "llvm.fabs" + overload, {f64 + " " + value}));
  std::string away = temporary(fmt::format("fcmp ogt {} {}, {}", f64, back_size, size));
  std::string step = temporary(fmt::format("sext {} {} to {}", integer_type(1, lanes), away, i32.type));
  std::string bits = temporary(fmt::format("bitcast {} {} to {}", f32, nearest, i32.type));
  std::string truncated = temporary(i32.apply("add", bits, step));
  std::string odd = temporary(i32.apply("or", truncated, 1));
  std::string result = temporary(i32.choose(inexact, odd, bits));
  return temporary(fmt::format("bitcast {} {} to {}", i32.type, result, f32));
}

}  // namespace halyard::fusion
