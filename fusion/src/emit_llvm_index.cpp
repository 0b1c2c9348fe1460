// Which integer arithmetic only makes indices. `program.h` lets integers wrap, but an index that wrapped
// would name no element; telling LLVM so ("nsw") lets it keep addresses in registers that count up instead of
// extending a 32-bit sum for every access.
#include "emit_llvm_index.h"
#include <algorithm>

namespace halyard::fusion {
namespace {

using program::Block;
using program::Instruction;
using program::Op;
using program::ValueId;

/// What the users of a value do with it.
struct Uses {
  bool index = false;  // names an element, directly or through further index arithmetic
  bool other = false;  // anything that would notice wrapping
};

/// Reads a program backwards: all users of a value come after it, but for what a loop carries, which counts
/// as `other`.
class IndexUses {
 public:
  explicit IndexUses(const program::Program& program) : uses_(program.values.size()) { visit(program.body); }
  std::vector<bool> only_indices() const {
    std::vector<bool> result(uses_.size());
    std::transform(uses_.begin(), uses_.end(), result.begin(), [](Uses u) { return u.index && !u.other; });
    return result;
  }

 private:
  Uses& of(ValueId value) { return uses_[program::index(value)]; }
  void pass_through(const Instruction& instruction, std::size_t first) {
    Uses result = of(instruction.results[0]);
    for (std::size_t i = first; i < instruction.operands.size(); ++i) {
      of(instruction.operands[i]).index |= result.index;
      of(instruction.operands[i]).other |= result.other;
    }
  }
  void mark_other(const Instruction& instruction, std::size_t first) {
    for (std::size_t i = first; i < instruction.operands.size(); ++i)
      of(instruction.operands[i]).other = true;
  }

  void visit(const Block& block) {
    for (auto it = block.body.rbegin(); it != block.body.rend(); ++it) visit(*it);
  }

  void visit(const Instruction& instruction) {
    for (auto it = instruction.blocks.rbegin(); it != instruction.blocks.rend(); ++it) visit(*it);
    switch (instruction.op) {
      case Op::load:
      case Op::store:
      case Op::gather:
      case Op::scatter:
      case Op::prefetch:
        of(instruction.operands[0]).index = true;
        return mark_other(instruction, 1);
      case Op::add:
      case Op::sub:
      case Op::mul:
      case Op::div:
      case Op::rem:
      case Op::splat:
        return pass_through(instruction, 0);
      case Op::select:
        return pass_through(instruction, 1);
      case Op::cast:
        // Widening keeps the value of what did not wrap; narrowing would hide a wrap.
        if (instruction.type.element == ElementType::i64) return pass_through(instruction, 0);
        return mark_other(instruction, 0);
      case Op::eq:
      case Op::ne:
      case Op::lt:
      case Op::le:
      case Op::gt:
      case Op::ge:  // bounds of indices: right as long as the index itself is
        return;
      case Op::for_loop:  // bounds and step likewise; what is carried is another matter
        return mark_other(instruction, 3);
      default:
        return mark_other(instruction, 0);
    }
  }

  std::vector<Uses> uses_;
};

}  // namespace

std::vector<bool> index_arithmetic(const program::Program& program) {
  return IndexUses(program).only_indices();
}

}  // namespace halyard::fusion
