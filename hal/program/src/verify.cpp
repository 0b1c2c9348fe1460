#include <fmt/format.h>
#include <halyard/program/op_facts.h>
#include <halyard/program/text.h>
#include <halyard/program/verify.h>
#include <bit>
#include <unordered_set>

#include "uniformity.h"
#include "verify_types.h"

namespace halyard::program {
namespace {

bool is_identifier(std::string_view name) {
  auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (name.empty() || name.size() > 256 || !is_letter(name[0])) return false;
  for (char c : name)
    if (!is_letter(c) && !(c >= '0' && c <= '9')) return false;
  return true;
}

bool is_element(ElementType element) {
  return static_cast<std::size_t>(element) < element_type_facts.size();
}

class Verifier {
 public:
  explicit Verifier(const Program& program) : program_(program) {}

  Status whole() {
    HALYARD_TRY(names());
    HALYARD_TRY(sizes());
    HALYARD_TRY(memory_and_values());
    state_.assign(program_.values.size(), State::undefined);
    constants_.assign(program_.values.size(), nullptr);
    HALYARD_TRY(block(program_.body, 0, nullptr));
    return needs_uniformity_ ? check_uniformity(program_) : Status{};
  }

 private:
  enum class State : std::uint8_t { undefined, in_scope, out_of_scope };

  tl::unexpected<Error> refuse(std::string_view what) const {
    return fail(ErrorCode::invalid_argument,
                fmt::format("verify `{}`: {}", program_.name.substr(0, 256), what));
  }

  tl::unexpected<Error> refuse(const Instruction& instruction, std::string_view what) const {
    std::string quoted = to_text(program_, instruction);
    if (quoted.size() > 400) quoted = quoted.substr(0, 400) + " ...";
    return refuse(fmt::format("`{}`: {}", quoted, what));
  }

  Status names() const {
    std::unordered_set<std::string_view> taken;
    auto take = [&](std::string_view kind, const std::string& name) -> Status {
      if (!is_identifier(name))
        return refuse(fmt::format("the {}'s name `{}` is not a C identifier", kind, name.substr(0, 256)));
      if (!taken.insert(name).second) return refuse(fmt::format("two things are named `{}`", name));
      return {};
    };
    if (program_.buffers.size() > Limits::buffers || program_.scalars.size() > Limits::scalars ||
        program_.shared.size() > Limits::shared_arrays)
      return refuse(
          fmt::format("at most {} buffers, {} scalars, {} shared arrays are allowed, not {}, {}, {}",
                      Limits::buffers, Limits::scalars, Limits::shared_arrays, program_.buffers.size(),
                      program_.scalars.size(), program_.shared.size()));
    HALYARD_TRY(take("kernel", program_.name));
    for (const BufferParameter& buffer : program_.buffers) HALYARD_TRY(take("buffer", buffer.name));
    for (const ScalarParameter& scalar : program_.scalars) HALYARD_TRY(take("scalar", scalar.name));
    for (const SharedArray& array : program_.shared) HALYARD_TRY(take("shared array", array.name));
    return {};
  }

  Status sizes() const {
    std::uint64_t lanes = 1;
    for (std::uint32_t size : program_.workgroup_size) {
      if (size <= Limits::workgroup_lanes) lanes *= size;
      if (size == 0 || size > Limits::workgroup_lanes || lanes > Limits::workgroup_lanes)
        return refuse(
            fmt::format("the workgroup size ({}, {}, {}) must be nonzero with a product of at most {}",
                        program_.workgroup_size[0], program_.workgroup_size[1], program_.workgroup_size[2],
                        Limits::workgroup_lanes));
    }
    std::uint32_t subgroup = program_.subgroup_size;
    if (subgroup && (!std::has_single_bit(subgroup) || subgroup > Limits::subgroup_lanes))
      return refuse(fmt::format("the subgroup size {} is not a power of two up to {}", subgroup,
                                Limits::subgroup_lanes));
    if (subgroup && lanes > 1 && lanes % subgroup != 0)
      return refuse(fmt::format("{} lanes of a workgroup do not fill subgroups of {}", lanes, subgroup));
    return {};
  }

