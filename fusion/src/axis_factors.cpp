#include "axis_factors.h"

#include <algorithm>

namespace halyard::fusion {

using ops::NodeId;
using ops::Primitive;

const std::vector<AxisFactors::List>& AxisFactors::lists_of(NodeId node) {
  auto [found, added] = dimensions_.try_emplace(ops::index(node));
  if (!added) return found->second;
  for (std::int64_t extent : graph_.node(node).shape.extents()) {
    List list;
    if (extent != 1) {
      auto id = static_cast<std::uint32_t>(factors_.size());
      factors_.push_back({.extent = extent, .parent = id});
      list.push_back(id);
    }
    found->second.push_back(std::move(list));
  }
  return found->second;
}

std::uint32_t AxisFactors::find(std::uint32_t factor) {
  while (factors_[factor].parent != factor) {
    factors_[factor].parent = factors_[factors_[factor].parent].parent;
    factor = factors_[factor].parent;
  }
  return factor;
}

void AxisFactors::flatten(std::uint32_t factor, List& into) {
  factor = find(factor);
  if (!factors_[factor].split) {
    into.push_back(factor);
    return;
  }
  flatten(factors_[factor].outer, into);
  flatten(factors_[factor].inner, into);
}

void AxisFactors::split(std::uint32_t factor, std::int64_t inner_extent) {
  auto outer = static_cast<std::uint32_t>(factors_.size());
  factors_.push_back({.extent = factors_[factor].extent / inner_extent, .parent = outer});
  factors_.push_back({.extent = inner_extent, .parent = outer + 1});
  factors_[factor].split = true;
  factors_[factor].outer = outer;
  factors_[factor].inner = outer + 1;
}

bool AxisFactors::unify(List a, List b) {
  auto flat = [this](const List& list) {
    List result;
    for (std::uint32_t factor : list) flatten(factor, result);
    return result;
  };
  a = flat(a);
  b = flat(b);
  while (!a.empty() && !b.empty()) {
    std::uint32_t x = a.back(), y = b.back();
    std::int64_t extent_x = factors_[x].extent, extent_y = factors_[y].extent;
    if (x == y || extent_x == extent_y) {
      factors_[y].parent = x;
      a.pop_back();
      b.pop_back();
      continue;
    }
    if (extent_x == 0 || extent_y == 0) return false;
    if (extent_x > extent_y && extent_x % extent_y == 0)
      split(x, extent_y);
    else if (extent_y > extent_x && extent_y % extent_x == 0)
      split(y, extent_x);
    else
      return false;
    a = flat(a);
    b = flat(b);
  }
  return true;
}

AxisFactors::List AxisFactors::of(NodeId node, std::size_t dimension) {
  List result;
  for (std::uint32_t factor : lists_of(node)[dimension]) flatten(factor, result);
  return result;
}

void AxisFactors::same(NodeId a, std::size_t dimension_a, NodeId b, std::size_t dimension_b) {
  if (graph_.node(a).shape[dimension_a] != graph_.node(b).shape[dimension_b]) return;
  unify(of(a, dimension_a), of(b, dimension_b));
}

void AxisFactors::tie_reshape(NodeId node, NodeId operand) {
  auto to = graph_.node(node).shape.extents();
  auto from = graph_.node(operand).shape.extents();
  std::size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    List left, right;
    auto take_left = [&] {
      for (std::uint32_t factor : of(operand, i)) left.push_back(factor);
      return from[i++];
    };
    auto take_right = [&] {
      for (std::uint32_t factor : of(node, j)) right.push_back(factor);
      return to[j++];
    };
    std::int64_t left_count = i < from.size() ? take_left() : 1;
    std::int64_t right_count = j < to.size() ? take_right() : 1;
    while (left_count != right_count) {
      if (left_count < right_count && i < from.size())
        left_count *= take_left();
      else if (j < to.size())
        right_count *= take_right();
      else
        return;
    }
    unify(left, right);
  }
}

