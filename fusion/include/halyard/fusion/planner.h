#pragma once

#include <halyard/fusion/device_profile.h>
#include <halyard/fusion/lower.h>
#include <halyard/fusion/simplify.h>
#include <halyard/fusion/tile_program.h>
#include <halyard/ops/executor.h>
#include <halyard/ops/graph.h>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace halyard::fusion {

/// What one kernel is to compute: the member nodes, and those whose elements it leaves in memory. Views are
/// members only where the planner materializes them; all others are folded into index maps.
struct ClusterSpec {
  std::vector<ops::NodeId> members;  ///< ascending
  std::vector<ops::NodeId> stores;   ///< ascending
};

/// A cluster as a tile program, and which graph node each operand of it is.
struct ClusterTile {
  TileProgram program;
  Binding binding;
  std::vector<ops::NodeId> operands;
};

/// A constant operand of a product that is laid out in slivers of `tile_n` columns when the graph is
/// compiled: element (batch, n, k) at ((batch * tiles + n / tile_n) * K + k) * tile_n + n mod tile_n, zeros
/// after the last column. It is read from offset + batch[i] + k[j] + n[l] of the constant, in elements.
struct PackedWeight {
  std::uint32_t operand = 0;
  std::uint32_t tile_n = 1;
  std::int64_t offset = 0;
  std::vector<std::int64_t> batch, k, n;

  std::int64_t elements() const {
    auto tiles = (static_cast<std::int64_t>(n.size()) + tile_n - 1) / tile_n;
    return static_cast<std::int64_t>(batch.size() * k.size()) * tiles * tile_n;
  }
};

/// What limits a kernel, as modelled.
enum class Bound : std::uint8_t { launch, memory, compute };
std::string_view name(Bound bound);

/// What a cluster costs on the profile's device, as modelled.
struct ClusterCost {
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  double flops = 0;       ///< of the operations themselves, a multiply-add counting 2
  double work_flops = 0;  ///< the same in slots of a fused multiply-add, recomputation included
  double tasks = 1;       ///< pieces that can run at once
  double memory_seconds = 0;
  double compute_seconds = 0;
  double seconds = 0;    ///< launch included
  double bandwidth = 0;  ///< bytes per second against which memory_seconds counts: a cache's or the memory's
  Bound bound = Bound::launch;
  std::uint64_t bytes() const { return bytes_read + bytes_written; }
};

/// A kernel of the plan.
struct Cluster {
  ClusterSpec spec;
  ClusterTile tile;
  Pattern pattern = Pattern::map;
  Schedule schedule;
  std::optional<PackedWeight> packed;
  LoweredKernel kernel;  ///< the thread program, and how it is launched
  ClusterCost cost;
  ClusterCost unfused;  ///< the sum over its primitives, each as a kernel of its own
};

/// Why two clusters that exchange a value were not made one.
struct Boundary {
  std::uint32_t producer = 0;  ///< indices into `Plan::clusters`
  std::uint32_t consumer = 0;
  ops::NodeId value{};  ///< one of the values exchanged
  std::string reason;
};

/// A graph cut into kernels. A pure function of graph, options and profile.
struct Plan {
  ops::Graph graph;  ///< simplified; node ids below are its
  SimplifyReport simplified;
  std::vector<Cluster> clusters;  ///< in an order in which they can run
  std::vector<Boundary> boundaries;
};

struct PlanOptions {
  ops::Fusion fusion = ops::Fusion::on;  ///< off: one primitive per cluster, the rest of the machinery alike
  bool simplify = true;
  /// Which of each kernel's `candidate_schedules` is taken, counted around; 0 is the best guess.
  std::uint32_t candidate = 0;
};

/// Simplifies and partitions. Clusters merge while the modelled time falls: bytes and launches saved against
/// recomputation, on-chip memory and parallelism. What can be merged is what `classify` accepts: five ways of
/// carrying a kernel out, none of them a vendor's or a model's. `unsupported` names the node that has no
/// kernel. Thread-safe.
Result<Plan> make_plan(const ops::Graph& graph, const DeviceProfile& profile,
                       const PlanOptions& options = {});

/// Models one tile program under a schedule.
ClusterCost estimate(const TileProgram& program, const Binding& binding, Pattern pattern,
                     const Schedule& schedule, const DeviceProfile& profile);

}  // namespace halyard::fusion
