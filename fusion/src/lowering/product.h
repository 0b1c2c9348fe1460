#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "lowering/lowering.h"

/// Products inside a kernel: m × n results, each summed over k in the canonical order (docs/numerics.md:
/// chains of 512, chunk results added in ascending order). Used by the contraction pattern and, twice, by the
/// attention pattern.
namespace halyard::fusion::lowering {

/// Which axes of a dot play which part. Axes of one part are linearized in the order listed.
struct ProductAxes {
  std::vector<Axis> batch;  ///< in both operands and the result
  std::vector<Axis> m;      ///< of `a` only
  std::vector<Axis> n;      ///< of `b` only: the vectorized side
  std::vector<Axis> k;      ///< contracted, in logical order
  TileId a = no_tile;
  TileId b = no_tile;
};

/// Sorts the axes of `dot`. `a` and `b` are exchanged if `exchange` says so; m, n and batch are ordered by
/// `strides` (one per axis, e.g. those of a store), greatest outermost.
ProductAxes product_axes(const TileProgram& tiles, TileId dot, bool exchange,
                         const std::vector<std::int64_t>& strides);

/// The strides by which a load or store moves per axis; 0 where it does not depend on one.
std::vector<std::int64_t> strides_by_axis(const TileProgram& tiles, const Binding& binding,
                                          TileId load_or_store);

/// What memory an operand of a product is, seen through a cast.
struct OperandFacts {
  bool is_load = false;     ///< a load, perhaps converted: cheap to evaluate again
  bool contiguous = false;  ///< neighbours along the axis asked about are neighbours in memory
  bool constant = false;
};
OperandFacts operand_facts(const TileProgram& tiles, const Binding& binding, TileId operand, Axis along);
/// Whether b is a plain load that is contiguous along its one contracted axis and not along its columns:
/// worth reading in vectors of `lanes` steps and transposing in registers.
bool is_worth_transposing(const TileProgram& tiles, const Binding& binding, const ProductAxes& axes,
                          std::uint32_t lanes);

/// Values at a place of the product: coordinates are set in the frame; the linear indices say the same once
/// more for providers that read on-chip arrays.
struct ProductPlace {
  ValueId m = program::no_value;  ///< linear, may be clamped to the last row
  ValueId n = program::no_value;  ///< linear, of the vector's first lane
  ValueId k = program::no_value;  ///< linear
};
using Provider = std::function<ValueId(Frame&, const ProductPlace&)>;
/// Takes one vector of results, at a place that exists (rows and columns beyond the end are guarded or
/// masked).
using Consumer = std::function<void(Frame&, const ProductPlace&, ValueId accumulated)>;
/// Computes what will be consumed, at a place that may repeat the last row: no stores. Tasks do so for a
/// whole tile before they consume any of it, so that the long chains of an epilogue overlap instead of
/// waiting behind a branch each.
using Preparer = std::function<void(Frame&, ValueId accumulated)>;

struct Product {
  ProductAxes axes;
  ElementType accumulator = ElementType::f32;
  Provider a;        ///< at (m, k): one lane, or as many as the frame has when packed along k
  Provider b;        ///< at (k, n): as many lanes as the frame has
  Preparer prepare;  ///< optional
  Consumer consume;
  /// Evaluated at a frame with the column coordinates alone, before its rows: what the consumer needs per
  /// column.
  std::function<void(Frame&)> before_rows;
};

/// The part of the m × n results that one workgroup computes, and how.
struct ProductBlock {
  ValueId m_first = program::no_value;
  ValueId n_first = program::no_value;  ///< a multiple of tile_n
  std::uint32_t block_m = 1;            ///< multiples of the tiles
  std::uint32_t block_n = 1;
  std::uint32_t tile_m = 1;
  std::uint32_t tile_n = 1;
  std::uint32_t vector = 1;
  std::uint32_t unroll_k = 1;  ///< see Schedule
  bool pack_a = false;         ///< tasks: evaluate the block of `a` once, into scratch
  bool pack_b = false;         ///< tasks: the same for `b`, in slivers of tile_n
  bool transpose_b =
      false;  ///< tasks: `b` is packed from vectors along k, the one axis that it is contiguous in
  bool padded_b = false;   ///< b may be read beyond N up to the next multiple of tile_n
  std::uint32_t team = 1;  ///< lanes: lanes of the subgroup that shares the block
};

/// One task computes the block: a loop over tiles of tile_m × tile_n held in vector registers.
void task_product(Lowering& lowering, const Frame& outer, const Product& product, const ProductBlock& block);

/// One subgroup computes a tile of tile_m × tile_n; each lane owns vectors of columns, `a` travels by
/// broadcasts.
void lane_product(Lowering& lowering, const Frame& outer, const Product& product, const ProductBlock& block);

/// acc + a * b: fused where the device's class is, else with two roundings; integers wrap.
ValueId multiply_add(Lowering& lowering, ValueId a, ValueId b, ValueId accumulated);

/// ceil(count / by) as an index value.
ValueId divide_up(Lowering& lowering, ValueId count, std::int64_t by);

}  // namespace halyard::fusion::lowering
