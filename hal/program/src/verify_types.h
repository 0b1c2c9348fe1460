#pragma once

#include <halyard/program/op_facts.h>
#include <halyard/program/program.h>
#include <string>

namespace halyard::program {

/// What is wrong with one instruction's fields and types, or an empty string. Operand and result ids must be
/// in range and their counts right; blocks are not looked at.
std::string type_fault(const Program& program, const Instruction& instruction, const OpFacts& facts);

/// Which of an instruction's fields must keep their defaults but do not, or an empty string.
std::string stray_field(const Instruction& instruction, const OpFacts& facts);

}  // namespace halyard::program
