#pragma once

#include <halyard/program/program.h>
#include <functional>
#include <span>
#include <string_view>

namespace halyard::program {

/// Appends instructions to a `Program` in the order they will be read. Types follow from operands; a misuse
/// that the types would show is left to `verify` (no builder call fails). Not thread-safe.
///
/// Identical pure instructions in scope are not merged here; emitters' compilers do that. Constants are
/// folded only for integer index arithmetic (`add`, `sub`, `mul` of constants, and by 0 or 1), so that
/// printed kernels stay legible.
class Builder {
 public:
  explicit Builder(std::string name);

  Program finish() &&;
  Program& program() { return program_; }
  Type type(ValueId value) const { return program_.values[index(value)]; }

  // ---- interface of the kernel
  MemoryRef buffer(std::string name, ElementType element, Access access);
  MemoryRef shared(std::string name, ElementType element, std::uint32_t count);
  ValueId parameter(std::string name, ElementType element);  ///< declares and reads it
  ValueId builtin(Builtin which);

  // ---- constants
  ValueId constant_bits(Type type, std::uint64_t bits);
  /// A value of `type`, converted from `value` (exactly for integers up to 2^53; rounded to nearest for
  /// floats).
  ValueId constant(Type type, double value);
  ValueId i32(std::int32_t value) {
    return constant_bits({ElementType::i32, 1}, static_cast<std::uint32_t>(value));
  }
  ValueId i64(std::int64_t value) {
    return constant_bits({ElementType::i64, 1}, static_cast<std::uint64_t>(value));
  }
  ValueId f32(float value) { return constant({ElementType::f32, 1}, value); }
  ValueId boolean(bool value, std::uint16_t lanes = 1) {
    return constant_bits({ElementType::boolean, lanes}, value);
  }
  ValueId iota(Type type, std::int64_t first = 0);
  /// A constant of the same type as `like`.
  ValueId constant_like(ValueId like, double value) { return constant(type(like), value); }
  /// Whether `value` is a `constant`, and its bits.
  bool is_constant(ValueId value, std::uint64_t* bits = nullptr) const;

  // ---- lane-wise
  ValueId unary(Op op, ValueId a);
  ValueId binary(Op op, ValueId a, ValueId b);
  ValueId compare(Op op, ValueId a, ValueId b);
  ValueId add(ValueId a, ValueId b) { return binary(Op::add, a, b); }
  ValueId sub(ValueId a, ValueId b) { return binary(Op::sub, a, b); }
  ValueId mul(ValueId a, ValueId b) { return binary(Op::mul, a, b); }
  ValueId div(ValueId a, ValueId b) { return binary(Op::div, a, b); }
  ValueId rem(ValueId a, ValueId b) { return binary(Op::rem, a, b); }
  ValueId fma(ValueId a, ValueId b, ValueId c);
  ValueId select(ValueId condition, ValueId a, ValueId b);
  ValueId cast(ElementType to, ValueId a);  ///< the value itself if it has that type already
  ValueId bitcast(Type to, ValueId a);

  // ---- vectors
  ValueId splat(ValueId scalar, std::uint16_t lanes);  ///< the scalar itself for one lane
  ValueId extract(ValueId vector, std::uint32_t lane);
  ValueId insert(ValueId vector, ValueId scalar, std::uint32_t lane);
  ValueId shuffle(ValueId a, ValueId b, std::vector<std::int32_t> indices);
  /// Lanes [first, first + lanes) of a vector.
  ValueId slice(ValueId vector, std::uint32_t first, std::uint16_t lanes);
  ValueId concat(ValueId low, ValueId high);

  // ---- memory
  ElementType element(MemoryRef memory) const;
  ValueId load(MemoryRef memory, ValueId index, std::uint16_t lanes = 1, ValueId mask = no_value,
               std::uint32_t alignment = 0);
  void store(MemoryRef memory, ValueId index, ValueId value, ValueId mask = no_value,
             std::uint32_t alignment = 0);
  ValueId gather(MemoryRef memory, ValueId indices, ValueId mask = no_value);
  void scatter(MemoryRef memory, ValueId indices, ValueId value, ValueId mask = no_value);
  void prefetch(MemoryRef memory, ValueId index);

  // ---- cooperation
  void barrier(Scope scope);
  ValueId shuffle_xor(ValueId value, std::uint32_t lane_mask);
  ValueId shuffle_lane(ValueId value, ValueId lane);
  ValueId broadcast_lane(ValueId value, std::uint32_t lane);

  // ---- control. A body returns what its block yields.
  using LoopBody = std::function<std::vector<ValueId>(ValueId iv, std::span<const ValueId> carried)>;
  /// for (iv = lower; iv < upper; iv += step) carried = body(iv, carried). Gives the final carried values.
  std::vector<ValueId> for_loop(ValueId lower, ValueId upper, ValueId step, std::vector<ValueId> initial,
                                const LoopBody& body, std::uint32_t unroll = 0);
  using Branch = std::function<std::vector<ValueId>()>;
  std::vector<ValueId> if_else(ValueId condition, const Branch& then_body, const Branch& else_body);
  void if_then(ValueId condition, const std::function<void()>& then_body);

  // ---- for readers
  void comment(std::string text);
  /// Attaches a note to the instruction appended last.
  void note(std::string text);

 private:
  ValueId new_value(Type type);
  Instruction& append(Op op, Type type);
  ValueId append_result(Instruction instruction);

  Program program_;
  std::vector<Block*> open_;             // innermost last; blocks live in stable heap nodes while open
  std::vector<std::int64_t> constants_;  // per value: 1 + index into constant_bits_, or 0
  std::vector<std::uint64_t> constant_bits_;
};

}  // namespace halyard::program
