#pragma once

#include <halyard/fusion/device_profile.h>
#include <halyard/fusion/planner.h>
#include <halyard/ops/graph.h>
#include <vector>

namespace halyard::fusion {

/// One reader of a node's elements: another kernel node, or an output of the graph.
struct Use {
  ops::NodeId consumer{};  ///< meaningless for outputs
  bool output = false;
};

/// Which nodes of a graph need a kernel, and who reads whom once views are looked through. Views become
/// kernel nodes of their own where a reader cannot fold them, where folding would split the axes it sums
/// over, and where they are outputs.
class KernelNodes {
 public:
  explicit KernelNodes(const ops::Graph& graph);

  const ops::Graph& graph() const { return graph_; }
  /// Ascending.
  const std::vector<ops::NodeId>& nodes() const { return nodes_; }
  bool contains(ops::NodeId node) const { return is_kernel_[ops::index(node)]; }
  const std::vector<Use>& uses(ops::NodeId node) const { return uses_[ops::index(node)]; }
  /// The kernel nodes whose elements `node` reads, without repeats.
  const std::vector<ops::NodeId>& sources(ops::NodeId node) const { return sources_[ops::index(node)]; }
  /// Per node of the graph: whether it is a view whose elements lie in memory.
  const std::vector<bool>& materialized() const { return materialized_; }

 private:
  void add_sources(ops::NodeId reader, ops::NodeId operand);
  bool must_materialize(ops::NodeId reader, ops::NodeId view);

  const ops::Graph& graph_;
  std::vector<ops::NodeId> nodes_;
  std::vector<bool> is_kernel_;
  std::vector<bool> materialized_;
  std::vector<std::vector<Use>> uses_;
  std::vector<std::vector<ops::NodeId>> sources_;
};

}  // namespace halyard::fusion
