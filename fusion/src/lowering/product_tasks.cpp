#include <fmt/format.h>
#include <halyard/ops/reduction_order.h>

#include <algorithm>

#include "lowering/product.h"

namespace halyard::fusion::lowering {
namespace {

using ops::order::dot_chunk;

/// The product of one task, tile by tile. Members that end in `_count` are index values.
class TaskProduct {
 public:
  TaskProduct(Lowering& lowering, const Frame& outer, const Product& product, const ProductBlock& block)
      : l_(lowering),
        build_(lowering.builder),
        outer_(outer),
        product_(product),
        block_(block),
        rows_(l_.extent_of(product.axes.m)),
        columns_(l_.extent_of(product.axes.n)),
        depth_(l_.extent_of(product.axes.k)),
        one_chunk_(depth_ <= dot_chunk),
        vectors_(block.tile_n / block.vector),
        room_(std::max<std::int64_t>(Lowering::bucket(std::min(depth_, dot_chunk)), block.vector)),
        row_count_(l_.count(product.axes.m)),
        column_count_(l_.count(product.axes.n)),
        depth_count_(l_.count(product.axes.k)) {}

  void run() {
    declare_scratch();
    tile_count_ = l_.min(l_.literal(block_.block_m / block_.tile_m),
                         divide_up(l_, l_.sub(row_count_, block_.m_first), block_.tile_m));
    sliver_count_ = l_.min(l_.literal(block_.block_n / block_.tile_n),
                           divide_up(l_, l_.sub(column_count_, block_.n_first), block_.tile_n));
    ValueId chunks = one_chunk_ ? l_.literal(1) : divide_up(l_, depth_count_, dot_chunk);
    l_.repeat(chunks, {}, [&](ValueId chunk, auto) {
      chunk_ = chunk;
      run_chunk();
      return std::vector<ValueId>{};
    });
    if (!one_chunk_)
      for_each_tile([&](ValueId sliver, ValueId tile) { finish_tile(sliver, tile, totals(sliver, tile)); });
  }

 private:
  using Tile = std::vector<ValueId>;  ///< tile_m × vectors_, row-major

  void declare_scratch() {
    auto array = [&](const std::string& name, std::int64_t count) {
      // A kernel may hold two products (attention): the second one's arrays get a number.
      const auto number = build_.program().shared.size();
      for (const auto& known : build_.program().shared)
        if (known.name == name)
          return build_.shared(name + std::to_string(number), product_.accumulator,
                               static_cast<std::uint32_t>(count));
      return build_.shared(name, product_.accumulator, static_cast<std::uint32_t>(count));
    };
    if (block_.pack_a) a_scratch_ = array("a_block", block_.block_m * room_);
    if (block_.pack_b && !transposes_in_registers()) b_scratch_ = array("b_slivers", block_.block_n * room_);
    if (!one_chunk_) totals_ = array("totals", std::int64_t{block_.block_m} * block_.block_n);
  }

  void run_chunk() {
    first_k_ = l_.mul(chunk_, dot_chunk);
    chunk_depth_ = one_chunk_ ? depth_count_ : l_.min(l_.literal(dot_chunk), l_.sub(depth_count_, first_k_));
    if (block_.pack_a) pack_a();
    if (block_.pack_b && block_.transpose_b && !transposes_in_registers())
      pack_transposed_b();
    else if (block_.pack_b && !block_.transpose_b)
      pack_b();
    for_each_tile([&](ValueId sliver, ValueId tile) {
      Tile results = multiply(sliver, tile);
      if (one_chunk_)
        finish_tile(sliver, tile, results);
      else
        add_to_totals(sliver, tile, results);
    });
  }

  void for_each_tile(const std::function<void(ValueId, ValueId)>& body) {
    l_.repeat(sliver_count_, {}, [&](ValueId sliver, auto) {
      l_.repeat(tile_count_, {}, [&](ValueId tile, auto) {
        body(sliver, tile);
        return std::vector<ValueId>{};
      });
      return std::vector<ValueId>{};
    });
  }

  /// Whether each vector of b is used by one tile alone, so that laying b out would only cost.
  bool transposes_in_registers() const { return block_.transpose_b && rows_ <= std::int64_t{block_.tile_m}; }

  /// Linear row number, never beyond the last row.
  ValueId clamped_row(ValueId row) { return whole_rows() ? row : l_.min(row, l_.add(row_count_, -1)); }
  bool whole_rows() const { return Lowering::is_literal(rows_) && rows_ % block_.tile_m == 0; }
  bool whole_columns() const { return columns_ % block_.tile_n == 0; }

