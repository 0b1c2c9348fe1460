#include <fmt/format.h>
#include <halyard/ops/reduction_order.h>

#include <algorithm>

#include "lowering/patterns.h"
#include "lowering/product.h"

/// Attention whose rows fit on chip: a product, anything row-wise on its result (scale, mask, softmax), a
/// second product. A workgroup takes a block of rows: it computes their scores into scratch, normalizes them
/// there in passes, and multiplies. Every part keeps its own canonical order, so the bits are those of the
/// separate operations.
namespace halyard::fusion::lowering {
namespace {

using ops::order::row_chunk;
using ops::order::row_lanes;

struct Attention {
  TileId scores = no_tile;         ///< the first dot
  TileId weights = no_tile;        ///< the operand of the second dot that depends on it
  TileId result = no_tile;         ///< the second dot
  ProductAxes first;               ///< m: query rows, n: keys, k: width of a head
  ProductAxes second;              ///< m: query rows, n: width of a value, k: keys
  std::vector<TileId> reductions;  ///< over keys, in order of definition
};

bool depends_on(const TileProgram& tiles, TileId tile, TileId on) {
  if (tile == on) return true;
  const TileValue& value = tiles.values[fusion::index(tile)];
  for (TileId operand : value.operands)
    if (depends_on(tiles, operand, on)) return true;
  for (const IndexTerm& term : value.access.terms)
    if (term.value != no_tile && depends_on(tiles, term.value, on)) return true;
  return false;
}

Result<Attention> analyze(const TileProgram& tiles, const Binding& binding) {
  auto refuse = [&](std::string_view why) {
    return fail(ErrorCode::unsupported, fmt::format("kernel {}: {}", tiles.name, why));
  };
  Attention found;
  TileId store = no_tile;
  for (std::size_t i = 0; i < tiles.values.size(); ++i) {
    const auto id = static_cast<TileId>(i);
    if (tiles.values[i].op == TileOp::dot) (found.scores == no_tile ? found.scores : found.result) = id;
    if (tiles.values[i].op == TileOp::store && store == no_tile) store = id;
  }
  if (found.result == no_tile || store == no_tile) return refuse("attention needs two products");
  const TileValue& result = tiles.values[fusion::index(found.result)];
  const bool second_operand = depends_on(tiles, result.operands[1], found.scores);
  found.weights = result.operands[second_operand ? 1 : 0];
  if (!depends_on(tiles, found.weights, found.scores))
    return refuse("the second product does not use the first");
  found.second = product_axes(tiles, found.result, second_operand, strides_by_axis(tiles, binding, store));

  // Of the first product, b is the operand that varies along the keys.
  const Axis key = found.second.k[0];
  const TileValue& scores = tiles.values[fusion::index(found.scores)];
  const bool exchange = tiles.values[fusion::index(scores.operands[0])].axes.contains(key);
  found.first = product_axes(tiles, found.scores, exchange, std::vector<std::int64_t>(tiles.axes.size(), 0));
  auto same_set = [](std::vector<Axis> a, std::vector<Axis> b) {
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    return a == b;
  };
  if (!same_set(found.first.n, found.second.k))
    return refuse("the products do not share exactly the axes of the keys");
  if (!same_set(found.first.m, found.second.m) || !same_set(found.first.batch, found.second.batch))
    return refuse("the products do not share their rows and batches");
  found.first.n = found.second.k;  // one linear order of the keys for both
  found.first.m = found.second.m;
  found.first.batch = found.second.batch;
  for (std::size_t i = 0; i < tiles.values.size(); ++i) {
    if (tiles.values[i].op != TileOp::reduce) continue;
    if (tiles.values[i].axes_list != found.second.k || !tiles.values[i].reduces_last_axis)
      return refuse("a reduction between the products is not over the keys");
    if (tiles.values[i].reduction == Reduction::argmax || tiles.values[i].reduction == Reduction::argmin)
      return refuse("argmax between the products has no fused form");
    found.reductions.push_back(static_cast<TileId>(i));
  }
  return found;
}

std::int64_t product_of(const Binding& binding, const std::vector<Axis>& axes) {
  std::int64_t product = 1;
  for (Axis axis : axes) product *= binding.extents[fusion::index(axis)];
  return product;
}

/// Elements that one row of scores takes on chip: whole blocks of lanes, and room for a tile beyond the end.
std::int64_t row_room(std::int64_t keys, std::uint32_t tile_n) {
  const std::int64_t room = std::max<std::int64_t>(Lowering::bucket(keys), tile_n);
  // Rows at equal offsets within a page would evict each other: stagger them by a cache line.
  return room + 16;
}

class AttentionLowering {
 public:
  AttentionLowering(Lowering& lowering, const Attention& attention, const Schedule& schedule)
      : l_(lowering),
        build_(lowering.builder),
        attention_(attention),
        schedule_(schedule),
        tasks_(lowering.profile.model == ExecutionModel::tasks),
        team_(tasks_ ? 1 : lowering.profile.subgroup_size),
        keys_(l_.extent_of(attention.second.k)),
        room_(row_room(keys_, schedule.tile_n)),
        outer_(l_.root()),
        row_count_(l_.count(attention.second.m)),
        key_count_(l_.count(attention.second.k)) {
    held_ = attention.scores;
    vector_ = tasks_ ? schedule.vector : 1;
  }

