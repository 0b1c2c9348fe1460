#pragma once

#include <halyard/fusion/planner.h>
#include <optional>
#include <string>
#include <unordered_map>
#include "kernel_nodes.h"

namespace halyard::fusion {

/// What a set of nodes would be as one kernel, or why it cannot be one.
struct Trial {
  std::optional<Cluster> cluster;
  std::string reason;
  double seconds() const { return cluster->cost.seconds; }
};

/// Tries clusters out: tile program, pattern, schedule, modelled cost; each once. References stay valid.
class Trials {
 public:
  Trials(const KernelNodes& nodes, const DeviceProfile& profile, std::uint32_t candidate)
      : nodes_(nodes), profile_(profile), candidate_(candidate) {}
  const Trial& get(ClusterSpec spec);
  /// Remembers that the cluster cannot be lowered, and why.
  void rule_out(const ClusterSpec& spec, std::string reason);

 private:
  Result<Cluster> attempt(ClusterSpec spec) const;
  const KernelNodes& nodes_;
  const DeviceProfile& profile_;
  std::uint32_t candidate_;  ///< see PlanOptions
  std::unordered_map<std::string, Trial> trials_;
};

}  // namespace halyard::fusion