  ValueId first_row(ValueId tile) { return l_.add(block_.m_first, l_.mul(tile, block_.tile_m)); }
  ValueId first_column(ValueId sliver) { return l_.add(block_.n_first, l_.mul(sliver, block_.tile_n)); }
  std::uint32_t column_multiple() const { return block_.tile_n & -block_.tile_n; }

  Frame column_frame(const Frame& around, ValueId column, bool masked) {
    Frame frame = around.inner();
    auto lanes = static_cast<std::uint16_t>(block_.vector);
    l_.decompose_consecutive(frame, product_.axes.n, column, lanes,
                             std::min(column_multiple(), block_.vector));
    if (product_.axes.n.empty()) frame.width(1);
    if (masked && !whole_columns())
      frame.masked(
          build_.compare(program::Op::lt, l_.consecutive(column, lanes), build_.splat(column_count_, lanes)));
    return frame;
  }

  ValueId in_accumulator(ValueId value) { return l_.convert(value, product_.accumulator); }

  void pack_a() {
    build_.comment("evaluate this block of a once, row by row");
    ValueId rows = l_.mul(tile_count_, block_.tile_m);
    auto lanes = static_cast<std::uint16_t>(product_.axes.k.size() == 1 ? block_.vector : 1);
    l_.repeat(rows, {}, [&](ValueId row, auto) {
      ValueId m = clamped_row(l_.add(block_.m_first, row));
      Frame row_frame = outer_.inner();
      l_.decompose(row_frame, product_.axes.m, m);
      l_.repeat(divide_up(l_, chunk_depth_, lanes), {}, [&](ValueId step, auto) {
        ValueId k = l_.mul(step, lanes);
        ValueId depth = l_.add(first_k_, k);
        Frame frame = row_frame.inner();
        if (lanes > 1) {
          frame.consecutive(product_.axes.k[0], depth, lanes).width(lanes);
          if (depth_ % lanes != 0)
            frame.masked(build_.compare(program::Op::lt, l_.consecutive(depth, lanes),
                                        build_.splat(depth_count_, lanes)));
        } else {
          l_.decompose(frame, product_.axes.k, depth);
        }
        ValueId value = l_.widen(in_accumulator(product_.a(frame, {m, program::no_value, depth})), lanes);
        build_.store(a_scratch_, l_.add(l_.mul(row, room_), k), value);
        return std::vector<ValueId>{};
      });
      return std::vector<ValueId>{};
    });
  }

  void pack_b() {
    build_.comment("lay this block of b out in slivers: k by k, the columns of a sliver side by side");
    l_.repeat(sliver_count_, {}, [&](ValueId sliver, auto) {
      l_.repeat(chunk_depth_, {}, [&](ValueId k, auto) {
        for (std::uint32_t v = 0; v < vectors_; ++v) {
          ValueId column = l_.add(first_column(sliver), v * block_.vector);
          Frame frame = column_frame(outer_, column, true);
          ValueId depth = l_.add(first_k_, k);
          l_.decompose(frame, product_.axes.k, depth);
          ValueId value = l_.widen(in_accumulator(product_.b(frame, {program::no_value, column, depth})),
                                   static_cast<std::uint16_t>(block_.vector));
          build_.store(b_scratch_, sliver_index(sliver, k, v), value);
        }
        return std::vector<ValueId>{};
      });
      return std::vector<ValueId>{};
    });
  }

  /// The same where memory holds each column of a sliver in one piece: as many steps of k as a vector has
  /// lanes are read of as many columns and exchanged in registers.
  void pack_transposed_b() {
    build_.comment("lay this block of b out in slivers, by transposing vectors along k");
    const auto lanes = static_cast<std::uint16_t>(block_.vector);
    l_.repeat(sliver_count_, {}, [&](ValueId sliver, auto) {
      l_.repeat(divide_up(l_, chunk_depth_, lanes), {}, [&](ValueId step, auto) {
        ValueId k = l_.mul(step, lanes);
        for (std::uint32_t v = 0; v < vectors_; ++v) {
          const std::vector<ValueId> rows = transposed(columns_along_k(sliver, v, l_.add(first_k_, k)));
          for (std::uint32_t i = 0; i < lanes; ++i)
            build_.store(b_scratch_, sliver_index(sliver, l_.add(k, i), v), rows[i]);
        }
        return std::vector<ValueId>{};
      });
      return std::vector<ValueId>{};
    });
  }

