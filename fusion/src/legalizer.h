#pragma once

#include <halyard/fusion/legalize.h>
#include <halyard/program/builder.h>
#include <vector>

namespace halyard::fusion {

/// Rebuilds one program with the representations that `legalize` promises. One object, one program.
class Legalizer {
 public:
  Legalizer(const program::Program& program, const DeviceFacts& facts)
      : source_(program), facts_(facts), builder_(program.name), values_(program.values.size()) {}

  /// Whether anything in the program needs another representation.
  bool is_needed() const;
  Result<program::Program> run();

 private:
  using Type = program::Type;
  using ValueId = program::ValueId;
  using Instruction = program::Instruction;

  /// How values of an element type are carried.
  enum class Form {
    same,            ///< as they are
    narrow_integer,  ///< i8, i16 sign-extended in i32; u8, u16 zero-extended in u32
    half,            ///< the bits of an f16 or bf16 in u32
    pair,            ///< i64, u64 as two u32
  };
  /// A rebuilt value; `high` only for pairs.
  struct Carried {
    ValueId low = program::no_value;
    ValueId high = program::no_value;
  };

  // ---- representations (legalize.cpp)
  Form form(ElementType element) const;
  ElementType carrier(ElementType element) const;
  ElementType buffer_element(ElementType element) const;
  ElementType shared_element(ElementType element) const;
  ElementType element_of(program::MemoryRef memory) const;
  Type old_type(ValueId value) const { return source_.values[program::index(value)]; }
  const Carried& carried(ValueId value) const { return values_[program::index(value)]; }
  ValueId low(ValueId value) const { return carried(value).low; }
  void define(const Instruction& instruction, Carried value) {
    values_[program::index(instruction.results[0])] = value;
  }
  Status declare_interface();
  Carried from_block_words(ElementType element, std::uint32_t offset, std::span<const ValueId> words);
  void block(const program::Block& block);
  void instruction(const Instruction& instruction);
  Carried lane_wise(const Instruction& instruction);
  Carried narrow_integer(const Instruction& instruction);
  Carried constant(Type type, std::uint64_t bits);
  Carried vector_operation(const Instruction& instruction);
  /// Restores the sign or zero extension of an i8, i16, u8, u16 held in 32 bits.
  ValueId normalized(ElementType element, ValueId value);

  // ---- small pieces of code
  ValueId u32(std::uint64_t value, std::uint16_t lanes) {
    return builder_.constant_bits({ElementType::u32, lanes}, value);
  }
  ValueId u32_like(ValueId like, std::uint64_t value) { return u32(value, lanes(like)); }
  std::uint16_t lanes(ValueId value) const { return builder_.type(value).lanes; }
  ValueId op(program::Op op, ValueId a, ValueId b) { return builder_.binary(op, a, b); }
  ValueId compare(program::Op op, ValueId a, ValueId b) { return builder_.compare(op, a, b); }
  ValueId as(ElementType element, ValueId value) { return builder_.bitcast({element, lanes(value)}, value); }
  ValueId all_zero(std::uint16_t lanes) { return u32(0, lanes); }
  // Of words, u32 or u64 alike.
  int width(ValueId word) const { return static_cast<int>(8 * byte_size(builder_.type(word).element)); }
  /// A constant of the word's own type.
  ValueId word(ValueId like, std::uint64_t bits) { return builder_.constant_bits(builder_.type(like), bits); }
  ValueId as_signed(ValueId word) {
    return as(width(word) == 64 ? ElementType::i64 : ElementType::i32, word);
  }
  ValueId as_unsigned(ValueId word) {
    return as(width(word) == 64 ? ElementType::u64 : ElementType::u32, word);
  }
  /// 1 where the condition holds, else 0.
  ValueId flag(ValueId like, ValueId condition) {
    return builder_.cast(builder_.type(like).element, condition);
  }

  // ---- 16-bit floats (legalize_float.cpp) and conversions (legalize_cast.cpp)
  ValueId widened(ElementType half, ValueId bits);
  ValueId narrowed(ElementType half, ValueId value);
  ValueId narrowed_f16(ValueId value);
  ValueId narrowed_bf16(ValueId value);
  ValueId odd_unless_exact(ValueId nearest, ValueId is_above, ValueId is_below);
  ValueId fused_for_half(ValueId a, ValueId b, ValueId c);
  ValueId double_to_odd_float(ValueId value);
  ValueId opaque(ValueId value);
  Carried half_operation(const Instruction& instruction);
  Carried cast(const Instruction& instruction);
  Carried cast_to_integer(ElementType from, Carried value, ElementType to);
  Carried cast_to_float(ElementType from, Carried value, ElementType to);
  ValueId integer_to_f32(ElementType from, Carried value, bool to_odd);
  Carried halves_of(ElementType from, ValueId value);
  Carried bitcast(const Instruction& instruction);
  std::vector<ValueId> words_of(Type type, Carried value);
  Carried from_words(Type type, std::span<const ValueId> words);

