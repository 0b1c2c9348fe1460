#pragma once

#include <halyard/fusion/executable.h>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace halyard::fusion {

/// One kernel of a plan, in words and numbers.
struct ClusterExplanation {
  std::string name;                     ///< of the tile program
  std::vector<std::string> operations;  ///< the primitives fused, in order: "add (encoder.layer.0…)"
  Pattern pattern = Pattern::map;
  std::string schedule;
  std::string kind;    ///< "contraction" (has a product), "normalization" (reduces) or "elementwise"
  std::string reason;  ///< why these primitives are one kernel, in numbers of the model
  std::uint64_t bytes_unfused = 0;
  std::uint64_t bytes = 0;
  double flops = 0;
  double predicted_seconds = 0;
  double predicted_unfused_seconds = 0;
  /// What limits the kernel: by the model, or, when profiled, `launch` if it took less than two launches,
  /// else what the larger of the two fractions says.
  Bound bound = Bound::launch;
  std::optional<double> measured_seconds;  ///< when profiled
  /// Of the device's measured ceilings, when profiled. Bytes count against `bandwidth_ceiling`.
  std::optional<double> bandwidth_fraction, flops_fraction;
  double bandwidth_ceiling =
      0;  ///< bytes per second: of the caches if all that the kernel touches fits there
  std::uint32_t outputs = 1;
};

struct BoundaryExplanation {
  std::uint32_t producer = 0, consumer = 0;  ///< indices into `clusters`
  std::string value;                         ///< the node between them
  std::string reason;
};

/// What was fused and why, what was not and why not.
struct Explanation {
  std::string device, architecture;
  std::string fusion;  ///< "on" or "off"
  SimplifyReport simplified;
  std::uint32_t primitives = 0;  ///< nodes that would each be a kernel unfused
  std::vector<ClusterExplanation> clusters;
  std::vector<BoundaryExplanation> boundaries;
  std::uint64_t bytes_unfused = 0, bytes = 0;
  double predicted_seconds = 0, predicted_unfused_seconds = 0;
  std::optional<double> measured_seconds;
  std::optional<MemoryReport> memory;
  std::optional<CompileCounters> kernels;
};

Explanation explain(const Plan& plan, const DeviceProfile& profile);
Explanation explain(const Executable& executable, const Executable::Timings* timings = nullptr);

/// Stable: keys are only added. Times in seconds.
std::string to_json(const Explanation& explanation);
/// A table per cluster, then boundaries with their reasons (`boundaries` false leaves them out).
std::string to_table(const Explanation& explanation, bool boundaries = true);

/// Writes each distinct kernel's tile program, thread program and generated code into `folder` (made if
/// missing), named after its first cluster: "03_softmax.tile", ".thread", ".ll" or ".spv". Gives the number
/// of kernels.
Result<std::size_t> emit(const Executable& executable, const std::filesystem::path& folder);

/// Questions a test asks about a plan.
class Inspector {
 public:
  explicit Inspector(const Plan& plan) : plan_(plan) {}
  std::size_t cluster_count() const { return plan_.clusters.size(); }
  std::size_t count(Pattern pattern) const;
  /// How many nodes of this primitive the cluster computes.
  std::size_t count(std::size_t cluster, ops::Primitive primitive) const;
  /// Whether some cluster computes all of these primitives (with multiplicity).
  bool some_cluster_fuses(std::vector<ops::Primitive> primitives) const;
  /// The reason of the boundary between two clusters; empty if there is none.
  std::string reason(std::size_t producer, std::size_t consumer) const;

 private:
  const Plan& plan_;
};

}  // namespace halyard::fusion