  /// Vectors along k from `depth` on, one for each column of vector `v` of a sliver; beyond the last column
  /// it repeats.
  std::vector<ValueId> columns_along_k(ValueId sliver, std::uint32_t v, ValueId depth) {
    const auto lanes = static_cast<std::uint16_t>(block_.vector);
    std::vector<ValueId> columns;
    for (std::uint32_t i = 0; i < lanes; ++i) {
      ValueId column = l_.add(first_column(sliver), v * block_.vector + i);
      if (!whole_columns()) column = l_.min(column, l_.add(column_count_, -1));
      Frame frame = outer_.inner();
      l_.decompose(frame, product_.axes.n, column);
      frame.consecutive(product_.axes.k[0], depth, lanes).width(lanes);
      if (depth_ % lanes != 0 && !transposes_in_registers())
        frame.masked(
            build_.compare(program::Op::lt, l_.consecutive(depth, lanes), build_.splat(depth_count_, lanes)));
      columns.push_back(
          l_.widen(in_accumulator(product_.b(frame, {program::no_value, column, depth})), lanes));
    }
    return columns;
  }

  /// Square: as many vectors as lanes. Halves are exchanged between vectors half as far apart each time.
  std::vector<ValueId> transposed(std::vector<ValueId> rows) {
    const auto count = static_cast<std::int32_t>(rows.size());
    for (std::int32_t half = count / 2; half > 0; half /= 2) {
      std::vector<std::int32_t> lower, upper;  // the lanes of two rows, one after the other
      for (std::int32_t lane = 0; lane < count; ++lane) {
        const bool second = (lane & half) != 0;
        lower.push_back(second ? count + lane - half : lane);
        upper.push_back(second ? count + lane : lane + half);
      }
      for (std::int32_t i = 0; i < count; ++i) {
        if ((i & half) != 0) continue;
        ValueId& near = rows[static_cast<std::size_t>(i)];
        ValueId& far = rows[static_cast<std::size_t>(i + half)];
        const ValueId a = near, b = far;
        near = build_.shuffle(a, b, lower);
        far = build_.shuffle(a, b, upper);
      }
    }
    return rows;
  }

  ValueId sliver_index(ValueId sliver, ValueId k, std::uint32_t v) {
    return l_.add(l_.mul(l_.add(l_.mul(sliver, room_), k), block_.tile_n), v * block_.vector);
  }

  /// The chains of one chunk for one tile.
  Tile multiply(ValueId sliver, ValueId tile) {
    const auto lanes = static_cast<std::uint16_t>(block_.vector);
    std::vector<ValueId> rows;
    std::vector<Frame> row_frames;
    for (std::uint32_t r = 0; r < block_.tile_m; ++r) {
      rows.push_back(clamped_row(l_.add(first_row(tile), r)));
      row_frames.push_back(outer_.inner());
      if (!block_.pack_a) l_.decompose(row_frames.back(), product_.axes.m, rows.back());
    }
    std::vector<Frame> columns;
    for (std::uint32_t v = 0; v < vectors_ && (!block_.pack_b || transposes_in_registers()); ++v)
      columns.push_back(
          column_frame(outer_, l_.add(first_column(sliver), v * block_.vector), !block_.padded_b));

    build_.comment(
        fmt::format("{} rows by {} columns of the product: a chain of multiply-adds each, k ascending",
                    block_.tile_m, block_.tile_n));
    Tile zeros(std::size_t{block_.tile_m} * vectors_, build_.constant({product_.accumulator, lanes}, 0));
    const auto advance = [&](const Step& step, const std::vector<ValueId>& b, Tile sums) {
      for (std::uint32_t r = 0; r < block_.tile_m; ++r) {
        ValueId a = l_.widen(a_element(row_frames, rows, tile, step, r), lanes);
        for (std::uint32_t v = 0; v < vectors_; ++v)
          sums[r * vectors_ + v] = multiply_add(l_, a, b[v], sums[r * vectors_ + v]);
      }
      return sums;
    };
    if (transposes_in_registers()) return over_transposed_depth(sliver, columns, zeros, advance);
    return over_depth(zeros, [&](const Step& step, std::span<const ValueId> carried) {
      std::vector<ValueId> b;
      for (std::uint32_t v = 0; v < vectors_; ++v) b.push_back(b_vector(columns, sliver, step, v));
      return advance(step, b, Tile(carried.begin(), carried.end()));
    });
  }

  /// One step of k.
  struct Step {
    ValueId depth = program::no_value;  ///< k itself
    ValueId k = program::no_value;      ///< from the chunk's first on
    std::function<void(Frame&)> place;  ///< sets the coordinates along k
  };

