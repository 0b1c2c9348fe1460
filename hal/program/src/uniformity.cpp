#include "uniformity.h"

#include <fmt/format.h>
#include <halyard/program/op_facts.h>
#include <halyard/program/text.h>
#include <algorithm>

namespace halyard::program {
namespace {

/// How far lanes agree on a value; larger is worse.
enum class Agreement : std::uint8_t { workgroup = 0, subgroup = 1, none = 2 };

/// Raises every value's `Agreement` until nothing changes, then checks the operations that need it.
class Uniformity {
 public:
  explicit Uniformity(const Program& program)
      : program_(program), levels_(program.values.size(), Agreement::workgroup) {
    const std::uint32_t* size = program.workgroup_size;
    std::uint64_t lanes = std::uint64_t{size[0]} * size[1] * size[2];
    one_lane_ = lanes == 1;
    one_subgroup_ = lanes <= program.subgroup_size;
  }

  Status check() {
    // Every pass but the last raises a value; loop-carried chains converge in a few. Hostile programs could
    // ask for very many.
    constexpr int most_passes = 64;
    int pass = 0;
    for (changed_ = true; changed_ && pass < most_passes; ++pass) {
      changed_ = false;
      propagate(program_.body);
    }
    if (changed_)
      return fail(ErrorCode::invalid_argument,
                  message("uniformity cannot be decided: loops carry values through too many others"));
    return check(program_.body, Agreement::workgroup);
  }

 private:
  std::string message(std::string_view what) const {
    return fmt::format("verify `{}`: {}", program_.name, what);
  }

  Agreement level(ValueId value) const { return levels_[index(value)]; }

  void raise(ValueId value, Agreement to) {
    Agreement& level = levels_[index(value)];
    if (level >= to) return;
    level = to;
    changed_ = true;
  }

  Agreement worst_operand(const Instruction& instruction) const {
    Agreement worst = Agreement::workgroup;
    for (ValueId value : instruction.operands) worst = std::max(worst, level(value));
    return worst;
  }

  Agreement of_builtin(Builtin which) const {
    if (one_lane_) return Agreement::workgroup;
    if (which == Builtin::lane || which == Builtin::subgroup_lane) return Agreement::none;
    if (which == Builtin::subgroup && !one_subgroup_) return Agreement::subgroup;
    return Agreement::workgroup;
  }

  Agreement of_result(const Instruction& instruction) const {
    switch (instruction.op) {
      case Op::builtin:
        return of_builtin(static_cast<Builtin>(instruction.immediate));
      case Op::broadcast_lane:
        return level(instruction.operands[0]) == Agreement::workgroup ? Agreement::workgroup
                                                                      : whole_subgroup();
      case Op::shuffle_lane:
        if (level(instruction.operands[0]) == Agreement::workgroup) return Agreement::workgroup;
        if (level(instruction.operands[0]) == Agreement::subgroup) return whole_subgroup();
        return level(instruction.operands[1]) == Agreement::none ? Agreement::none : whole_subgroup();
      default:
        return worst_operand(instruction);
    }
  }

  Agreement whole_subgroup() const { return one_subgroup_ ? Agreement::workgroup : Agreement::subgroup; }

  void propagate(const Block& block) {
    for (const Instruction& instruction : block.body) {
      if (instruction.op == Op::for_loop)
        propagate_loop(instruction);
      else if (instruction.op == Op::if_else)
        propagate_branch(instruction);
      else if (instruction.results.size() == 1)
        raise(instruction.results[0], of_result(instruction));
    }
  }

  void propagate_loop(const Instruction& loop) {
    const Block& body = loop.blocks[0];
    Agreement lower_step = std::max(level(loop.operands[0]), level(loop.operands[2]));
    raise(body.arguments[0], lower_step);
    for (std::size_t i = 1; i < body.arguments.size(); ++i)
      raise(body.arguments[i], level(loop.operands[i + 2]));
    propagate(body);
    Agreement trips = std::max(lower_step, level(loop.operands[1]));
    const std::vector<ValueId>& yielded = body.body.back().operands;
    for (std::size_t i = 0; i < loop.results.size(); ++i) {
      raise(body.arguments[i + 1], level(yielded[i]));
      raise(loop.results[i], std::max(trips, level(body.arguments[i + 1])));
    }
  }

  void propagate_branch(const Instruction& branch) {
    for (const Block& block : branch.blocks) {
      propagate(block);
      const std::vector<ValueId>& yielded = block.body.back().operands;
      for (std::size_t i = 0; i < branch.results.size(); ++i)
        raise(branch.results[i], std::max(level(branch.operands[0]), level(yielded[i])));
    }
  }

  /// `control` is how far lanes agree on being here.
  Status check(const Block& block, Agreement control) const {
    for (const Instruction& instruction : block.body) {
      const OpFacts& facts = *find_facts(instruction.op);
      bool for_workgroup = facts.kind == OpKind::barrier &&
                           instruction.immediate == static_cast<std::uint64_t>(Scope::workgroup);
      bool for_subgroup = facts.kind == OpKind::subgroup || (facts.kind == OpKind::barrier && !for_workgroup);
      if ((for_workgroup && control > Agreement::workgroup) ||
          (for_subgroup && control > Agreement::subgroup))
        return fail(
            ErrorCode::invalid_argument,
            message(fmt::format("`{}`: stands in divergent control flow; all lanes of the {} must reach it",
                                to_text(program_, instruction), for_workgroup ? "workgroup" : "subgroup")));
      Agreement inner = control;
      if (instruction.op == Op::if_else) inner = std::max(inner, level(instruction.operands[0]));
      if (instruction.op == Op::for_loop)
        for (std::size_t i = 0; i < 3; ++i) inner = std::max(inner, level(instruction.operands[i]));
      for (const Block& nested : instruction.blocks) HALYARD_TRY(check(nested, inner));
    }
    return {};
  }

  const Program& program_;
  std::vector<Agreement> levels_;
  bool changed_ = false;
  bool one_lane_ = false;
  bool one_subgroup_ = false;
};

}  // namespace

Status check_uniformity(const Program& program) {
  return Uniformity(program).check();
}

}  // namespace halyard::program
