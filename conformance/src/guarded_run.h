#pragma once

#include <halyard/fusion/executable.h>
#include <span>
#include <string>
#include <vector>

namespace halyard::conformance {

struct GuardedRun {
  std::vector<ops::HostTensor> outputs;
  /// What was written where nothing may be: beside a tensor, or into an input. Empty if all is well.
  std::string violation;
};

/// Runs an executable on buffers of its own: each tensor lies between two guard zones, outputs hold a pattern
/// before the run, and afterwards guards and inputs must be as they were.
Result<GuardedRun> run_guarded(fusion::Executable& executable, std::span<const ops::HostTensor> inputs);

}  // namespace halyard::conformance
