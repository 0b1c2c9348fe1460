#include "legalizer.h"

namespace halyard::fusion {

using program::Op;
using program::ValueId;

std::vector<ValueId> Legalizer::flattened(std::span<const ValueId> values) const {
  std::vector<ValueId> result;
  for (ValueId value : values) {
    result.push_back(carried(value).low);
    if (carried(value).high != program::no_value) result.push_back(carried(value).high);
  }
  return result;
}

void Legalizer::define_flattened(std::span<const ValueId> old_values, std::span<const ValueId> rebuilt) {
  std::size_t next = 0;
  for (ValueId value : old_values) {
    Carried& target = values_[program::index(value)];
    target = {rebuilt[next++]};
    if (form(old_type(value).element) == Form::pair) target.high = rebuilt[next++];
  }
}

std::vector<ValueId> Legalizer::yields(const program::Block& block) {
  return flattened(block.body.back().operands);
}

void Legalizer::for_loop(const Instruction& loop) {
  const program::Block& body = loop.blocks[0];
  if (form(old_type(body.arguments[0]).element) == Form::pair) {
    wide_for_loop(loop);
    return;
  }
  auto initial = flattened(std::span(loop.operands).subspan(3));
  auto results = builder_.for_loop(
      low(loop.operands[0]), low(loop.operands[1]), low(loop.operands[2]), initial,
      [&](ValueId induction, std::span<const ValueId> carried) {
        define_flattened(std::span(body.arguments).first(1), {&induction, 1});
        define_flattened(std::span(body.arguments).subspan(1), carried);
        block(body);
        return yields(body);
      },
      static_cast<std::uint32_t>(loop.immediate));
  define_flattened(loop.results, results);
}

/// A loop over 64-bit numbers counts its trips in i32 (2^31 of them would run for seconds at least) and
/// carries the number along.
void Legalizer::wide_for_loop(const Instruction& loop) {
  const program::Block& body = loop.blocks[0];
  Carried lower = carried(loop.operands[0]);
  Carried upper = carried(loop.operands[1]);
  Carried step = carried(loop.operands[2]);
  bool has_sign = is_signed(old_type(body.arguments[0]).element);
  Carried span = wide_sub(upper, lower);
  Carried rounded = wide_sub(wide_add(span, step), wide_constant(1, 1));
  Carried trips = wide_divide_unsigned(rounded, step).quotient;
  ValueId runs = wide_less(lower, upper, has_sign);
  ValueId count = builder_.select(runs, as(ElementType::i32, trips.low), builder_.i32(0));

  std::vector<ValueId> initial{lower.low, lower.high};
  auto rest = flattened(std::span(loop.operands).subspan(3));
  initial.insert(initial.end(), rest.begin(), rest.end());
  auto results = builder_.for_loop(
      builder_.i32(0), count, builder_.i32(1), initial,
      [&](ValueId, std::span<const ValueId> state) {
        define_flattened(body.arguments, state);
        block(body);
        Carried next = wide_add({state[0], state[1]}, step);
        std::vector<ValueId> yielded{next.low, next.high};
        auto inner = yields(body);
        yielded.insert(yielded.end(), inner.begin(), inner.end());
        return yielded;
      },
      static_cast<std::uint32_t>(loop.immediate));
  define_flattened(loop.results, std::span(results).subspan(2));
}

void Legalizer::if_else(const Instruction& instruction) {
  auto way = [&](std::size_t number) {
    return [this, &instruction, number] {
      block(instruction.blocks[number]);
      return yields(instruction.blocks[number]);
    };
  };
  auto results = builder_.if_else(low(instruction.operands[0]), way(0), way(1));
  define_flattened(instruction.results, results);
}

}  // namespace halyard::fusion
