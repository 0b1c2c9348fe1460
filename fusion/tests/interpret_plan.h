#pragma once

#include <halyard/fusion/planner.h>
#include <vector>

namespace halyard::fusion {

/// Runs a plan's kernels one after another by the thread-program interpreter on host memory: the same tile
/// programs, schedules and thread programs as on a device, without one.
Result<std::vector<ops::HostTensor>> interpret(const Plan& plan, std::span<const ops::HostTensor> inputs);

}  // namespace halyard::fusion
