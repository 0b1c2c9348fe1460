#include <halyard/program/op_facts.h>
#include <algorithm>

#include "c_printer.h"

namespace halyard::fusion {

using program::Block;
using program::Instruction;
using program::Op;
using program::OpKind;
using program::ValueId;

CPrinter::Lanes CPrinter::names(ValueId value) const {
  const program::Type t = type(value);
  if (t.lanes == 1) return {fmt::format("v{}", index(value))};
  Lanes result;
  for (std::uint32_t i = 0; i < t.lanes; ++i) result.push_back(fmt::format("v{}_{}", index(value), i));
  return result;
}

void CPrinter::define(const Instruction& instruction, const Lanes& expressions) {
  ValueId result = instruction.results[0];
  Lanes& variables = lanes_[index(result)] = names(result);
  for (std::size_t i = 0; i < expressions.size(); ++i)
    line("const {} {} = {};", c_type(instruction.type.element), variables[i], expressions[i]);
}

CPrinter::Lanes CPrinter::operand_lane(const Instruction& instruction, std::uint32_t lane) const {
  Lanes result;
  for (ValueId operand : instruction.operands) result.push_back(lanes(operand)[lane]);
  return result;
}

void CPrinter::block(const Block& block) {
  for (const Instruction& each : block.body) {
    if (each.op == Op::yield) continue;
    bool prints_nothing = each.op == Op::parameter || each.op == Op::constant || each.op == Op::builtin;
    if (!each.note.empty() && !prints_nothing) comment(each.note);
    instruction(each);
  }
}

void CPrinter::instruction(const Instruction& each) {
  Lanes* result = each.results.size() == 1 ? &lanes_[index(each.results[0])] : nullptr;
  auto operand = [&](std::size_t i) -> const Lanes& { return lanes(each.operands[i]); };
  const ElementType element = each.type.element;
  switch (each.op) {
    case Op::constant:
      *result = Lanes(each.type.lanes, c_literal(element, each.immediate));
      return;
    case Op::iota:
      for (std::uint32_t i = 0; i < each.type.lanes; ++i) {
        std::uint64_t bits = each.immediate + i;
        if (byte_size(element) < 8) bits &= (std::uint64_t{1} << (8 * byte_size(element))) - 1;
        result->push_back(c_literal(element, bits));
      }
      return;
    case Op::parameter:
      *result = {element == ElementType::boolean ? fmt::format("({} != 0)", scalar_names_[each.immediate])
                                                 : scalar_names_[each.immediate]};
      return;
    case Op::builtin:
      *result = {std::string(program::name(static_cast<program::Builtin>(each.immediate)))};
      return;
    case Op::splat:
      *result = Lanes(each.type.lanes, operand(0)[0]);
      return;
    case Op::extract:
      *result = {operand(0)[each.immediate]};
      return;
    case Op::insert:
      *result = operand(0);
      (*result)[each.immediate] = operand(1)[0];
      return;
    case Op::shuffle:
      for (std::int32_t from : each.indices) {
        auto lane = static_cast<std::size_t>(from);
        std::size_t first = operand(0).size();
        result->push_back(lane < first ? operand(0)[lane] : operand(1)[lane - first]);
      }
      return;
    case Op::bitcast:
      define(each, bitcast(type(each.operands[0]), each.type, operand(0)));
      return;
    case Op::for_loop:
      return loop(each);
    case Op::if_else:
      return branch(each);
    case Op::barrier:
      return barrier(each);
    case Op::comment:
      return;
    default:
      break;
  }
  OpKind kind = program::find_facts(each.op)->kind;
  if (kind == OpKind::memory) return memory(each);
  if (kind == OpKind::subgroup) return exchange(each);

  Lanes expressions;
  ElementType source = type(each.operands[0]).element;
  for (std::uint32_t i = 0; i < each.type.lanes; ++i) {
    Lanes lane = operand_lane(each, i);
    if (kind == OpKind::select)
      expressions.push_back(fmt::format("{} ? {} : {}", lane[0], lane[1], lane[2]));
    else if (kind == OpKind::cast)
      expressions.push_back(cast(source, element, lane[0]));
    else if (kind == OpKind::comparison)
      expressions.push_back(comparison(each.op, source, lane));
    else
      expressions.push_back(arithmetic(each, lane));
  }
  define(each, expressions);
}

/// All at once: a source that is itself a target goes through a temporary.
void CPrinter::assign(const std::vector<std::string>& targets, const std::vector<std::string>& sources,
                      const std::vector<ElementType>& elements) {
  std::vector<std::string> from = sources;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    bool is_target = std::find(targets.begin(), targets.end(), sources[i]) != targets.end();
    if (!is_target || sources[i] == targets[i]) continue;
    from[i] = targets[i] + "_next";
    line("const {} {} = {};", c_type(elements[i]), from[i], sources[i]);
  }
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (from[i] != targets[i]) line("{} = {};", targets[i], from[i]);
}

