#include "lowering/row_passes.h"

#include <fmt/format.h>
#include <halyard/ops/primitive.h>
#include <halyard/ops/reduction_order.h>
#include <algorithm>
#include <utility>

#include "lowering/axes.h"

namespace halyard::fusion::lowering {

using ops::order::row_chunk;
using ops::order::row_lanes;
using program::no_value;
using program::Op;

RowPasses::RowPasses(Lowering& lowering, const ReductionPlan& plan, Team team, std::uint32_t teams)
    : lowering_(lowering),
      builder_(lowering.builder),
      plan_(plan),
      team_(team),
      length_(lowering.extent_of(plan.reduced)),
      length_value_(lowering.count(plan.reduced)),
      lane_offset_(lowering.mul(team.lane, team.vector)) {
  std::int64_t capacity = std::max(Lowering::bucket(length_), slot());
  staged_offset_ = lowering_.mul(team.number, capacity);
  for (TileId tile : plan.staged)
    staged_.emplace_back(
        tile, builder_.shared(fmt::format("row_{}", fusion::index(tile)), lowering.value(tile).type,
                              static_cast<std::uint32_t>(capacity * teams)));
}

std::int64_t RowPasses::staged_bytes(const TileProgram& tiles, const ReductionPlan& plan, std::int64_t row,
                                     std::int64_t slot) {
  std::int64_t bytes = 0;
  std::int64_t capacity = std::max(Lowering::bucket(row), slot);
  for (TileId tile : plan.staged)
    bytes += (capacity * static_cast<std::int64_t>(byte_size(tiles.values[fusion::index(tile)].type)) + 63) /
             64 * 64;
  return bytes;
}

bool RowPasses::is_ordered(TileId reduction) const {
  Reduction kind = lowering_.value(reduction).reduction;
  return kind == Reduction::sum || kind == Reduction::prod;
}

bool RowPasses::is_argument(TileId reduction) const {
  Reduction kind = lowering_.value(reduction).reduction;
  return kind == Reduction::argmax || kind == Reduction::argmin;
}

ElementType RowPasses::accumulator(TileId reduction) const {
  return ops::accumulator(lowering_.value(lowering_.value(reduction).operands[0]).type);
}

std::size_t RowPasses::state_size() const {
  std::size_t size = 0;
  for (TileId reduction : pass_->reductions) size += is_argument(reduction) ? 2 : 1;
  return size;
}

RowPasses::State RowPasses::identities() const {
  State state;
  for (TileId reduction : pass_->reductions) {
    Reduction kind = lowering_.value(reduction).reduction;
    if (is_argument(reduction)) {
      Argument start = no_argument(lowering_, kind, accumulator(reduction), team_.vector);
      state.push_back(start.value);
      state.push_back(start.index);
    } else {
      state.push_back(lowering_.identity(kind, accumulator(reduction), team_.vector));
    }
  }
  return state;
}

void RowPasses::run(Frame& row) {
  std::vector<TileId> roots = plan_.outer_stores;
  for (const ReductionPass& pass : plan_.passes) {
    std::vector<TileId> more = pass.roots(lowering_.tiles);
    roots.insert(roots.end(), more.begin(), more.end());
  }
  lowering_.evaluate_available(roots, row);
  for (const ReductionPass& pass : plan_.passes) {
    pass_ = &pass;
    lowering_.builder.comment(
        fmt::format("pass {} of {} over the row", &pass - plan_.passes.data() + 1, plan_.passes.size()));
    run_pass(row);
    lowering_.evaluate_available(roots, row);
  }
}

void RowPasses::run_pass(Frame& row) {
  bool ordered = std::any_of(pass_->reductions.begin(), pass_->reductions.end(),
                             [&](TileId reduction) { return is_ordered(reduction); });
  std::vector<ValueId> totals = ordered ? run_ordered(row) : run_unordered(row);
  for (std::size_t r = 0; r < totals.size(); ++r)
    row.know(pass_->reductions[r], lowering_.convert(totals[r], lowering_.value(pass_->reductions[r]).type));
}

// ---- one slot

ValueId RowPasses::staged_index(ValueId element) {
  return lowering_.add(staged_offset_, element);
}

RowPasses::State RowPasses::visit(Frame& row, ValueId element, ValueId mask, State state) {
  Frame frame = row.inner();
  lowering_.decompose_consecutive(frame, plan_.reduced, element, team_.vector, team_.vector);
  frame.masked(mask);
  auto kept = [&](TileId tile) {
    return std::find_if(staged_.begin(), staged_.end(),
                        [&](const auto& entry) { return entry.first == tile; })
        ->second;
  };
  for (TileId tile : pass_->reads)
    frame.know(tile, builder_.load(kept(tile), staged_index(element), team_.vector));

  std::size_t next = 0;
  for (TileId reduction : pass_->reductions) {
    const TileValue& value = lowering_.value(reduction);
    ValueId x = lowering_.convert(lowering_.evaluate_wide(value.operands[0], frame), accumulator(reduction));
    auto take = [&](ValueId& held, ValueId merged) {
      held = mask == no_value ? merged : builder_.select(mask, merged, held);
    };
    if (is_argument(reduction)) {
      Argument best = better(lowering_, value.reduction, {state[next], state[next + 1]},
                             {x, lowering_.consecutive(element, team_.vector)});
      take(state[next++], best.value);
      take(state[next++], best.index);
    } else {
      take(state[next], lowering_.combine(value.reduction, state[next], x));
      ++next;
    }
  }
  for (TileId tile : pass_->writes)
    builder_.store(kept(tile), staged_index(element), lowering_.evaluate_wide(tile, frame));
  for (TileId store : pass_->stores) lowering_.store_once(store, frame, plan_.outer);
  return state;
}

RowPasses::State RowPasses::visit_guarded(Frame& row, ValueId base, ValueId limit, State state) {
  ValueId element = element_at(base);
  auto first = lowering_.known(element);
  auto end = lowering_.known(limit);
  if (first && end && *first + team_.vector <= *end) return visit(row, element, no_value, std::move(state));
  if (first && end && *first >= *end) return state;
  State otherwise = state;
  return lowering_.when(lowering_.less(element, limit), std::move(otherwise), [&] {
    ValueId mask = no_value;
    if (length_ % team_.vector != 0) {
      ValueId left = lowering_.sub(limit, element);
      mask = builder_.compare(Op::lt, builder_.iota({lowering_.index_type(), team_.vector}),
                              builder_.splat(left, team_.vector));
    }
    return visit(row, element, mask, state);
  });
}

RowPasses::State RowPasses::slots_at(Frame& row, ValueId base, State state, std::size_t slots,
                                     ValueId limit) {
  std::size_t each = state_size();
  State result;
  for (std::size_t s = 0; s < slots; ++s) {
    State one(state.begin() + static_cast<std::ptrdiff_t>(s * each),
              state.begin() + static_cast<std::ptrdiff_t>((s + 1) * each));
    ValueId at = lowering_.add(base, static_cast<std::int64_t>(s) * slot());
    one = limit != no_value ? visit_guarded(row, at, limit, std::move(one))
                            : visit(row, element_at(at), no_value, std::move(one));
    result.insert(result.end(), one.begin(), one.end());
  }
  return result;
}

std::vector<ValueId> RowPasses::fold_all(const std::vector<State>& slots, bool ordered) {
  std::vector<ValueId> totals;
  std::size_t next = 0;
  for (TileId reduction : pass_->reductions) {
    Reduction kind = lowering_.value(reduction).reduction;
    std::size_t at = next;
    next += is_argument(reduction) ? 2 : 1;
    if (is_ordered(reduction) != ordered) continue;
    if (is_argument(reduction)) {
      std::vector<Argument> arguments;
      for (const State& one : slots) arguments.push_back({one[at], one[at + 1]});
      totals.push_back(fold_argument(lowering_, kind, std::move(arguments), team_.size));
    } else {
      std::vector<ValueId> vectors;
      for (const State& one : slots) vectors.push_back(one[at]);
      totals.push_back(lowering_.fold(kind, std::move(vectors), team_.size));
    }
  }
  return totals;
}

namespace {

using State = std::vector<ValueId>;

std::vector<State> split(const State& state, std::size_t slots) {
  std::size_t each = slots == 0 ? 0 : state.size() / slots;
  std::vector<State> result;
  for (std::size_t s = 0; s < slots; ++s)
    result.emplace_back(state.begin() + static_cast<std::ptrdiff_t>(s * each),
                        state.begin() + static_cast<std::ptrdiff_t>((s + 1) * each));
  return result;
}

State repeat_state(const State& one, std::size_t slots) {
  State result;
  for (std::size_t s = 0; s < slots; ++s) result.insert(result.end(), one.begin(), one.end());
  return result;
}

}  // namespace

// ---- passes without an order

std::vector<ValueId> RowPasses::run_unordered(Frame& row) {
  std::size_t slots = team_.unroll;
  while (slots > 1 && static_cast<std::int64_t>(slots) * slot() > Lowering::bucket(length_)) slots /= 2;
  State state = repeat_state(identities(), slots);
  if (length_ > 0) {
    std::int64_t group = static_cast<std::int64_t>(slots) * slot();
    ValueId groups = lowering_.div(length_value_, lowering_.literal(group));
    if (length_ >= group)
      state = lowering_.repeat(groups, std::move(state), [&](ValueId i, std::span<const ValueId> carried) {
        return slots_at(row, lowering_.mul(i, group), {carried.begin(), carried.end()}, slots, no_value);
      });
    std::size_t each = state_size();
    State first(state.begin(), state.begin() + static_cast<std::ptrdiff_t>(each));
    ValueId done = lowering_.mul(groups, group);
    ValueId whole = lowering_.div(lowering_.sub(length_value_, done), lowering_.literal(slot()));
    if (slots > 1 && length_ % group != 0)
      first = lowering_.repeat(whole, std::move(first), [&](ValueId i, std::span<const ValueId> carried) {
        return visit(row, element_at(lowering_.add(done, lowering_.mul(i, slot()))), no_value,
                     {carried.begin(), carried.end()});
      });
    if (length_ % slot() != 0)
      first = visit_guarded(row, lowering_.add(done, lowering_.mul(whole, slot())), length_value_,
                            std::move(first));
    std::copy(first.begin(), first.end(), state.begin());
  }
  if (pass_->reductions.empty()) return {};
  return fold_all(split(state, slots), false);
}

// ---- passes with sums or products

void RowPasses::take_ordered_identities(State& state, std::size_t slots) {
  State fresh = identities();
  std::size_t each = state_size();
  for (std::size_t s = 0; s < slots; ++s) {
    std::size_t next = 0;
    for (TileId reduction : pass_->reductions) {
      if (is_ordered(reduction)) state[s * each + next] = fresh[next];
      next += is_argument(reduction) ? 2 : 1;
    }
  }
}

std::vector<ValueId> RowPasses::run_ordered(Frame& row) {
  // Unordered reductions of the same pass ride along in as many slots as one phase has.
  std::size_t slots = team_.unroll;
  auto all_slots = static_cast<std::size_t>(row_lanes / slot());
  if (length_ < row_lanes)
    all_slots = std::min(
        all_slots, static_cast<std::size_t>(std::max<std::int64_t>(Lowering::bucket(length_) / slot(), 1)));
  slots = std::min(slots, all_slots);

  int level = 0;
  for (std::int64_t reach = row_chunk; reach < length_; reach *= row_chunk) ++level;
  State unordered = repeat_state(identities(), slots);
  Ranged ranged{unordered, {}};
  if (length_ > 0) {
    ranged = range(row, level, lowering_.literal(0), length_value_, std::move(unordered), length_);
  } else {
    ranged.totals = fold_all({identities()}, true);
  }
  std::vector<ValueId> others = fold_all(split(ranged.unordered, slots), false);
  std::vector<ValueId> totals;
  std::size_t ordered = 0;
  std::size_t unordered_at = 0;
  for (TileId reduction : pass_->reductions)
    totals.push_back(is_ordered(reduction) ? ranged.totals[ordered++] : others[unordered_at++]);
  return totals;
}

RowPasses::Ranged RowPasses::range(Frame& row, int level, ValueId begin, ValueId length, State unordered,
                                   std::int64_t most) {
  return level == 0 ? one_chunk(row, begin, length, std::move(unordered))
                    : many_chunks(row, level, begin, length, unordered, most);
}

RowPasses::Ranged RowPasses::one_chunk(Frame& row, ValueId begin, ValueId length, State state) {
  std::size_t slots = state.size() / state_size();
  auto all_slots = static_cast<std::size_t>(row_lanes / slot());
  if (length_ < row_lanes)
    all_slots = std::min(
        all_slots, static_cast<std::size_t>(std::max<std::int64_t>(Lowering::bucket(length_) / slot(), 1)));

  // The 128 canonical lanes in phases of as many slots as fit registers: each phase walks all blocks of 128.
  ValueId blocks = lowering_.div(length, lowering_.literal(row_lanes));
  std::vector<State> accumulated;
  for (std::size_t phase = 0; phase * slots < all_slots; ++phase) {
    take_ordered_identities(state, slots);
    ValueId phase_base = lowering_.add(begin, static_cast<std::int64_t>(phase * slots) * slot());
    if (length_ >= row_lanes)
      state = lowering_.repeat(blocks, std::move(state), [&](ValueId i, std::span<const ValueId> carried) {
        return slots_at(row, lowering_.add(phase_base, lowering_.mul(i, row_lanes)),
                        {carried.begin(), carried.end()}, slots, no_value);
      });
    if (length_ % row_lanes != 0)
      state = slots_at(row, lowering_.add(phase_base, lowering_.mul(blocks, row_lanes)), std::move(state),
                       slots, lowering_.add(begin, length));
    for (State& one : split(state, slots)) accumulated.push_back(std::move(one));
  }
  return {std::move(state), fold_all(accumulated, true)};
}

void RowPasses::place_total(std::vector<ValueId>& slots, TileId reduction, ValueId chunk, ValueId total) {
  ValueId canonical_lane = lowering_.rem(chunk, lowering_.literal(row_lanes));
  ValueId wide_total = builder_.splat(total, team_.vector);
  for (std::size_t s = 0; s < slots.size(); ++s) {
    ValueId first = element_at(lowering_.literal(static_cast<std::int64_t>(s) * slot()));
    ValueId here = builder_.compare(Op::eq, lowering_.consecutive(first, team_.vector),
                                    builder_.splat(canonical_lane, team_.vector));
    ValueId merged = lowering_.combine(lowering_.value(reduction).reduction, slots[s], wide_total);
    slots[s] = builder_.select(here, merged, slots[s]);
  }
}

RowPasses::Ranged RowPasses::many_chunks(Frame& row, int level, ValueId begin, ValueId length,
                                         const State& unordered, std::int64_t most) {
  std::int64_t part = row_chunk;
  for (int i = 1; i < level; ++i) part *= row_chunk;
  ValueId parts = lowering_.div(lowering_.add(length, part - 1), lowering_.literal(part));
  std::int64_t most_parts = std::min(ceil_div(most, part), row_lanes);
  auto total_slots =
      static_cast<std::size_t>(std::max<std::int64_t>(Lowering::bucket(most_parts) / slot(), 1));

  std::vector<TileId> ordered;
  for (TileId reduction : pass_->reductions)
    if (is_ordered(reduction)) ordered.push_back(reduction);
  State carried = unordered;
  for (TileId reduction : ordered)
    for (std::size_t s = 0; s < total_slots; ++s)
      carried.push_back(
          lowering_.identity(lowering_.value(reduction).reduction, accumulator(reduction), team_.vector));

  std::size_t unordered_size = unordered.size();
  std::vector<ValueId> after =
      lowering_.repeat(parts, std::move(carried), [&](ValueId chunk, std::span<const ValueId> now) {
        ValueId offset = lowering_.mul(chunk, part);
        ValueId left = lowering_.min(lowering_.literal(part), lowering_.sub(length, offset));
        Ranged inner = range(row, level - 1, lowering_.add(begin, offset), left,
                             {now.begin(), now.begin() + static_cast<std::ptrdiff_t>(unordered_size)}, part);
        State next = std::move(inner.unordered);
        for (std::size_t r = 0; r < ordered.size(); ++r) {
          auto from = now.begin() + static_cast<std::ptrdiff_t>(unordered_size + r * total_slots);
          std::vector<ValueId> slots(from, from + static_cast<std::ptrdiff_t>(total_slots));
          place_total(slots, ordered[r], chunk, inner.totals[r]);
          next.insert(next.end(), slots.begin(), slots.end());
        }
        return next;
      });

  Ranged result;
  result.unordered.assign(after.begin(), after.begin() + static_cast<std::ptrdiff_t>(unordered_size));
  for (std::size_t r = 0; r < ordered.size(); ++r) {
    auto from = after.begin() + static_cast<std::ptrdiff_t>(unordered_size + r * total_slots);
    result.totals.push_back(lowering_.fold(lowering_.value(ordered[r]).reduction,
                                           {from, from + static_cast<std::ptrdiff_t>(total_slots)},
                                           team_.size));
  }
  return result;
}

std::int64_t RowPasses::trips_per_row(const ReductionPlan& plan, std::int64_t row, std::int64_t slot,
                                      std::int64_t unroll) {
  // Each pass walks the row once; its phases share the blocks of 128 among them.
  std::int64_t phases = std::max<std::int64_t>(row_lanes / (slot * unroll), 1);
  std::int64_t per_pass = ceil_div(row, row_lanes) * phases + ceil_div(row, row_chunk) + unroll;
  return per_pass * static_cast<std::int64_t>(plan.passes.size());
}

}  // namespace halyard::fusion::lowering
