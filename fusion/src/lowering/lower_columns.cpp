#include <halyard/ops/primitive.h>
#include <halyard/ops/reduction_order.h>
#include <algorithm>
#include <utility>

#include "lowering/argument_fold.h"
#include "lowering/axes.h"
#include "lowering/lowering.h"
#include "lowering/patterns.h"
#include "lowering/row_plan.h"
#include "lowering/vector_nest.h"

/// The columns pattern: reductions that keep the last logical axis. Vectors lie along a kept axis; each of
/// their lanes walks its own column, ascending within chunks of 64, chunk results by the same rule.
namespace halyard::fusion::lowering {
namespace {

using ops::order::column_chunk;

VectorNest nest_of(const TileProgram& tiles, const Binding& binding, const ReductionPlan& plan,
                   std::int64_t lanes) {
  std::vector<TileId> roots = plan.outer_stores;
  for (const ReductionPass& pass : plan.passes) {
    std::vector<TileId> more = pass.roots(tiles);
    roots.insert(roots.end(), more.begin(), more.end());
  }
  VectorNest nest;
  nest.vector_axis = best_vector_axis(tiles, binding, roots, plan.outer, lanes);
  for (Axis axis : plan.outer)
    if (axis != nest.vector_axis) nest.outer.push_back(axis);
  return nest;
}

class ColumnLowering {
 public:
  ColumnLowering(const TileProgram& tiles, const Binding& binding, const Schedule& schedule,
                 const DeviceProfile& profile, ReductionPlan plan)
      : l_(tiles, binding, profile),
        b_(l_.builder),
        schedule_(schedule),
        plan_(std::move(plan)),
        nest_(nest_of(tiles, binding, plan_, schedule.vector)),
        length_(l_.extent_of(plan_.reduced)) {}

  Result<LoweredKernel> run() {
    std::vector<TileId> roots = all_roots();
    std::int64_t trips = 0;
    for (std::size_t p = 0; p < plan_.passes.size(); ++p)
      trips += length_ + ceil_div(length_, column_chunk) + 1;
    std::int64_t groups =
        deal_out(l_, nest_, schedule_, roots, trips,
                 [&](Frame& row, std::span<const VectorPart> parts) { columns(row, parts); });
    bool tasks = l_.profile.model == ExecutionModel::tasks;
    return l_.finish({static_cast<std::uint32_t>(groups), 1, 1}, tasks ? 1 : schedule_.lanes, 0,
                     Lowering::compiled_in(schedule_));
  }

 private:
  /// Accumulators: for each vector, each reduction's one value (two for arguments).
  using State = std::vector<ValueId>;

  std::vector<TileId> all_roots() const {
    std::vector<TileId> roots = plan_.outer_stores;
    for (const ReductionPass& pass : plan_.passes) {
      std::vector<TileId> more = pass.roots(l_.tiles);
      roots.insert(roots.end(), more.begin(), more.end());
    }
    return roots;
  }
  bool is_argument(TileId reduction) const {
    Reduction kind = l_.value(reduction).reduction;
    return kind == Reduction::argmax || kind == Reduction::argmin;
  }
  bool is_ordered(TileId reduction) const {
    Reduction kind = l_.value(reduction).reduction;
    return kind == Reduction::sum || kind == Reduction::prod;
  }
  ElementType accumulator(TileId reduction) const {
    return ops::accumulator(l_.value(l_.value(reduction).operands[0]).type);
  }

  void columns(Frame& row, std::span<const VectorPart> parts);
  State identities(std::span<const VectorPart> parts, const ReductionPass& pass);
  State step(std::vector<Frame>& frames, const ReductionPass& pass, ValueId k, State state);
  State range(std::vector<Frame>& frames, const ReductionPass& pass, int level, ValueId begin, ValueId length,
              State state, const State& fresh);
  void finish_pass(std::vector<Frame>& frames, const ReductionPass& pass, const State& state);