  Result<LoweredKernel> run() {
    l_.decompose(outer_, attention_.second.batch, l_.builtin(program::Builtin::workgroup_z));
    first_row_ = l_.mul(l_.builtin(program::Builtin::workgroup_y), schedule_.block_m);
    scratch_ =
        build_.shared("scores", ElementType::f32, static_cast<std::uint32_t>(schedule_.block_m * room_));
    if (!tasks_) lane_ = l_.builtin(program::Builtin::subgroup_lane);
    build_.comment("scores of this block of rows");
    compute_scores();
    for (TileId reduction : attention_.reductions) reduce(reduction);
    if (attention_.weights != held_) rewrite(attention_.weights);
    meet();
    build_.comment("weights times values");
    multiply_values();
    const std::int64_t rows = l_.extent_of(attention_.second.m);
    const std::int64_t batch = l_.extent_of(attention_.second.batch);
    const std::int64_t blocks = (rows + schedule_.block_m - 1) / schedule_.block_m;
    if (!tasks_ && (batch > l_.profile.max_grid || blocks > l_.profile.max_grid))
      return fail(ErrorCode::unsupported,
                  fmt::format("kernel {}: a grid of {} x {} workgroups exceeds {} per dimension",
                              l_.tiles.name, blocks, batch, l_.profile.max_grid));
    return l_.finish(
        {1, static_cast<std::uint32_t>(blocks), static_cast<std::uint32_t>(batch)}, team_, tasks_ ? 0 : team_,
        fmt::format("{}: rows of scores on chip\nschedule: {}", l_.tiles.name, to_text(schedule_)));
  }

 private:
  ValueId scratch_index(ValueId row, ValueId key) { return l_.add(l_.mul(row, room_), key); }
  void meet() {
    if (!tasks_) build_.barrier(program::Scope::subgroup);
  }
  bool whole_rows() const {
    const std::int64_t rows = l_.extent_of(attention_.second.m);
    return Lowering::is_literal(rows) && rows % schedule_.block_m == 0;
  }

  ProductBlock block() const {
    ProductBlock made{.m_first = first_row_,
                      .block_m = schedule_.block_m,
                      .block_n = schedule_.block_n,
                      .tile_m = schedule_.tile_m,
                      .tile_n = schedule_.tile_n,
                      .vector = schedule_.vector,
                      .unroll_k = schedule_.unroll_k};
    made.team = team_;
    return made;
  }

  void multiply(const Product& product, ProductBlock block) {
    if (tasks_) {
      // The loop over blocks of columns is here, so that packed slivers take bounded scratch.
      ValueId blocks = divide_up(l_, l_.count(product.axes.n), block.block_n);
      l_.repeat(blocks, {}, [&](ValueId column_block, auto) {
        ProductBlock part = block;
        part.n_first = l_.mul(column_block, block.block_n);
        task_product(l_, outer_, product, part);
        return std::vector<ValueId>{};
      });
      return;
    }
    l_.repeat(l_.literal(block.block_m / block.tile_m), {}, [&](ValueId row_tile, auto) {
      l_.repeat(divide_up(l_, l_.count(product.axes.n), block.tile_n), {}, [&](ValueId column_tile, auto) {
        ProductBlock part = block;
        part.m_first = l_.add(block.m_first, l_.mul(row_tile, block.tile_m));
        part.n_first = l_.mul(column_tile, block.tile_n);
        lane_product(l_, outer_, product, part);
        return std::vector<ValueId>{};
      });
      return std::vector<ValueId>{};
    });
  }