  Status memory_and_values() const {
    for (const BufferParameter& buffer : program_.buffers) {
      if (!is_element(buffer.element))
        return refuse(fmt::format("buffer `{}` has no element type", buffer.name));
      auto access = static_cast<unsigned>(buffer.access);
      if (access < 1 || access > 3) return refuse(fmt::format("buffer `{}` has no access mode", buffer.name));
    }
    for (const ScalarParameter& scalar : program_.scalars)
      if (!is_element(scalar.element))
        return refuse(fmt::format("scalar `{}` has no element type", scalar.name));
    for (const SharedArray& array : program_.shared) {
      if (!is_element(array.element))
        return refuse(fmt::format("shared `{}` has no element type", array.name));
      if (array.count == 0) return refuse(fmt::format("shared `{}` is empty", array.name));
    }
    if (shared_bytes(program_) > Limits::shared_bytes)
      return refuse(
          fmt::format("{} bytes of shared memory exceed {}", shared_bytes(program_), Limits::shared_bytes));
    if (program_.values.size() > Limits::values)
      return refuse(fmt::format("{} values exceed {}", program_.values.size(), Limits::values));
    for (std::size_t i = 0; i < program_.values.size(); ++i) {
      Type type = program_.values[i];
      if (!is_element(type.element) || !std::has_single_bit(type.lanes) || type.lanes > Limits::vector_lanes)
        return refuse(fmt::format("%{} is {}: lanes must be a power of two up to {}", i, to_text(type),
                                  Limits::vector_lanes));
    }
    return {};
  }

  Status define(const Instruction& owner, ValueId value) {
    if (index(value) >= state_.size())
      return refuse(owner, fmt::format("%{} is not among the {} values", index(value), state_.size()));
    if (state_[index(value)] != State::undefined)
      return refuse(owner, fmt::format("%{} is defined a second time", index(value)));
    state_[index(value)] = State::in_scope;
    scope_.push_back(value);
    return {};
  }

  /// `owner` is the instruction the block belongs to, nullptr for the program's body.
  Status block(const Block& block, std::uint32_t depth, const Instruction* owner) {
    if (depth > Limits::block_depth)
      return refuse(fmt::format("blocks are nested more than {} deep", Limits::block_depth));
    std::size_t scope_begin = scope_.size();
    if (!owner && !block.arguments.empty()) return refuse("the program's body takes no arguments");
    if (owner && (block.body.empty() || block.body.back().op != Op::yield))
      return refuse(*owner, "its block does not end with `yield`");
    for (ValueId argument : block.arguments) HALYARD_TRY(define(*owner, argument));
    if (owner && owner->op == Op::for_loop) HALYARD_TRY(loop_arguments(*owner));
    for (const Instruction& instruction : block.body) {
      if (instruction.op == Op::yield && (!owner || &instruction != &block.body.back()))
        return refuse(instruction, "a `yield` ends the block of a loop or a branch, nothing else");
      HALYARD_TRY(this->instruction(instruction, depth));
    }
    if (owner) HALYARD_TRY(yields(*owner, block.body.back()));
    for (std::size_t i = scope_begin; i < scope_.size(); ++i) state_[index(scope_[i])] = State::out_of_scope;
    scope_.resize(scope_begin);
    return {};
  }

  Status instruction(const Instruction& instruction, std::uint32_t depth) {
    if (++instructions_ > Limits::instructions)
      return refuse(fmt::format("more than {} instructions", Limits::instructions));
    const OpFacts* facts = find_facts(instruction.op);
    if (!facts)
      return refuse(fmt::format("operation number {} does not exist", static_cast<unsigned>(instruction.op)));
    HALYARD_TRY(operands(instruction, *facts));
    if (!is_element(instruction.type.element) || !std::has_single_bit(instruction.type.lanes))
      return refuse(instruction, "has no valid type");
    if (std::string fault = stray_field(instruction, *facts); !fault.empty())
      return refuse(instruction, fault);
    if (facts->kind == OpKind::barrier || facts->kind == OpKind::subgroup) needs_uniformity_ = true;

    // Results of control operations come into scope after their blocks, with types that the yields confirm.
    if (facts->kind == OpKind::control) {
      if (instruction.op == Op::for_loop) HALYARD_TRY(loop(instruction));
      if (instruction.op == Op::if_else) HALYARD_TRY(branch(instruction));
      for (const Block& nested : instruction.blocks) HALYARD_TRY(block(nested, depth + 1, &instruction));
      for (ValueId result : instruction.results) HALYARD_TRY(define(instruction, result));
      return {};
    }
    if (instruction.results.size() != (facts->has_result ? 1u : 0u))
      return refuse(instruction, fmt::format("has {} results", instruction.results.size()));
    for (ValueId result : instruction.results) HALYARD_TRY(define(instruction, result));
    if (std::string fault = type_fault(program_, instruction, *facts); !fault.empty())
      return refuse(instruction, fault);
    if (instruction.op == Op::constant) constants_[index(instruction.results[0])] = &instruction;
    return {};
  }

