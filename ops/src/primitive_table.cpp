#include <halyard/ops/primitive.h>
#include <array>
#include "reference_functions.h"
#include "scalar_expression.h"

namespace halyard::ops {
namespace {

using E = ElementType;
using namespace expansion;

constexpr ElementSet set_of(std::initializer_list<E> types) {
  ElementSet set = 0;
  for (E type : types) set = static_cast<ElementSet>(set | only(type));
  return set;
}
constexpr ElementSet floats = set_of({E::f16, E::bf16, E::f32, E::f64});
constexpr ElementSet signed_integers = set_of({E::i8, E::i16, E::i32, E::i64});
constexpr ElementSet unsigned_integers = set_of({E::u8, E::u16, E::u32, E::u64});
constexpr ElementSet integers = signed_integers | unsigned_integers;
constexpr ElementSet numbers = integers | floats;
constexpr ElementSet boolean = only(E::boolean);
constexpr ElementSet bits = integers | boolean;
constexpr ElementSet everything = numbers | boolean;

constexpr ErrorBound exact{0, 0, {}};
constexpr ErrorBound rounded{0.5, 0.5, {}};
constexpr ErrorBound twice_rounded{1.5, 1.5, {}};
constexpr ErrorBound within_two{2, 2, {}};
constexpr ErrorBound summation{
    0, 0, "gamma_k * sum |terms| + u * |result|, k = terms added one after another; integers wrap exactly"};
constexpr PrimitiveRow elementwise(Primitive primitive, std::string_view name, int operands,
                                   ElementSet allowed, ErrorBound error, Expand expand, std::string_view doc,
                                   ElementRule element_rule = ElementRule::same) {
  return {primitive, name, operands, Kind::elementwise, allowed, element_rule, ShapeRule::elementwise,
          error,     doc,  expand};
}
constexpr PrimitiveRow other(Primitive primitive, std::string_view name, int operands, Kind kind,
                             ElementSet allowed, ElementRule element_rule, ShapeRule shape_rule,
                             Reference reference, std::string_view doc, ErrorBound error = exact) {
  return {primitive, name, operands, kind, allowed, element_rule, shape_rule, error, doc, nullptr, reference};
}
constexpr PrimitiveRow reduction(Primitive primitive, std::string_view name, ElementSet allowed,
                                 Reference reference, Primitive combiner, std::string_view doc,
                                 ErrorBound error = exact) {
  return {primitive, name, 1,       Kind::reduction, allowed, ElementRule::same, ShapeRule::reduction,
          error,     doc,  nullptr, reference,       combiner};
}

constexpr PrimitiveRow scan(Primitive primitive, std::string_view name, Reference reference,
                            Primitive combiner, std::string_view doc, ErrorBound error = exact) {
  return {primitive,       name,  1,   Kind::scan, numbers,   ElementRule::same,
          ShapeRule::scan, error, doc, nullptr,    reference, combiner};
}

constexpr PrimitiveRow scatter(Primitive primitive, std::string_view name, ElementSet allowed,
                               Reference reference, std::optional<Primitive> combiner, std::string_view doc,
                               ErrorBound error = exact) {
  return {primitive,          name,  3,   Kind::scatter, allowed,   ElementRule::scatter,
          ShapeRule::scatter, error, doc, nullptr,       reference, combiner};
}

using P = Primitive;
using R = ElementRule;
using S = ShapeRule;
using K = Kind;

// clang-format off
constexpr PrimitiveRow table[] = {
  // ---- sources
  other(P::input, "input", 0, K::source, everything, R::attribute, S::attribute, nullptr,
        "A value given at run time, of type `element` and extents `shape`."),
  other(P::constant, "constant", 0, K::source, everything, R::attribute, S::attribute, nullptr,
        "A value known when the graph is made; its bytes are shared."),
  other(P::iota, "iota", 0, K::source, numbers, R::attribute, S::attribute, reference_iota,
        "0, 1, 2, … along axis `axes[0]`, of type `element` and extents `shape`; converted as by cast."),

  // ---- elementwise, one operand
  elementwise(P::neg, "neg", 1, numbers, exact, unary<negate>, "−x. Integers wrap."),
  elementwise(P::abs, "abs", 1, numbers, exact, unary<absolute>, "|x|. Floats clear the sign bit; the least integer wraps to itself."),
  elementwise(P::sign, "sign", 1, numbers, exact, unary<sign_of>, "−1, 0 or 1. A zero keeps its sign, NaN stays NaN."),
  elementwise(P::floor, "floor", 1, floats, exact, unary<floor_of>, "The greatest integer not above x."),
  elementwise(P::ceil, "ceil", 1, floats, exact, unary<ceil_of>, "The least integer not below x."),
  elementwise(P::round, "round", 1, floats, exact, unary<round_of>, "The nearest integer, ties to even."),
  elementwise(P::trunc, "trunc", 1, floats, exact, unary<trunc_of>, "The integer part, toward zero."),
  elementwise(P::sqrt, "sqrt", 1, floats, rounded, unary<square_root>, "The square root, correctly rounded."),
  elementwise(P::rsqrt, "rsqrt", 1, floats, twice_rounded, unary<reciprocal_square_root>, "1 / sqrt(x): a rounded root, then a rounded quotient."),
  elementwise(P::reciprocal, "reciprocal", 1, floats, rounded, unary<reciprocal_of>, "1 / x, correctly rounded."),
  elementwise(P::exp, "exp", 1, floats, within_two, unary<exponential>, "e to the x."),
  elementwise(P::exp2, "exp2", 1, floats, within_two, unary<exponential_of_two>, "2 to the x; exact for integers."),
  elementwise(P::expm1, "expm1", 1, floats, within_two, unary<exponential_minus_one>, "e to the x, minus 1, accurate near 0."),
  elementwise(P::log, "log", 1, floats, within_two, unary<logarithm>, "The natural logarithm; −inf at 0, NaN below."),
  elementwise(P::log2, "log2", 1, floats, within_two, unary<logarithm_to_two>, "The logarithm to base 2, exact for powers of two; −inf at 0, NaN below."),
  elementwise(P::log1p, "log1p", 1, floats, within_two, unary<logarithm_of_one_plus>, "log(1 + x), accurate near 0; −inf at −1, NaN below."),
  elementwise(P::sin, "sin", 1, floats, within_two, unary<sine>, "The sine of x radians."),
  elementwise(P::cos, "cos", 1, floats, within_two, unary<cosine>, "The cosine of x radians."),
  elementwise(P::tan, "tan", 1, floats, within_two, unary<tangent>, "The tangent of x radians."),
  elementwise(P::asin, "asin", 1, floats, within_two, unary<arc_sine>, "The angle in [−π/2, π/2] whose sine is x; NaN for |x| > 1."),
  elementwise(P::acos, "acos", 1, floats, within_two, unary<arc_cosine>, "The angle in [0, π] whose cosine is x; NaN for |x| > 1."),
  elementwise(P::atan, "atan", 1, floats, within_two, unary<arc_tangent>, "The angle in [−π/2, π/2] whose tangent is x."),
  elementwise(P::sinh, "sinh", 1, floats, within_two, unary<hyperbolic_sine>, "The hyperbolic sine."),
  elementwise(P::cosh, "cosh", 1, floats, within_two, unary<hyperbolic_cosine>, "The hyperbolic cosine."),
  elementwise(P::tanh, "tanh", 1, floats, within_two, unary<hyperbolic_tangent>, "The hyperbolic tangent."),
  elementwise(P::erf, "erf", 1, floats, within_two, unary<error_function>, "The error function 2/√π ∫₀ˣ exp(−t²) dt."),
  elementwise(P::sigmoid, "sigmoid", 1, floats, within_two, unary<logistic>, "1 / (1 + exp(−x)), accurate for very negative x too."),
  elementwise(P::relu, "relu", 1, numbers, exact, unary<rectified>, "x where x > 0, else 0; NaN stays, −0 becomes +0."),
  elementwise(P::logical_not, "logical_not", 1, boolean, exact, test<inverted>, "True where x is false."),
  elementwise(P::bit_not, "bit_not", 1, integers, exact, unary<inverted>, "Every bit inverted."),
  elementwise(P::is_nan, "is_nan", 1, floats, exact, test<not_a_number>, "Whether x is NaN.", R::comparison),
  elementwise(P::is_inf, "is_inf", 1, floats, exact, test<infinite>, "Whether x is +inf or −inf.", R::comparison),
  elementwise(P::is_finite, "is_finite", 1, floats, exact, test<finite>, "Whether x is neither infinite nor NaN.", R::comparison),

  // ---- elementwise, two operands
  elementwise(P::add, "add", 2, numbers, rounded, binary<sum_of>, "a + b. Integers wrap."),
  elementwise(P::sub, "sub", 2, numbers, rounded, binary<difference>, "a − b. Integers wrap."),
  elementwise(P::mul, "mul", 2, numbers, rounded, binary<product>, "a · b. Integers wrap."),
  elementwise(P::div, "div", 2, numbers, rounded, binary<quotient>, "a / b, correctly rounded; integers truncate toward zero, a / 0 = −1 (all bits one), MIN / −1 = MIN."),
  elementwise(P::rem, "rem", 2, numbers, exact, binary<remainder_of>, "a − trunc(a / b) · b, with the sign of a, exact (C's fmod). Integers: a rem 0 = a, MIN rem −1 = 0. Floats: NaN if a is infinite or b is 0."),
  elementwise(P::floor_div, "floor_div", 2, numbers, ErrorBound{0, 0, "integers exact; floats: of the rounded quotient"}, binary<floor_quotient>, "The quotient toward −inf. Integers: a / 0 = −1 (all bits one), MIN / −1 = MIN; floats: floor(a / b) of the rounded quotient, −1 where a negative one vanishes."),
  elementwise(P::mod, "mod", 2, numbers, rounded, binary<modulo>, "The remainder with the sign of b: rem, plus b where the signs differ (Python's %). Integers: a mod 0 = a."),
  elementwise(P::pow, "pow", 2, floats, within_two, binary<power>, "a to the b as in IEEE 754: x^0 = 1^y = 1 even for NaN, a negative base with a non-integer exponent is NaN."),
  elementwise(P::atan2, "atan2", 2, floats, within_two, binary<arc_tangent_of_two>, "The angle in [−π, π] of the point (x, y) = (b, a), with IEEE 754's values at zeros and infinities."),
  elementwise(P::min, "min", 2, everything, exact, binary<smaller>, "The smaller; NaN propagates, min(−0, +0) = −0."),
  elementwise(P::max, "max", 2, everything, exact, binary<larger>, "The larger; NaN propagates, max(−0, +0) = +0."),
  elementwise(P::bit_and, "bit_and", 2, bits, exact, binary<conjunction>, "Bits set in both; logical and of booleans."),
  elementwise(P::bit_or, "bit_or", 2, bits, exact, binary<disjunction>, "Bits set in either; logical or of booleans."),
  elementwise(P::bit_xor, "bit_xor", 2, bits, exact, binary<exclusive_or>, "Bits set in one alone; inequality of booleans."),
  elementwise(P::shl, "shl", 2, integers, exact, binary<shifted_left>, "a shifted left by b; an amount outside [0, width) gives 0."),
  elementwise(P::shr, "shr", 2, integers, exact, binary<shifted_right>, "a shifted right by b, arithmetic for signed types; an amount outside [0, width) gives 0, or the sign in every bit."),
  elementwise(P::eq, "eq", 2, everything, exact, comparison<equal>, "a = b; false for NaN.", R::comparison),
  elementwise(P::ne, "ne", 2, everything, exact, comparison<not_equal>, "a ≠ b; true for NaN.", R::comparison),
  elementwise(P::lt, "lt", 2, everything, exact, comparison<less>, "a < b; false for NaN.", R::comparison),
  elementwise(P::le, "le", 2, everything, exact, comparison<less_equal>, "a ≤ b; false for NaN.", R::comparison),
  elementwise(P::gt, "gt", 2, everything, exact, comparison<greater>, "a > b; false for NaN.", R::comparison),
  elementwise(P::ge, "ge", 2, everything, exact, comparison<greater_equal>, "a ≥ b; false for NaN.", R::comparison),
  elementwise(P::philox, "philox", 2, only(E::u64), exact, binary<philox>, "Random bits: words 0 (low) and 1 (high) of Philox 4×32-10 for the counter (low a, high a, 0, 0) and the key (low b, high b)."),

  // ---- elementwise, three operands
  elementwise(P::select, "select", 3, everything, exact, choose, "The second operand where the first is true, else the third.", R::select),
  elementwise(P::clamp, "clamp", 3, numbers, exact, clamped, "min(max(x, low), high): NaN in any operand propagates; high wins if low > high."),
  elementwise(P::fma, "fma", 3, numbers, ErrorBound{0.5, 0.5, "rounded once in the fused class, twice in the unfused"}, multiply_add, "a · b + c with one rounding in the fused class; a product and a sum in the unfused class."),

  // ---- elementwise, conversion
  elementwise(P::cast, "cast", 1, everything, rounded, converted, "x as type `element`: always rounds to nearest even; floats truncate and saturate into integers with NaN → 0; integers wrap; boolean is x ≠ 0. Integers reach f16 and bf16 by way of f32.", R::conversion),
  {P::bitcast, "bitcast", 1, K::elementwise, numbers, R::conversion, S::bitcast, exact, "The same bits as type `element` of the same size.", reinterpreted},

  // ---- movement
  other(P::reshape, "reshape", 1, K::movement, everything, R::same, S::reshape, reference_reshape,
        "The same elements in row-major order under extents `shape`."),
  other(P::permute, "permute", 1, K::movement, everything, R::same, S::permute, reference_permute,
        "Axis i of the result is axis `axes[i]` of the operand."),
  other(P::broadcast, "broadcast", 1, K::movement, everything, R::same, S::broadcast, reference_broadcast,
        "Repeats the operand to extents `shape`; axes are aligned at the right and extents of 1 stretch."),
  other(P::slice, "slice", 1, K::movement, everything, R::same, S::slice, reference_slice,
        "Elements `starts` + i · `steps` (steps positive) for i below `shape`, per axis."),
  other(P::pad, "pad", 1, K::movement, everything, R::same, S::pad, reference_pad,
        "`starts` elements before and `ends` after, per axis, holding the bits `value_bits`."),
  other(P::concat, "concat", any_number, K::movement, everything, R::same, S::concat, reference_concat,
        "Operands one after another along axis `axes[0]`."),
  other(P::reverse, "reverse", 1, K::movement, everything, R::same, S::reverse, reference_reverse,
        "Elements in opposite order along `axes`."),
  other(P::windows, "windows", 1, K::movement, everything, R::same, S::windows, reference_windows,
        "Overlapping blocks: element (i, j) of an axis of `axes` and of its window axis, which is added at the end, is the operand's i · `steps` + j · `dilations`; j runs below `shape`. The blocks that fit."),

  // ---- gather
  other(P::take, "take", 2, K::gather, everything, R::take, S::take, reference_take,
        "Slices of the first operand along axis `axes[0]` at the indices of the second; the indices' axes replace that axis. A negative index counts from the end; then indices are clamped into range."),

  // ---- reduction over `axes` (ascending); they vanish, or stay with extent 1 with `keep_dims`
  reduction(P::reduce_sum, "reduce_sum", numbers, reference_sum, P::add, "The sum in the canonical order; 16-bit floats accumulate in f32. An empty sum is 0.", summation),
  reduction(P::reduce_prod, "reduce_prod", numbers, reference_prod, P::mul, "The product in the order of the sum. An empty product is 1.", ErrorBound{0, 0, "gamma_k * |result|; integers wrap exactly"}),
  reduction(P::reduce_min, "reduce_min", numbers, reference_min, P::min, "The least element; NaN propagates. Of nothing: +inf or the greatest integer."),
  reduction(P::reduce_max, "reduce_max", numbers, reference_max, P::max, "The greatest element; NaN propagates. Of nothing: −inf or the least integer."),
  reduction(P::reduce_any, "reduce_any", boolean, reference_any, P::bit_or, "Whether any element is true; false of nothing."),
  reduction(P::reduce_all, "reduce_all", boolean, reference_all, P::bit_and, "Whether all elements are true; true of nothing."),
  other(P::argmax, "argmax", 1, K::reduction, numbers, R::argument, S::argument, reference_argmax,
        "The lowest index of the greatest element along `axes[0]`; the first NaN wins."),
  other(P::argmin, "argmin", 1, K::reduction, numbers, R::argument, S::argument, reference_argmin,
        "The lowest index of the least element along `axes[0]`; the first NaN wins."),

  // ---- contraction
  other(P::dot_general, "dot_general", 2, K::contraction, numbers, R::contraction, S::contraction, reference_dot,
        "Products summed over the contracting axes of `dot`, per batch; result axes: batch, lhs free, rhs free. 16-bit floats convert to f32, accumulate in f32 and round once (not at all if `element` is f32).", summation),

  // ---- scan
  scan(P::cumulative_sum, "cumulative_sum", reference_cumulative_sum, P::add, "Sums of the elements up to each one along axis `axes[0]`, itself included unless `exclusive` (then the first is 0), in the canonical tree; 16-bit floats accumulate in f32.", summation),
  scan(P::cumulative_prod, "cumulative_prod", reference_cumulative_prod, P::mul, "Products in the same way; the first of an exclusive one is 1.", ErrorBound{0, 0, "gamma_k * |result|; integers wrap exactly"}),
  scan(P::cumulative_min, "cumulative_min", reference_cumulative_min, P::min, "The least element so far; NaN propagates. The first of an exclusive one: +inf or the greatest integer."),
  scan(P::cumulative_max, "cumulative_max", reference_cumulative_max, P::max, "The greatest element so far; NaN propagates. The first of an exclusive one: −inf or the least integer."),

  // ---- sort
  other(P::argsort, "argsort", 1, K::sort, everything, R::argument, S::scan, reference_argsort,
        "The indices that sort each row along axis `axes[0]`, least first or, with `descending`, greatest first; equal elements keep their order. NaN counts as greater than all else, −0 as equal to +0."),

  // ---- scatter: base [b…, d, i…], indices [b…, u], updates [b…, u, i…]; `axes[0]` is the number of b
  scatter(P::scatter_set, "scatter_set", everything, reference_scatter_set, std::nullopt, "The base, with each row of the updates put where its index says along axis `axes[0]`; the last one wins. A negative index counts from the end; an update outside is dropped."),
  scatter(P::scatter_add, "scatter_add", numbers, reference_scatter_add, P::add, "The base plus, where a row is named at all, the sum of all updates in the canonical order (of the last axis if the updates have none after it), those for other rows counting as 0; 16-bit floats add up in f32. Indices as in scatter_set.", summation),
  scatter(P::scatter_prod, "scatter_prod", numbers, reference_scatter_prod, P::mul, "The base times the product in the same way, updates for other rows counting as 1.", ErrorBound{0, 0, "gamma_k * |result|; integers wrap exactly"}),
  scatter(P::scatter_min, "scatter_min", numbers, reference_scatter_min, P::min, "The least of the base's element and its updates; NaN propagates."),
  scatter(P::scatter_max, "scatter_max", numbers, reference_scatter_max, P::max, "The greatest of the base's element and its updates; NaN propagates."),
};
// clang-format on

constexpr bool is_in_order() {
  if (std::size(table) != primitive_count) return false;
  for (std::size_t i = 0; i < std::size(table); ++i)
    if (static_cast<std::size_t>(table[i].primitive) != i) return false;
  return true;
}
static_assert(is_in_order(), "one row per primitive, in the order of the enum");

}  // namespace

const PrimitiveRow& row(Primitive primitive) {
  return table[static_cast<std::size_t>(primitive)];
}

std::span<const PrimitiveRow> rows() {
  return table;
}

std::optional<Primitive> parse_primitive(std::string_view text) {
  for (const PrimitiveRow& each : table)
    if (each.name == text) return each.primitive;
  return std::nullopt;
}

}  // namespace halyard::ops
