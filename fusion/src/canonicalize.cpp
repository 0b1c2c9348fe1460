#include <algorithm>
#include <numeric>
#include <optional>
#include "cluster_to_tile.h"

namespace halyard::fusion {
namespace {

/// Where in the access the axis stands as a plain term; -1 if it does not, nothing if only divided or
/// wrapped.
std::optional<int> plain_term(const Access& access, Axis axis) {
  int found = -1;
  for (std::size_t i = 0; i < access.terms.size(); ++i) {
    const IndexTerm& term = access.terms[i];
    if (term.axis != axis) continue;
    if (term.divided || term.wrapped || found >= 0) return std::nullopt;
    found = static_cast<int>(i);
  }
  return found;
}

bool lists_agree(const std::vector<Axis>& list, Axis outer, Axis inner) {
  auto at = std::find(list.begin(), list.end(), outer);
  bool has_inner = std::find(list.begin(), list.end(), inner) != list.end();
  if (at == list.end()) return !has_inner;
  return std::next(at) != list.end() && *std::next(at) == inner;
}

bool can_collapse(const TileProgram& program, const Binding& binding, Axis outer, Axis inner) {
  std::int64_t extent = binding.extents[index(inner)];
  for (std::size_t i = 0; i < program.values.size(); ++i) {
    const TileValue& value = program.values[i];
    if (value.axes.contains(outer) != value.axes.contains(inner)) return false;
    if (value.op == TileOp::position && (value.axes_list[0] == outer || value.axes_list[0] == inner))
      return false;
    if (!lists_agree(value.axes_list, outer, inner)) return false;
    if (value.op != TileOp::load && value.op != TileOp::store) continue;
    auto at_outer = plain_term(value.access, outer), at_inner = plain_term(value.access, inner);
    if (!at_outer || !at_inner || (*at_outer < 0) != (*at_inner < 0)) return false;
    if (*at_outer < 0) continue;
    const auto& strides = binding.accesses[i].strides;
    if (strides[static_cast<std::size_t>(*at_outer)] != extent * strides[static_cast<std::size_t>(*at_inner)])
      return false;
  }
  return true;
}

void erase_term(Access& access, AccessBinding& numbers, std::size_t at) {
  auto offset = static_cast<std::ptrdiff_t>(at);
  access.terms.erase(access.terms.begin() + offset);
  numbers.strides.erase(numbers.strides.begin() + offset);
  numbers.divisors.erase(numbers.divisors.begin() + offset);
  numbers.moduli.erase(numbers.moduli.begin() + offset);
}

void collapse(TileProgram& program, Binding& binding, Axis outer, Axis inner) {
  binding.extents[index(inner)] *= binding.extents[index(outer)];
  for (std::size_t i = 0; i < program.values.size(); ++i) {
    TileValue& value = program.values[i];
    value.axes = value.axes - AxisSet{outer};
    std::erase(value.axes_list, outer);
    if (value.op != TileOp::load && value.op != TileOp::store) continue;
    auto at = plain_term(value.access, outer);
    if (at && *at >= 0) erase_term(value.access, binding.accesses[i], static_cast<std::size_t>(*at));
  }
}

AxisSet used_axes(const TileProgram& program) {
  AxisSet used;
  for (const TileValue& value : program.values) {
    used = used | value.axes;
    for (Axis axis : value.axes_list) used = used | AxisSet{axis};
  }
  return used;
}

/// The stored tensor's axes by falling stride, then those of reductions and products, then the others.
std::vector<Axis> memory_order(const TileProgram& program, const Binding& binding) {
  std::vector<Axis> order;
  auto push = [&order](Axis axis) {
    if (std::find(order.begin(), order.end(), axis) == order.end()) order.push_back(axis);
  };
  for (std::size_t i = 0; i < program.values.size(); ++i) {
    const TileValue& value = program.values[i];
    if (value.op != TileOp::store) continue;
    std::vector<std::size_t> terms(value.access.terms.size());
    std::iota(terms.begin(), terms.end(), std::size_t{0});
    const auto& strides = binding.accesses[i].strides;
    std::stable_sort(terms.begin(), terms.end(), [&](std::size_t a, std::size_t b) {
      return std::abs(strides[a]) > std::abs(strides[b]);
    });
    for (std::size_t term : terms)
      if (value.access.terms[term].axis) push(*value.access.terms[term].axis);
  }
  for (const TileValue& value : program.values)
    for (Axis axis : value.axes_list) push(axis);
  AxisSet used = used_axes(program);
  for (std::uint32_t i = 0; i < program.axes.size(); ++i)
    if (used.contains(Axis{i})) push(Axis{i});
  return order;
}

void sort_terms(Access& access, AccessBinding& numbers) {
  std::vector<std::size_t> order(access.terms.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  auto rank = [&](std::size_t i) {
    const IndexTerm& term = access.terms[i];
    return std::tuple{term.axis ? index(*term.axis) : 32u + index(term.value), term.divided, term.wrapped};
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  Access sorted;
  AccessBinding sorted_numbers{.offset = numbers.offset};
  for (std::size_t i : order) {
    sorted.terms.push_back(access.terms[i]);
    sorted_numbers.strides.push_back(numbers.strides[i]);
    sorted_numbers.divisors.push_back(numbers.divisors[i]);
    sorted_numbers.moduli.push_back(numbers.moduli[i]);
  }
  access = std::move(sorted);
  numbers = std::move(sorted_numbers);
}

void renumber(TileProgram& program, Binding& binding, const std::vector<Axis>& order) {
  std::vector<std::uint32_t> to(program.axes.size(), 0);
  Binding renumbered = binding;
  renumbered.extents.clear();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < order.size(); ++i) {
    to[index(order[i])] = static_cast<std::uint32_t>(i);
    renumbered.extents.push_back(binding.extents[index(order[i])]);
    names.push_back("a" + std::to_string(i));
  }
  auto map = [&](Axis axis) { return Axis{to[index(axis)]}; };
  for (std::size_t i = 0; i < program.values.size(); ++i) {
    TileValue& value = program.values[i];
    AxisSet axes;
    for (Axis axis : order)
      if (value.axes.contains(axis)) axes = axes | AxisSet{map(axis)};
    value.axes = axes;
    for (Axis& axis : value.axes_list) axis = map(axis);
    for (IndexTerm& term : value.access.terms)
      if (term.axis) term.axis = map(*term.axis);
    if (value.op == TileOp::load || value.op == TileOp::store)
      sort_terms(value.access, renumbered.accesses[i]);
  }
  program.axes = std::move(names);
  binding = std::move(renumbered);
}

}  // namespace

void canonicalize(TileProgram& program, Binding& binding) {
  bool changed = true;
  while (changed) {
    changed = false;
    std::vector<Axis> order = memory_order(program, binding);
    for (Axis outer : order) {
      for (Axis inner : order) {
        if (outer == inner || !can_collapse(program, binding, outer, inner)) continue;
        collapse(program, binding, outer, inner);
        changed = true;
        break;
      }
      if (changed) break;
    }
  }
  renumber(program, binding, memory_order(program, binding));
}

}  // namespace halyard::fusion