  Status operands(const Instruction& instruction, const OpFacts& facts) const {
    std::size_t count = instruction.operands.size();
    if (count < facts.operands_min || (facts.operands_max != 255 && count > facts.operands_max))
      return refuse(instruction, fmt::format("has {} operands", count));
    for (ValueId value : instruction.operands) {
      if (index(value) >= state_.size())
        return refuse(instruction,
                      fmt::format("%{} is not among the {} values", index(value), state_.size()));
      if (state_[index(value)] != State::in_scope)
        return refuse(instruction, fmt::format("%{} is used {}", index(value),
                                               state_[index(value)] == State::undefined
                                                   ? "before it is defined"
                                                   : "outside the block that defines it"));
    }
    return {};
  }

  Type type(ValueId value) const { return program_.values[index(value)]; }

  Status loop(const Instruction& loop) const {
    Type bound = type(loop.operands[0]);
    if (bound != Type{ElementType::i32, 1} && bound != Type{ElementType::i64, 1})
      return refuse(loop, fmt::format("the lower bound is {} but must be i32 or i64", to_text(bound)));
    if (type(loop.operands[1]) != bound || type(loop.operands[2]) != bound)
      return refuse(loop, "bounds and step must be of one type");
    if (const Instruction* step = constants_[index(loop.operands[2])]) {
      bool negative = (step->immediate >> (bound.element == ElementType::i32 ? 31 : 63)) & 1u;
      if (step->immediate == 0 || negative) return refuse(loop, "the step must be positive");
    }
    std::size_t carried = loop.operands.size() - 3;
    if (loop.results.size() != carried || loop.blocks[0].arguments.size() != carried + 1)
      return refuse(loop,
                    fmt::format("{} initial values, {} block arguments besides the induction variable and {} "
                                "results do not match",
                                carried, static_cast<std::int64_t>(loop.blocks[0].arguments.size()) - 1,
                                loop.results.size()));
    return {};
  }

  /// The block's arguments are defined by now; the results' ids are not checked yet.
  Status loop_arguments(const Instruction& loop) const {
    const std::vector<ValueId>& arguments = loop.blocks[0].arguments;
    if (type(arguments[0]) != type(loop.operands[0]))
      return refuse(loop, "the induction variable must have the bounds' type");
    for (std::size_t i = 1; i < arguments.size(); ++i)
      if (type(arguments[i]) != type(loop.operands[i + 2]))
        return refuse(loop, fmt::format("carried %{} is {} but starts as {}", index(arguments[i]),
                                        to_text(type(arguments[i])), to_text(type(loop.operands[i + 2]))));
    return {};
  }

  Status branch(const Instruction& branch) const {
    if (type(branch.operands[0]) != Type{ElementType::boolean, 1})
      return refuse(branch, "the condition must be a boolean scalar");
    for (const Block& block : branch.blocks)
      if (!block.arguments.empty()) return refuse(branch, "the blocks of a branch take no arguments");
    return {};
  }

  Status yields(const Instruction& owner, const Instruction& yield) const {
    if (yield.operands.size() != owner.results.size())
      return refuse(owner, fmt::format("has {} results but a block yields {} values", owner.results.size(),
                                       yield.operands.size()));
    for (std::size_t i = 0; i < owner.results.size(); ++i) {
      if (index(owner.results[i]) >= program_.values.size())
        return refuse(owner, fmt::format("%{} is not among the values", index(owner.results[i])));
      if (type(owner.results[i]) != type(yield.operands[i]))
        return refuse(owner, fmt::format("result %{} is {} but a block yields %{} of {}",
                                         index(owner.results[i]), to_text(type(owner.results[i])),
                                         index(yield.operands[i]), to_text(type(yield.operands[i]))));
      if (owner.op == Op::for_loop && type(owner.results[i]) != type(owner.operands[i + 3]))
        return refuse(owner, fmt::format("result %{} has another type than its initial value",
                                         index(owner.results[i])));
    }
    return {};
  }

  const Program& program_;
  std::vector<State> state_;
  std::vector<ValueId> scope_;                 // values in scope, outermost block first
  std::vector<const Instruction*> constants_;  // per value: the constant that defines it
  std::uint32_t instructions_ = 0;
  bool needs_uniformity_ = false;
};

}  // namespace

Status verify(const Program& program) {
  return Verifier(program).whole();
}

}  // namespace halyard::program