void CPrinter::loop(const Instruction& loop) {
  const Block& body = loop.blocks[0];
  std::vector<std::string> targets;
  std::vector<ElementType> elements;
  for (std::size_t i = 1; i < body.arguments.size(); ++i) {
    ValueId argument = body.arguments[i];
    Lanes variables = names(argument);
    for (std::size_t k = 0; k < variables.size(); ++k) {
      line("{} {} = {};", c_type(type(argument).element), variables[k], lanes(loop.operands[i + 2])[k]);
      targets.push_back(variables[k]);
      elements.push_back(type(argument).element);
    }
    lanes_[index(argument)] = variables;
    lanes_[index(loop.results[i - 1])] = variables;
  }
  ValueId induction = body.arguments[0];
  lanes_[index(induction)] = names(induction);
  const std::string& i = lanes_[index(induction)][0];
  if (loop.immediate) line("#pragma unroll {}", loop.immediate);
  line("for ({} {} = {}; {} < {}; {} += {}) {{", c_type(type(induction).element), i,
       lanes(loop.operands[0])[0], i, lanes(loop.operands[1])[0], i, lanes(loop.operands[2])[0]);
  ++depth_;
  block(body);
  std::vector<std::string> sources;
  for (ValueId value : body.body.back().operands)
    sources.insert(sources.end(), lanes(value).begin(), lanes(value).end());
  assign(targets, sources, elements);
  --depth_;
  line("}}");
}

void CPrinter::branch(const Instruction& branch) {
  std::vector<std::string> targets;
  std::vector<ElementType> elements;
  for (ValueId result : branch.results) {
    lanes_[index(result)] = names(result);
    for (const std::string& variable : lanes(result)) {
      line("{} {};", c_type(type(result).element), variable);
      targets.push_back(variable);
      elements.push_back(type(result).element);
    }
  }
  line("if ({}) {{", lanes(branch.operands[0])[0]);
  for (std::size_t side = 0; side < 2; ++side) {
    const Block& body = branch.blocks[side];
    if (side == 1) {
      if (body.body.size() == 1 && targets.empty()) break;
      line("}} else {{");
    }
    ++depth_;
    block(body);
    std::vector<std::string> sources;
    for (ValueId value : body.body.back().operands)
      sources.insert(sources.end(), lanes(value).begin(), lanes(value).end());
    assign(targets, sources, elements);
    --depth_;
  }
  line("}}");
}

void CPrinter::barrier(const Instruction& instruction) {
  if (instruction.immediate == static_cast<std::uint64_t>(program::Scope::workgroup)) {
    line("{};", dialect_.workgroup_barrier);
    return;
  }
  needs_subgroup_mask_ = true;
  line("{};", dialect_.subgroup_barrier);
}

/// Narrow types travel as int.
void CPrinter::exchange(const Instruction& instruction) {
  needs_subgroup_mask_ = true;
  const ElementType element = instruction.type.element;
  const bool narrow = byte_size(element) < 4;
  std::string_view pattern = instruction.op == Op::shuffle_xor ? dialect_.shuffle_xor : dialect_.shuffle_lane;
  std::string which = instruction.op == Op::shuffle_lane ? lanes(instruction.operands[1])[0]
                                                         : fmt::format("{}", instruction.immediate);
  Lanes expressions;
  for (const std::string& value : lanes(instruction.operands[0])) {
    std::string moved =
        fmt::format(fmt::runtime(pattern), narrow ? "(int)" + value : value, which, program_.subgroup_size);
    expressions.push_back(narrow ? fmt::format("({})({})", c_type(element), moved) : moved);
  }
  define(instruction, expressions);
}

}  // namespace halyard::fusion