  // ---- exact division and square root (legalize_exact.cpp)
  /// The parts of an f32 in 32 bits, of an f64 in 64.
  struct FloatLayout {
    int stored;  ///< digits of the significand without the leading one
    int bias;
    std::uint64_t sign, infinity;
    int digits() const { return stored + 1; }
    std::uint64_t leading() const { return std::uint64_t{1} << stored; }
  };
  FloatLayout layout_of(ValueId word) const;
  /// |x| = mantissa · 2^(exponent − bias − stored), the mantissa with its leading one, also of subnormals.
  struct Unpacked {
    ValueId mantissa, exponent;
  };
  Unpacked unpacked(ValueId bits);
  ValueId unit_float(ValueId mantissa);
  ValueId signed_like(ValueId like, std::int64_t value);
  ValueId rounded_quotient(ValueId quotient, ValueId exponent);
  ValueId exact_quotient(ValueId a, ValueId b);
  ValueId special_quotient(ValueId a, ValueId b, ValueId magnitude);
  ValueId exact_root(ValueId a);
  ValueId f32_operation(program::Op which, ValueId a, ValueId b = program::no_value);

  // ---- exact fused multiply-add (legalize_fma.cpp)
  Carried jammed(Carried value, ValueId amount);
  ValueId shift_amount(ValueId amount);
  ValueId rounded_magnitude(Carried sum, ValueId exponent);
  ValueId exact_fma(ValueId a, ValueId b, ValueId c);

  // ---- pairs (legalize_wide.cpp)
  Carried wide_constant(std::uint64_t bits, std::uint16_t lanes);
  Carried wide_select(ValueId condition, Carried a, Carried b);
  Carried wide_add(Carried a, Carried b);
  Carried wide_sub(Carried a, Carried b);
  Carried wide_mul(Carried a, Carried b);
  Carried wide_mul_high(Carried a, Carried b, bool has_sign);
  Carried wide_negated(Carried a) { return wide_sub(wide_constant(0, lanes(a.low)), a); }
  Carried wide_magnitude(Carried a);
  ValueId wide_is_negative(Carried a);
  Carried wide_shl(Carried a, ValueId amount);
  Carried wide_shr(Carried a, ValueId amount, bool arithmetic);
  ValueId wide_less(Carried a, Carried b, bool has_sign);
  ValueId wide_compare(program::Op op, Carried a, Carried b, bool has_sign);
  struct Division {
    Carried quotient, remainder;
  };
  Division wide_divide_unsigned(Carried a, Carried b);
  Division wide_divide(Carried a, Carried b, bool has_sign);
  Carried wide_operation(const Instruction& instruction);
  ValueId wide_to_f32(Carried value, bool has_sign, bool to_odd);
  ValueId leading_zeros(ValueId value);
  Carried wide_from_float(ValueId value, bool has_sign);

  // ---- memory (legalize_memory.cpp)
  ValueId memory_index(ValueId index);
  ValueId element_from_memory(ElementType element, bool is_shared, ValueId loaded);
  ValueId element_to_memory(ElementType element, bool is_shared, ValueId value);
  std::uint32_t memory_alignment(const Instruction& instruction) const;
  ValueId doubled_mask(ValueId mask);
  Carried load(const Instruction& instruction);
  void store(const Instruction& instruction);
  Carried gather(const Instruction& instruction);
  void scatter(const Instruction& instruction);

  // ---- control (legalize_control.cpp)
  void for_loop(const Instruction& loop);
  void wide_for_loop(const Instruction& loop);
  void if_else(const Instruction& instruction);
  std::vector<ValueId> flattened(std::span<const ValueId> values) const;
  void define_flattened(std::span<const ValueId> old_values, std::span<const ValueId> rebuilt);
  std::vector<ValueId> yields(const program::Block& block);

  const program::Program& source_;
  DeviceFacts facts_;
  program::Builder builder_;
  std::vector<Carried> values_;
  std::vector<Carried> scalars_;
  ValueId opaque_zero_ = program::no_value;
};

}  // namespace halyard::fusion
