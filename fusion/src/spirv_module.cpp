#include "spirv_module.h"

#include <cstring>

namespace halyard::fusion::spirv {

void append_instruction(Words& words, spv::Op op, std::span<const std::uint32_t> operands) {
  words.push_back(static_cast<std::uint32_t>((operands.size() + 1) << 16) | static_cast<std::uint32_t>(op));
  words.insert(words.end(), operands.begin(), operands.end());
}

void append_literal(Words& words, std::string_view text) {
  std::size_t first = words.size();
  words.resize(first + text.size() / 4 + 1, 0);
  std::memcpy(words.data() + first, text.data(), text.size());
}

void Module::append(spv::Op op, std::span<const std::uint32_t> operands) {
  append_instruction(code_, op, operands);
}

Id Module::extended_instructions() {
  if (extended_ == 0) extended_ = new_id();
  return extended_;
}

void Module::execution_mode(Id entry, spv::ExecutionMode mode,
                            std::initializer_list<std::uint32_t> operands) {
  Words words{entry, static_cast<std::uint32_t>(mode)};
  words.insert(words.end(), operands.begin(), operands.end());
  append_instruction(execution_modes_, spv::OpExecutionMode, words);
}

void Module::name(Id id, std::string_view text) {
  Words words{id};
  append_literal(words, text);
  append_instruction(names_, spv::OpName, words);
}

void Module::member_name(Id structure, std::uint32_t member, std::string_view text) {
  Words words{structure, member};
  append_literal(words, text);
  append_instruction(names_, spv::OpMemberName, words);
}

void Module::string(std::string_view text) {
  Words words{new_id()};
  append_literal(words, text.substr(0, 4000));
  append_instruction(strings_, spv::OpString, words);
}

void Module::decorate(Id id, spv::Decoration decoration, std::initializer_list<std::uint32_t> operands) {
  Words words{id, static_cast<std::uint32_t>(decoration)};
  words.insert(words.end(), operands.begin(), operands.end());
  append_instruction(annotations_, spv::OpDecorate, words);
}

void Module::member_decorate(Id structure, std::uint32_t member, spv::Decoration decoration,
                             std::initializer_list<std::uint32_t> operands) {
  Words words{structure, member, static_cast<std::uint32_t>(decoration)};
  words.insert(words.end(), operands.begin(), operands.end());
  append_instruction(annotations_, spv::OpMemberDecorate, words);
}

Id Module::intern(spv::Op op, std::span<const std::uint32_t> before_result,
                  std::span<const std::uint32_t> after_result) {
  Words key{static_cast<std::uint32_t>(op)};
  key.insert(key.end(), before_result.begin(), before_result.end());
  key.insert(key.end(), after_result.begin(), after_result.end());
  auto [place, is_new] = declared_.try_emplace(std::move(key), 0);
  if (!is_new) return place->second;
  place->second = new_id();
  Words words(before_result.begin(), before_result.end());
  words.push_back(place->second);
  words.insert(words.end(), after_result.begin(), after_result.end());
  append_instruction(declarations_, op, words);
  return place->second;
}

Id Module::type(spv::Op op, std::initializer_list<std::uint32_t> operands) {
  return intern(op, {}, std::span(operands.begin(), operands.size()));
}

Id Module::type_runtime_array(Id element, std::uint32_t stride) {
  Words key{static_cast<std::uint32_t>(spv::OpTypeRuntimeArray), element};
  bool is_new = !declared_.contains(key);
  Id array = type(spv::OpTypeRuntimeArray, {element});
  if (is_new) decorate(array, spv::DecorationArrayStride, {stride});
  return array;
}

Id Module::type_structure(std::span<const Id> members) {
  Words words{new_id()};
  words.insert(words.end(), members.begin(), members.end());
  append_instruction(declarations_, spv::OpTypeStruct, words);
  return words[0];
}

Id Module::constant(Id type, std::span<const std::uint32_t> literal) {
  return intern(spv::OpConstant, {&type, 1}, literal);
}

Id Module::constant_bool(bool value) {
  Id type = type_bool();
  return intern(value ? spv::OpConstantTrue : spv::OpConstantFalse, {&type, 1}, {});
}

Id Module::constant_composite(Id type, std::span<const Id> parts) {
  return intern(spv::OpConstantComposite, {&type, 1}, parts);
}

Id Module::constant_null(Id type) {
  return intern(spv::OpConstantNull, {&type, 1}, {});
}

Id Module::global_variable(Id pointer_type, spv::StorageClass storage) {
  Id variable = new_id();
  append_instruction(declarations_, spv::OpVariable,
                     Words{pointer_type, variable, static_cast<std::uint32_t>(storage)});
  interface_.push_back(variable);
  return variable;
}

Words Module::finish(Id function, std::string_view entry_name, spv::AddressingModel addressing) const {
  // No generator is registered for Halyard: 0 is the reserved "unknown" number.
  Words words{spv::MagicNumber, 0x00010500, 0, next_id_, 0};
  for (spv::Capability capability : capabilities_)
    append_instruction(words, spv::OpCapability, Words{static_cast<std::uint32_t>(capability)});
  for (const std::string& extension : extensions_) {
    Words literal;
    append_literal(literal, extension);
    append_instruction(words, spv::OpExtension, literal);
  }
  if (extended_ != 0) {
    Words import{extended_};
    append_literal(import, "GLSL.std.450");
    append_instruction(words, spv::OpExtInstImport, import);
  }
  append_instruction(words, spv::OpMemoryModel,
                     Words{static_cast<std::uint32_t>(addressing), spv::MemoryModelGLSL450});
  Words entry{spv::ExecutionModelGLCompute, function};
  append_literal(entry, entry_name);
  entry.insert(entry.end(), interface_.begin(), interface_.end());
  append_instruction(words, spv::OpEntryPoint, entry);
  for (const Words* section : {&execution_modes_, &strings_, &names_, &annotations_, &declarations_, &code_})
    words.insert(words.end(), section->begin(), section->end());
  return words;
}

}  // namespace halyard::fusion::spirv