  Lowering l_;
  Builder& b_;
  const Schedule& schedule_;
  ReductionPlan plan_;
  VectorNest nest_;
  std::int64_t length_;
};

ColumnLowering::State ColumnLowering::identities(std::span<const VectorPart> parts,
                                                 const ReductionPass& pass) {
  State state;
  for (const VectorPart& part : parts)
    for (TileId reduction : pass.reductions) {
      Reduction kind = l_.value(reduction).reduction;
      if (is_argument(reduction)) {
        Argument start = no_argument(l_, kind, accumulator(reduction), part.lanes);
        state.push_back(start.value);
        state.push_back(start.index);
      } else {
        state.push_back(l_.identity(kind, accumulator(reduction), part.lanes));
      }
    }
  return state;
}

void ColumnLowering::columns(Frame& row, std::span<const VectorPart> parts) {
  std::vector<Frame> frames;
  for (const VectorPart& part : parts) frames.push_back(frame_of(nest_, row, part));
  std::vector<TileId> roots = all_roots();
  for (Frame& frame : frames) l_.evaluate_available(roots, frame);
  int level = 0;
  for (std::int64_t reach = column_chunk; reach < length_; reach *= column_chunk) ++level;
  for (const ReductionPass& pass : plan_.passes) {
    State fresh = identities(parts, pass);
    State state = fresh;
    if (length_ > 0)
      state = range(frames, pass, level, l_.literal(0), l_.count(plan_.reduced), std::move(state), fresh);
    finish_pass(frames, pass, state);
    for (Frame& frame : frames) l_.evaluate_available(roots, frame);
  }
  for (Frame& frame : frames)
    for (TileId store : plan_.outer_stores) l_.store_once(store, frame, plan_.outer);
}

void ColumnLowering::finish_pass(std::vector<Frame>& frames, const ReductionPass& pass, const State& state) {
  std::size_t next = 0;
  for (Frame& frame : frames)
    for (TileId reduction : pass.reductions) {
      if (is_argument(reduction)) {
        ValueId position = state[next + 1];
        std::uint16_t lanes = b_.type(position).lanes;
        ValueId none = no_argument(l_, l_.value(reduction).reduction, accumulator(reduction), lanes).index;
        ValueId empty = b_.compare(program::Op::eq, position, none);
        position = b_.select(empty, l_.widen(l_.literal(0), lanes), position);
        frame.know(reduction, b_.cast(ElementType::i64, position));
        next += 2;
      } else {
        const ValueId total = state[next++];
        const bool is_sum = l_.value(reduction).reduction == Reduction::sum;
        frame.know(reduction, l_.convert(is_sum ? l_.from_zero(total) : total, l_.value(reduction).type));
      }
    }
}

ColumnLowering::State ColumnLowering::step(std::vector<Frame>& frames, const ReductionPass& pass, ValueId k,
                                           State state) {
  std::size_t next = 0;
  for (Frame& column : frames) {
    Frame frame = column.inner();
    l_.decompose(frame, plan_.reduced, k);
    for (TileId reduction : pass.reductions) {
      const TileValue& value = l_.value(reduction);
      ValueId x = l_.convert(l_.evaluate_wide(value.operands[0], frame), accumulator(reduction));
      if (is_argument(reduction)) {
        Argument best =
            better(l_, value.reduction, {state[next], state[next + 1]}, {x, l_.widen(k, frame.lanes())});
        state[next++] = best.value;
        state[next++] = best.index;
      } else {
        state[next] = l_.combine(value.reduction, state[next], x);
        ++next;
      }
    }
    for (TileId store : pass.stores) l_.store_once(store, frame, plan_.outer);
  }
  return state;
}

ColumnLowering::State ColumnLowering::range(std::vector<Frame>& frames, const ReductionPass& pass, int level,
                                            ValueId begin, ValueId length, State state, const State& fresh) {
  if (level == 0)
    return l_.repeat(length, std::move(state), [&](ValueId i, std::span<const ValueId> carried) {
      return step(frames, pass, l_.add(begin, i), {carried.begin(), carried.end()});
    });
  std::int64_t part = column_chunk;
  for (int i = 1; i < level; ++i) part *= column_chunk;
  ValueId parts = l_.div(l_.add(length, part - 1), l_.literal(part));
  return l_.repeat(parts, std::move(state), [&](ValueId chunk, std::span<const ValueId> carried) {
    // Sums start anew in the chunk and are then added to what came before; the others are carried through.
    State inner(carried.begin(), carried.end());
    auto each_ordered = [&](auto&& act) {
      std::size_t next = 0;
      while (next < inner.size())
        for (TileId reduction : pass.reductions) {
          if (is_ordered(reduction)) act(next, reduction);
          next += is_argument(reduction) ? 2 : 1;
        }
    };
    each_ordered([&](std::size_t at, TileId) { inner[at] = fresh[at]; });
    ValueId offset = l_.mul(chunk, part);
    ValueId left = l_.min(l_.literal(part), l_.sub(length, offset));
    inner = range(frames, pass, level - 1, l_.add(begin, offset), left, std::move(inner), fresh);
    each_ordered([&](std::size_t at, TileId reduction) {
      inner[at] = l_.combine(l_.value(reduction).reduction, carried[at], inner[at]);
    });
    return inner;
  });
}

}  // namespace

Result<LoweredKernel> lower_columns(const TileProgram& tiles, const Binding& binding,
                                    const Schedule& schedule, const DeviceProfile& profile) {
  HALYARD_ASSIGN(ReductionPlan plan, plan_reductions(tiles, false));
  return ColumnLowering(tiles, binding, schedule, profile, std::move(plan)).run();
}

std::vector<Schedule> column_schedules(const TileProgram& tiles, const Binding& binding,
                                       const DeviceProfile& profile) {
  Result<ReductionPlan> plan = plan_reductions(tiles, false);
  if (!plan) return {};
  bool lanes = profile.model == ExecutionModel::lanes;
  Schedule base;
  base.pattern = Pattern::columns;
  base.vector = std::min(natural_vector(tiles, profile), lanes ? 4u : 64u);
  VectorNest nest = nest_of(tiles, binding, *plan, base.vector);
  std::int64_t columns = nest.vector_axis ? binding.extents[index(*nest.vector_axis)] : 1;
  std::int64_t rows = 1;
  for (Axis axis : nest.outer) rows *= binding.extents[index(axis)];
  std::int64_t length = 1;
  for (Axis axis : plan->reduced) length *= binding.extents[index(axis)];

  std::vector<Schedule> schedules;
  if (lanes) {
    std::uint32_t widest = profile.cheap_barriers ? 128u : std::max(profile.subgroup_size, 1u);
    base.lanes = std::min(profile.max_workgroup_lanes, widest);
    for (std::uint32_t vector = base.vector; vector > 0; vector = vector > 1 ? 1 : 0) {
      Schedule schedule = base;
      schedule.vector = vector;
      schedule.block_n = schedule.lanes * vector;
      schedules.push_back(schedule);
    }
    return schedules;
  }
  // Wide groups use whole cache lines of every row they pass; a task has some 16 K elements to add up at
  // least.
  for (std::uint32_t unroll : {8u, 16u, 4u}) {
    Schedule schedule = base;
    schedule.unroll = unroll;
    std::int64_t group = std::int64_t{unroll} * base.vector;
    std::int64_t enough = std::max<std::int64_t>(16384 / std::max<std::int64_t>(length, 1), 1);
    std::int64_t fair = std::max<std::int64_t>(rows * columns / (4 * std::int64_t{profile.threads}), 1);
    std::int64_t share = std::min(enough, fair);
    schedule.block_n = static_cast<std::uint32_t>(ceil_div(std::min(share, columns), group) * group);
    schedule.block_rows =
        static_cast<std::uint32_t>(std::max<std::int64_t>(share / std::max<std::int64_t>(columns, 1), 1));
    schedules.push_back(schedule);
  }
  return schedules;
}

}  // namespace halyard::fusion::lowering
