#include <fmt/format.h>
#include <halyard/ops/executor.h>
#include <halyard/ops/reference.h>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>

namespace halyard::ops {
namespace {

class ReferenceExecutor final : public Executor {
 public:
  Result<std::vector<StoredTensorRef>> run(const Graph& graph, std::span<const StoredTensorRef> inputs,
                                           const ExecuteOptions& options) override {
    if (!options.device.empty() && options.device != "reference")
      return fail(ErrorCode::not_found,
                  fmt::format("reference executor: no device '{}': register an executor that drives devices "
                              "(link halyard_fusion), or use 'reference'",
                              options.device));
    std::vector<HostTensor> host;
    for (const StoredTensorRef& input : inputs) {
      HALYARD_ASSIGN(HostTensor tensor, input->to_host());
      host.push_back(std::move(tensor));
    }
    HALYARD_ASSIGN(std::vector<HostTensor> results, evaluate(graph, host));
    std::vector<StoredTensorRef> stored;
    for (HostTensor& result : results) stored.push_back(store(std::move(result)));
    return stored;
  }
};

std::mutex& registration_mutex() {
  static std::mutex mutex;
  return mutex;
}
std::shared_ptr<Executor>& registered() {
  static std::shared_ptr<Executor> executor = std::make_shared<ReferenceExecutor>();
  return executor;
}

constexpr int fusion_unset = -1;
thread_local int scoped_fusion = fusion_unset;
thread_local std::string scoped_device;

Fusion fusion_from_environment() {
  const char* value = std::getenv("HALYARD_FUSION");
  std::string_view text = value == nullptr ? "" : value;
  return text == "off" || text == "0" ? Fusion::off : Fusion::on;
}

}  // namespace

StoredTensorRef store(HostTensor tensor) {
  return std::make_shared<const HostStoredTensor>(std::move(tensor));
}

void register_executor(std::shared_ptr<Executor> executor) {
  std::lock_guard lock(registration_mutex());
  registered() = executor ? std::move(executor) : std::make_shared<ReferenceExecutor>();
}

std::shared_ptr<Executor> current_executor() {
  std::lock_guard lock(registration_mutex());
  return registered();
}

Fusion current_fusion() {
  static const Fusion environment = fusion_from_environment();
  return scoped_fusion == fusion_unset ? environment : static_cast<Fusion>(scoped_fusion);
}

std::string current_device() {
  return scoped_device;
}

FusionScope::FusionScope(Fusion fusion) : previous_(scoped_fusion) {
  scoped_fusion = static_cast<int>(fusion);
}
FusionScope::~FusionScope() {
  scoped_fusion = previous_;
}

DeviceScope::DeviceScope(std::string uri) : previous_(std::move(scoped_device)) {
  scoped_device = std::move(uri);
}
DeviceScope::~DeviceScope() {
  scoped_device = std::move(previous_);
}

}  // namespace halyard::ops
