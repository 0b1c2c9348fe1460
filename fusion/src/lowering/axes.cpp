#include "lowering/axes.h"

#include <algorithm>

namespace halyard::fusion::lowering {

std::vector<Axis> members(AxisSet set, std::size_t axis_count) {
  std::vector<Axis> list;
  for (std::size_t a = 0; a < axis_count; ++a)
    if (set.contains(static_cast<Axis>(a))) list.push_back(static_cast<Axis>(a));
  return list;
}

std::vector<bool> reachable(const TileProgram& tiles, const std::vector<TileId>& roots) {
  std::vector<bool> needed(tiles.values.size(), false);
  for (TileId root : roots) needed[index(root)] = true;
  for (std::size_t i = tiles.values.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (TileId operand : tiles.values[i].operands) needed[index(operand)] = true;
    for (const IndexTerm& term : tiles.values[i].access.terms)
      if (term.value != no_tile) needed[index(term.value)] = true;
  }
  return needed;
}

namespace {

/// How a vector along `axis` meets an access.
enum class Meeting { independent, contiguous, scattered };

Meeting meet(const TileProgram& tiles, const Binding& binding, std::size_t number, Axis axis,
             std::int64_t lanes) {
  const TileValue& value = tiles.values[number];
  const AccessBinding& numbers = binding.accesses[number];
  Meeting meeting = Meeting::independent;
  for (std::size_t t = 0; t < value.access.terms.size(); ++t) {
    const IndexTerm& term = value.access.terms[t];
    if (numbers.strides[t] == 0) continue;
    if (!term.axis) {
      if (tiles.values[index(term.value)].axes.contains(axis)) return Meeting::scattered;
      continue;
    }
    if (*term.axis != axis) continue;
    if (term.divided && numbers.divisors[t] != 1) {
      if (numbers.divisors[t] % lanes != 0) return Meeting::scattered;
      continue;  // the same for the whole vector
    }
    bool whole = !term.wrapped || numbers.moduli[t] == 0 || numbers.moduli[t] % lanes == 0;
    if (meeting != Meeting::independent || numbers.strides[t] != 1 || !whole) return Meeting::scattered;
    meeting = Meeting::contiguous;
  }
  return meeting;
}

}  // namespace

std::optional<Axis> best_vector_axis(const TileProgram& tiles, const Binding& binding,
                                     const std::vector<TileId>& roots, const std::vector<Axis>& candidates,
                                     std::int64_t lanes) {
  std::vector<bool> needed = reachable(tiles, roots);
  std::optional<Axis> best;
  double best_score = -1;
  for (Axis axis : candidates) {
    std::int64_t extent = binding.extents[index(axis)];
    if (extent == 1) continue;
    double score = 0;
    for (std::size_t v = 0; v < tiles.values.size(); ++v) {
      const TileValue& value = tiles.values[v];
      if (!needed[v] || (value.op != TileOp::load && value.op != TileOp::store)) continue;
      if (meet(tiles, binding, v, axis, lanes) != Meeting::scattered)
        score += value.op == TileOp::store ? 3 : 2;
    }
    if (extent < lanes) score *= static_cast<double>(extent) / static_cast<double>(lanes);
    if (score >= best_score) {
      best = axis;
      best_score = score;
    }
  }
  return best;
}

std::optional<Axis> crossing_axis(const TileProgram& tiles, const Binding& binding,
                                  const std::vector<TileId>& roots, Axis vector_axis, std::int64_t lanes) {
  std::vector<bool> needed = reachable(tiles, roots);
  for (std::size_t v = 0; v < tiles.values.size(); ++v) {
    const TileValue& value = tiles.values[v];
    if (!needed[v] || (value.op != TileOp::load && value.op != TileOp::store)) continue;
    if (meet(tiles, binding, v, vector_axis, lanes) != Meeting::scattered) continue;
    for (std::size_t t = 0; t < value.access.terms.size(); ++t) {
      const IndexTerm& term = value.access.terms[t];
      bool dense =
          term.axis && *term.axis != vector_axis && !term.divided && binding.accesses[v].strides[t] == 1;
      if (dense && binding.extents[index(*term.axis)] >= lanes) return term.axis;
    }
  }
  return std::nullopt;
}

std::uint32_t natural_vector(const TileProgram& tiles, const DeviceProfile& profile) {
  std::size_t widest = 1;
  for (const TileValue& value : tiles.values) {
    bool number_only = value.op == TileOp::position || value.op == TileOp::extent || value.axes.empty();
    if (number_only) continue;
    bool half = value.type == ElementType::f16 || value.type == ElementType::bf16;
    bool computed = value.op == TileOp::elementwise || value.op == TileOp::reduce;
    widest = std::max(widest, half && computed ? 4 : std::min<std::size_t>(byte_size(value.type), 4));
  }
  return std::clamp<std::uint32_t>(profile.vector_bytes / static_cast<std::uint32_t>(widest), 1, 64);
}

}  // namespace halyard::fusion::lowering
