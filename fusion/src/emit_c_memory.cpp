#include <algorithm>

#include "c_printer.h"

namespace halyard::fusion {

using program::Instruction;
using program::MemoryRef;
using program::Op;

namespace {

constexpr std::string_view component[] = {"x", "y", "z", "w"};

bool is_indexed(const Instruction& instruction) {
  return instruction.op == Op::gather || instruction.op == Op::scatter;
}

/// The operand that holds the mask, or nothing.
bool is_masked(const Instruction& instruction) {
  bool writes = instruction.op == Op::store || instruction.op == Op::scatter;
  return instruction.operands.size() == (writes ? 3u : 2u);
}

}  // namespace

std::string_view CPrinter::memory_name(MemoryRef memory) const {
  return memory.space == MemoryRef::Space::buffer ? buffer_names_[memory.index] : shared_names_[memory.index];
}

/// The element that one vector lane reads or writes, as an lvalue.
std::string CPrinter::address(const Instruction& instruction, std::uint32_t lane) const {
  const Lanes& at = lanes(instruction.operands[0]);
  if (is_indexed(instruction)) return fmt::format("{}[{}]", memory_name(instruction.memory), at[lane]);
  if (lane == 0) return fmt::format("{}[{}]", memory_name(instruction.memory), at[0]);
  return fmt::format("{}[{} + {}]", memory_name(instruction.memory), at[0], lane);
}

/// How many lanes one access moves: as many as the promised alignment and 16 bytes allow.
std::uint32_t CPrinter::group_size(const Instruction& instruction) const {
  if (is_indexed(instruction) || is_masked(instruction)) return 1;
  auto bytes = static_cast<std::uint32_t>(byte_size(instruction.type.element));
  // Shared arrays begin at multiples of 16 and the offset counts from there.
  std::uint32_t most = std::min(std::uint32_t{16}, instruction.alignment);
  std::uint32_t lanes = std::min<std::uint32_t>(instruction.type.lanes, most / bytes);
  while (lanes > 1 && c_vector_type(instruction.type.element, lanes).empty() && bytes * lanes != 16)
    lanes /= 2;
  if (bytes == 1 && lanes > 4) lanes = 4;
  return std::max(lanes, 1u);
}

void CPrinter::memory(const Instruction& instruction) {
  if (instruction.op == Op::load || instruction.op == Op::gather) return load(instruction);
  if (instruction.op == Op::store || instruction.op == Op::scatter) return store(instruction);
  // A prefetch is a hint; the compilers schedule loads early enough.
}

void CPrinter::load(const Instruction& instruction) {
  const ElementType element = instruction.type.element;
  const std::uint32_t group = group_size(instruction);
  if (group > 1) {
    lanes_[index(instruction.results[0])] = names(instruction.results[0]);
    for (std::uint32_t first = 0; first < instruction.type.lanes; first += group)
      load_group(instruction, first, group);
    return;
  }
  Lanes expressions;
  for (std::uint32_t i = 0; i < instruction.type.lanes; ++i) {
    std::string value = address(instruction, i);
    if (element == ElementType::boolean) value = fmt::format("({} != 0)", value);
    if (is_masked(instruction))
      value = fmt::format("{} ? {} : {}", lanes(instruction.operands[1])[i], value, c_literal(element, 0));
    expressions.push_back(std::move(value));
  }
  define(instruction, expressions);
}

void CPrinter::load_group(const Instruction& instruction, std::uint32_t first, std::uint32_t count) {
  const ElementType element = instruction.type.element;
  const Lanes& variables = lanes(instruction.results[0]);
  std::string vector = c_vector_type(element, count);
  const bool packed = vector.empty();  // eight 16-bit elements in four words
  if (packed) vector = "uint4";
  std::string quad = fmt::format("v{}_at_{}", index(instruction.results[0]), first);
  line("const {} {} = *reinterpret_cast<const {}*>(&{});", vector, quad, vector, address(instruction, first));
  for (std::uint32_t i = 0; i < count; ++i) {
    std::string value =
        packed ? fmt::format("({})({}.{} >> {})", c_type(element), quad, component[i / 2], i % 2 * 16)
               : fmt::format("{}.{}", quad, component[i]);
    if (element == ElementType::boolean) value += " != 0";
    line("const {} {} = {};", c_type(element), variables[first + i], value);
  }
}

void CPrinter::store(const Instruction& instruction) {
  const ElementType element = instruction.type.element;
  const std::uint32_t group = group_size(instruction);
  if (group > 1) {
    for (std::uint32_t first = 0; first < instruction.type.lanes; first += group)
      store_group(instruction, first, group);
    return;
  }
  for (std::uint32_t i = 0; i < instruction.type.lanes; ++i) {
    std::string value = lanes(instruction.operands[1])[i];
    if (element == ElementType::boolean) value = "(unsigned char)" + value;
    std::string guard =
        is_masked(instruction) ? fmt::format("if ({}) ", lanes(instruction.operands[2])[i]) : "";
    line("{}{} = {};", guard, address(instruction, i), value);
  }
}

void CPrinter::store_group(const Instruction& instruction, std::uint32_t first, std::uint32_t count) {
  const ElementType element = instruction.type.element;
  const Lanes& values = lanes(instruction.operands[1]);
  std::string vector = c_vector_type(element, count);
  Lanes parts;
  if (vector.empty()) {
    vector = "uint4";
    for (std::uint32_t i = 0; i < count; i += 2)
      parts.push_back(fmt::format("(unsigned)(unsigned short){} | (unsigned)(unsigned short){} << 16",
                                  values[first + i], values[first + i + 1]));
  } else {
    for (std::uint32_t i = 0; i < count; ++i) parts.push_back(values[first + i]);
  }
  line("*reinterpret_cast<{}*>(&{}) = make_{}({});", vector, address(instruction, first), vector,
       fmt::join(parts, ", "));
}

}  // namespace halyard::fusion
