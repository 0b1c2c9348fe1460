#include "interpret_plan.h"

#include <fmt/format.h>
#include <halyard/program/op_facts.h>
#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace halyard::program {
namespace {

constexpr std::size_t most_arena_bytes = std::size_t{1} << 30;
constexpr std::size_t slot_alignment = 64;

bool is_preset(Op op) {
  return op == Op::constant || op == Op::iota || op == Op::parameter || op == Op::builtin;
}

/// Numbers instructions in program order (a control operation twice: where it begins and where it ends) and
/// finds for each value the number after which nothing reads it.
class Liveness {
 public:
  explicit Liveness(const Program& program)
      : last_use(program.values.size(), 0), loop_depth_(program.values.size(), 0) {
    visit(program.body);
  }

  std::vector<std::uint32_t> last_use;

 private:
  void define(ValueId value, std::uint32_t at) {
    loop_depth_[index(value)] = static_cast<std::uint32_t>(loops_.size());
    last_use[index(value)] = at;
  }

  /// A value from outside a loop that the loop reads must last until the loop ends.
  void use(ValueId value, std::uint32_t at) {
    std::uint32_t depth = loop_depth_[index(value)];
    if (depth < loops_.size()) loops_[depth].push_back(value);
    last_use[index(value)] = std::max(last_use[index(value)], at);
  }

  void visit(const Block& block) {
    for (const Instruction& instruction : block.body) {
      std::uint32_t begin = ++position_;
      for (ValueId value : instruction.operands) use(value, begin);
      if (instruction.op == Op::for_loop) {
        visit_loop(instruction);
      } else if (instruction.op == Op::if_else) {
        for (ValueId value : instruction.results) define(value, begin);
        for (const Block& nested : instruction.blocks) visit(nested);
        std::uint32_t end = ++position_;
        for (ValueId value : instruction.results) last_use[index(value)] = end;
      } else {
        for (ValueId value : instruction.results) define(value, begin);
      }
    }
  }

  void visit_loop(const Instruction& loop) {
    loops_.emplace_back();
    const Block& body = loop.blocks[0];
    for (ValueId value : body.arguments) define(value, position_);
    visit(body);
    std::uint32_t end = ++position_;
    for (ValueId value : body.arguments) last_use[index(value)] = end;
    for (ValueId value : loops_.back()) last_use[index(value)] = std::max(last_use[index(value)], end);
    loops_.pop_back();
    for (ValueId value : loop.operands) use(value, end);
    for (ValueId value : loop.results) define(value, end);
  }

  std::vector<std::uint32_t> loop_depth_;    // per value: how many loops enclose its definition
  std::vector<std::vector<ValueId>> loops_;  // open loops: values from outside that they read
  std::uint32_t position_ = 0;
};

/// Hands out pieces of the arena; pieces of one size are used again.
class Slots {
 public:
  Slot take(std::size_t bytes) {
    std::size_t size = (bytes + slot_alignment - 1) / slot_alignment * slot_alignment;
    std::vector<Slot>& free = free_[size];
    if (free.empty()) {
      Slot slot = end_;
      end_ += size;
      return slot;
    }
    Slot slot = free.back();
    free.pop_back();
    return slot;
  }

  void give_back(Slot slot, std::size_t bytes) {
    std::size_t size = (bytes + slot_alignment - 1) / slot_alignment * slot_alignment;
    free_[size].push_back(slot);
  }

  std::size_t bytes() const { return end_; }

 private:
  std::unordered_map<std::size_t, std::vector<Slot>> free_;
  std::size_t end_ = 0;
};

class Planner {
 public:
  explicit Planner(const Program& program) : program_(program), slots_of_(program.values.size(), 0) {
    const std::uint32_t* size = program.workgroup_size;
    plan_.workgroup_lanes = size[0] * size[1] * size[2];
  }

  Result<Plan> whole() {
    Liveness liveness(program_);
    for (std::size_t i = 0; i < program_.values.size(); ++i)
      if (liveness.last_use[i])
        expiring_.emplace_back(liveness.last_use[i], ValueId{static_cast<std::uint32_t>(i)});
    std::sort(expiring_.begin(), expiring_.end());
    pinned_.assign(program_.values.size(), false);
    presets(program_.body);
    block(program_.body, plan_.steps);
    if (too_large_ || slots_.bytes() > most_arena_bytes)
      return fail(
          ErrorCode::unsupported,
          fmt::format("interpret `{}`: its values need more than {} MiB at once: use a smaller workgroup "
                      "or fewer lanes per vector",
                      program_.name, most_arena_bytes >> 20));
    plan_.arena_bytes = slots_.bytes();
    return std::move(plan_);
  }

