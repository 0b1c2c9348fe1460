#pragma once

#include <halyard/base/element_type.h>
#include <halyard/base/result.h>
#include <halyard/ops/attributes.h>
#include <halyard/ops/host_tensor.h>
#include <halyard/ops/numeric_class.h>
#include <halyard/ops/shape.h>
#include <halyard/program/builder.h>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

/// THE table of primitive operations. Everything else reads it: the graph, the reference evaluator, the
/// tensor API, the lowering, the conformance suite and docs/operations.md.
namespace halyard::ops {

/// Numbers are stable within a release; text and files use names.
enum class Primitive : std::uint16_t {
  // ---- sources
  input,
  constant,
  iota,
  // ---- elementwise, one operand
  neg,
  abs,
  sign,
  floor,
  ceil,
  round,
  trunc,
  sqrt,
  rsqrt,
  reciprocal,
  exp,
  exp2,
  expm1,
  log,
  log2,
  log1p,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  erf,
  sigmoid,
  relu,
  logical_not,
  bit_not,
  is_nan,
  is_inf,
  is_finite,
  // ---- elementwise, two operands
  add,
  sub,
  mul,
  div,
  rem,
  floor_div,
  mod,
  pow,
  atan2,
  min,
  max,
  bit_and,
  bit_or,
  bit_xor,
  shl,
  shr,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  philox,
  // ---- elementwise, three operands
  select,
  clamp,
  fma,
  // ---- elementwise, conversion
  cast,
  bitcast,
  // ---- movement
  reshape,
  permute,
  broadcast,
  slice,
  pad,
  concat,
  reverse,
  windows,
  // ---- gather
  take,
  // ---- reduction
  reduce_sum,
  reduce_prod,
  reduce_min,
  reduce_max,
  reduce_any,
  reduce_all,
  argmax,
  argmin,
  // ---- contraction
  dot_general,
  // ---- scan
  cumulative_sum,
  cumulative_prod,
  cumulative_min,
  cumulative_max,
  // ---- sort
  argsort,
  // ---- scatter
  scatter_set,
  scatter_add,
  scatter_prod,
  scatter_min,
  scatter_max,
};
inline constexpr std::size_t primitive_count = static_cast<std::size_t>(Primitive::scatter_max) + 1;

enum class Kind : std::uint8_t {
  source,
  elementwise,  ///< `expand` is its meaning; all operands have the result's shape
  movement,     ///< only index arithmetic
  gather,
  reduction,
  contraction,
  scan,
  sort,
  scatter,
};
std::string_view name(Kind kind);

/// A set of element types: bit number `ElementType`.
using ElementSet = std::uint16_t;
constexpr ElementSet only(ElementType type) {
  return static_cast<ElementSet>(1u << static_cast<unsigned>(type));
}
constexpr bool contains(ElementSet set, ElementType type) {
  return (set & only(type)) != 0;
}

/// How operand types and the result's type relate; "data" operands are those the row's `allowed` speaks of.
enum class ElementRule : std::uint8_t {
  same,         ///< all operands and the result have one type
  comparison,   ///< operands of one type; the result is boolean
  select,       ///< (boolean, T, T) -> T
  conversion,   ///< T -> `Attributes::element`
  take,         ///< (T, i32 or i64) -> T
  scatter,      ///< (T, i32 or i64, T) -> T
  argument,     ///< T -> `Attributes::element`, i32 or i64 (i64 if absent)
  contraction,  ///< (T, T) -> T, or f32 for 16-bit T if `Attributes::element` says so
  attribute,    ///< no operands -> `Attributes::element`
};
std::string_view describe(ElementRule rule);

enum class ShapeRule : std::uint8_t {
  attribute,    ///< `Attributes::shape`
  elementwise,  ///< all operands have the result's shape
  bitcast,      ///< as elementwise; the element sizes must agree
  reshape,
  permute,
  broadcast,
  slice,
  pad,
  concat,
  reverse,
  windows,
  take,
  reduction,
  argument,
  contraction,
  scan,
  scatter,
};
std::string_view describe(ShapeRule rule);

/// How far a result may lie from the exact value of the operation on its (already rounded) operands.
struct ErrorBound {
  /// In units in the last place of the result's type. 0 = exact, 0.5 = correctly rounded.
  double ulp_f32 = 0;
  double ulp_f64 = 0;
  /// Where the bound is no constant: a formula for readers, e.g. "gamma_k * sum |terms|". Empty otherwise.
  std::string_view formula;
};

/// Appends the scalar expression of an elementwise primitive to a thread program, lane by lane: operands have
/// the same number of lanes, any power of two, and so has the result. 16-bit floats are computed in f32 and
/// rounded; the result has the node's element type. Never fails: the element rule has accepted the types.
using Expand = program::ValueId (*)(program::Builder&, std::span<const program::ValueId> operands,
                                    const Attributes&, const NumericClass&);

/// The meaning of a primitive that is not elementwise: computes `result` (zero-filled, of the inferred type).
using Reference = Status (*)(std::span<const HostTensor> operands, const Attributes&, const NumericClass&,
                             HostTensor& result);

inline constexpr int any_number = -1;

struct PrimitiveRow {
  Primitive primitive;
  std::string_view name;
  int operands;  ///< or `any_number` (at least one)
  Kind kind;
  ElementSet allowed;  ///< element types of the data operands (sources: of the result)
  ElementRule element_rule;
  ShapeRule shape_rule;
  ErrorBound error;
  std::string_view doc;  ///< one or two sentences
  Expand expand = nullptr;
  Reference reference = nullptr;
  /// Reductions, scans and scatters: the elementwise primitive that merges two partial results in the
  /// accumulator's type. (None: scatter_set.)
  std::optional<Primitive> combiner = std::nullopt;
};

const PrimitiveRow& row(Primitive primitive);
/// All rows, in the enum's order.
std::span<const PrimitiveRow> rows();
inline std::string_view name(Primitive primitive) {
  return row(primitive).name;
}
/// The primitive named `text`, or nothing.
std::optional<Primitive> parse_primitive(std::string_view text);

/// Element type and shape of a value.
struct TensorType {
  ElementType element = ElementType::f32;
  Shape shape;
  std::string text() const;  ///< "f32[2, 3]"
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

/// Applies the row's element and shape rules. The error begins with the primitive's name.
Result<TensorType> infer(Primitive primitive, std::span<const TensorType> operands,
                         const Attributes& attributes);
/// The element rule alone.
Result<ElementType> infer_element(Primitive primitive, std::span<const ElementType> operands,
                                  const Attributes& attributes);

/// The type a reduction or contraction over `element` accumulates in: f32 for f16 and bf16, else itself.
constexpr ElementType accumulator(ElementType element) {
  return element == ElementType::f16 || element == ElementType::bf16 ? ElementType::f32 : element;
}

/// The bits of the value that an empty reduction gives, in `element`: 0, 1, +inf or the greatest, −inf or the
/// least, false, true. (Only the six reductions that have one, the scans and the scatters.)
std::uint64_t reduction_identity(Primitive reduction, ElementType element);

}  // namespace halyard::ops
