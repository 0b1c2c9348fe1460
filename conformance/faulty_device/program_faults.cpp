#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>

#include "faults.h"

namespace halyard::faulty {
namespace {

using program::Block;
using program::Instruction;
using program::Op;
using program::Program;
using program::Type;
using program::ValueId;

bool is_f32(const Instruction& instruction) {
  return instruction.type.element == ElementType::f32;
}

/// Calls `alter(block, place)` for every instruction, inner blocks too; it returns how many instructions now
/// stand where one stood, or 0 if it left it alone.
bool for_each(Block& block, const std::function<std::size_t(Block&, std::size_t)>& alter) {
  bool altered = false;
  for (std::size_t i = 0; i < block.body.size();) {
    for (Block& inner : block.body[i].blocks) altered = for_each(inner, alter) || altered;
    const std::size_t count = alter(block, i);
    altered = altered || count > 0;
    i += count > 0 ? count : 1;
  }
  return altered;
}

/// The simpler kind: `alter` changes the instruction itself, and says whether it did.
bool for_each_instruction(Program& program, const std::function<bool(Instruction&)>& alter) {
  return for_each(program.body, [&](Block& block, std::size_t place) {
    return alter(block.body[place]) ? std::size_t{1} : 0;
  });
}

/// Puts instructions around one: each call appends an instruction to a list that replaces it.
class Rewrite {
 public:
  Rewrite(Program& program, Block& block, std::size_t place)
      : program_(program), block_(block), place_(place), original_(block.body[place]) {}

  const Instruction& original() const { return original_; }
  Type type_of(ValueId value) const { return program_.values[index(value)]; }
  ValueId constant(Type type, std::uint64_t bits) {
    Instruction instruction{.op = Op::constant, .type = type, .immediate = bits};
    return add(std::move(instruction));
  }
  ValueId apply(Op op, Type type, std::vector<ValueId> operands) {
    Instruction instruction{.op = op, .type = type};
    instruction.operands = std::move(operands);
    return add(std::move(instruction));
  }
  /// The original operation under a new name.
  ValueId plain() {
    Instruction instruction = original_;
    return add(std::move(instruction));
  }
  /// The original operation with other operands.
  void replaced_by(Instruction instruction) { add(std::move(instruction)); }
  /// The last instruction takes the original's name; returns how many there are.
  std::size_t finish() {
    made_.back().results = original_.results;
    auto& body = block_.body;
    body.erase(body.begin() + static_cast<std::ptrdiff_t>(place_));
    body.insert(body.begin() + static_cast<std::ptrdiff_t>(place_), made_.begin(), made_.end());
    return made_.size();
  }

 private:
  ValueId add(Instruction instruction) {
    const auto id = static_cast<ValueId>(program_.values.size());
    program_.values.push_back(instruction.type);
    instruction.results = {id};
    made_.push_back(std::move(instruction));
    return id;
  }

