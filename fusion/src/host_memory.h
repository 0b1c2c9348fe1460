#pragma once

#include <halyard/fusion/executable.h>
#include <halyard/ops/host_tensor.h>

namespace halyard::fusion {

/// The tensor as the device's kernels read it: in place where the device computes in host memory and the
/// elements lie as it wants them, else a copy that is ready once the queue's work so far is done.
Result<DeviceTensor> to_device(const ops::HostTensor& tensor, hal::Queue& queue);

/// The tensor for the host, once the queue's work so far is done (it waits): in place where device memory is
/// the host's own, else a copy. `queue` is of the tensor's device.
Result<ops::HostTensor> to_host(const DeviceTensor& tensor, hal::Queue& queue);

}  // namespace halyard::fusion
