#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halyard/base/result.h"
#include "halyard/hal/buffer.h"
#include "halyard/hal/device_info.h"
#include "halyard/hal/module.h"
#include "halyard/hal/plugin.h"
#include "halyard/hal/pool.h"
#include "halyard/hal/queue.h"

namespace halyard::hal {

class Pool;
class Device;

/// The name of a device: `cpu`, `cuda:0`, `vulkan:llvmpipe`, `cuda:GPU-<uuid>`, `auto`.
struct DeviceUri {
  std::string backend;   ///< lower case letters, digits, '-', '_'; "auto" ranks what is there
  std::string selector;  ///< empty, an ordinal, an alias or part of a name, or "GPU-" and a uuid
  /// `invalid_argument` for text that cannot name a device.
  static Result<DeviceUri> parse(std::string_view text);
  std::string text() const { return selector.empty() ? backend : backend + ":" + selector; }
};

/// How to open a device.
struct DeviceOptions {
  const HyForeignContext* foreign =
      nullptr;  ///< open on the host program's own context, which must outlive the device
  std::uint32_t worker_threads = 0;  ///< cpu: 0 means one per hardware thread
  std::optional<bool> validate;      ///< default: HALYARD_VALIDATE=1
  bool probe = true;                 ///< run the registered prober (cached on disk)
  bool pool = true;                  ///< off: each buffer is an allocation of its own
};

/// An opened device. Made by `Registry::open`. Shared ownership: buffers, queues, modules and graphs keep
/// their device alive. All members are safe from any thread.
class Device : public std::enable_shared_from_this<Device> {
 public:
  Device(std::shared_ptr<const HyBackend> backend, HyDevice* handle, DeviceInfo info, bool pooled,
         bool validated);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const DeviceInfo& info() const { return info_; }
  const HyBackend& backend() const { return *backend_; }
  HyDevice* handle() const { return handle_; }
  bool validated() const { return validated_; }
  /// Success, or `device_lost` with the reason.
  Status status() const;
  /// Identifies device, driver and backend version for cache keys.
  std::string identity() const;
  /// A named property of the backend ("vulkan.device", "memory.free_bytes", …).
  Result<HyProperty> property(std::string_view key) const;
  /// Lets this device reach `peer`'s memory.
  Status enable_peer(const std::shared_ptr<Device>& peer);
  bool reaches(const Device& peer) const;
  /// Arms a simulated fault (HY_FAULT_… of fault_injection.h) for tests; `unsupported` where the backend
  /// offers none.
  Status inject_fault(std::uint32_t fault, std::uint32_t after = 0);

  /// `out_of_memory` tells how much was asked, held and free. The bytes are not cleared.
  Result<std::shared_ptr<Buffer>> allocate(const BufferDesc& desc);
  Result<std::shared_ptr<Buffer>> allocate(std::uint64_t bytes) {
    return allocate(BufferDesc{.bytes = bytes});
  }
  /// Uses memory made elsewhere; `keep_alive` is dropped once neither the buffer nor work on it needs the
  /// memory.
  Result<std::shared_ptr<Buffer>> import_memory(const HyHandle& handle,
                                                std::shared_ptr<void> keep_alive = nullptr);
  PoolStatistics pool_statistics() const;
  /// Gives all cached memory that no work needs back to the device.
  void trim_pool();

  Result<std::shared_ptr<Queue>> create_queue(const QueueDesc& desc = {});
  /// The queue that most work uses; made when first asked for.
  Result<std::shared_ptr<Queue>> default_queue();

  /// Compiles or loads, through the disk cache where the backend gives native code.
  Result<std::shared_ptr<Module>> load_module(const ModuleDesc& desc);

  /// Rates and costs from the disk cache or, with `run`, by the registered measurer.
  Result<Measurements> measurements(bool run = true);

  Pool& pool() { return *pool_; }
  /// For Registry only, before the device is shared.
  void set_numeric_facts(const NumericFacts& facts) { info_.numeric = facts; }
  void set_measurements(const Measurements& measurements) { info_.measurements = measurements; }

 private:
  std::shared_ptr<const HyBackend> backend_;
  HyDevice* handle_;
  DeviceInfo info_;
  bool validated_;
  std::unique_ptr<Pool> pool_;
  mutable std::mutex mutex_;
  std::weak_ptr<Queue> default_queue_;
  std::vector<std::weak_ptr<Device>> peers_;
  std::optional<Measurements> measured_;
};

/// Finds numeric facts by running kernels; registered by the layer that can emit them. `version` takes part
/// in the key under which results are cached: change it when the probe changes.
struct Prober {
  std::string version;
  std::function<Result<NumericFacts>(const std::shared_ptr<Device>&)> run;
};
void set_prober(Prober prober);

/// Measures rates and costs, in the same manner.
struct Measurer {
  std::string version;
  std::function<Result<Measurements>(const std::shared_ptr<Device>&)> run;
};
void set_measurer(Measurer measurer);

}  // namespace halyard::hal