 private:
  Type type(ValueId value) const { return program_.values[index(value)]; }
  Slot slot(ValueId value) const { return slots_of_[index(value)]; }
  std::size_t lane_bytes(Type t) const { return t.lanes * byte_size(t.element); }
  std::size_t total_bytes(Type t) const { return plan_.workgroup_lanes * lane_bytes(t); }

  Slot define(ValueId value) {
    if (slots_.bytes() > most_arena_bytes) too_large_ = true;
    return slots_of_[index(value)] = too_large_ ? 0 : slots_.take(total_bytes(type(value)));
  }

  /// Advances as `Liveness` does, then frees what nothing reads any more.
  void pass(std::uint32_t position) {
    for (; next_expiring_ < expiring_.size() && expiring_[next_expiring_].first <= position;
         ++next_expiring_) {
      ValueId value = expiring_[next_expiring_].second;
      if (!pinned_[index(value)] && !too_large_) slots_.give_back(slot(value), total_bytes(type(value)));
    }
  }

  void block(const Block& block, Steps& out) {
    for (const Instruction& instruction : block.body) {
      std::uint32_t begin = ++position_;
      if (instruction.op == Op::comment || instruction.op == Op::prefetch || instruction.op == Op::yield) {
        if (instruction.op != Op::yield) pass(begin);
        continue;
      }
      if (is_preset(instruction.op)) continue;
      Step& step = out.emplace_back();
      step.instruction = &instruction;
      for (std::size_t i = 0; i < std::min<std::size_t>(3, instruction.operands.size()); ++i)
        step.operands[i] = slot(instruction.operands[i]);
      if (instruction.op == Op::for_loop) {
        loop(instruction, step);
      } else if (instruction.op == Op::if_else) {
        branch(instruction, step);
      } else {
        plain(instruction, step);
        pass(begin);
      }
    }
  }

  /// All of them before anything else: their slots are filled once, so nothing may have used them before.
  void presets(const Block& block) {
    for (const Instruction& instruction : block.body) {
      if (is_preset(instruction.op)) preset(instruction);
      for (const Block& nested : instruction.blocks) presets(nested);
    }
  }

  /// Values from outside never change while a workgroup runs; equal constants share a slot.
  void preset(const Instruction& instruction) {
    ValueId value = instruction.results[0];
    pinned_[index(value)] = true;
    auto key = std::make_tuple(instruction.op, instruction.type.element, instruction.type.lanes,
                               instruction.immediate);
    auto [known, fresh] = presets_.try_emplace(key, 0);
    if (!fresh) {
      slots_of_[index(value)] = known->second;
      return;
    }
    known->second = define(value);
    bool moves =
        instruction.op == Op::builtin && instruction.immediate <= static_cast<unsigned>(Builtin::workgroup_z);
    (moves ? plan_.per_workgroup : plan_.per_run).push_back({&instruction, known->second, instruction.type});
  }

  void plain(const Instruction& instruction, Step& step) {
    const OpFacts& facts = *find_facts(instruction.op);
    step.lanes = instruction.type.lanes;
    step.element_bytes = static_cast<std::uint8_t>(byte_size(instruction.type.element));
    step.count = std::size_t{plan_.workgroup_lanes} * step.lanes;
    if (!instruction.operands.empty()) step.source_lanes = type(instruction.operands[0]).lanes;
    if (facts.has_result) step.result = define(instruction.results[0]);
    ElementType element =
        instruction.operands.empty() ? instruction.type.element : type(instruction.operands[0]).element;
    if (facts.kind == OpKind::lane_wise || facts.kind == OpKind::comparison)
      step.compute = find_lane_wise(instruction.op, element);
    if (facts.kind == OpKind::select) step.compute = find_lane_wise(instruction.op, instruction.type.element);
    if (facts.kind == OpKind::cast) step.compute = find_cast(element, instruction.type.element);
    step.checks_division = (instruction.op == Op::div || instruction.op == Op::rem) && is_integer(element);
    if (facts.kind == OpKind::memory) {
      step.wide_index = element == ElementType::i64;
      step.masked = instruction.operands.size() == facts.operands_max;
    }
  }

