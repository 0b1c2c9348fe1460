#pragma once

#include <halyard/fusion/emit_llvm.h>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace halyard::fusion {

/// Prints one program, top to bottom. f16 and bf16 values live in registers as i16 bit patterns: each
/// operation widens to f32 (exactly), computes there and rounds back, which equals rounding once because 24
/// >= 2 * 11 + 2 (S. Figueroa, "When is double rounding innocuous?", 1995). `fma` is the exception and goes
/// through f64.
class LlvmPrinter {
 public:
  LlvmPrinter(const program::Program& program, const LlvmOptions& options);
  Result<std::string> print();

 private:
  using Instruction = program::Instruction;
  using Type = program::Type;
  using ValueId = program::ValueId;
  using Op = program::Op;

  /// Where control leaves a block: what it yields, and the label that jumps on.
  struct BlockEnd {
    std::vector<std::string> yielded;
    std::string label;
  };

  // emit_llvm.cpp: the frame around the program
  void print_note();
  void print_entry();
  void print_grid_function();
  void print_parameters();
  void print_workgroup_loop();
  std::string grid_signature(bool with_types) const;
  std::string attributes() const;

  // emit_llvm_control.cpp: blocks and instructions
  BlockEnd print_block(const program::Block& block);
  void print_instruction(const Instruction& instruction);
  void print_for(const Instruction& loop);
  void print_if(const Instruction& branch);
  std::string loop_metadata(std::uint64_t unroll);

  // emit_llvm_arithmetic.cpp: lane-wise operations and vectors
  void print_constant(const Instruction& instruction);
  void print_iota(const Instruction& instruction);
  void print_unary(const Instruction& instruction);
  void print_binary(const Instruction& instruction);
  void print_mul_high(const Instruction& instruction);
  void print_compare(const Instruction& instruction);
  void print_fma(const Instruction& instruction);
  std::string exact_fma_in_double(const Instruction& instruction);
  void print_splat(const Instruction& instruction);
  void print_shuffle(const Instruction& instruction);

  // emit_llvm_cast.cpp: conversions. "wide" is a float vector of the same lanes
  void print_cast(const Instruction& instruction);
  void print_bitcast(const Instruction& instruction);
  std::string cast_from_integer(const std::string& value, Type from, Type to);
  std::string cast_from_float(const std::string& value, Type from, Type to);
  std::string widen(const std::string& bits, Type type);
  std::string narrow(const std::string& wide, Type type);
  std::string widen_f16_by_integers(const std::string& bits, std::uint16_t lanes);
  std::string narrow_to_f16_by_integers(const std::string& wide, std::uint16_t lanes);
  std::string narrow_to_bf16(const std::string& wide, std::uint16_t lanes);
  std::string round_double_to_odd_float(const std::string& value, std::uint16_t lanes);

  // emit_llvm_memory.cpp
  void print_load(const Instruction& instruction);
  void print_store(const Instruction& instruction);
  void print_gather(const Instruction& instruction);
  void print_scatter(const Instruction& instruction);
  void print_prefetch(const Instruction& instruction);
  std::string base_pointer(program::MemoryRef memory) const;
  ElementType memory_element(program::MemoryRef memory) const;
  std::string address(program::MemoryRef memory, const std::string& index, Type index_type);
  std::string from_memory(const std::string& value, Type type);
  std::string to_memory(const std::string& value, Type type);
  /// The value of a mask known when printing, or nothing.
  std::optional<bool> constant_mask(ValueId mask) const;

  // the text being built
  void line(const std::string& text, const std::string& note = {});
  void label(const std::string& name);
  std::string temporary(const std::string& expression);
  void define(const Instruction& instruction, const std::string& expression);
  std::string call(const std::string& result_type, const std::string& intrinsic,
                   std::initializer_list<std::string> typed_arguments);
  std::string new_label(const char* stem);
  void error(ErrorCode code, std::string message);

  // names of values and types
  const std::string& name(ValueId value) const { return names_[program::index(value)]; }
  void set_name(ValueId value, std::string text) { names_[program::index(value)] = std::move(text); }
  Type type(ValueId value) const { return program_.values[program::index(value)]; }
  std::string typed(ValueId value) const;
  static std::string value_name(ValueId value);
  static std::string register_type(Type type);
  static std::string memory_type(Type type);
  static std::string integer_type(unsigned bits, std::uint16_t lanes);
  static std::string wide_type(std::uint16_t lanes);
  /// ".v8f32": the overload suffix of an intrinsic.
  static std::string suffix(ElementType element, std::uint16_t lanes);
  static std::string integer_suffix(unsigned bits, std::uint16_t lanes);
  static std::string literal(ElementType element, std::uint64_t bits);
  static std::string splat_literal(const std::string& element_type, const std::string& value,
                                   std::uint16_t lanes);
  static bool is_small_float(ElementType element) {
    return element == ElementType::f16 || element == ElementType::bf16;
  }

  const program::Program& program_;
  const LlvmOptions& options_;
  std::string text_;
  std::string block_;               // label of the block being written
  std::vector<std::string> names_;  // per value: how an operand is written
  std::vector<std::optional<std::uint64_t>> constants_;
  std::vector<bool> is_index_;  // per value: see emit_llvm_index.h
  std::set<std::string> declarations_;
  std::vector<std::string> metadata_;
  std::string indent_ = "  ";
  unsigned next_temporary_ = 0;
  unsigned next_label_ = 0;
  std::optional<Error> error_;
};

}  // namespace halyard::fusion
