// Blocks, instructions and control flow. Loops are printed in the rotated form, guard and do-while, which is
// what LLVM's loop passes want; results of loops and branches are phis.
#include <fmt/format.h>
#include "emit_llvm_printer.h"

namespace halyard::fusion {

using program::Block;
using program::Builtin;

LlvmPrinter::BlockEnd LlvmPrinter::print_block(const Block& block) {
  BlockEnd end;
  for (const Instruction& instruction : block.body) {
    if (instruction.op == Op::yield) {
      for (ValueId value : instruction.operands) end.yielded.push_back(name(value));
      break;
    }
    print_instruction(instruction);
    if (error_) break;
  }
  end.label = block_;
  return end;
}

void LlvmPrinter::print_instruction(const Instruction& instruction) {
  switch (instruction.op) {
    case Op::constant:
      return print_constant(instruction);
    case Op::iota:
      return print_iota(instruction);
    case Op::parameter:
      return set_name(instruction.results[0], fmt::format("%scalar{}", instruction.immediate));
    case Op::builtin: {
      static constexpr const char* names[] = {
          "%workgroup_x", "%workgroup_y", "%workgroup_z", "%grid_x", "%grid_y", "%grid_z", "0", "0", "0"};
      if (instruction.immediate >= std::size(names))
        return error(ErrorCode::invalid_argument, fmt::format("no builtin {}", instruction.immediate));
      return set_name(instruction.results[0], names[instruction.immediate]);
    }
    case Op::neg:
    case Op::abs:
    case Op::sqrt:
    case Op::floor:
    case Op::ceil:
    case Op::trunc:
    case Op::round_even:
    case Op::bit_not:
      return print_unary(instruction);
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::rem:
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
    case Op::shl:
    case Op::shr:
      return print_binary(instruction);
    case Op::mul_high:
      return print_mul_high(instruction);
    case Op::fma:
      return print_fma(instruction);
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
      return print_compare(instruction);
    case Op::select:
      return define(instruction, fmt::format("select {}, {}, {}", typed(instruction.operands[0]),
                                             typed(instruction.operands[1]), typed(instruction.operands[2])));
    case Op::cast:
      return print_cast(instruction);
    case Op::bitcast:
      return print_bitcast(instruction);
    case Op::splat:
      return print_splat(instruction);
    case Op::extract:
      if (type(instruction.operands[0]).lanes == 1)
        return set_name(instruction.results[0], name(instruction.operands[0]));
      return define(instruction, fmt::format("extractelement {}, i32 {}", typed(instruction.operands[0]),
                                             instruction.immediate));
    case Op::insert:
      if (instruction.type.lanes == 1) return set_name(instruction.results[0], name(instruction.operands[1]));
      return define(instruction, fmt::format("insertelement {}, {}, i32 {}", typed(instruction.operands[0]),
                                             typed(instruction.operands[1]), instruction.immediate));
    case Op::shuffle:
      return print_shuffle(instruction);
    case Op::load:
      return print_load(instruction);
    case Op::store:
      return print_store(instruction);
    case Op::gather:
      return print_gather(instruction);
    case Op::scatter:
      return print_scatter(instruction);
    case Op::prefetch:
      return print_prefetch(instruction);
    case Op::barrier:  // a workgroup is one lane
      return;
    case Op::shuffle_xor:
    case Op::shuffle_lane:
    case Op::broadcast_lane:  // a subgroup is one lane
      return set_name(instruction.results[0], name(instruction.operands[0]));
    case Op::for_loop:
      return print_for(instruction);
    case Op::if_else:
      return print_if(instruction);
    case Op::comment:
      return line("", instruction.note);
    case Op::yield:
      break;
  }
  error(ErrorCode::unsupported,
        fmt::format("operation number {} is not known here", static_cast<unsigned>(instruction.op)));
}

void LlvmPrinter::print_for(const Instruction& loop) {
  const Block& body = loop.blocks[0];
  ValueId lower = loop.operands[0];
  ValueId upper = loop.operands[1];
  bool is_signed_type = is_signed(type(lower).element);
  std::string index_type = register_type(type(lower));
  std::string head = new_label("loop");
  std::string exit = head + ".end";
  std::size_t carried = body.arguments.size() - 1;

  // The text of a phi names values of the latch, which is printed after it: leave a gap and fill it in.
  if (!loop.note.empty()) line("", loop.note);
  const char* compare = is_signed_type ? "slt" : "ult";
  std::string enters = temporary(fmt::format("icmp {} {}, {}", compare, typed(lower), name(upper)));
  std::string before = block_;
  line(fmt::format("br i1 {}, label %{}, label %{}", enters, head, exit));
  label(head);
  indent_ += "  ";
  for (ValueId argument : body.arguments) set_name(argument, value_name(argument));
  std::size_t gap = text_.size();
  BlockEnd end = print_block(body);
  if (error_) return;

  std::string induction = name(body.arguments[0]);
  std::string next = fmt::format("{}.next", induction);
  // The loop ends before its variable overflows, so the step cannot wrap.
  line(fmt::format("{} = add {} {} {}, {}", next, is_signed_type ? "nsw" : "nuw", index_type, induction,
                   name(loop.operands[2])));
  std::string again = temporary(fmt::format("icmp {} {} {}, {}", compare, index_type, next, name(upper)));
  line(fmt::format("br i1 {}, label %{}, label %{}, !llvm.loop {}", again, head, exit,
                   loop_metadata(loop.immediate)));

  std::string phis = fmt::format("{}{} = phi {} [ {}, %{} ], [ {}, %{} ]\n", indent_, induction, index_type,
                                 name(lower), before, next, end.label);
  for (std::size_t i = 0; i < carried; ++i) {
    ValueId argument = body.arguments[i + 1];
    phis += fmt::format("{}{} = phi {} [ {}, %{} ], [ {}, %{} ]\n", indent_, name(argument),
                        register_type(type(argument)), name(loop.operands[3 + i]), before, end.yielded[i],
                        end.label);
  }
  text_.insert(gap, phis);

  indent_.resize(indent_.size() - 2);
  std::string last = end.label;
  label(exit);
  for (std::size_t i = 0; i < carried; ++i) {
    std::string result = value_name(loop.results[i]);
    line(fmt::format("{} = phi {} [ {}, %{} ], [ {}, %{} ]", result, register_type(type(loop.results[i])),
                     name(loop.operands[3 + i]), before, end.yielded[i], last));
    set_name(loop.results[i], result);
  }
}

void LlvmPrinter::print_if(const Instruction& branch) {
  std::string then_label = new_label("then");
  std::string number = then_label.substr(4);
  std::string else_label = "else" + number;
  std::string join_label = "join" + number;
  if (!branch.note.empty()) line("", branch.note);
  line(fmt::format("br i1 {}, label %{}, label %{}", name(branch.operands[0]), then_label, else_label));
  BlockEnd ends[2];
  for (int side = 0; side < 2; ++side) {
    label(side == 0 ? then_label : else_label);
    indent_ += "  ";
    ends[side] = print_block(branch.blocks[static_cast<std::size_t>(side)]);
    if (error_) return;
    line(fmt::format("br label %{}", join_label));
    indent_.resize(indent_.size() - 2);
  }
  label(join_label);
  for (std::size_t i = 0; i < branch.results.size(); ++i) {
    std::string result = value_name(branch.results[i]);
    line(fmt::format("{} = phi {} [ {}, %{} ], [ {}, %{} ]", result, register_type(type(branch.results[i])),
                     ends[0].yielded[i], ends[0].label, ends[1].yielded[i], ends[1].label));
    set_name(branch.results[i], result);
  }
}

/// Vectors are the program's own business (they fix the order of sums), so LLVM's vectorizer stays out.
/// Unrolling is left to LLVM unless the program says a number.
std::string LlvmPrinter::loop_metadata(std::uint64_t unroll) {
  std::string self = fmt::format("!{}", metadata_.size());
  if (unroll <= 1) {
    metadata_.push_back(fmt::format("distinct !{{{}, !0{}}}", self, unroll == 1 ? ", !1" : ""));
    return self;
  }
  metadata_.push_back({});
  metadata_.push_back(fmt::format("!{{!\"llvm.loop.unroll.count\", i32 {}}}", unroll));
  metadata_[metadata_.size() - 2] = fmt::format("distinct !{{{}, !0, !{}}}", self, metadata_.size() - 1);
  return self;
}

}  // namespace halyard::fusion