  /// The steps of one chunk in ascending order. Of several axes the innermost has a loop of its own if it is
  /// long: taking every k apart would cost divisions.
  Tile over_depth(Tile initial, const std::function<Tile(const Step&, std::span<const ValueId>)>& body) {
    std::vector<Axis> outer;
    for (Axis axis : product_.axes.k)
      if (l_.extent_of(axis) > 1) outer.push_back(axis);
    constexpr std::int64_t long_enough = 16;
    if (outer.size() < 2 || l_.extent_of(outer.back()) < long_enough)
      return l_.repeat(
          chunk_depth_, std::move(initial),
          [&](ValueId k, std::span<const ValueId> carried) {
            const ValueId depth = l_.add(first_k_, k);
            return body({depth, k, [&](Frame& frame) { l_.decompose(frame, product_.axes.k, depth); }},
                        carried);
          },
          block_.unroll_k);
    const Axis innermost = outer.back();
    outer.pop_back();
    const ValueId extent = l_.extent(innermost);
    const ValueId end = l_.add(first_k_, chunk_depth_);
    const ValueId first_run = l_.div(first_k_, extent);
    const ValueId runs = l_.sub(l_.div(l_.add(end, l_.sub(extent, l_.literal(1))), extent), first_run);
    return l_.repeat(runs, std::move(initial), [&](ValueId number, std::span<const ValueId> sums) {
      const ValueId run = l_.add(first_run, number);
      const ValueId begin = l_.mul(run, extent);
      const ValueId from = l_.max(l_.sub(first_k_, begin), l_.literal(0));
      const ValueId to = l_.min(l_.sub(end, begin), extent);
      return build_.for_loop(
          from, to, l_.literal(1), {sums.begin(), sums.end()},
          [&](ValueId at, std::span<const ValueId> carried) {
            const ValueId depth = l_.add(begin, at);
            return body({depth, l_.sub(depth, first_k_),
                         [&](Frame& frame) {
                           l_.decompose(frame, product_.axes.k, l_.literal(0));
                           l_.decompose(frame, outer, run);
                           frame.at(innermost, at);
                         }},
                        carried);
          },
          block_.unroll_k);
    });
  }

  /// The steps of one chunk, b read along its one axis k as many steps at a time as a vector has lanes; those
  /// left over one by one.
  Tile over_transposed_depth(
      ValueId sliver, const std::vector<Frame>& columns, Tile initial,
      const std::function<Tile(const Step&, const std::vector<ValueId>&, Tile)>& advance) {
    const auto lanes = static_cast<std::uint16_t>(block_.vector);
    const auto step_at = [&](ValueId k) {
      const ValueId depth = l_.add(first_k_, k);
      return Step{depth, k, [this, depth](Frame& frame) { l_.decompose(frame, product_.axes.k, depth); }};
    };
    const ValueId whole = l_.div(chunk_depth_, l_.literal(lanes));
    Tile sums = l_.repeat(whole, std::move(initial), [&](ValueId number, std::span<const ValueId> carried) {
      const ValueId k = l_.mul(number, lanes);
      std::vector<std::vector<ValueId>> b;
      for (std::uint32_t v = 0; v < vectors_; ++v)
        b.push_back(transposed(columns_along_k(sliver, v, l_.add(first_k_, k))));
      Tile tile(carried.begin(), carried.end());
      for (std::uint32_t i = 0; i < lanes; ++i) {
        std::vector<ValueId> here;
        for (const std::vector<ValueId>& vector : b) here.push_back(vector[i]);
        tile = advance(step_at(l_.add(k, i)), here, std::move(tile));
      }
      return tile;
    });
    if (depth_ % lanes == 0) return sums;
    const ValueId done = l_.mul(whole, lanes);
    return l_.repeat(l_.sub(chunk_depth_, done), std::move(sums),
                     [&](ValueId number, std::span<const ValueId> carried) {
                       const Step step = step_at(l_.add(done, number));
                       std::vector<ValueId> b;
                       for (std::uint32_t v = 0; v < vectors_; ++v)
                         b.push_back(b_evaluated(columns, sliver, step, v));
                       return advance(step, b, Tile(carried.begin(), carried.end()));
                     });
  }

  ValueId a_element(const std::vector<Frame>& frames, const std::vector<ValueId>& rows, ValueId tile,
                    const Step& step, std::uint32_t r) {
    if (block_.pack_a)
      return build_.load(a_scratch_, l_.add(l_.mul(l_.add(l_.mul(tile, block_.tile_m), r), room_), step.k));
    Frame frame = frames[r].inner();
    step.place(frame);
    return in_accumulator(product_.a(frame, {rows[r], program::no_value, step.depth}));
  }

