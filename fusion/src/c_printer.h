#pragma once

#include <fmt/format.h>
#include <halyard/fusion/emit_c.h>
#include <halyard/program/program.h>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "c_dialect.h"

namespace halyard::fusion {

/// How a value of this element is held in a variable: f16 and bf16 as their bits.
std::string_view c_type(ElementType element);
/// The same in memory: booleans are bytes.
std::string_view c_storage_type(ElementType element);
/// A literal of the element, given its bits.
std::string c_literal(ElementType element, std::uint64_t bits);
/// The name of the compiler's vector of 2 or 4 elements ("float4"), or "" if there is none.
std::string c_vector_type(ElementType element, std::uint32_t lanes);

/// Prints one program. A value is a list of expressions, one per lane: names of variables that do not change
/// while the value lives, or literals. So vector shuffles print nothing at all.
class CPrinter {
 public:
  CPrinter(const program::Program& program, const COptions& options);
  Result<std::string> whole();

 private:
  using Lanes = std::vector<std::string>;

  // ---- emit_c.cpp: the frame of the kernel
  Status check() const;
  void choose_names();
  std::string fresh_name(std::string_view wanted);
  void find_builtins(const program::Block& block);
  void indices();
  std::string signature() const;
  std::string prelude() const;

  template <class... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    out_.append(2 * depth_, ' ');
    fmt::format_to(std::back_inserter(out_), format, std::forward<Arguments>(arguments)...);
    out_ += '\n';
  }
  void comment(std::string_view text);

  // ---- emit_c_control.cpp
  void block(const program::Block& block);
  void instruction(const program::Instruction& instruction);
  void loop(const program::Instruction& loop);
  void branch(const program::Instruction& branch);
  void assign(const std::vector<std::string>& targets, const std::vector<std::string>& sources,
              const std::vector<ElementType>& elements);
  void barrier(const program::Instruction& instruction);
  void exchange(const program::Instruction& instruction);

  // ---- emit_c_memory.cpp
  void memory(const program::Instruction& instruction);
  void load(const program::Instruction& instruction);
  void store(const program::Instruction& instruction);
  void load_group(const program::Instruction& instruction, std::uint32_t first, std::uint32_t count);
  void store_group(const program::Instruction& instruction, std::uint32_t first, std::uint32_t count);
  std::uint32_t group_size(const program::Instruction& instruction) const;
  std::string address(const program::Instruction& instruction, std::uint32_t lane) const;
  std::string_view memory_name(program::MemoryRef memory) const;

  // ---- emit_c_expressions.cpp
  std::string arithmetic(const program::Instruction& instruction, const Lanes& operands);
  std::string float_arithmetic(program::Op op, ElementType element, const Lanes& operands);
  std::string half_arithmetic(program::Op op, ElementType element, const Lanes& operands);
  std::string integer_arithmetic(program::Op op, ElementType element, const Lanes& operands);
  std::string comparison(program::Op op, ElementType element, const Lanes& operands);
  std::string cast(ElementType from, ElementType to, const std::string& value);
  std::string cast_to_half(ElementType from, ElementType to, const std::string& value);
  Lanes bitcast(program::Type from, program::Type to, const Lanes& lanes);
  std::string to_bits(ElementType element, const std::string& value) const;
  std::string from_bits(ElementType element, const std::string& bits) const;
  std::string to_float(ElementType element, const std::string& value);
  std::string from_float(ElementType element, const std::string& value);

  // ---- values
  program::Type type(program::ValueId value) const { return program_.values[program::index(value)]; }
  const Lanes& lanes(program::ValueId value) const { return lanes_[program::index(value)]; }
  Lanes names(program::ValueId value) const;
  /// Declares constants for a result's lanes, one statement each.
  void define(const program::Instruction& instruction, const Lanes& expressions);
  Lanes operand_lane(const program::Instruction& instruction, std::uint32_t lane) const;

  const program::Program& program_;
  const COptions& options_;
  const CDialect& dialect_;
  std::string out_;
  std::size_t depth_ = 1;
  std::vector<Lanes> lanes_;    // per value
  std::vector<bool> is_index_;  // per value: arithmetic that only makes indices, which cannot wrap
  std::unordered_set<std::string> taken_;
  std::vector<std::string> buffer_names_, scalar_names_, shared_names_;
  std::uint32_t builtins_ = 0;  // a bit per Builtin that is read
  bool needs_f16_ = false, needs_bf16_ = false, needs_odd_ = false, needs_bf16_fma_ = false;
  bool needs_subgroup_mask_ = false;
};

}  // namespace halyard::fusion