  void loop(const Instruction& instruction, Step& step) {
    auto plan = std::make_unique<LoopPlan>();
    const Block& body = instruction.blocks[0];
    plan->wide = type(instruction.operands[0]).element == ElementType::i64;
    plan->lower = slot(instruction.operands[0]);
    plan->upper = slot(instruction.operands[1]);
    plan->step = slot(instruction.operands[2]);
    plan->mask = slots_.take(plan_.workgroup_lanes);
    plan->induction = define(body.arguments[0]);
    for (std::size_t i = 1; i < body.arguments.size(); ++i) {
      ValueId argument = body.arguments[i];
      plan->initial.push_back(
          {define(argument), slot(instruction.operands[i + 2]), lane_bytes(type(argument))});
    }
    block(body, step.blocks[0]);
    std::vector<std::pair<Slot, std::size_t>> temporaries = carries(body, *plan);
    std::uint32_t end = ++position_;
    for (std::size_t i = 0; i < instruction.results.size(); ++i) {
      ValueId result = instruction.results[i];
      plan->finish.push_back({define(result), slot(body.arguments[i + 1]), lane_bytes(type(result))});
    }
    for (auto [temporary, bytes] : temporaries) slots_.give_back(temporary, bytes);
    slots_.give_back(plan->mask, plan_.workgroup_lanes);
    pass(end);
    step.loop = std::move(plan);
  }

  /// A yielded value that is itself a carried argument would be overwritten by an earlier carry: it goes
  /// through a temporary.
  std::vector<std::pair<Slot, std::size_t>> carries(const Block& body, LoopPlan& plan) {
    std::vector<std::pair<Slot, std::size_t>> temporaries;
    const std::vector<ValueId>& yielded = body.body.back().operands;
    for (std::size_t i = 0; i < yielded.size(); ++i) {
      ValueId argument = body.arguments[i + 1];
      if (yielded[i] == argument) continue;
      Copy carry{slot(argument), slot(yielded[i]), lane_bytes(type(argument))};
      if (std::find(body.arguments.begin() + 1, body.arguments.end(), yielded[i]) != body.arguments.end()) {
        Slot temporary = slots_.take(total_bytes(type(argument)));
        temporaries.emplace_back(temporary, total_bytes(type(argument)));
        plan.stage.push_back({temporary, carry.from, carry.bytes_per_lane});
        carry.from = temporary;
      }
      plan.carry.push_back(carry);
    }
    return temporaries;
  }

  void branch(const Instruction& instruction, Step& step) {
    auto plan = std::make_unique<BranchPlan>();
    plan->condition = slot(instruction.operands[0]);
    for (Slot& mask : plan->masks) mask = slots_.take(plan_.workgroup_lanes);
    for (ValueId result : instruction.results) define(result);
    for (std::size_t side = 0; side < 2; ++side) {
      const Block& body = instruction.blocks[side];
      block(body, step.blocks[side]);
      const std::vector<ValueId>& yielded = body.body.back().operands;
      for (std::size_t i = 0; i < yielded.size(); ++i)
        plan->yields[side].push_back(
            {slot(instruction.results[i]), slot(yielded[i]), lane_bytes(type(yielded[i]))});
    }
    std::uint32_t end = ++position_;
    for (Slot mask : plan->masks) slots_.give_back(mask, plan_.workgroup_lanes);
    pass(end);
    step.branch = std::move(plan);
  }

  const Program& program_;
  Plan plan_;
  Slots slots_;
  std::vector<Slot> slots_of_;
  std::vector<bool> pinned_;
  std::vector<std::pair<std::uint32_t, ValueId>> expiring_;
  std::size_t next_expiring_ = 0;
  std::map<std::tuple<Op, ElementType, std::uint16_t, std::uint64_t>, Slot> presets_;
  std::uint32_t position_ = 0;
  bool too_large_ = false;
};

}  // namespace

Result<Plan> make_plan(const Program& program) {
  return Planner(program).whole();
}

}  // namespace halyard::program
