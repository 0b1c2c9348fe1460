#pragma once

#include <halyard/base/element_type.h>
#include <halyard/base/result.h>
#include <halyard/ops/primitive.h>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// The tile program: what one kernel computes, on tiles, over named axes with symbolic extents. There is no
/// device in it: a `Schedule` says how its axes meet a device, and `lower` makes a thread program of both.
///
/// Every value has an element type and a set of axes: it is a function of the positions on those axes.
/// Element-wise operations broadcast by uniting axis sets, so a row's maximum (axes {r}) subtracts from the
/// row (axes {r, c}) without a word. Reductions and products name whole logical axes; their order of
/// accumulation is fixed by docs/numerics.md and is not expressible here, so no schedule and no user can
/// change it.
namespace halyard::fusion {

enum class Axis : std::uint32_t {};
constexpr std::uint32_t index(Axis axis) {
  return static_cast<std::uint32_t>(axis);
}

/// A set of axes, at most 32 per program.
class AxisSet {
 public:
  constexpr AxisSet() = default;
  constexpr AxisSet(std::initializer_list<Axis> axes) {
    for (Axis axis : axes) bits_ |= 1u << index(axis);
  }
  static constexpr AxisSet from_bits(std::uint32_t bits) {
    AxisSet set;
    set.bits_ = bits;
    return set;
  }
  constexpr std::uint32_t bits() const { return bits_; }
  constexpr bool contains(Axis axis) const { return (bits_ >> index(axis)) & 1u; }
  constexpr bool contains(AxisSet other) const { return (other.bits_ & ~bits_) == 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr AxisSet operator|(AxisSet other) const { return from_bits(bits_ | other.bits_); }
  constexpr AxisSet operator&(AxisSet other) const { return from_bits(bits_ & other.bits_); }
  constexpr AxisSet operator-(AxisSet other) const { return from_bits(bits_ & ~other.bits_); }
  friend constexpr bool operator==(AxisSet, AxisSet) = default;

 private:
  std::uint32_t bits_ = 0;
};

inline AxisSet set_of(const std::vector<Axis>& axes) {
  AxisSet set;
  for (Axis axis : axes) set = set | AxisSet{axis};
  return set;
}

/// Names a value of a tile program: an index into `TileProgram::values`.
enum class TileId : std::uint32_t {};
inline constexpr TileId no_tile{0xffffffffu};
constexpr std::uint32_t index(TileId id) {
  return static_cast<std::uint32_t>(id);
}

enum class TileOp : std::uint8_t {
  constant,  ///< `bits` of `type`
  scalar,    ///< run-time scalar number `number`
  position,  ///< i64: where we are on axis `axes_list[0]`
  extent,    ///< i64: product of the extents of `axes_list`
  load,  ///< from operand `number` through `access`; with an operand [mask] (boolean), 0 where it is false
  elementwise,  ///< `primitive` applied to `operands`
  reduce,       ///< `reduction` of operands[0] over `axes_list`
  dot,          ///< sum over `axes_list` of operands[0] * operands[1], by the dot rule; result `type`
  store,        ///< operands[0] to operand `number` through `access`; its axes are the value's
};

enum class Reduction : std::uint8_t { sum, prod, max, min, any, all, argmax, argmin };

/// One summand of an index map: stride * ((source / divisor) mod modulus), the source being the position on
/// an axis or, for gathers, an integer value. Strides count elements and may be 0 or negative. The numbers
/// are the `Binding`'s.
struct IndexTerm {
  std::optional<Axis> axis;
  TileId value = no_tile;  ///< the source when `axis` is empty
  bool divided = false;    ///< has a divisor other than 1
  bool wrapped = false;    ///< has a modulus
};

/// Where in an operand a load or store goes: offset + the sum of the terms. The numbers stand in the binding.
struct Access {
  std::vector<IndexTerm> terms;
};

struct TileValue {
  TileOp op = TileOp::constant;
  ElementType type = ElementType::f32;
  AxisSet axes;
  std::vector<TileId> operands;
  ops::Primitive primitive{};            ///< elementwise
  Reduction reduction = Reduction::sum;  ///< reduce
  std::vector<Axis> axes_list;           ///< reduce, dot, extent, position: in logical order, outermost first
  /// reduce: whether the last logical axis of the reduced tensor is among the reduced ones, which picks the
  /// canonical order (rows or columns, docs/numerics.md). A property of the logical tensor, not of memory.
  bool reduces_last_axis = true;
  std::uint32_t number = 0;  ///< load, store: operand; scalar: which
  Access access;             ///< load, store
  std::uint64_t bits = 0;    ///< constant
  std::string note;          ///< where it comes from, for readers
};

/// A tensor the kernel reads or writes.
struct TileOperand {
  std::string name;
  ElementType type = ElementType::f32;
  bool written = false;
  bool constant = false;  ///< same contents at every run (a weight): may be packed when compiled
};

struct TileScalar {
  std::string name;
  ElementType type = ElementType::f32;
};

struct TileProgram {
  std::string name;
  std::vector<std::string> axes;  ///< names
  std::vector<TileOperand> operands;
  std::vector<TileScalar> scalars;
  std::vector<TileValue> values;  ///< SSA, in order of definition; stores included
};

/// The numbers of one load's or store's index map.
struct AccessBinding {
  std::int64_t offset = 0;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> divisors;  ///< 1 where not divided
  std::vector<std::int64_t> moduli;    ///< 0 where not wrapped
};

/// The concrete sizes with which a tile program is run. Parallel to the program: `extents` to its axes,
/// `accesses` to its values (empty but for loads and stores), `scalars` to its scalars (bits).
struct Binding {
  std::vector<std::int64_t> extents;
  std::vector<AccessBinding> accesses;
  std::vector<std::uint64_t> scalars;
  std::vector<std::int64_t> operand_elements;  ///< size of each operand in elements: bounds index widths
};

/// Checks everything the comments above promise. Messages name the program and the value.
Status verify(const TileProgram& program);
Status verify(const TileProgram& program, const Binding& binding);

/// A stable, commented text of the program, for `halyard explain --emit`.
std::string to_text(const TileProgram& program);
std::string to_text(const TileProgram& program, const Binding& binding);

/// A handle to a value while a program is being built; arithmetic on it appends values.
class TileBuilder;
struct Tile {
  TileBuilder* builder = nullptr;
  TileId id = no_tile;
};

/// Builds a tile program and its binding together. Mistakes are collected and reported by `finish`.
/// For kernels written by hand the tensor forms (`input`, `output`) suffice:
/// see examples/custom_kernel. Give each input a statement of its own: tensors are passed in the order of the
/// `input` calls, and C++ does not say in which order the two sides of a + are evaluated.
///
///     Tile x = k.input("x", ElementType::f32, {row, col});
///     k.output("y", x / sqrt(k.sum(x * x, {col})));
///
///
/// Their extents and strides come from the tensors the kernel is called with (`CustomKernel`).
class TileBuilder {
 public:
  explicit TileBuilder(std::string name);

