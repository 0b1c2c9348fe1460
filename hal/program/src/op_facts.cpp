#include <halyard/program/op_facts.h>
#include <algorithm>
#include <array>

namespace halyard::program {
namespace {

using enum OpKind;

constexpr std::array table{
    OpFacts{Op::constant, "constant", outside, 0, 0, true},
    OpFacts{Op::iota, "iota", outside, 0, 0, true},
    OpFacts{Op::parameter, "parameter", outside, 0, 0, true},
    OpFacts{Op::builtin, "builtin", outside, 0, 0, true},
    OpFacts{Op::add, "add", lane_wise, 2, 2, true, Elements::number},
    OpFacts{Op::sub, "sub", lane_wise, 2, 2, true, Elements::number},
    OpFacts{Op::mul, "mul", lane_wise, 2, 2, true, Elements::number},
    OpFacts{Op::div, "div", lane_wise, 2, 2, true, Elements::number},
    OpFacts{Op::rem, "rem", lane_wise, 2, 2, true, Elements::integer},
    OpFacts{Op::neg, "neg", lane_wise, 1, 1, true, Elements::number},
    OpFacts{Op::abs, "abs", lane_wise, 1, 1, true, Elements::number},
    OpFacts{Op::sqrt, "sqrt", lane_wise, 1, 1, true, Elements::floating},
    OpFacts{Op::fma, "fma", lane_wise, 3, 3, true, Elements::floating},
    OpFacts{Op::floor, "floor", lane_wise, 1, 1, true, Elements::floating},
    OpFacts{Op::ceil, "ceil", lane_wise, 1, 1, true, Elements::floating},
    OpFacts{Op::trunc, "trunc", lane_wise, 1, 1, true, Elements::floating},
    OpFacts{Op::round_even, "round_even", lane_wise, 1, 1, true, Elements::floating},
    OpFacts{Op::mul_high, "mul_high", lane_wise, 2, 2, true, Elements::wide_integer},
    OpFacts{Op::bit_and, "bit_and", lane_wise, 2, 2, true, Elements::bits},
    OpFacts{Op::bit_or, "bit_or", lane_wise, 2, 2, true, Elements::bits},
    OpFacts{Op::bit_xor, "bit_xor", lane_wise, 2, 2, true, Elements::bits},
    OpFacts{Op::bit_not, "bit_not", lane_wise, 1, 1, true, Elements::bits},
    OpFacts{Op::shl, "shl", lane_wise, 2, 2, true, Elements::integer},
    OpFacts{Op::shr, "shr", lane_wise, 2, 2, true, Elements::integer},
    OpFacts{Op::eq, "eq", comparison, 2, 2, true, Elements::any},
    OpFacts{Op::ne, "ne", comparison, 2, 2, true, Elements::any},
    OpFacts{Op::lt, "lt", comparison, 2, 2, true, Elements::number},
    OpFacts{Op::le, "le", comparison, 2, 2, true, Elements::number},
    OpFacts{Op::gt, "gt", comparison, 2, 2, true, Elements::number},
    OpFacts{Op::ge, "ge", comparison, 2, 2, true, Elements::number},
    OpFacts{Op::select, "select", OpKind::select, 3, 3, true},
    OpFacts{Op::cast, "cast", OpKind::cast, 1, 1, true},
    OpFacts{Op::bitcast, "bitcast", OpKind::bitcast, 1, 1, true},
    OpFacts{Op::splat, "splat", vector, 1, 1, true},
    OpFacts{Op::extract, "extract", vector, 1, 1, true},
    OpFacts{Op::shuffle, "shuffle", vector, 2, 2, true},
    OpFacts{Op::insert, "insert", vector, 2, 2, true},
    OpFacts{Op::load, "load", memory, 1, 2, true},
    OpFacts{Op::store, "store", memory, 2, 3, false},
    OpFacts{Op::gather, "gather", memory, 1, 2, true},
    OpFacts{Op::scatter, "scatter", memory, 2, 3, false},
    OpFacts{Op::prefetch, "prefetch", memory, 1, 1, false},
    OpFacts{Op::barrier, "barrier", OpKind::barrier, 0, 0, false},
    OpFacts{Op::shuffle_xor, "shuffle_xor", subgroup, 1, 1, true},
    OpFacts{Op::shuffle_lane, "shuffle_lane", subgroup, 2, 2, true},
    OpFacts{Op::broadcast_lane, "broadcast_lane", subgroup, 1, 1, true},
    OpFacts{Op::for_loop, "for", control, 3, 255, false},
    OpFacts{Op::if_else, "if", control, 1, 1, false},
    OpFacts{Op::yield, "yield", control, 0, 255, false},
    OpFacts{Op::comment, "comment", OpKind::comment, 0, 0, false},
};

constexpr std::array<std::string_view, builtin_count> builtin_names{
    "workgroup_x", "workgroup_y", "workgroup_z",   "grid_x",  "grid_y",
    "grid_z",      "lane",        "subgroup_lane", "subgroup"};

}  // namespace

std::span<const OpFacts> op_table() {
  return table;
}

const OpFacts* find_facts(Op op) {
  auto row = std::lower_bound(table.begin(), table.end(), op,
                              [](const OpFacts& facts, Op wanted) { return facts.op < wanted; });
  return row != table.end() && row->op == op ? &*row : nullptr;
}

std::string_view name(Op op) {
  const OpFacts* facts = find_facts(op);
  return facts ? facts->name : "invalid";
}

std::optional<Op> parse_op(std::string_view text) {
  for (const OpFacts& facts : table)
    if (facts.name == text) return facts.op;
  return std::nullopt;
}

std::string_view name(Builtin which) {
  auto number = static_cast<std::size_t>(which);
  return number < builtin_names.size() ? builtin_names[number] : "invalid";
}

std::optional<Builtin> parse_builtin(std::string_view text) {
  for (std::size_t i = 0; i < builtin_names.size(); ++i)
    if (builtin_names[i] == text) return static_cast<Builtin>(i);
  return std::nullopt;
}

std::string_view name(Scope scope) {
  return scope == Scope::subgroup ? "subgroup" : scope == Scope::workgroup ? "workgroup" : "invalid";
}

}  // namespace halyard::program