void AxisFactors::tie_dot(NodeId node) {
  const ops::Node& dot = graph_.node(node);
  NodeId a = dot.operands[0], b = dot.operands[1];
  const ops::DotDimensions& dimensions = dot.attributes.dot;
  std::size_t result = 0;
  for (std::size_t i = 0; i < dimensions.lhs_batch.size(); ++i, ++result) {
    same(node, result, a, static_cast<std::size_t>(dimensions.lhs_batch[i]));
    same(node, result, b, static_cast<std::size_t>(dimensions.rhs_batch[i]));
  }
  for (std::size_t i = 0; i < dimensions.lhs_contracting.size(); ++i)
    same(a, static_cast<std::size_t>(dimensions.lhs_contracting[i]), b,
         static_cast<std::size_t>(dimensions.rhs_contracting[i]));
  auto free = [&](NodeId side, const std::vector<std::int64_t>& batch,
                  const std::vector<std::int64_t>& contracting) {
    for (std::size_t i = 0; i < graph_.node(side).shape.rank(); ++i) {
      auto axis = static_cast<std::int64_t>(i);
      if (std::count(batch.begin(), batch.end(), axis) ||
          std::count(contracting.begin(), contracting.end(), axis))
        continue;
      same(node, result++, side, i);
    }
  };
  free(a, dimensions.lhs_batch, dimensions.lhs_contracting);
  free(b, dimensions.rhs_batch, dimensions.rhs_contracting);
}

void AxisFactors::tie(NodeId id) {
  const ops::Node& node = graph_.node(id);
  const ops::Attributes& attributes = node.attributes;
  std::size_t rank = node.shape.rank();
  if (ops::row(node.primitive).kind == ops::Kind::elementwise) {
    for (NodeId operand : node.operands)
      for (std::size_t i = 0; i < rank; ++i) same(id, i, operand, i);
    return;
  }
  switch (node.primitive) {
    case Primitive::reshape:
      tie_reshape(id, node.operands[0]);
      break;
    case Primitive::permute:
      for (std::size_t i = 0; i < rank; ++i)
        same(id, i, node.operands[0], static_cast<std::size_t>(attributes.axes[i]));
      break;
    case Primitive::broadcast: {
      std::size_t inner = graph_.node(node.operands[0]).shape.rank();
      for (std::size_t i = 0; i < inner; ++i) same(id, rank - inner + i, node.operands[0], i);
      break;
    }
    case Primitive::slice:
    case Primitive::reverse:
    case Primitive::pad:
    case Primitive::concat:
      for (NodeId operand : node.operands)
        for (std::size_t i = 0; i < rank; ++i) same(id, i, operand, i);
      break;
    case Primitive::windows:
      for (std::size_t i = 0; i < graph_.node(node.operands[0]).shape.rank(); ++i)
        if (std::count(attributes.axes.begin(), attributes.axes.end(), static_cast<std::int64_t>(i)) == 0)
          same(id, i, node.operands[0], i);
      break;
    case Primitive::take: {
      auto axis = static_cast<std::size_t>(attributes.axes[0]);
      std::size_t indices = graph_.node(node.operands[1]).shape.rank();
      for (std::size_t i = 0; i < axis; ++i) same(id, i, node.operands[0], i);
      for (std::size_t i = 0; i < indices; ++i) same(id, axis + i, node.operands[1], i);
      for (std::size_t i = axis + indices; i < rank; ++i) same(id, i, node.operands[0], i - indices + 1);
      break;
    }
    case Primitive::dot_general:
      tie_dot(id);
      break;
    default: {
      if (ops::row(node.primitive).kind != ops::Kind::reduction) break;
      std::size_t out = 0;
      for (std::size_t i = 0; i < graph_.node(node.operands[0]).shape.rank(); ++i) {
        bool reduced =
            std::count(attributes.axes.begin(), attributes.axes.end(), static_cast<std::int64_t>(i)) != 0;
        if (!reduced) same(id, out, node.operands[0], i);
        if (!reduced || attributes.keep_dims) ++out;
      }
    }
  }
}

}  // namespace halyard::fusion