  Axis axis(std::string name, std::int64_t extent = -1);  ///< extent -1: given later, by the tensors
  Tile input(std::string name, ElementType type, const std::vector<Axis>& dimensions);
  void output(std::string name, Tile value,
              std::vector<Axis> dimensions = {});  ///< {}: the value's axes in order of creation

  std::uint32_t operand(TileOperand operand, std::int64_t elements = -1);
  std::uint32_t scalar_parameter(TileScalar scalar, std::uint64_t bits = 0);

  Tile constant(ElementType type, double value);
  Tile constant_bits(ElementType type, std::uint64_t bits);
  Tile scalar(std::uint32_t number);
  Tile position(Axis axis);
  Tile extent(std::vector<Axis> axes, ElementType as = ElementType::i64);
  Tile load(std::uint32_t operand, Access access, AccessBinding numbers, Tile mask = {});
  Tile elementwise(ops::Primitive primitive, const std::vector<Tile>& operands,
                   std::optional<ElementType> to = std::nullopt);
  Tile reduce(Reduction reduction, Tile value, std::vector<Axis> axes, bool reduces_last_axis = true);
  Tile sum(Tile value, std::vector<Axis> axes) { return reduce(Reduction::sum, value, std::move(axes)); }
  Tile max(Tile value, std::vector<Axis> axes) { return reduce(Reduction::max, value, std::move(axes)); }
  Tile dot(Tile a, Tile b, std::vector<Axis> axes, ElementType type = ElementType::f32);
  void store(std::uint32_t operand, Tile value, Access access, AccessBinding numbers);

  ElementType type(Tile value) const;
  AxisSet axes(Tile value) const;

  struct Finished {
    TileProgram program;
    Binding binding;
    /// For hand-written kernels: per operand the axes of its dimensions, empty for operands with explicit
    /// accesses.
    std::vector<std::vector<Axis>> dimensions;
  };
  Result<Finished> finish() &&;

 private:
  Tile append(TileValue value, AccessBinding numbers = {});
  void complain(ErrorCode code, std::string message);

  Finished made_;
  std::optional<Error> error_;
};

/// The binding of a hand-written kernel (`input`, `output`) whose tensors are row-major without gaps:
/// `extents` are those of its axes, in order of creation. Fails if one is negative or their number is wrong.
Result<Binding> contiguous_binding(const TileBuilder::Finished& kernel,
                                   const std::vector<std::int64_t>& extents);

Tile operator+(Tile a, Tile b);
Tile operator-(Tile a, Tile b);
Tile operator*(Tile a, Tile b);
Tile operator/(Tile a, Tile b);
Tile operator+(Tile a, double b);
Tile operator-(Tile a, double b);
Tile operator*(Tile a, double b);
Tile operator/(Tile a, double b);
Tile exp(Tile a);
Tile sqrt(Tile a);
Tile rsqrt(Tile a);
Tile tanh(Tile a);
Tile erf(Tile a);
Tile log(Tile a);
Tile sigmoid(Tile a);
Tile maximum(Tile a, Tile b);
Tile minimum(Tile a, Tile b);
Tile select(Tile condition, Tile a, Tile b);
Tile cast(Tile a, ElementType to);

}  // namespace halyard::fusion