  Program& program_;
  Block& block_;
  std::size_t place_;
  Instruction original_;
  std::vector<Instruction> made_;
};

/// Rewrites every instruction that `wanted` accepts.
bool rewrite(Program& program, const std::function<bool(const Instruction&)>& wanted,
             const std::function<void(Rewrite&)>& write) {
  return for_each(program.body, [&](Block& block, std::size_t place) -> std::size_t {
    if (!wanted(block.body[place])) return 0;
    Rewrite change(program, block, place);
    write(change);
    return change.finish();
  });
}

/// value & mask, of the bits of an f32.
void masked(Rewrite& change, ValueId value, std::uint32_t mask) {
  const Type floats = change.original().type;
  const Type words{ElementType::u32, floats.lanes};
  const ValueId bits = change.apply(Op::bitcast, words, {value});
  const ValueId kept = change.apply(Op::bit_and, words, {bits, change.constant(words, mask)});
  change.apply(Op::bitcast, floats, {kept});
}

bool is_product(const Instruction& instruction) {
  return instruction.op == Op::mul && is_f32(instruction);
}

}  // namespace

bool clear_last_bit_of_products(Program& program) {
  return rewrite(program, is_product, [](Rewrite& change) { masked(change, change.plain(), 0xfffffffe); });
}

bool divide_by_reciprocal(Program& program) {
  return rewrite(
      program, [](const Instruction& i) { return i.op == Op::div && is_f32(i); },
      [](Rewrite& change) {
        const Type type = change.original().type;
        const ValueId one = change.constant(type, std::bit_cast<std::uint32_t>(1.0f));
        const ValueId inverse = change.apply(Op::div, type, {one, change.original().operands[1]});
        change.apply(Op::mul, type, {change.original().operands[0], inverse});
      });
}

// x ≠ x is how NaN is found; x < x is never true.
bool forget_nan(Program& program) {
  return for_each_instruction(program, [](Instruction& i) {
    if (i.op != Op::ne || i.operands[0] != i.operands[1]) return false;
    i.op = Op::lt;
    return true;
  });
}

bool lose_negative_zero(Program& program) {
  return rewrite(
      program, [](const Instruction& i) { return i.op == Op::neg && is_f32(i); },
      [](Rewrite& change) {
        const Type type = change.original().type;
        const ValueId zero = change.constant(type, 0);
        change.apply(Op::sub, type, {zero, change.original().operands[0]});
      });
}

// A sum whose first operand is the product made just before it.
bool contract_sums_of_products(Program& program) {
  return for_each(program.body, [](Block& block, std::size_t place) -> std::size_t {
    Instruction& sum = block.body[place];
    if (sum.op != Op::add || !is_f32(sum)) return 0;
    for (std::size_t i = place; i-- > 0;) {
      const Instruction& product = block.body[i];
      if (!is_product(product) || product.results[0] != sum.operands[0]) continue;
      sum.op = Op::fma;
      sum.operands = {product.operands[0], product.operands[1], sum.operands[1]};
      return 1;
    }
    return 0;
  });
}

bool split_fma(Program& program) {
  return rewrite(
      program, [](const Instruction& i) { return i.op == Op::fma && is_f32(i); },
      [](Rewrite& change) {
        const auto& operands = change.original().operands;
        const Type type = change.original().type;
        const ValueId product = change.apply(Op::mul, type, {operands[0], operands[1]});
        change.apply(Op::add, type, {product, operands[2]});
      });
}

bool round_halves_up(Program& program) {
  return rewrite(
      program, [](const Instruction& i) { return i.op == Op::round_even && is_f32(i); },
      [](Rewrite& change) {
        const Type type = change.original().type;
        const ValueId half = change.constant(type, std::bit_cast<std::uint32_t>(0.5f));
        const ValueId raised = change.apply(Op::add, type, {change.original().operands[0], half});
        change.apply(Op::floor, type, {raised});
      });
}

bool truncate_to_f16(Program& program) {
  const Program& values = program;
  return rewrite(
      program,
      [&](const Instruction& i) {
        return i.op == Op::cast && i.type.element == ElementType::f16 &&
               values.values[index(i.operands[0])].element == ElementType::f32;
      },
      [](Rewrite& change) {
        const ValueId value = change.original().operands[0];
        const Type floats = change.type_of(value);
        const Type words{ElementType::u32, floats.lanes};
        const ValueId bits = change.apply(Op::bitcast, words, {value});
        const ValueId kept = change.apply(Op::bit_and, words, {bits, change.constant(words, 0xffffe000)});
        const ValueId cut = change.apply(Op::bitcast, floats, {kept});
        change.apply(Op::cast, change.original().type, {cut});
      });
}

// Divisors are compared with 0 before they divide; here they never are equal.
bool drop_guard_of_divisor(Program& program) {
  const Program& values = program;
  return for_each_instruction(program, [&](Instruction& i) {
    if (i.op != Op::eq || !is_integer(values.values[index(i.operands[0])].element)) return false;
    i.op = Op::lt;
    i.operands = {i.operands[0], i.operands[0]};
    return true;
  });
}

// The widest exchange first is the declared order; here the distances of two change places.
bool swap_shuffles(Program& program) {
  return for_each_instruction(program, [](Instruction& i) {
    if (i.op != Op::shuffle_xor || (i.immediate != 1 && i.immediate != 4)) return false;
    i.immediate = 5 - i.immediate;
    return true;
  });
}

bool drop_barriers(Program& program) {
  return for_each_instruction(program, [](Instruction& i) {
    if (i.op != Op::barrier) return false;
    i = Instruction{.op = Op::comment, .note = "a barrier stood here"};
    return true;
  });
}

bool include_equals(Program& program) {
  const Program& values = program;
  return for_each_instruction(program, [&](Instruction& i) {
    if (i.op != Op::lt || !is_float(values.values[index(i.operands[0])].element)) return false;
    i.op = Op::le;
    return true;
  });
}

bool flush_subnormal_products(Program& program) {
  return rewrite(program, is_product, [](Rewrite& change) {
    const Type type = change.original().type;
    const ValueId value = change.plain();
    const ValueId magnitude = change.apply(Op::abs, type, {value});
    const ValueId least = change.constant(type, std::bit_cast<std::uint32_t>(0x1p-126f));
    const ValueId tiny = change.apply(Op::lt, {ElementType::boolean, type.lanes}, {magnitude, least});
    change.apply(Op::select, type, {tiny, change.constant(type, 0), value});
  });
}

bool spoil_coefficient(Program& program) {
  const auto coefficient = std::bit_cast<std::uint32_t>(0x1.555554p-3f);
  return for_each_instruction(program, [&](Instruction& i) {
    if (i.op != Op::constant || !is_f32(i) || i.immediate != coefficient) return false;
    i.immediate = std::bit_cast<std::uint32_t>(0x1.555554p-3f * 1.001f);
    return true;
  });
}

// The index is the first operand; bit 31 of it, as a number, comes off. Only indices of 64 bits reach so far.
bool misplace_far_elements(Program& program) {
  const Program& values = program;
  return rewrite(
      program,
      [&](const Instruction& i) {
        return (i.op == Op::load || i.op == Op::gather) &&
               byte_size(values.values[index(i.operands[0])].element) == 8;
      },
      [](Rewrite& change) {
        Instruction load = change.original();
        const ValueId place = load.operands[0];
        const Type type = change.type_of(place);
        const ValueId bit = change.apply(
            Op::bit_and, type,
            {change.apply(Op::shr, type, {place, change.constant(type, 31)}), change.constant(type, 1)});
        load.operands[0] = change.apply(Op::sub, type, {place, bit});
        change.replaced_by(std::move(load));
      });
}

}  // namespace halyard::faulty
