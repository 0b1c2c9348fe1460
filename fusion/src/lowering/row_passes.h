#pragma once

#include <cstdint>
#include <vector>

#include "lowering/argument_fold.h"
#include "lowering/lowering.h"
#include "lowering/row_plan.h"

namespace halyard::fusion::lowering {

/// Carries out the passes over one row in the canonical row order (docs/numerics.md).
///
/// A row is worked on by a *team*: one lane with wide vectors (tasks) or the lanes of a subgroup. A *slot* is
/// one vector of every lane of the team: slot q, hardware lane l, vector lane i hold element (q * team + l) *
/// vector + i. Since 128 is a multiple of a slot, that element's canonical lane is fixed per slot, and the
/// canonical fold is: slots by halving, then lanes of the team by halving, then lanes of the vector by
/// halving.
class RowPasses {
 public:
  struct Team {
    std::uint32_t size = 1;
    std::uint16_t vector = 1;
    std::uint32_t unroll = 1;  ///< slots in flight, a power of two
    ValueId lane;              ///< this lane's number in the team
    ValueId number;            ///< the team's number in the workgroup
  };

  RowPasses(Lowering& lowering, const ReductionPlan& plan, Team team, std::uint32_t teams);

  /// Bytes of on-chip memory that keeping the staged values takes.
  static std::int64_t staged_bytes(const TileProgram& tiles, const ReductionPlan& plan, std::int64_t row,
                                   std::int64_t slot);
  /// Runs all passes on the row at `row`, whose outer coordinates are set; reductions become known in it.
  void run(Frame& row);
  /// Loop iterations of one lane per row, at most.
  static std::int64_t trips_per_row(const ReductionPlan& plan, std::int64_t row, std::int64_t slot,
                                    std::int64_t unroll);

 private:
  /// Accumulators: for each slot in flight, each reduction's one value (two for arguments).
  using State = std::vector<ValueId>;
  struct Ranged {
    State unordered;              ///< carried on, `slots_` of them
    std::vector<ValueId> totals;  ///< one per ordered reduction
  };
  std::int64_t slot() const { return std::int64_t{team_.size} * team_.vector; }
  bool is_ordered(TileId reduction) const;
  bool is_argument(TileId reduction) const;
  ElementType accumulator(TileId reduction) const;
  std::size_t state_size() const;
  State identities() const;

  void run_pass(Frame& row);
  std::vector<ValueId> run_ordered(Frame& row);
  std::vector<ValueId> run_unordered(Frame& row);
  Ranged range(Frame& row, int level, ValueId begin, ValueId length, State unordered, std::int64_t most);
  Ranged one_chunk(Frame& row, ValueId begin, ValueId length, State unordered);
  Ranged many_chunks(Frame& row, int level, ValueId begin, ValueId length, const State& unordered,
                     std::int64_t most);
  /// Takes a chunk's total into the canonical lane that it belongs to.
  void place_total(std::vector<ValueId>& slots, TileId reduction, ValueId chunk, ValueId total);
  void take_ordered_identities(State& state, std::size_t slots);
  /// `limit`: where the row or chunk ends, if that may be within these slots.
  State slots_at(Frame& row, ValueId base, State state, std::size_t slots, ValueId limit);
  State visit(Frame& row, ValueId element, ValueId mask, State state);
  State visit_guarded(Frame& row, ValueId base, ValueId limit, State state);
  ValueId element_at(ValueId base) { return lowering_.add(base, lane_offset_); }
  ValueId staged_index(ValueId element);
  std::vector<ValueId> fold_all(const std::vector<State>& slots, bool ordered);

  Lowering& lowering_;
  Builder& builder_;
  const ReductionPlan& plan_;
  Team team_;
  std::int64_t length_;
  ValueId length_value_;
  ValueId lane_offset_;
  ValueId staged_offset_;
  std::vector<std::pair<TileId, MemoryRef>> staged_;
  const ReductionPass* pass_ = nullptr;
};

}  // namespace halyard::fusion::lowering
