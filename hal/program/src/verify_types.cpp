#include "verify_types.h"

#include <fmt/format.h>
#include <halyard/program/text.h>
#include <halyard/program/verify.h>
#include <bit>

namespace halyard::program {
namespace {

constexpr Type i32_scalar{ElementType::i32, 1};

bool takes(Elements elements, ElementType element) {
  switch (elements) {
    case Elements::number:
      return element != ElementType::boolean;
    case Elements::integer:
      return is_integer(element);
    case Elements::floating:
      return is_float(element);
    case Elements::bits:
      return is_integer(element) || element == ElementType::boolean;
    case Elements::wide_integer:
      return is_integer(element) && byte_size(element) >= 4;
    default:
      return true;
  }
}

std::string_view described(Elements elements) {
  switch (elements) {
    case Elements::number:
      return "integers or floats";
    case Elements::integer:
      return "integers";
    case Elements::floating:
      return "floats";
    case Elements::bits:
      return "integers or booleans";
    case Elements::wide_integer:
      return "i32, i64, u32 or u64";
    default:
      return "any elements";
  }
}

bool is_index(ElementType element) {
  return element == ElementType::i32 || element == ElementType::i64;
}

class TypeRules {
 public:
  TypeRules(const Program& program, const Instruction& instruction)
      : program_(program), instruction_(instruction) {}

  std::string fault(const OpFacts& facts) {
    if (facts.has_result && program_.values[index(instruction_.results[0])] != instruction_.type)
      return fmt::format("its type is {}, but its result is declared as {}", to_text(instruction_.type),
                         to_text(program_.values[index(instruction_.results[0])]));
    switch (facts.kind) {
      case OpKind::outside:
        return outside();
      case OpKind::lane_wise:
        if (!takes(facts.elements, instruction_.type.element))
          return fmt::format("takes {}, not {}", described(facts.elements), to_text(instruction_.type));
        return all_operands(instruction_.type);
      case OpKind::comparison:
        if (!takes(facts.elements, operand(0).element))
          return fmt::format("takes {}, not {}", described(facts.elements), to_text(operand(0)));
        if (instruction_.type != Type{ElementType::boolean, operand(0).lanes})
          return fmt::format("gives boolean lanes, as many as its operands have, not {}",
                             to_text(instruction_.type));
        return all_operands(operand(0));
      case OpKind::select:
        return first_of(expect(0, {ElementType::boolean, instruction_.type.lanes}),
                        expect(1, instruction_.type), expect(2, instruction_.type));
      case OpKind::cast:
        return operand(0).lanes == instruction_.type.lanes
                   ? ""
                   : "a cast keeps the number of lanes: " + both_types();
      case OpKind::bitcast:
        return bitcast();
      case OpKind::vector:
        return vector();
      case OpKind::memory:
        return memory();
      case OpKind::barrier:
        if (instruction_.immediate > 1) return "its scope is neither subgroup nor workgroup";
        if (instruction_.immediate == 0 && program_.subgroup_size == 0)
          return "a subgroup barrier needs Program::subgroup_size";
        return "";
      case OpKind::subgroup:
        return subgroup();
      default:
        return "";
    }
  }

 private:
  Type operand(std::size_t i) const { return program_.values[index(instruction_.operands[i])]; }

  std::string both_types() const {
    return fmt::format("from {} to {}", to_text(operand(0)), to_text(instruction_.type));
  }

  std::string expect(std::size_t i, Type wanted) const {
    if (operand(i) == wanted) return "";
    return fmt::format("operand {} (%{}) is {} but must be {}", i, index(instruction_.operands[i]),
                       to_text(operand(i)), to_text(wanted));
  }

  static std::string first_of(const std::string& a, const std::string& b, const std::string& c = "") {
    return !a.empty() ? a : !b.empty() ? b : c;
  }

  std::string all_operands(Type wanted) const {
    for (std::size_t i = 0; i < instruction_.operands.size(); ++i)
      if (std::string fault = expect(i, wanted); !fault.empty()) return fault;
    return "";
  }

