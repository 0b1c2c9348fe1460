#include "lowering/row_plan.h"

#include <fmt/format.h>
#include <halyard/ops/primitive.h>
#include <algorithm>
#include <functional>

#include "element_cost.h"
#include "lowering/axes.h"

namespace halyard::fusion::lowering {

std::vector<TileId> ReductionPass::roots(const TileProgram& tiles) const {
  std::vector<TileId> roots;
  for (TileId reduction : reductions) roots.push_back(tiles.values[index(reduction)].operands[0]);
  roots.insert(roots.end(), stores.begin(), stores.end());
  roots.insert(roots.end(), writes.begin(), writes.end());
  return roots;
}

namespace {

/// Slots of a lane for one element of a value.
double cost_of(const TileProgram& tiles, const TileValue& value) {
  if (value.op == TileOp::load) {
    bool gathers = std::any_of(value.access.terms.begin(), value.access.terms.end(),
                               [](const IndexTerm& term) { return !term.axis; });
    return gathers ? 4 : 1;
  }
  if (value.op != TileOp::elementwise) return 0;
  ElementType operand = value.operands.empty() ? value.type : tiles.values[index(value.operands.back())].type;
  return element_slots(value.primitive, operand, value.type);
}

/// Below this, computing a value again is no dearer than keeping it.
constexpr double keep_from_cost = 3;

class Planner {
 public:
  Planner(const TileProgram& tiles, ReductionPlan& plan) : tiles_(tiles), plan_(plan) {}

  void assign_passes() {
    levels_.assign(tiles_.values.size(), 0);
    for (std::size_t v = 0; v < tiles_.values.size(); ++v) {
      const TileValue& value = tiles_.values[v];
      auto raise = [&](TileId id) { levels_[v] = std::max(levels_[v], levels_[index(id)]); };
      for (TileId operand : value.operands) raise(operand);
      for (const IndexTerm& term : value.access.terms)
        if (term.value != no_tile) raise(term.value);
      if (value.op == TileOp::reduce) {
        pass(levels_[v]).reductions.push_back(static_cast<TileId>(v));
        ++levels_[v];
      } else if (value.op == TileOp::store) {
        if ((value.axes & set_of(plan_.reduced)).empty())
          plan_.outer_stores.push_back(static_cast<TileId>(v));
        else
          pass(levels_[v]).stores.push_back(static_cast<TileId>(v));
      }
    }
  }

  void choose_staged() {
    find_costs();
    first_pass_.assign(tiles_.values.size(), -1);
    std::vector<bool> staged(tiles_.values.size(), false);
    for (std::size_t p = 0; p < plan_.passes.size(); ++p) {
      std::vector<bool> seen(tiles_.values.size(), false);
      std::function<void(TileId)> walk = [&](TileId id) {
        std::size_t v = index(id);
        if (seen[v]) return;
        seen[v] = true;
        const TileValue& value = tiles_.values[v];
        if ((value.axes & set_of(plan_.reduced)).empty()) return;
        bool before = first_pass_[v] >= 0 && first_pass_[v] < static_cast<int>(p);
        if (before && value.op != TileOp::store && costs_[v] >= keep_from_cost) {
          plan_.passes[p].reads.push_back(id);
          staged[v] = true;
          return;
        }
        if (first_pass_[v] < 0) first_pass_[v] = static_cast<int>(p);
        for (TileId operand : value.operands) walk(operand);
        for (const IndexTerm& term : value.access.terms)
          if (term.value != no_tile) walk(term.value);
      };
      for (TileId root : plan_.passes[p].roots(tiles_)) walk(root);
    }
    for (std::size_t v = 0; v < tiles_.values.size(); ++v) {
      if (!staged[v]) continue;
      plan_.staged.push_back(static_cast<TileId>(v));
      plan_.passes[static_cast<std::size_t>(first_pass_[v])].writes.push_back(static_cast<TileId>(v));
    }
  }

 private:
  ReductionPass& pass(std::size_t number) {
    if (plan_.passes.size() <= number) plan_.passes.resize(number + 1);
    return plan_.passes[number];
  }

  void find_costs() {
    constexpr double most = 1 << 20;
    costs_.assign(tiles_.values.size(), 0);
    for (std::size_t v = 0; v < tiles_.values.size(); ++v) {
      const TileValue& value = tiles_.values[v];
      if ((value.axes & set_of(plan_.reduced)).empty()) continue;  // had once per row
      double cost = cost_of(tiles_, value);
      for (TileId operand : value.operands) cost += costs_[index(operand)];
      costs_[v] = std::min(cost, most);
    }
  }

  const TileProgram& tiles_;
  ReductionPlan& plan_;
  std::vector<std::size_t> levels_;
  std::vector<int> first_pass_;
  std::vector<double> costs_;
};

}  // namespace

Result<ReductionPlan> plan_reductions(const TileProgram& tiles, bool stage) {
  ReductionPlan plan;
  AxisSet all;
  for (const TileValue& value : tiles.values) {
    if (value.op == TileOp::reduce) plan.reduced = value.axes_list;
    if (value.op == TileOp::reduce || value.op == TileOp::store) all = all | value.axes;
  }
  AxisSet reduced = set_of(plan.reduced);
  plan.outer = members(all - reduced, tiles.axes.size());
  for (const TileValue& value : tiles.values)
    if (value.op == TileOp::store && !(value.axes & reduced).empty() && !value.axes.contains(reduced))
      return fail(ErrorCode::unsupported,
                  fmt::format("kernel {}: it stores {} along only a part of the axes it reduces", tiles.name,
                              tiles.operands[value.number].name));
  Planner planner(tiles, plan);
  planner.assign_passes();
  if (stage) planner.choose_staged();
  return plan;
}

}  // namespace halyard::fusion::lowering
