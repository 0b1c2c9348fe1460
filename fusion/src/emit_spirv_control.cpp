#include "spirv_emitter.h"

#include <fmt/format.h>

namespace halyard::fusion::spirv {

using program::Instruction;
using program::Op;
using program::Type;
using program::ValueId;

Id Emitter::emit(spv::Op op, Id type, std::span<const Id> operands) {
  Words words{type, module_.new_id()};
  words.insert(words.end(), operands.begin(), operands.end());
  module_.append(op, words);
  return words[1];
}

void Emitter::begin_block(Id label) {
  module_.append(spv::OpLabel, {label});
  current_block_ = label;
}

/// Notes name the value they explain; a comment names the next value.
void Emitter::define(const Instruction& instruction, Parts result) {
  if (options_.names && !result.empty()) {
    const std::string& text = instruction.note.empty() ? pending_comment_ : instruction.note;
    bool is_code = instruction.op != Op::constant && instruction.op != Op::iota;
    if (!text.empty() && is_code) {
      module_.name(result[0], std::string_view(text).substr(0, 80));
      pending_comment_.clear();
    }
  }
  values_[index(instruction.results[0])] = std::move(result);
}

Status Emitter::block(const program::Block& block, Parts* yielded) {
  for (const Instruction& instruction : block.body) {
    if (instruction.op == Op::yield) {
      for (ValueId value : instruction.operands)
        if (yielded) yielded->insert(yielded->end(), parts(value).begin(), parts(value).end());
      continue;
    }
    HALYARD_TRY(this->instruction(instruction));
  }
  return {};
}

Status Emitter::instruction(const Instruction& i) {
  switch (i.op) {
    case Op::constant:
      define(i, Parts(part_count(i.type), part_constant(i.type, i.immediate)));
      return {};
    case Op::iota:
      define(i, iota(i));
      return {};
    case Op::parameter:
      define(i, parameter(i));
      return {};
    case Op::builtin:
      define(i, {builtin_value(static_cast<program::Builtin>(i.immediate))});
      return {};
    case Op::bitcast:
      define(i, bitcast(i));
      return {};
    case Op::splat:
      define(i, splat(i));
      return {};
    case Op::extract:
      define(i, {lane_of(parts(i.operands[0]), type_of(i.operands[0]),
                         static_cast<std::uint32_t>(i.immediate))});
      return {};
    case Op::shuffle:
      define(i, shuffle(i));
      return {};
    case Op::insert:
      define(i, insert(i));
      return {};
    case Op::load:
      define(i, load(i));
      return {};
    case Op::gather:
      define(i, gather(i));
      return {};
    case Op::store:
      store(i);
      return {};
    case Op::scatter:
      scatter(i);
      return {};
    case Op::prefetch:
      return {};  // SPIR-V has no such hint
    case Op::barrier:
      barrier(static_cast<program::Scope>(i.immediate));
      return {};
    case Op::shuffle_xor:
    case Op::shuffle_lane:
    case Op::broadcast_lane:
      define(i, subgroup_exchange(i));
      return {};
    case Op::for_loop:
      return for_loop(i);
    case Op::if_else:
      return if_else(i);
    case Op::comment:
      pending_comment_ = i.note;
      return {};
    case Op::yield:
      return {};
    default:
      break;
  }
  if (i.operands.empty() || i.results.size() != 1)
    return fail(ErrorCode::unsupported, fmt::format("emit_spirv: operation {} of program {} is not known",
                                                    static_cast<unsigned>(i.op), program_.name));
  define(i, lane_wise(i));
  return {};
}

/// header (phis, test) -> body -> continue (step) -> header; the results are the header's phis.
Status Emitter::for_loop(const Instruction& loop) {
  const program::Block& body = loop.blocks[0];
  Id header = module_.new_id();
  Id body_label = module_.new_id();
  Id continue_label = module_.new_id();
  Id merge = module_.new_id();

  std::vector<ValueId> initial(loop.operands.begin() + 3, loop.operands.end());
  initial.insert(initial.begin(), loop.operands[0]);
  Id upper = parts(loop.operands[1])[0];
  Id step = parts(loop.operands[2])[0];

  Id before = current_block_;
  branch(header);
  begin_block(header);
  std::vector<std::size_t> next_words;  // where the phis' values from the continue block go
  for (std::size_t k = 0; k < body.arguments.size(); ++k) {
    Parts phis;
    for (Id start : parts(initial[k])) {
      phis.push_back(
          emit(spv::OpPhi, part_type(type_of(body.arguments[k])), {start, before, Id{0}, continue_label}));
      next_words.push_back(module_.code().size() - 2);
    }
    values_[index(body.arguments[k])] = std::move(phis);
  }
  if (options_.names) name_loop(header, loop);
  Type induction_type = type_of(body.arguments[0]);
  Id induction = parts(body.arguments[0])[0];
  Id bounds[2] = {induction, upper};
  Id goes_on = compare_part(Op::lt, induction_type, bounds);
  std::uint32_t control = loop.immediate > 1 ? spv::LoopControlUnrollMask : spv::LoopControlMaskNone;
  module_.append(spv::OpLoopMerge, {merge, continue_label, control});
  module_.append(spv::OpBranchConditional, {goes_on, body_label, merge});

  begin_block(body_label);
  Parts carried;
  HALYARD_TRY(block(body, &carried));
  branch(continue_label);
  begin_block(continue_label);
  Parts next{emit(spv::OpIAdd, part_type(induction_type), {induction, step})};
  next.insert(next.end(), carried.begin(), carried.end());
  branch(header);
  for (std::size_t k = 0; k < next_words.size(); ++k) module_.code()[next_words[k]] = next[k];

  begin_block(merge);
  for (std::size_t k = 0; k < loop.results.size(); ++k)
    values_[index(loop.results[k])] = parts(body.arguments[k + 1]);
  return {};
}

void Emitter::name_loop(Id header, const Instruction& loop) {
  const std::string& text = loop.note.empty() ? pending_comment_ : loop.note;
  if (!text.empty()) module_.name(header, std::string_view(text).substr(0, 80));
  pending_comment_.clear();
}

/// A block that does nothing but yield what is known outside of it.
bool Emitter::only_yields(const program::Block& block) {
  return block.body.size() == 1 && block.body[0].op == program::Op::yield;
}

/// An else that does nothing gets no block of its own: the time that SwiftShader takes over a loop grows
/// exponentially with the two-armed selections in it (34 of them: minutes).
Status Emitter::if_else(const Instruction& instruction) {
  if (only_yields(instruction.blocks[1])) return if_then(instruction);
  Id labels[2] = {module_.new_id(), module_.new_id()};
  Id merge = module_.new_id();
  module_.append(spv::OpSelectionMerge, {merge, spv::SelectionControlMaskNone});
  module_.append(spv::OpBranchConditional, {parts(instruction.operands[0])[0], labels[0], labels[1]});
  Parts results[2];
  std::array<Id, 2> last{};
  for (std::size_t way = 0; way < 2; ++way) {
    begin_block(labels[way]);
    HALYARD_TRY(block(instruction.blocks[way], &results[way]));
    last[way] = current_block_;
    branch(merge);
  }
  begin_block(merge);
  merge_results(instruction, results, last);
  return {};
}

Status Emitter::if_then(const Instruction& instruction) {
  Id inside = module_.new_id();
  Id merge = module_.new_id();
  Id before = current_block_;
  module_.append(spv::OpSelectionMerge, {merge, spv::SelectionControlMaskNone});
  module_.append(spv::OpBranchConditional, {parts(instruction.operands[0])[0], inside, merge});
  Parts results[2];
  HALYARD_TRY(block(instruction.blocks[1], &results[1]));
  begin_block(inside);
  HALYARD_TRY(block(instruction.blocks[0], &results[0]));
  Id last = current_block_;
  branch(merge);
  begin_block(merge);
  merge_results(instruction, results, {last, before});
  return {};
}

void Emitter::merge_results(const Instruction& instruction, const Parts (&results)[2],
                            std::array<Id, 2> last) {
  std::size_t next = 0;
  for (ValueId result : instruction.results) {
    Parts merged;
    for (std::uint32_t part = 0; part < part_count(type_of(result)); ++part, ++next)
      merged.push_back(emit(spv::OpPhi, part_type(type_of(result)),
                            {results[0][next], last[0], results[1][next], last[1]}));
    values_[index(result)] = std::move(merged);
  }
}

Emitter::Parts Emitter::guarded(Id condition, std::span<const Id> types, const std::function<Parts()>& body) {
  Id inside = module_.new_id();
  Id merge = module_.new_id();
  Id before = current_block_;
  module_.append(spv::OpSelectionMerge, {merge, spv::SelectionControlMaskNone});
  module_.append(spv::OpBranchConditional, {condition, inside, merge});
  begin_block(inside);
  Parts given = body();
  Id last = current_block_;
  branch(merge);
  begin_block(merge);
  Parts merged;
  for (std::size_t k = 0; k < given.size(); ++k)
    merged.push_back(emit(spv::OpPhi, types[k], {given[k], last, module_.constant_null(types[k]), before}));
  return merged;
}

/// A workgroup that is one subgroup needs no more than a subgroup's barrier, which costs real devices next to
/// nothing and software ones much less than stopping every lane.
void Emitter::barrier(program::Scope scope) {
  const std::uint32_t* size = program_.workgroup_size;
  std::uint32_t lanes = size[0] * size[1] * size[2];
  if (lanes == 1) return;
  bool one_subgroup = program_.subgroup_size != 0 && lanes <= program_.subgroup_size;
  spv::Scope reach =
      scope == program::Scope::subgroup || one_subgroup ? spv::ScopeSubgroup : spv::ScopeWorkgroup;
  if (reach == spv::ScopeSubgroup) module_.capability(spv::CapabilityGroupNonUniform);
  std::uint32_t semantics = spv::MemorySemanticsAcquireReleaseMask | spv::MemorySemanticsWorkgroupMemoryMask |
                            spv::MemorySemanticsUniformMemoryMask;
  Id scope_id = word(reach);
  module_.append(spv::OpControlBarrier, {scope_id, scope_id, word(semantics)});
}

}  // namespace halyard::fusion::spirv
