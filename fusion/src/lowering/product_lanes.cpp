#include <halyard/ops/reduction_order.h>

#include <algorithm>

#include "lowering/product.h"

namespace halyard::fusion::lowering {
namespace {

using ops::order::dot_chunk;

/// The tile of one subgroup. Every lane owns `groups` vectors of columns for all rows of the tile; broadcasts
/// hand the elements of `a` round, which the lanes load in one of two ways. Where `a` is contiguous along k,
/// lane r loads `unroll_k` values of k of row r in one access: the fewest accesses. Else, in steps of `team`
/// values of k, each lane loads its own k of every row.
class LaneProduct {
 public:
  LaneProduct(Lowering& lowering, const Frame& outer, const Product& product, const ProductBlock& block)
      : l_(lowering),
        build_(lowering.builder),
        outer_(outer),
        product_(product),
        block_(block),
        rows_(l_.extent_of(product.axes.m)),
        columns_(l_.extent_of(product.axes.n)),
        depth_(l_.extent_of(product.axes.k)),
        one_chunk_(depth_ <= dot_chunk),
        groups_(block.tile_n / (block.team * block.vector)),
        rows_per_load_(std::min(block.tile_m, block.team)),
        row_count_(l_.count(product.axes.m)),
        column_count_(l_.count(product.axes.n)),
        depth_count_(l_.count(product.axes.k)),
        lane_(l_.builtin(program::Builtin::subgroup_lane)) {}

  void run() {
    place_rows();
    if (block_.unroll_k > 1) place_lane_rows();
    place_columns();
    build_.comment("sums over k of this tile, every lane its own columns");
    Tile sums = one_chunk_ ? chain(l_.literal(0), depth_count_) : all_chunks();
    build_.comment("what follows the product, and the stores");
    finish(sums);
  }

 private:
  using Tile = std::vector<ValueId>;  ///< tile_m × groups_, row-major

  bool whole_rows() const { return Lowering::is_literal(rows_) && rows_ % block_.tile_m == 0; }
  bool whole_columns() const { return columns_ % block_.tile_n == 0; }
  std::uint16_t lanes() const { return static_cast<std::uint16_t>(block_.vector); }

  void place_rows() {
    for (std::uint32_t r = 0; r < block_.tile_m; ++r) {
      ValueId row = l_.add(block_.m_first, r);
      row_.push_back(row);
      clamped_row_.push_back(whole_rows() ? row : l_.min(row, l_.add(row_count_, -1)));
      row_frame_.push_back(outer_.inner());
      l_.decompose(row_frame_.back(), product_.axes.m, clamped_row_.back());
    }
  }

  /// The rows that this lane loads for the others: one of each `rows_per_load`.
  void place_lane_rows() {
    ValueId number = l_.rem(lane_, l_.literal(rows_per_load_));
    for (std::uint32_t r = 0; r < block_.tile_m; r += rows_per_load_) {
      ValueId row = l_.add(l_.add(block_.m_first, r), number);
      lane_row_.push_back(whole_rows() ? row : l_.min(row, l_.add(row_count_, -1)));
      lane_row_frame_.push_back(outer_.inner());
      l_.decompose(lane_row_frame_.back(), product_.axes.m, lane_row_.back());
    }
  }

  /// Columns beyond the end compute the last ones once more and are not stored: no load needs a mask.
  void place_columns() {
    for (std::uint32_t g = 0; g < groups_; ++g) {
      ValueId team_column =
          l_.add(l_.mul(lane_, block_.vector), std::int64_t{g} * block_.team * block_.vector);
      ValueId column = l_.add(block_.n_first, team_column);
      column_.push_back(column);
      clamped_column_.push_back(
          whole_columns() ? column : l_.min(column, l_.add(column_count_, -std::int64_t{block_.vector})));
      column_frame_.push_back(outer_.inner());
      l_.decompose_consecutive(column_frame_.back(), product_.axes.n, clamped_column_.back(), lanes(),
                               block_.vector);
      if (product_.axes.n.empty()) column_frame_.back().width(1);
    }
  }

