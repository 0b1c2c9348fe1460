#pragma once

#include <halyard/fusion/lower.h>
#include <halyard/program/builder.h>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lowering/frame.h"

/// What all patterns share when they turn a tile program into a thread program: the numbers of the binding,
/// buffers, evaluation of values at a frame, stores, and the canonical folds.
namespace halyard::fusion::lowering {

using program::Builder;
using program::MemoryRef;

/// Extents, divisors and moduli up to this are literals of the thread program.
inline constexpr std::int64_t literal_extent = 32;

/// The op table's row behind a tile reduction.
ops::Primitive primitive_of(Reduction reduction);

/// One lowering in progress. Mistakes are collected and reported by `finish`; nothing here fails midway.
///
/// The shape class. Whatever a pattern asks of the *numbers* (`is_literal`, `divisible`, `bucket`,
/// `index_type`) becomes part of the shape class, and nothing else may: all other numbers reach the program
/// as scalars through `number`, `extent` or `count`.
class Lowering {
 public:
  Lowering(const TileProgram& tiles, const Binding& binding, const DeviceProfile& profile);

  const TileProgram& tiles;
  const Binding& binding;
  const DeviceProfile& profile;
  const ops::NumericClass numeric;
  Builder builder;

  const TileValue& value(TileId id) const { return tiles.values[fusion::index(id)]; }
  std::int64_t extent_of(Axis axis) const { return binding.extents[fusion::index(axis)]; }
  std::int64_t extent_of(const std::vector<Axis>& axes) const;
  Frame root() const { return Frame(tiles.axes.size()); }
  /// The stores of the program, in order.
  std::vector<TileId> stores() const;

  // ---- the shape class
  ElementType index_type() const { return index_type_; }
  static bool is_literal(std::int64_t extent) { return extent <= literal_extent; }
  bool divisible(Axis axis, std::int64_t by) const { return extent_of(axis) % by == 0; }
  /// The power of two that is not less than `extent`.
  static std::int64_t bucket(std::int64_t extent);

  // ---- numbers. All of the index type, usable anywhere in the program.
  ValueId literal(std::int64_t value) {
    return builder.constant_bits({index_type_, 1}, static_cast<std::uint64_t>(value));
  }
  /// The number `value` under a name unique to its meaning: a literal if the shape class says so, else a
  /// scalar parameter, declared once.
  ValueId number(const std::string& name, std::int64_t value, bool is_literal = false);
  ValueId extent(Axis axis);
  /// The product of the extents; a literal if all of them are.
  ValueId count(const std::vector<Axis>& axes);
  /// A run-time scalar of the tile program.
  ValueId scalar(std::uint32_t which);
  ValueId builtin(program::Builtin which);  ///< cast to the index type

  // ---- index arithmetic (constants fold)
  ValueId add(ValueId a, ValueId b) { return builder.add(a, b); }
  ValueId sub(ValueId a, ValueId b) { return builder.sub(a, b); }
  ValueId mul(ValueId a, ValueId b) { return builder.mul(a, b); }
  ValueId div(ValueId a, ValueId b) { return builder.div(a, b); }
  ValueId rem(ValueId a, ValueId b) { return builder.rem(a, b); }
  ValueId add(ValueId a, std::int64_t b) { return builder.add(a, literal(b)); }
  ValueId mul(ValueId a, std::int64_t b) { return builder.mul(a, literal(b)); }
  ValueId min(ValueId a, ValueId b);
  ValueId max(ValueId a, ValueId b);
  ValueId less(ValueId a, ValueId b) { return builder.compare(program::Op::lt, a, b); }
  /// The value if it is a constant.
  std::optional<std::int64_t> known(ValueId value) const;
  /// base + 0, 1, 2 …, `lanes` wide.
  ValueId consecutive(ValueId base, std::uint16_t lanes);
  /// Sets the coordinates of `axes` (outermost first) from their linear index, scalar or vector.
  void decompose(Frame& frame, const std::vector<Axis>& axes, ValueId linear);
  /// The same for `lanes` consecutive linear indices from `base` on. Where the last axis' extent is divisible
  /// by `lanes` (and so is `base`, which `multiple` promises) it stays consecutive; otherwise vectors of
  /// indices result.
  void decompose_consecutive(Frame& frame, const std::vector<Axis>& axes, ValueId base, std::uint16_t lanes,
                             std::uint32_t multiple);

  /// for (i = 0; i < trips; ++i); a loop of one literal trip is no loop, one of none disappears.
  std::vector<ValueId> repeat(ValueId trips, std::vector<ValueId> initial, const Builder::LoopBody& body,
                              std::uint32_t unroll = 0);
  /// The body under a condition that may be a constant.
  std::vector<ValueId> when(ValueId condition, std::vector<ValueId> otherwise, const Builder::Branch& body);

