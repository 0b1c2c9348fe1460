// Loads, stores, gathers and scatters. A boolean is a byte in memory and i1 in a register.
#include <fmt/format.h>
#include "emit_llvm_printer.h"

namespace halyard::fusion {

using program::MemoryRef;

std::string LlvmPrinter::base_pointer(MemoryRef memory) const {
  return fmt::format("%{}{}", memory.space == MemoryRef::Space::buffer ? "buffer" : "shared", memory.index);
}

ElementType LlvmPrinter::memory_element(MemoryRef memory) const {
  return memory.space == MemoryRef::Space::buffer ? program_.buffers[memory.index].element
                                                  : program_.shared[memory.index].element;
}

std::string LlvmPrinter::address(MemoryRef memory, const std::string& index, Type index_type) {
  std::string wide = index;
  if (byte_size(index_type.element) < 8 && (index.starts_with('%')))
    wide = temporary(fmt::format("{} {} {} to i64", is_signed(index_type.element) ? "sext" : "zext",
                                 register_type({index_type.element, 1}), index));
  return temporary(fmt::format("getelementptr inbounds {}, ptr {}, i64 {}",
                               memory_type({memory_element(memory), 1}), base_pointer(memory), wide));
}

std::string LlvmPrinter::from_memory(const std::string& value, Type type) {
  if (type.element != ElementType::boolean) return value;
  return temporary(
      fmt::format("icmp ne {} {}, {}", memory_type(type), value, splat_literal("i8", "0", type.lanes)));
}

std::string LlvmPrinter::to_memory(const std::string& value, Type type) {
  if (type.element != ElementType::boolean) return value;
  return temporary(fmt::format("zext {} {} to {}", register_type(type), value, memory_type(type)));
}

std::optional<bool> LlvmPrinter::constant_mask(ValueId mask) const {
  if (mask == program::no_value) return true;
  const std::optional<std::uint64_t>& bits = constants_[program::index(mask)];
  if (!bits) return std::nullopt;
  return (*bits & 1) != 0;
}

namespace {

std::string zero_of(ElementType element, std::uint16_t lanes) {
  if (lanes > 1) return "zeroinitializer";
  return element == ElementType::f32 || element == ElementType::f64 ? "0.0" : "0";
}

}  // namespace

void LlvmPrinter::print_load(const Instruction& instruction) {
  Type t = instruction.type;
  std::string stored = memory_type(t);
  ValueId mask = instruction.operands.size() > 1 ? instruction.operands[1] : program::no_value;
  std::optional<bool> known = constant_mask(mask);
  std::string zero = zero_of(t.element, t.lanes);
  if (known == false)
    return set_name(instruction.results[0],
                    t.element == ElementType::boolean && t.lanes == 1 ? std::string("false") : zero);
  std::size_t alignment = instruction.alignment ? instruction.alignment : byte_size(t.element);
  std::string pointer =
      address(instruction.memory, name(instruction.operands[0]), type(instruction.operands[0]));
  std::string plain = fmt::format("load {}, ptr {}, align {}", stored, pointer, alignment);
  std::string expression = plain;
  if (!known && t.lanes > 1)
    expression = call(stored, fmt::format("llvm.masked.load{}.p0", suffix(t.element, t.lanes)),
                      {"ptr " + pointer, fmt::format("i32 {}", alignment), typed(mask), stored + " " + zero});
  if (!known && t.lanes == 1) {
    std::string read = new_label("read");
    std::string before = block_;
    std::string after = read + ".end";
    line(fmt::format("br i1 {}, label %{}, label %{}", name(mask), read, after));
    label(read);
    std::string value = temporary(plain);
    line(fmt::format("br label %{}", after));
    label(after);
    expression = fmt::format("phi {} [ {}, %{} ], [ {}, %{} ]", stored, value, read, zero, before);
  }
  if (t.element != ElementType::boolean) return define(instruction, expression);
  set_name(instruction.results[0], from_memory(temporary(expression), t));
}

void LlvmPrinter::print_store(const Instruction& instruction) {
  Type t = instruction.type;
  ValueId mask = instruction.operands.size() > 2 ? instruction.operands[2] : program::no_value;
  std::optional<bool> known = constant_mask(mask);
  if (known == false) return;
  std::size_t alignment = instruction.alignment ? instruction.alignment : byte_size(t.element);
  std::string value = memory_type(t) + " " + to_memory(name(instruction.operands[1]), t);
  std::string pointer =
      address(instruction.memory, name(instruction.operands[0]), type(instruction.operands[0]));
  std::string plain = fmt::format("store {}, ptr {}, align {}", value, pointer, alignment);
  if (known) return line(plain, instruction.note);
  if (t.lanes > 1)
    return line(call("void", fmt::format("llvm.masked.store{}.p0", suffix(t.element, t.lanes)),
                     {value, "ptr " + pointer, fmt::format("i32 {}", alignment), typed(mask)}),
                instruction.note);
  std::string write = new_label("write");
  std::string after = write + ".end";
  line(fmt::format("br i1 {}, label %{}, label %{}", name(mask), write, after));
  label(write);
  line(plain, instruction.note);
  line(fmt::format("br label %{}", after));
  label(after);
}

/// Without a mask: one scalar load per lane, which is as fast as AVX2's gathers on Intel and faster on AMD.
void LlvmPrinter::print_gather(const Instruction& instruction) {
  Type t = instruction.type;
  ValueId indices = instruction.operands[0];
  ValueId mask = instruction.operands.size() > 1 ? instruction.operands[1] : program::no_value;
  std::optional<bool> known = constant_mask(mask);
  if (t.lanes == 1 || known == false) return print_load(instruction);
  Type index_type = type(indices);
  std::string stored = memory_type(t);
  std::size_t alignment = byte_size(t.element);
  std::string result = "poison";
  if (known) {
    for (unsigned lane = 0; lane < t.lanes; ++lane) {
      std::string index = temporary(fmt::format("extractelement {}, i32 {}", typed(indices), lane));
      std::string pointer = address(instruction.memory, index, index_type);
      std::string element = temporary(
          fmt::format("load {}, ptr {}, align {}", memory_type({t.element, 1}), pointer, alignment));
      result = temporary(fmt::format("insertelement {} {}, {} {}, i32 {}", stored, result,
                                     memory_type({t.element, 1}), element, lane));
    }
  } else {
    std::string pointers =
        temporary(fmt::format("getelementptr inbounds {}, ptr {}, {}", memory_type({t.element, 1}),
                              base_pointer(instruction.memory), typed(indices)));
    result =
        temporary(call(stored, fmt::format("llvm.masked.gather{}.v{}p0", suffix(t.element, t.lanes), t.lanes),
                       {fmt::format("<{} x ptr> {}", t.lanes, pointers), fmt::format("i32 {}", alignment),
                        typed(mask), stored + " zeroinitializer"}));
  }
  if (!instruction.note.empty()) line("", instruction.note);
  set_name(instruction.results[0], from_memory(result, t));
}

void LlvmPrinter::print_scatter(const Instruction& instruction) {
  Type t = instruction.type;
  ValueId indices = instruction.operands[0];
  ValueId mask = instruction.operands.size() > 2 ? instruction.operands[2] : program::no_value;
  std::optional<bool> known = constant_mask(mask);
  if (t.lanes == 1 || known == false) return print_store(instruction);
  Type index_type = type(indices);
  std::string stored = memory_type(t);
  std::size_t alignment = byte_size(t.element);
  std::string value = to_memory(name(instruction.operands[1]), t);
  if (!instruction.note.empty()) line("", instruction.note);
  if (!known) {
    std::string pointers =
        temporary(fmt::format("getelementptr inbounds {}, ptr {}, {}", memory_type({t.element, 1}),
                              base_pointer(instruction.memory), typed(indices)));
    return line(call("void", fmt::format("llvm.masked.scatter{}.v{}p0", suffix(t.element, t.lanes), t.lanes),
                     {stored + " " + value, fmt::format("<{} x ptr> {}", t.lanes, pointers),
                      fmt::format("i32 {}", alignment), typed(mask)}));
  }
  for (unsigned lane = 0; lane < t.lanes; ++lane) {
    std::string index = temporary(fmt::format("extractelement {}, i32 {}", typed(indices), lane));
    std::string element = temporary(fmt::format("extractelement {} {}, i32 {}", stored, value, lane));
    std::string pointer = address(instruction.memory, index, index_type);
    line(fmt::format("store {} {}, ptr {}, align {}", memory_type({t.element, 1}), element, pointer,
                     alignment));
  }
}

void LlvmPrinter::print_prefetch(const Instruction& instruction) {
  std::string pointer =
      address(instruction.memory, name(instruction.operands[0]), type(instruction.operands[0]));
  line(call("void", "llvm.prefetch.p0", {"ptr " + pointer, "i32 0", "i32 3", "i32 1"}), instruction.note);
}

}  // namespace halyard::fusion