  Tile filled(double value) {
    return Tile(std::size_t{block_.tile_m} * groups_,
                build_.constant({product_.accumulator, lanes()}, value));
  }

  /// -0 is what the first chunk's results are added to: (-0) + x is x, for x = -0 and +0 too.
  Tile all_chunks() {
    return l_.repeat(divide_up(l_, depth_count_, dot_chunk),
                     filled(is_float(product_.accumulator) ? -0.0 : 0),
                     [&](ValueId chunk, std::span<const ValueId> totals) {
                       ValueId first = l_.mul(chunk, dot_chunk);
                       Tile sums = chain(first, l_.min(l_.literal(dot_chunk), l_.sub(depth_count_, first)));
                       for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = build_.add(totals[i], sums[i]);
                       return sums;
                     });
  }

  /// Fused multiply-adds may underflow to -0, rounded products added up from +0 may not.
  Tile chain(ValueId first, ValueId depth) {
    Tile sums = steps_from_zero(first, depth);
    if (!l_.numeric.fused_fma)
      for (ValueId& sum : sums) sum = l_.from_zero(sum);
    return sums;
  }

  Tile steps_from_zero(ValueId first, ValueId depth) {
    Tile sums = filled(0);
    if (block_.unroll_k > 1)
      return l_.repeat(l_.div(depth, l_.literal(block_.unroll_k)), sums,
                       [&](ValueId step, std::span<const ValueId> carried) {
                         return row_step(l_.add(first, l_.mul(step, block_.unroll_k)),
                                         {carried.begin(), carried.end()});
                       });
    ValueId done = l_.literal(0);
    if (l_.profile.subgroup_shuffle && block_.team > 1) {
      ValueId steps = l_.div(depth, l_.literal(block_.team));
      sums = l_.repeat(steps, sums, [&](ValueId step, std::span<const ValueId> carried) {
        return team_step(l_.add(first, l_.mul(step, block_.team)), {carried.begin(), carried.end()});
      });
      if (depth_ % block_.team == 0) return sums;
      done = l_.mul(steps, block_.team);
    }
    return l_.repeat(l_.sub(depth, done), sums, [&](ValueId k, std::span<const ValueId> carried) {
      ValueId at = l_.add(first, l_.add(done, k));
      std::vector<ValueId> a;
      for (std::uint32_t r = 0; r < block_.tile_m; ++r) a.push_back(a_element(r, at));
      return advance(a, at, {carried.begin(), carried.end()});
    });
  }

  /// `unroll_k` steps of k from `k` on, which divides K and the chunks.
  Tile row_step(ValueId k, Tile sums) {
    const auto steps = static_cast<std::uint16_t>(block_.unroll_k);
    std::vector<ValueId> held;
    for (std::size_t j = 0; j < lane_row_.size(); ++j) {
      Frame frame = lane_row_frame_[j].inner();
      l_.decompose_consecutive(frame, product_.axes.k, k, steps, block_.unroll_k);
      held.push_back(l_.convert(l_.widen(product_.a(frame, {lane_row_[j], program::no_value, k}), steps),
                                product_.accumulator));
    }
    for (std::uint32_t i = 0; i < block_.unroll_k; ++i) {
      std::vector<ValueId> element, a;
      for (ValueId h : held) element.push_back(build_.extract(h, i));
      for (std::uint32_t r = 0; r < block_.tile_m; ++r)
        a.push_back(build_.broadcast_lane(element[r / rows_per_load_], r % rows_per_load_));
      sums = advance(a, l_.add(k, i), std::move(sums));
    }
    return sums;
  }