  bool fits_element(std::uint64_t bits) const {
    std::size_t bytes = byte_size(instruction_.type.element);
    return bytes == 8 || bits >> (8 * bytes) == 0;
  }

  std::string outside() const {
    const std::uint64_t immediate = instruction_.immediate;
    switch (instruction_.op) {
      case Op::constant:
        if (instruction_.type.element == ElementType::boolean && immediate > 1)
          return "a boolean constant is 0 or 1";
        return fits_element(immediate) ? "" : "the constant has bits beyond its element";
      case Op::iota:
        if (!is_integer(instruction_.type.element)) return "an iota is of integers";
        return fits_element(immediate) ? "" : "the first lane has bits beyond its element";
      case Op::parameter:
        if (immediate >= program_.scalars.size())
          return fmt::format("scalar parameter {} does not exist (there are {})", immediate,
                             program_.scalars.size());
        if (instruction_.type != Type{program_.scalars[immediate].element, 1})
          return fmt::format("the scalar `{}` is {}", program_.scalars[immediate].name,
                             name(program_.scalars[immediate].element));
        return "";
      default:
        return builtin();
    }
  }

  std::string builtin() const {
    if (instruction_.immediate >= builtin_count)
      return fmt::format("there is no builtin {}", instruction_.immediate);
    if (instruction_.type != i32_scalar) return "a builtin is an i32 scalar";
    auto which = static_cast<Builtin>(instruction_.immediate);
    bool needs_subgroups = which == Builtin::subgroup || which == Builtin::subgroup_lane;
    return needs_subgroups && program_.subgroup_size == 0 ? "needs Program::subgroup_size" : "";
  }

  std::string bitcast() const {
    if (operand(0).element == ElementType::boolean || instruction_.type.element == ElementType::boolean)
      return "booleans have no bits to cast: use select or ne";
    std::size_t from = operand(0).lanes * byte_size(operand(0).element);
    std::size_t to = instruction_.type.lanes * byte_size(instruction_.type.element);
    return from == to ? "" : "a bitcast keeps the number of bits: " + both_types();
  }

  std::string lane_number(std::uint64_t lane, std::uint32_t lanes) const {
    return lane < lanes ? "" : fmt::format("lane {} is not among the {} lanes", lane, lanes);
  }

  std::string vector() const {
    const Type type = instruction_.type;
    switch (instruction_.op) {
      case Op::splat:
        return expect(0, {type.element, 1});
      case Op::extract:
        return first_of(expect(0, {type.element, operand(0).lanes}),
                        type.lanes == 1 ? "" : "an extracted lane is a scalar",
                        lane_number(instruction_.immediate, operand(0).lanes));
      case Op::insert:
        return first_of(expect(0, type), expect(1, {type.element, 1}),
                        lane_number(instruction_.immediate, type.lanes));
      default:
        break;
    }
    const Type source = operand(0);
    if (source.element != type.element) return expect(0, {type.element, source.lanes});
    if (operand(1) != source) return expect(1, source);
    if (instruction_.indices.size() != type.lanes)
      return fmt::format("{} indices for {} lanes", instruction_.indices.size(), type.lanes);
    for (std::int32_t lane : instruction_.indices)
      if (lane < 0 || lane >= 2 * source.lanes)
        return fmt::format("index {} is not in [0, {})", lane, 2 * source.lanes);
    return "";
  }