  void compute_scores() {
    Product product;
    product.axes = attention_.first;
    product.accumulator = ops::accumulator(l_.value(product.axes.a).type);
    product.a = [&](Frame& frame, const ProductPlace&) { return l_.evaluate(attention_.first.a, frame); };
    product.b = [&](Frame& frame, const ProductPlace&) { return l_.evaluate(attention_.first.b, frame); };
    product.consume = [&](Frame&, const ProductPlace& place, ValueId accumulated) {
      // Rounded to the product's type, then held in f32, which every 16-bit value fits exactly.
      ValueId value = l_.convert(l_.convert(accumulated, l_.value(attention_.scores).type), ElementType::f32);
      build_.store(scratch_, scratch_index(l_.sub(place.m, first_row_), place.n), value);
    };
    ProductBlock part = block();
    part.pack_b = tasks_;
    part.transpose_b = tasks_ && is_worth_transposing(l_.tiles, l_.binding, attention_.first, part.vector);
    part.pack_a = tasks_ && l_.value(attention_.first.a).op != TileOp::load;
    if (!tasks_) {  // scores are written one column a lane
      part.vector = 1;
      part.tile_n = team_ * score_groups();
    }
    multiply(product, part);
    meet();
    pad_scores();
  }

  /// Passes read whole vectors and blocks of lanes: what lies beyond the last key is zero, and dropped by
  /// them.
  void pad_scores() {
    const std::int64_t block = std::min(Lowering::bucket(keys_), row_lanes);
    const std::int64_t slot = std::int64_t{team_} * vector_;
    if (Lowering::is_literal(keys_) && keys_ % std::max(block, slot) == 0) return;
    auto lanes = static_cast<std::uint16_t>(vector_);
    ValueId read = l_.mul(key_blocks(), vectors_per_block() * slot);
    ValueId whole = l_.div(key_count_, l_.literal(slot));
    ValueId slots = l_.sub(l_.div(read, l_.literal(slot)), whole);
    for_each_row([&](ValueId row, Frame&) {
      l_.repeat(slots, {}, [&](ValueId i, auto) {
        ValueId key = l_.mul(l_.add(whole, i), slot);
        if (!tasks_) key = l_.add(key, l_.mul(lane_, vector_));
        ValueId beyond =
            build_.compare(program::Op::ge, l_.consecutive(key, lanes), build_.splat(key_count_, lanes));
        build_.store(scratch_, scratch_index(row, key), l_.identity(Reduction::sum, ElementType::f32, lanes),
                     beyond);
        return std::vector<ValueId>{};
      });
    });
    meet();
  }
  std::uint32_t score_groups() const {
    std::uint32_t groups = 4;
    while (groups > 1 && Lowering::bucket(keys_) < std::int64_t{team_} * groups) groups /= 2;
    return groups;
  }

  /// For every row of the block: its local number, and a frame with its position and the scalars known of it.
  void for_each_row(const std::function<void(ValueId, Frame&)>& body) {
    ValueId rows = whole_rows() ? l_.literal(schedule_.block_m)
                                : l_.min(l_.literal(schedule_.block_m), l_.sub(row_count_, first_row_));
    l_.repeat(rows, {}, [&](ValueId row, auto) {
      Frame frame = outer_.inner();
      l_.decompose(frame, attention_.second.m, l_.add(first_row_, row));
      for (const auto& [tile, array] : row_scalars_)
        frame.know(tile, l_.convert(build_.load(array, row), l_.value(tile).type));
      body(row, frame);
      return std::vector<ValueId>{};
    });
  }

  /// A frame at `vector_` keys of a row, from which the held value can be read.
  Frame key_frame(const Frame& row_frame, ValueId row, ValueId key) {
    Frame frame = row_frame.inner();
    auto lanes = static_cast<std::uint16_t>(vector_);
    l_.decompose_consecutive(frame, attention_.second.k, key, lanes, vector_);
    if (lanes == 1) {
      // A lane beyond the end reads the last key again; what it computes is dropped.
      l_.decompose(frame, attention_.second.k, l_.min(key, l_.add(key_count_, -1)));
    } else if (keys_ % lanes != 0) {
      frame.masked(exists(key));
    }
    ValueId value = build_.load(scratch_, scratch_index(row, key), lanes);
    frame.know(held_, l_.convert(value, l_.value(held_).type));
    return frame;
  }

  ValueId exists(ValueId key) {
    auto lanes = static_cast<std::uint16_t>(vector_);
    return build_.compare(program::Op::lt, l_.consecutive(key, lanes), build_.splat(key_count_, lanes));
  }