  // ---- memory
  /// The buffer parameter of an operand, declared at first use.
  MemoryRef buffer(std::uint32_t operand);
  /// How an access meets the frame's vector; `evaluate` and `store` act by it.
  struct Place {
    enum class Kind : std::uint8_t { uniform, contiguous, scattered } kind = Kind::uniform;
    ValueId index = program::no_value;  ///< scalar, or a vector if scattered
    std::uint32_t alignment = 0;        ///< bytes; 0 = the element's own
  };
  Place place(TileId load_or_store, Frame& frame);

  // ---- values
  /// The value of `tile` at the frame: one lane if it is the same for all lanes of the frame's vector, else
  /// as many as the frame has. What is computed on the way is remembered in `frame`.
  ValueId evaluate(TileId tile, Frame& frame);
  /// The same, with the frame's number of lanes in any case.
  ValueId evaluate_wide(TileId tile, Frame& frame) { return widen(evaluate(tile, frame), frame.lanes()); }
  ValueId widen(ValueId value, std::uint16_t lanes);
  /// Evaluates whatever the given values need that the frame's present coordinates suffice for, so that inner
  /// frames find it (loop-invariant code is computed once, outside). Loads are included.
  void evaluate_available(const std::vector<TileId>& tiles, Frame& frame);
  /// Carries out a store of the tile program, evaluating what it stores.
  void store(TileId store, Frame& frame);
  /// The same where the program's iteration space has more axes, `space`, than the stored value: only at
  /// their first positions.
  void store_once(TileId store, Frame& frame, const std::vector<Axis>& space);
  /// One row of the op table at these operands (brought to one width).
  ValueId elementwise(ops::Primitive primitive, std::vector<ValueId> operands, ElementType result);
  /// A conversion by the op table (correctly rounded wherever the driver is not).
  ValueId convert(ValueId value, ElementType to);

  // ---- reductions
  /// Identity of a reduction in its accumulator's type; `lanes` wide.
  ValueId identity(Reduction reduction, ElementType accumulator, std::uint16_t lanes);
  /// Merges an element into an accumulator, both in the accumulator's type. Not for argmax and argmin.
  ValueId combine(Reduction reduction, ValueId accumulated, ValueId element);
  /// A sum of rounded terms that started at +0, which is never −0: said once more on devices of lanes, for
  /// where the loop is unrolled a compiler may drop the addition of that constant 0, as lavapipe's does.
  ValueId from_zero(ValueId sum);
  /// Folds lanes by halving: first whole vectors (vector i with vector i + half; their number is a power of
  /// two), then, if `team` > 1, the lanes of the subgroup by shuffles (team/2 … 1), then the lanes within the
  /// vector. Logical lane (v * team + hardware lane) * width + i is lane i of vectors[v]. Every lane of the
  /// team has the result.
  ValueId fold(Reduction reduction, std::vector<ValueId> vectors, std::uint32_t team);

  /// What of a schedule the thread program has compiled in. For maps and reductions the sizes of blocks are
  /// scalars, and naming them in the kernel's note would give kernels of one shape class different texts,
  /// hence different cache keys.
  static std::string compiled_in(Schedule schedule);

  void complain(ErrorCode code, std::string message);
  bool failed() const { return error_.has_value(); }

  /// Completes the kernel. `grid` counts workgroups, `lanes` is the workgroup's size.
  Result<LoweredKernel> finish(std::array<std::uint32_t, 3> grid, std::uint32_t lanes,
                               std::uint32_t subgroup_size, std::string note);

 private:
  /// An index expression: a uniform part, a part that rises by one per lane, and a general one.
  struct IndexSum;
  void add_term(IndexSum& sum, const TileValue& value, std::size_t number, const IndexTerm& term,
                Frame& frame);
  ValueId evaluate_load(TileId tile, Frame& frame);
  ValueId evaluate_elementwise(TileId tile, Frame& frame);
  /// A position, an extent or small arithmetic on them in the index type instead of i64, or nothing.
  std::optional<ValueId> evaluate_narrow(TileId tile, Frame& frame);
  ValueId position(Axis axis, Frame& frame);
  std::string access_name(TileId tile) const;
  std::string axis_name(Axis axis) const;
  ValueId mask_of(const TileValue& value, Frame& frame, std::uint16_t lanes);

  ElementType index_type_ = ElementType::i32;
  struct Number {
    ValueId id;
    std::uint64_t bits;
  };
  std::map<std::string, Number> numbers_;
  std::vector<std::uint64_t> scalar_bits_;  // parallel to the program's scalars
  std::unordered_map<std::uint32_t, ValueId> builtins_;
  std::unordered_map<std::uint32_t, MemoryRef> buffers_;
  std::vector<std::uint32_t> buffer_order_;
  std::optional<Error> error_;
};

}  // namespace halyard::fusion::lowering