  /// `team` steps of k from `k` on.
  Tile team_step(ValueId k, Tile sums) {
    std::vector<ValueId> held;
    for (std::uint32_t r = 0; r < block_.tile_m; ++r) held.push_back(a_element(r, l_.add(k, lane_)));
    constexpr std::uint32_t most_unrolled = 8;
    if (block_.team <= most_unrolled) {
      for (std::uint32_t i = 0; i < block_.team; ++i) {
        std::vector<ValueId> a;
        for (ValueId h : held) a.push_back(build_.broadcast_lane(h, i));
        sums = advance(a, l_.add(k, i), std::move(sums));
      }
      return sums;
    }
    return build_.for_loop(
        build_.i32(0), build_.i32(static_cast<std::int32_t>(block_.team)), build_.i32(1), sums,
        [&](ValueId i, std::span<const ValueId> carried) {
          std::vector<ValueId> a;
          for (ValueId h : held) a.push_back(build_.shuffle_lane(h, i));
          return advance(a, l_.add(k, build_.cast(l_.index_type(), i)), {carried.begin(), carried.end()});
        },
        4);
  }

  ValueId a_element(std::uint32_t row, ValueId k) {
    Frame frame = row_frame_[row].inner();
    l_.decompose(frame, product_.axes.k, k);
    return l_.convert(product_.a(frame, {clamped_row_[row], program::no_value, k}), product_.accumulator);
  }

  /// One step of k: `a` holds one element per row.
  Tile advance(const std::vector<ValueId>& a, ValueId k, Tile sums) {
    std::vector<ValueId> b;
    for (std::uint32_t g = 0; g < groups_; ++g) {
      Frame frame = column_frame_[g].inner();
      l_.decompose(frame, product_.axes.k, k);
      b.push_back(l_.widen(
          l_.convert(product_.b(frame, {program::no_value, clamped_column_[g], k}), product_.accumulator),
          lanes()));
    }
    for (std::uint32_t r = 0; r < block_.tile_m; ++r) {
      ValueId wide = l_.widen(a[r], lanes());
      for (std::uint32_t g = 0; g < groups_; ++g)
        sums[r * groups_ + g] = multiply_add(l_, wide, b[g], sums[r * groups_ + g]);
    }
    return sums;
  }

  void finish(const Tile& sums) {
    for (std::uint32_t g = 0; g < groups_; ++g) {
      ValueId column_exists = whole_columns() ? build_.boolean(true) : l_.less(column_[g], column_count_);
      l_.when(column_exists, {}, [&] {
        Frame column_values = column_frame_[g].inner();
        if (product_.before_rows) product_.before_rows(column_values);
        for (std::uint32_t r = 0; r < block_.tile_m; ++r) {
          ValueId row_exists = whole_rows() ? build_.boolean(true) : l_.less(row_[r], row_count_);
          l_.when(row_exists, {}, [&] {
            Frame frame = column_values.inner();
            l_.decompose(frame, product_.axes.m, row_[r]);
            if (product_.prepare) product_.prepare(frame, sums[r * groups_ + g]);
            product_.consume(frame, {row_[r], column_[g], program::no_value}, sums[r * groups_ + g]);
            return std::vector<ValueId>{};
          });
        }
        return std::vector<ValueId>{};
      });
    }
  }

  Lowering& l_;
  Builder& build_;
  const Frame& outer_;
  const Product& product_;
  const ProductBlock& block_;
  const std::int64_t rows_, columns_, depth_;
  const bool one_chunk_;
  const std::uint32_t groups_, rows_per_load_;
  ValueId row_count_, column_count_, depth_count_, lane_;
  std::vector<ValueId> row_, clamped_row_, lane_row_, column_, clamped_column_;
  std::vector<Frame> row_frame_, lane_row_frame_, column_frame_;
};

}  // namespace

void lane_product(Lowering& lowering, const Frame& outer, const Product& product, const ProductBlock& block) {
  LaneProduct(lowering, outer, product, block).run();
}

}  // namespace halyard::fusion::lowering