  std::string memory() const {
    const MemoryRef memory = instruction_.memory;
    bool is_buffer = memory.space == MemoryRef::Space::buffer;
    if (!is_buffer && memory.space != MemoryRef::Space::shared) return "names no memory space";
    std::size_t count = is_buffer ? program_.buffers.size() : program_.shared.size();
    if (memory.index >= count)
      return fmt::format("{} {} does not exist (there are {})", is_buffer ? "buffer" : "shared array",
                         memory.index, count);
    ElementType element =
        is_buffer ? program_.buffers[memory.index].element : program_.shared[memory.index].element;
    if (instruction_.type.element != element)
      return fmt::format("accesses {} but the memory holds {}", name(instruction_.type.element),
                         name(element));
    bool writes = instruction_.op == Op::store || instruction_.op == Op::scatter;
    if (is_buffer) {
      Access access = program_.buffers[memory.index].access;
      if (writes && access == Access::read) return "stores to a buffer that is only read";
      if (!writes && access == Access::write) return "loads from a buffer that is only written";
    }
    if (std::uint32_t alignment = instruction_.alignment)
      if (!std::has_single_bit(alignment) || alignment > Limits::alignment || alignment < byte_size(element))
        return fmt::format("alignment {} is not a power of two from the element's size to {}", alignment,
                           Limits::alignment);
    return access_operands(writes);
  }

  std::string access_operands(bool writes) const {
    const Type type = instruction_.type;
    bool indexed = instruction_.op == Op::gather || instruction_.op == Op::scatter;
    std::uint16_t index_lanes = indexed ? type.lanes : std::uint16_t{1};
    if (!is_index(operand(0).element) || operand(0).lanes != index_lanes)
      return fmt::format("the index (%{}) is {} but must be {} of i32 or i64",
                         index(instruction_.operands[0]), to_text(operand(0)),
                         index_lanes == 1 ? std::string("a scalar") : fmt::format("{} lanes", index_lanes));
    if (instruction_.op == Op::prefetch) return type.lanes == 1 ? "" : "a prefetch has one lane";
    std::string fault = writes ? expect(1, type) : "";
    std::size_t plain = writes ? 2 : 1;
    if (fault.empty() && instruction_.operands.size() > plain)
      fault = expect(plain, {ElementType::boolean, type.lanes});
    return fault;
  }

  std::string subgroup() const {
    const std::uint32_t size = program_.subgroup_size;
    if (size == 0) return "needs Program::subgroup_size";
    const std::uint32_t* group = program_.workgroup_size;
    if (group[0] == 1 && group[1] == 1 && group[2] == 1)
      return "a one-lane workgroup has no other lanes to exchange values with";
    if (std::string fault = expect(0, instruction_.type); !fault.empty()) return fault;
    if (instruction_.op == Op::shuffle_lane) return expect(1, i32_scalar);
    return lane_number(instruction_.immediate, size);
  }

  const Program& program_;
  const Instruction& instruction_;
};

}  // namespace

std::string type_fault(const Program& program, const Instruction& instruction, const OpFacts& facts) {
  return TypeRules(program, instruction).fault(facts);
}

std::string stray_field(const Instruction& instruction, const OpFacts& facts) {
  const bool has_type = facts.has_result || facts.kind == OpKind::memory;
  if (!has_type && instruction.type != Type{}) return "has a type, which it does not use";
  bool has_immediate = facts.kind == OpKind::outside || facts.kind == OpKind::barrier ||
                       instruction.op == Op::extract || instruction.op == Op::insert ||
                       instruction.op == Op::shuffle_xor || instruction.op == Op::broadcast_lane ||
                       instruction.op == Op::for_loop;
  if (!has_immediate && instruction.immediate) return "has an immediate, which it does not use";
  if (instruction.op == Op::for_loop && instruction.immediate > 0xffffffffu)
    return "its unroll hint exceeds 32 bits";
  if (facts.kind != OpKind::memory && instruction.memory != MemoryRef{})
    return "names memory, which it does not touch";
  if (instruction.op != Op::load && instruction.op != Op::store && instruction.alignment)
    return "has an alignment, which it does not use";
  if (instruction.op != Op::shuffle && !instruction.indices.empty())
    return "has shuffle indices, which it does not use";
  std::size_t blocks = instruction.op == Op::for_loop ? 1 : instruction.op == Op::if_else ? 2 : 0;
  if (instruction.blocks.size() != blocks)
    return fmt::format("has {} blocks but must have {}", instruction.blocks.size(), blocks);
  return "";
}

}  // namespace halyard::program
