#pragma once

#include <halyard/ops/graph.h>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace halyard::fusion {

/// Factors: the axes that the dimensions of a cluster's tensors are made of. Every dimension is a row-major
/// list of factors; dimensions that an operation ties together share them, and a reshape that splits or
/// merges dimensions splits factors, so that in the end views relabel factors and nothing else. Sharing is a
/// hint for naming axes (values computed on the same axes can stay on chip together); meaning never depends
/// on it.
class AxisFactors {
 public:
  /// One dimension's factors, outermost first; extent 1 has none.
  using List = std::vector<std::uint32_t>;

  explicit AxisFactors(const ops::Graph& graph) : graph_(graph) {}

  /// Ties the dimensions of `node` to those of its operands.
  void tie(ops::NodeId node);
  List of(ops::NodeId node, std::size_t dimension);
  std::int64_t extent(std::uint32_t factor) const { return factors_[factor].extent; }

 private:
  struct Factor {
    std::int64_t extent = 1;
    std::uint32_t parent;                ///< itself for a representative
    std::uint32_t outer = 0, inner = 0;  ///< set when split
    bool split = false;
  };
  std::uint32_t find(std::uint32_t factor);
  void flatten(std::uint32_t factor, List& into);
  void split(std::uint32_t factor, std::int64_t inner_extent);
  bool unify(List a, List b);
  const std::vector<List>& lists_of(ops::NodeId node);
  void same(ops::NodeId a, std::size_t dimension_a, ops::NodeId b, std::size_t dimension_b);
  void tie_reshape(ops::NodeId node, ops::NodeId operand);
  void tie_dot(ops::NodeId node);

  const ops::Graph& graph_;
  std::vector<Factor> factors_;
  std::unordered_map<std::uint32_t, std::vector<List>> dimensions_;  ///< per node asked for, per dimension
};

}  // namespace halyard::fusion
