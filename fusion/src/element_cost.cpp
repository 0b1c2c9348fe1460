#include "element_cost.h"
#include <halyard/program/builder.h>
#include <algorithm>
#include <array>
#include <map>
#include <mutex>

namespace halyard::fusion {
namespace {

double instruction_slots(const program::Block& block) {
  double slots = 0;
  for (const program::Instruction& instruction : block.body) {
    switch (instruction.op) {
      case program::Op::constant:
      case program::Op::comment:
      case program::Op::yield:
      case program::Op::bitcast:
        break;
      case program::Op::div:
      case program::Op::rem:
      case program::Op::sqrt:
        slots += 5;  // throughput of a divider against a multiplier: 4–8 on x86 and GPUs alike
        break;
      default:
        slots += 1;
    }
    for (const program::Block& inner : instruction.blocks) slots += instruction_slots(inner);
  }
  return slots;
}

}  // namespace

double element_slots(ops::Primitive primitive, ElementType operand, ElementType result) {
  static std::mutex mutex;
  static std::map<std::array<int, 3>, double> known;
  std::array<int, 3> key{static_cast<int>(primitive), static_cast<int>(operand), static_cast<int>(result)};
  std::lock_guard lock(mutex);
  if (auto found = known.find(key); found != known.end()) return found->second;
  const ops::PrimitiveRow& row = ops::row(primitive);
  double slots = 1;
  if (row.expand) {
    program::Builder builder("cost");
    std::vector<program::ValueId> operands;
    for (int i = 0; i < std::max(row.operands, 1); ++i) {
      bool condition = primitive == ops::Primitive::select && i == 0;
      operands.push_back(builder.parameter("x", condition ? ElementType::boolean : operand));
    }
    ops::Attributes attributes;
    attributes.element = result;
    row.expand(builder, operands, attributes, {});
    slots = std::max(1.0, instruction_slots(builder.program().body) - static_cast<double>(operands.size()));
  }
  known.emplace(key, slots);
  return slots;
}

}  // namespace halyard::fusion