  ValueId b_vector(const std::vector<Frame>& frames, ValueId sliver, const Step& step, std::uint32_t v) {
    const auto lanes = static_cast<std::uint16_t>(block_.vector);
    if (block_.pack_b) return build_.load(b_scratch_, sliver_index(sliver, step.k, v), lanes);
    return b_evaluated(frames, sliver, step, v);
  }

  ValueId b_evaluated(const std::vector<Frame>& frames, ValueId sliver, const Step& step, std::uint32_t v) {
    const auto lanes = static_cast<std::uint16_t>(block_.vector);
    Frame frame = frames[v].inner();
    step.place(frame);
    ValueId column = l_.add(first_column(sliver), v * block_.vector);
    return l_.widen(in_accumulator(product_.b(frame, {program::no_value, column, step.depth})), lanes);
  }

  ValueId totals_index(ValueId sliver, ValueId tile, std::uint32_t r, std::uint32_t v) {
    ValueId row = l_.add(l_.mul(tile, block_.tile_m), r);
    return l_.add(l_.add(l_.mul(row, block_.block_n), l_.mul(sliver, block_.tile_n)), v * block_.vector);
  }

  Tile totals(ValueId sliver, ValueId tile) {
    Tile values;
    for (std::uint32_t r = 0; r < block_.tile_m; ++r)
      for (std::uint32_t v = 0; v < vectors_; ++v)
        values.push_back(build_.load(totals_, totals_index(sliver, tile, r, v),
                                     static_cast<std::uint16_t>(block_.vector)));
    return values;
  }

  void add_to_totals(ValueId sliver, ValueId tile, const Tile& results) {
    build_.comment("chunks of k add up in ascending order");
    ValueId is_first = build_.compare(program::Op::eq, chunk_, l_.literal(0));
    Tile sums = build_.if_else(
        is_first, [&] { return results; },
        [&] {
          Tile added = totals(sliver, tile);
          for (std::size_t i = 0; i < added.size(); ++i) added[i] = build_.add(added[i], results[i]);
          return added;
        });
    for (std::uint32_t r = 0; r < block_.tile_m; ++r)
      for (std::uint32_t v = 0; v < vectors_; ++v)
        build_.store(totals_, totals_index(sliver, tile, r, v), sums[r * vectors_ + v]);
  }

  void finish_tile(ValueId sliver, ValueId tile, const Tile& results) {
    build_.comment("what follows the product, and the stores");
    std::vector<ValueId> rows, columns;
    for (std::uint32_t r = 0; r < block_.tile_m; ++r) rows.push_back(l_.add(first_row(tile), r));
    std::vector<Frame> column_values;
    for (std::uint32_t v = 0; v < vectors_; ++v) {
      columns.push_back(l_.add(first_column(sliver), v * block_.vector));
      column_values.push_back(column_frame(outer_, columns.back(), true));
      if (product_.before_rows) product_.before_rows(column_values.back());
    }
    std::vector<Frame> places;
    for (std::uint32_t r = 0; r < block_.tile_m; ++r)
      for (std::uint32_t v = 0; v < vectors_; ++v) {
        places.push_back(column_values[v].inner());
        l_.decompose(places.back(), product_.axes.m, clamped_row(rows[r]));
        if (product_.prepare) product_.prepare(places.back(), results[r * vectors_ + v]);
      }
    for (std::uint32_t r = 0; r < block_.tile_m; ++r) {
      ValueId exists = whole_rows() ? build_.boolean(true) : l_.less(rows[r], row_count_);
      l_.when(exists, {}, [&] {
        for (std::uint32_t v = 0; v < vectors_; ++v) {
          Frame frame = places[r * vectors_ + v].inner();
          product_.consume(frame, {rows[r], columns[v], program::no_value}, results[r * vectors_ + v]);
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
  const std::uint32_t vectors_;
  const std::int64_t room_;  ///< elements of k that scratch holds per row or column
  ValueId row_count_, column_count_, depth_count_;
  ValueId tile_count_{}, sliver_count_{}, chunk_{}, first_k_{}, chunk_depth_{};
  MemoryRef a_scratch_, b_scratch_, totals_;
};

}  // namespace

void task_product(Lowering& lowering, const Frame& outer, const Product& product, const ProductBlock& block) {
  TaskProduct(lowering, outer, product, block).run();
}

}  // namespace halyard::fusion::lowering
