#pragma once

#include <halyard/fusion/planner.h>

namespace halyard::fusion {

/// If the cluster's product reads a constant directly as its second operand, and the device reads such
/// operands best in slivers, lets the kernel read a packed copy: rewrites the load's index map, chooses the
/// schedule anew and sets `Cluster::packed`. Changes no result. Otherwise leaves the cluster as it is.
void pack_constant_operand(Cluster& cluster, const DeviceProfile& profile);

}  // namespace halyard::fusion
