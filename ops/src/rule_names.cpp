#include <halyard/ops/primitive.h>

/// What the kinds and rules of the table are called in messages and on the page of operations.
namespace halyard::ops {

std::string_view name(Kind kind) {
  constexpr std::string_view names[] = {"source",      "elementwise", "movement", "gather", "reduction",
                                        "contraction", "scan",        "sort",     "scatter"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view describe(ElementRule rule) {
  switch (rule) {
    case ElementRule::same:
      return "all operands T → T";
    case ElementRule::comparison:
      return "all operands T → bool";
    case ElementRule::select:
      return "(bool, T, T) → T";
    case ElementRule::conversion:
      return "T → `element`";
    case ElementRule::take:
      return "(T, i32 or i64) → T";
    case ElementRule::scatter:
      return "(T, i32 or i64, T) → T";
    case ElementRule::argument:
      return "T → `element`: i32 or i64, i64 if absent";
    case ElementRule::contraction:
      return "(T, T) → T; f32 for 16-bit floats if `element` says so";
    case ElementRule::attribute:
      return "→ `element`";
  }
  return "";
}

std::string_view describe(ShapeRule rule) {
  switch (rule) {
    case ShapeRule::attribute:
      return "`shape`";
    case ShapeRule::elementwise:
      return "all operands have the result's shape";
    case ShapeRule::bitcast:
      return "the operand's; element sizes agree";
    case ShapeRule::reshape:
      return "`shape`, of the same count";
    case ShapeRule::permute:
      return "extents reordered by `axes`";
    case ShapeRule::broadcast:
      return "`shape`; aligned at the right, extents of 1 stretch";
    case ShapeRule::slice:
      return "`shape`, within the operand";
    case ShapeRule::pad:
      return "extents grow by `starts` and `ends`";
    case ShapeRule::concat:
      return "extents add along the axis, agree elsewhere";
    case ShapeRule::reverse:
      return "the operand's";
    case ShapeRule::windows:
      return "of `axes` the windows that fit; then `shape`";
    case ShapeRule::take:
      return "the axis is replaced by the indices' axes";
    case ShapeRule::reduction:
      return "without `axes`, or 1 there with `keep_dims`";
    case ShapeRule::argument:
      return "without the axis, or 1 there with `keep_dims`";
    case ShapeRule::contraction:
      return "batch, lhs free, rhs free";
    case ShapeRule::scan:
      return "the operand's";
    case ShapeRule::scatter:
      return "the base's [b…, d, i…]; indices [b…, u], updates [b…, u, i…]";
  }
  return "";
}

}  // namespace halyard::ops
