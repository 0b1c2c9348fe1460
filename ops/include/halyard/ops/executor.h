#pragma once

#include <halyard/ops/graph.h>
#include <halyard/ops/host_tensor.h>
#include <halyard/ops/numeric_class.h>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace halyard::ops {

/// A tensor somewhere: on the host, or held by an executor on its device. Immutable; thread-safe.
class StoredTensor {
 public:
  virtual ~StoredTensor() = default;
  virtual ElementType element() const = 0;
  virtual const Shape& shape() const = 0;
  /// The elements on the host; waits for the device if it must.
  virtual Result<HostTensor> to_host() const = 0;
};
using StoredTensorRef = std::shared_ptr<const StoredTensor>;

/// A tensor on the host.
class HostStoredTensor final : public StoredTensor {
 public:
  explicit HostStoredTensor(HostTensor tensor) : tensor_(std::move(tensor)) {}
  ElementType element() const override { return tensor_.element(); }
  const Shape& shape() const override { return tensor_.shape(); }
  Result<HostTensor> to_host() const override { return tensor_; }
  const HostTensor& tensor() const { return tensor_; }

 private:
  HostTensor tensor_;
};
StoredTensorRef store(HostTensor tensor);

/// Whether graphs are fused or run operation by operation (with the same bits).
enum class Fusion : std::uint8_t { on, off };

struct ExecuteOptions {
  std::string device;  ///< a device URI; empty = the executor's default
  Fusion fusion = Fusion::on;
};

/// Runs graphs. Implementations are thread-safe. `fusion` provides one that compiles and drives devices; the
/// default is the reference evaluator, which takes no device other than "" and "reference".
class Executor {
 public:
  virtual ~Executor() = default;
  /// One result per output of `graph`; `inputs` in the order of `graph.inputs()`, of exactly their types.
  virtual Result<std::vector<StoredTensorRef>> run(const Graph& graph,
                                                   std::span<const StoredTensorRef> inputs,
                                                   const ExecuteOptions& options) = 0;
};

/// Replaces the executor that tensors use from now on; null restores the reference evaluator. Thread-safe.
void register_executor(std::shared_ptr<Executor> executor);
std::shared_ptr<Executor> current_executor();

/// What holds on this thread now: the innermost `FusionScope`, else the environment's `HALYARD_FUSION` ("off"
/// or "0" turn it off; read once), else on.
Fusion current_fusion();
/// The innermost `DeviceScope` of this thread, else empty (the executor's default).
std::string current_device();

/// `FusionScope off(Fusion::off);` runs what this thread evaluates within the scope operation by operation.
class FusionScope {
 public:
  explicit FusionScope(Fusion fusion);
  ~FusionScope();
  FusionScope(const FusionScope&) = delete;
  FusionScope& operator=(const FusionScope&) = delete;

 private:
  int previous_;
};

/// Runs what this thread evaluates within the scope on the named device.
class DeviceScope {
 public:
  explicit DeviceScope(std::string uri);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  std::string previous_;
};

}  // namespace halyard::ops