  std::int64_t vectors_per_block() const {
    return std::max<std::int64_t>(
        1, std::min(Lowering::bucket(keys_), row_lanes) / (std::int64_t{team_} * vector_));
  }
  ValueId key_of(ValueId block, std::int64_t v) {
    ValueId base = l_.add(l_.mul(block, row_lanes), v * team_ * vector_);
    return tasks_ ? base : l_.add(base, l_.mul(lane_, vector_));
  }
  ValueId key_blocks() { return keys_ <= row_lanes ? l_.literal(1) : divide_up(l_, key_count_, row_lanes); }

  void reduce(TileId reduction) {
    const TileValue& value = l_.value(reduction);
    const TileId operand = value.operands[0];
    const bool stage = operand != held_ && replaces_held(operand, reduction);
    const ElementType accumulator = ops::accumulator(l_.value(operand).type);
    MemoryRef scalars =
        build_.shared(fmt::format("row_{}", fusion::index(reduction)), ElementType::f32, schedule_.block_m);
    build_.comment(fmt::format("row-wise {} (value {}){}", ops::name(primitive_of(value.reduction)),
                               fusion::index(reduction), stage ? ", keeping its operand" : ""));
    for_each_row([&](ValueId row, Frame& row_frame) {
      auto lanes = static_cast<std::uint16_t>(vector_);
      std::vector<ValueId> sums(static_cast<std::size_t>(vectors_per_block()),
                                l_.identity(value.reduction, accumulator, lanes));
      sums = l_.repeat(key_blocks(), sums, [&](ValueId block, std::span<const ValueId> carried) {
        std::vector<ValueId> next(carried.begin(), carried.end());
        for (std::size_t v = 0; v < next.size(); ++v) {
          ValueId key = key_of(block, static_cast<std::int64_t>(v));
          Frame frame = key_frame(row_frame, row, key);
          ValueId element = l_.evaluate_wide(operand, frame);
          if (stage) build_.store(scratch_, scratch_index(row, key), l_.convert(element, ElementType::f32));
          element = build_.select(exists(key), l_.convert(element, accumulator),
                                  l_.identity(value.reduction, accumulator, lanes));
          next[v] = l_.combine(value.reduction, next[v], element);
        }
        return next;
      });
      ValueId result = l_.convert(l_.fold(value.reduction, sums, team_), value.type);
      // One lane writes; all lanes hold the same result.
      ValueId writes = tasks_ ? build_.boolean(true) : build_.compare(program::Op::eq, lane_, l_.literal(0));
      l_.when(writes, {}, [&] {
        build_.store(scalars, row, l_.convert(result, ElementType::f32));
        return std::vector<ValueId>{};
      });
    });
    meet();
    row_scalars_.emplace_back(reduction, scalars);
    if (stage) held_ = operand;
  }

  /// One more pass that leaves `tile` in scratch.
  void rewrite(TileId tile) {
    build_.comment(fmt::format("row-wise value {}", fusion::index(tile)));
    for_each_row([&](ValueId row, Frame& row_frame) {
      l_.repeat(key_blocks(), {}, [&](ValueId block, auto) {
        for (std::int64_t v = 0; v < vectors_per_block(); ++v) {
          ValueId key = key_of(block, v);
          Frame frame = key_frame(row_frame, row, key);
          build_.store(scratch_, scratch_index(row, key),
                       l_.convert(l_.evaluate_wide(tile, frame), ElementType::f32));
        }
        return std::vector<ValueId>{};
      });
    });
    held_ = tile;
  }

  /// Whether everything that is still to be computed reaches the held value through `tile` alone.
  bool replaces_held(TileId tile, TileId after) const {
    std::vector<TileId> open{attention_.weights};
    for (TileId reduction : attention_.reductions)
      if (fusion::index(reduction) > fusion::index(after)) open.push_back(reduction);
    while (!open.empty()) {
      TileId next = open.back();
      open.pop_back();
      if (next == tile) continue;
      if (next == held_) return false;
      const bool done = std::any_of(row_scalars_.begin(), row_scalars_.end(),
                                    [&](const auto& row) { return row.first == next; });
      if (done || next == after) continue;
      for (TileId operand : l_.value(next).operands) open.push_back(operand);
    }
    return true;
  }

