#pragma once

#include <halyard/program/program.h>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace halyard::program {

/// How an operation's operands and result hang together.
enum class OpKind : std::uint8_t {
  outside,     ///< a value from outside: no operands
  lane_wise,   ///< operands and result of one type
  comparison,  ///< two operands of one type, boolean result
  select,
  cast,
  bitcast,
  vector,  ///< splat, extract, shuffle, insert
  memory,  ///< load, store, gather, scatter, prefetch
  barrier,
  subgroup,  ///< exchanges values among the lanes of a subgroup
  control,   ///< for_loop, if_else, yield
  comment,
};

/// Which elements a lane-wise operation or a comparison takes.
enum class Elements : std::uint8_t {
  any,
  number,  ///< integers and floats
  integer,
  floating,
  bits,            ///< integers and boolean
  wide_integer,    ///< i32, i64, u32, u64
  not_applicable,  ///< the kind has rules of its own
};

/// One row per operation.
struct OpFacts {
  Op op;
  std::string_view name;  ///< as in the text form
  OpKind kind;
  std::uint8_t operands_min;
  std::uint8_t operands_max;  ///< 255: any number
  bool has_result;            ///< exactly one; control operations have as many as they carry
  Elements elements = Elements::not_applicable;
};

/// All rows, ascending by `op`.
std::span<const OpFacts> op_table();

/// The row of `op`, or nullptr if no operation has this number (hostile input).
const OpFacts* find_facts(Op op);

/// The operation's name, "invalid" if it has none.
std::string_view name(Op op);
std::optional<Op> parse_op(std::string_view text);

inline constexpr std::uint32_t builtin_count = 9;
std::string_view name(Builtin which);
std::optional<Builtin> parse_builtin(std::string_view text);
std::string_view name(Scope scope);

}  // namespace halyard::program
