#include <halyard/fusion/custom_kernel.h>
#include <halyard/fusion/executable.h>
#include <halyard/hal/registry.h>
#include <map>
#include "host_memory.h"

namespace halyard::fusion {
namespace {

/// A result that stays on its device until someone reads it.
class DeviceStoredTensor final : public ops::StoredTensor {
 public:
  DeviceStoredTensor(DeviceTensor tensor, std::shared_ptr<hal::Queue> queue)
      : tensor_(std::move(tensor)), queue_(std::move(queue)) {}
  ElementType element() const override { return tensor_.element; }
  const ops::Shape& shape() const override { return tensor_.shape; }
  const DeviceTensor& tensor() const { return tensor_; }
  const std::shared_ptr<hal::Device>& device() const { return queue_->device(); }

  Result<ops::HostTensor> to_host() const override { return fusion::to_host(tensor_, *queue_); }

 private:
  DeviceTensor tensor_;
  std::shared_ptr<hal::Queue> queue_;
};

Result<DeviceTensor> on_device(const ops::StoredTensor& stored, const std::shared_ptr<hal::Queue>& queue) {
  if (const auto* held = dynamic_cast<const DeviceStoredTensor*>(&stored);
      held && held->device() == queue->device())
    return held->tensor();
  HALYARD_ASSIGN(ops::HostTensor host, stored.to_host());
  return to_device(host, *queue);
}

class GraphExecutor final : public ops::Executor {
 public:
  Result<std::vector<ops::StoredTensorRef>> run(const ops::Graph& graph,
                                                std::span<const ops::StoredTensorRef> inputs,
                                                const ops::ExecuteOptions& options) override {
    HALYARD_ASSIGN(std::shared_ptr<Compiler> compiler, shared_compiler(options.device));
    HALYARD_ASSIGN(std::shared_ptr<Executable> executable,
                   compiler->compile_cached(graph, CompileOptions{.fusion = options.fusion}));
    HALYARD_ASSIGN(auto queue, compiler->device()->default_queue());
    std::vector<DeviceTensor> given;
    for (const ops::StoredTensorRef& input : inputs) {
      HALYARD_ASSIGN(DeviceTensor tensor, on_device(*input, queue));
      given.push_back(std::move(tensor));
    }
    HALYARD_ASSIGN(std::vector<DeviceTensor> outputs, executable->run(std::span<const DeviceTensor>(given)));
    std::vector<ops::StoredTensorRef> results;
    for (DeviceTensor& output : outputs)
      results.push_back(std::make_shared<DeviceStoredTensor>(std::move(output), queue));
    return results;
  }
};

}  // namespace

Result<std::shared_ptr<Compiler>> shared_compiler(const std::string& device_uri) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<Compiler>> compilers;
  std::lock_guard lock(mutex);
  if (auto found = compilers.find(device_uri); found != compilers.end()) return found->second;
  HALYARD_ASSIGN(auto device, hal::Registry::shared().open(device_uri));
  // Two names of one device share a compiler.
  if (auto found = compilers.find(device->info().uri); found != compilers.end()) {
    compilers.emplace(device_uri, found->second);
    return found->second;
  }
  std::string canonical = device->info().uri;
  HALYARD_ASSIGN(std::shared_ptr<Compiler> made, Compiler::create(std::move(device)));
  compilers.emplace(canonical, made);
  compilers.emplace(device_uri, made);
  return made;
}

std::shared_ptr<ops::Executor> make_executor() {
  return std::make_shared<GraphExecutor>();
}

}  // namespace halyard::fusion