  void multiply_values() {
    Product product;
    product.axes = attention_.second;
    product.accumulator = ops::accumulator(l_.value(product.axes.b).type);
    product.a = [&](Frame&, const ProductPlace& place) {
      return l_.convert(build_.load(scratch_, scratch_index(l_.sub(place.m, first_row_), place.k)),
                        l_.value(attention_.weights).type);
    };
    product.b = [&](Frame& frame, const ProductPlace&) { return l_.evaluate(attention_.second.b, frame); };
    std::vector<TileId> stored;
    for (TileId store : l_.stores()) stored.push_back(l_.value(store).operands[0]);
    product.before_rows = [this, stored](Frame& frame) { l_.evaluate_available(stored, frame); };
    product.prepare = [this, stored](Frame& frame, ValueId accumulated) {
      frame.know(attention_.result, l_.convert(accumulated, l_.value(attention_.result).type));
      for (TileId value : stored) l_.evaluate(value, frame);
    };
    product.consume = [&](Frame& frame, const ProductPlace&, ValueId) {
      for (TileId store : l_.stores()) l_.store(store, frame);
    };
    ProductBlock part = block();
    if (tasks_) {
      part.pack_b = l_.extent_of(attention_.second.n) % part.tile_n != 0 ||
                    l_.value(attention_.second.b).op != TileOp::load;
    } else {
      const bool quads = schedule_.vector == 4;
      part.vector = quads ? 4 : 1;
      part.tile_n = team_ * part.vector;
    }
    multiply(product, part);
  }

  Lowering& l_;
  Builder& build_;
  const Attention& attention_;
  const Schedule& schedule_;
  const bool tasks_;
  const std::uint32_t team_;
  const std::int64_t keys_, room_;
  Frame outer_;
  ValueId row_count_, key_count_;
  ValueId first_row_{}, lane_{};
  std::uint32_t vector_ = 1;
  MemoryRef scratch_;
  TileId held_ = no_tile;  ///< the value of which scratch holds the block's rows
  std::vector<std::pair<TileId, MemoryRef>> row_scalars_;
};

}  // namespace

std::vector<Schedule> attention_schedules(const TileProgram& tiles, const Binding& binding,
                                          const DeviceProfile& profile) {
  auto attention = analyze(tiles, binding);
  if (!attention) return {};
  const std::int64_t keys = product_of(binding, attention->second.k);
  const std::int64_t rows = product_of(binding, attention->second.m);
  const std::int64_t width = product_of(binding, attention->second.n);
  Schedule schedule{.pattern = Pattern::attention};
  if (profile.model == ExecutionModel::tasks) {
    schedule.vector = std::max<std::uint32_t>(1, profile.vector_bytes / 4);
    schedule.tile_n = 2 * schedule.vector;
    schedule.tile_m =
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(rows, 1, profile.vector_registers >= 32 ? 8 : 6));
    schedule.block_n = 4 * schedule.tile_n;
    schedule.unroll_k = 4;
    std::int64_t block = 8 * schedule.tile_m;
    const std::int64_t limit =
        static_cast<std::int64_t>(profile.shared_bytes / 4) / row_room(keys, schedule.tile_n);
    if (limit < schedule.tile_m || keys > row_chunk) return {};
    block = std::min({block, limit / schedule.tile_m * schedule.tile_m,
                      (Lowering::bucket(rows) + schedule.tile_m - 1) / schedule.tile_m * schedule.tile_m});
    schedule.block_m = static_cast<std::uint32_t>(block);
    return {schedule};
  }
  schedule.lanes = profile.subgroup_size;
  schedule.tile_m = static_cast<std::uint32_t>(std::min<std::int64_t>(
      profile.fma_in_integers ? 2 : 8, Lowering::bucket(std::max<std::int64_t>(rows, 1))));
  schedule.block_m = schedule.tile_m;
  const Axis last = attention->second.n.empty() ? Axis{0} : attention->second.n.back();
  schedule.vector =
      !attention->second.n.empty() && binding.extents[fusion::index(last)] % 4 == 0 && width >= 4 ? 4 : 1;
  schedule.tile_n = profile.subgroup_size * 4;
  schedule.block_n = schedule.tile_n;
  const std::uint64_t bytes =
      4 * static_cast<std::uint64_t>(schedule.block_m * row_room(keys, schedule.tile_n)) + 4096;
  if (bytes > profile.shared_bytes || keys > row_chunk) return {};
  return {schedule};
}

Result<LoweredKernel> lower_attention(const TileProgram& tiles, const Binding& binding,
                                      const Schedule& schedule, const DeviceProfile& profile) {
  HALYARD_ASSIGN(Attention attention, analyze(tiles, binding));
  for (const auto& extent : {product_of(binding, attention.second.k)})
    if (extent > row_chunk)
      return fail(ErrorCode::unsupported,
                  fmt::format("kernel {}: rows of {} scores do not fit on chip (at most {})", tiles.name,
                              extent, row_chunk));
  Lowering lowering(tiles, binding, profile);
  return AttentionLowering(lowering, attention, schedule).run();
}

}  // namespace halyard::fusion::lowering
