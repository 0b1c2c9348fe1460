#pragma once

#include <halyard/base/result.h>
#include <halyard/program/program.h>
#include <string>
#include <string_view>

/// The text form of a thread program, for people, tests and `--emit`.
///
///     # y = 2 x, one element per lane                         the program's note, a line each
///     kernel twice workgroup(64, 1, 1) subgroup(0)
///     buffer x : f32 read
///     buffer y : f32 write
///     scalar n : i32
///     {
///       %0 : i32 = parameter n
///       %1 : i32 = builtin lane
///       %2 : bool = lt %1, %0                                 # an instruction's note
///       %3 : f32 = constant 0x40000000 (2)                    the value in parentheses is for readers
///       if %2 {
///         %4 : f32 = load x[%1]
///         %5 : f32 = mul %4, %3
///         store y[%1], %5 : f32
///         yield
///       } else {
///         yield
///       }
///     }
///
/// A vector type is written `f32x8`. Memory operations take `mask %m` and `align N` after their operands; a
/// loop is `%r : f32 = for %i : i32 = %lower to %upper step %s carry (%c : f32 = %init) unroll 4 { … }`.
namespace halyard::program {

/// Prints `program`; never fails, whatever it holds. The same program always gives the same text.
std::string to_text(const Program& program);

/// One instruction on one line without its blocks and note, as messages quote it.
std::string to_text(const Program& program, const Instruction& instruction);

/// "f32x8", "i32".
std::string to_text(Type type);

/// Reads what `to_text` prints: `parse_text(to_text(p))` equals `p` field by field for every program that
/// `verify` accepts. Fails with invalid_argument that tells line and column. Checks the form only: call
/// `verify` for the meaning. Safe for hostile text.
Result<Program> parse_text(std::string_view text);

}  // namespace halyard::program
