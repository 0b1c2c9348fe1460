#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spirv/unified1/spirv.hpp>

namespace halyard::fusion::spirv {

using Id = std::uint32_t;
using Words = std::vector<std::uint32_t>;

/// A SPIR-V module under construction: its sections in the order that the specification prescribes
/// (SPIR-V 1.6, section 2.4), types and constants declared once each. The function body grows at the end.
class Module {
 public:
  Id new_id() { return next_id_++; }

  // ---- preamble
  void capability(spv::Capability capability) { capabilities_.insert(capability); }
  void extension(std::string_view name) { extensions_.insert(std::string(name)); }
  /// The GLSL.std.450 instruction set.
  Id extended_instructions();
  void execution_mode(Id entry, spv::ExecutionMode mode, std::initializer_list<std::uint32_t> operands);

  // ---- for readers
  void name(Id id, std::string_view text);
  void member_name(Id structure, std::uint32_t member, std::string_view text);
  void string(std::string_view text);

  // ---- annotations
  void decorate(Id id, spv::Decoration decoration, std::initializer_list<std::uint32_t> operands = {});
  void member_decorate(Id structure, std::uint32_t member, spv::Decoration decoration,
                       std::initializer_list<std::uint32_t> operands = {});

  // ---- types and constants, one of each
  Id type(spv::Op op, std::initializer_list<std::uint32_t> operands = {});
  Id type_void() { return type(spv::OpTypeVoid); }
  Id type_bool() { return type(spv::OpTypeBool); }
  Id type_int(std::uint32_t width) { return type(spv::OpTypeInt, {width, 0}); }
  Id type_float(std::uint32_t width) { return type(spv::OpTypeFloat, {width}); }
  Id type_vector(Id component, std::uint32_t lanes) {
    return lanes == 1 ? component : type(spv::OpTypeVector, {component, lanes});
  }
  Id type_pointer(spv::StorageClass storage, Id pointee) {
    return type(spv::OpTypePointer, {static_cast<std::uint32_t>(storage), pointee});
  }
  /// An array without a length whose elements lie `stride` bytes apart.
  Id type_runtime_array(Id element, std::uint32_t stride);
  /// A new structure type, never shared.
  Id type_structure(std::span<const Id> members);
  Id constant(Id type, std::span<const std::uint32_t> literal);
  Id constant_u32(std::uint32_t value) { return constant(type_int(32), {&value, 1}); }
  Id constant_bool(bool value);
  Id constant_composite(Id type, std::span<const Id> parts);
  Id constant_null(Id type);
  Id global_variable(Id pointer_type, spv::StorageClass storage);

  // ---- the function
  Words& code() { return code_; }
  void append(spv::Op op, std::span<const std::uint32_t> operands);
  void append(spv::Op op, std::initializer_list<std::uint32_t> operands) {
    append(op, std::span(operands.begin(), operands.size()));
  }

  /// All sections; the entry point is `function`, called `entry_name`.
  Words finish(Id function, std::string_view entry_name, spv::AddressingModel addressing) const;

 private:
  Id intern(spv::Op op, std::span<const std::uint32_t> before_result,
            std::span<const std::uint32_t> after_result);

  Id next_id_ = 1;
  std::set<spv::Capability> capabilities_{spv::CapabilityShader};
  std::set<std::string> extensions_;
  Id extended_ = 0;
  std::vector<Id> interface_;
  Words execution_modes_, strings_, names_, annotations_, declarations_, code_;
  std::map<Words, Id> declared_;
};

/// Appends one instruction.
void append_instruction(Words& words, spv::Op op, std::span<const std::uint32_t> operands);
/// Appends a literal string: UTF-8, zero-terminated, padded to words.
void append_literal(Words& words, std::string_view text);

}  // namespace halyard::fusion::spirv
