#include "halyard/hal/device.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend_call.h"
#include "buffer_storage.h"
#include "halyard/hal/fault_injection.h"
#include "measured_facts.h"
#include "memory_pool.h"
#include "module_loader.h"

namespace halyard::hal {

Device::Device(std::shared_ptr<const HyBackend> backend, HyDevice* handle, DeviceInfo info, bool pooled,
               bool validated)
    : backend_(std::move(backend)),
      handle_(handle),
      info_(std::move(info)),
      validated_(validated),
      pool_(std::make_unique<Pool>(*backend_, handle_, info_, pooled)) {}

Device::~Device() {
  pool_.reset();
  backend_->device_close(handle_);
}

Status Device::status() const {
  BackendError error;
  return to_status(backend_->device_status(handle_, &error), error, info_.uri, "device");
}

std::string Device::identity() const {
  std::string features;
  for (const std::string& feature : info_.isa_features) features += feature + ",";
  std::string uuid;
  for (const std::uint8_t byte : info_.uuid) uuid += fmt::format("{:02x}", byte);
  return fmt::format("abi {}|{} {}|{}|{}|{} {}|{}|{}|{}", HY_ABI_VERSION, info_.backend,
                     info_.backend_version, info_.vendor, info_.name, info_.driver, info_.driver_version,
                     info_.architecture, uuid, features);
}

Result<HyProperty> Device::property(std::string_view key) const {
  const std::string name(key);
  if (backend_->device_property == nullptr)
    return tl::unexpected<Error>(missing_function(info_.uri, "property '" + name + "'"));
  HyProperty value{};
  value.size = sizeof value;
  BackendError error;
  HALYARD_TRY(to_status(backend_->device_property(handle_, name.c_str(), &value, &error), error, info_.uri,
                        "property '" + name + "'"));
  return value;
}

Status Device::enable_peer(const std::shared_ptr<Device>& peer) {
  if (backend_->device_enable_peer == nullptr || peer->info().backend != info_.backend ||
      peer->validated() != validated_)
    return tl::unexpected<Error>(missing_function(info_.uri, "peer access to " + peer->info().uri));
  BackendError error;
  HALYARD_TRY(to_status(backend_->device_enable_peer(handle_, peer->handle(), &error), error, info_.uri,
                        "peer access to " + peer->info().uri));
  std::lock_guard lock(mutex_);
  peers_.push_back(peer);
  return {};
}

bool Device::reaches(const Device& peer) const {
  std::lock_guard lock(mutex_);
  return std::any_of(peers_.begin(), peers_.end(),
                     [&](const std::weak_ptr<Device>& known) { return known.lock().get() == &peer; });
}

Status Device::inject_fault(std::uint32_t fault, std::uint32_t after) {
  const auto* extension =
      backend_->get_extension != nullptr
          ? static_cast<const HyFaultInjection*>(backend_->get_extension(HY_EXTENSION_FAULT_INJECTION))
          : nullptr;
  if (extension == nullptr || extension->arm == nullptr)
    return tl::unexpected<Error>(missing_function(info_.uri, "fault injection"));
  return to_status(extension->arm(handle_, fault, after), BackendError(), info_.uri, "fault injection");
}

Result<std::shared_ptr<Buffer>> Device::allocate(const BufferDesc& desc) {
  auto storage = std::make_unique<BufferStorage>();
  const Timeline* first = desc.first_queue != nullptr ? desc.first_queue->last().timeline.get() : nullptr;
  HALYARD_TRY(pool_->allocate(desc, first, *storage));
  storage->device = shared_from_this();
  return std::make_shared<Buffer>(std::move(storage));
}

Result<std::shared_ptr<Buffer>> Device::import_memory(const HyHandle& handle,
                                                      std::shared_ptr<void> keep_alive) {
  if (backend_->buffer_import == nullptr)
    return tl::unexpected<Error>(missing_function(info_.uri, "import memory"));
  auto storage = std::make_unique<BufferStorage>();
  BackendError error;
  HALYARD_TRY(to_status(backend_->buffer_import(handle_, &handle, &storage->handle, &error), error, info_.uri,
                        fmt::format("import memory of {} bytes", handle.bytes)));
  storage->imported = true;
  storage->size = handle.bytes;
  storage->keep_alive = std::move(keep_alive);
  storage->device = shared_from_this();
  void* pointer = nullptr;
  if (backend_->buffer_map(storage->handle, &pointer, nullptr) == HY_OK)
    storage->host_pointer = static_cast<std::byte*>(pointer);
  return std::make_shared<Buffer>(std::move(storage));
}

PoolStatistics Device::pool_statistics() const {
  return pool_->statistics();
}

void Device::trim_pool() {
  pool_->trim();
}

Result<std::shared_ptr<Queue>> Device::create_queue(const QueueDesc& desc) {
  HyQueueDesc form{};
  form.size = sizeof form;
  form.priority = desc.high_priority ? 1 : 0;
  form.foreign_queue = desc.foreign_queue;
  form.foreign_queue_family = desc.foreign_queue_family;
  form.lock = desc.lock;
  form.unlock = desc.unlock;
  form.user_data = desc.user_data;
  HyQueue* handle = nullptr;
  BackendError error;
  HALYARD_TRY(
      to_status(backend_->queue_create(handle_, &form, &handle, &error), error, info_.uri, "create queue"));
  return std::make_shared<Queue>(shared_from_this(), handle);
}

Result<std::shared_ptr<Queue>> Device::default_queue() {
  {
    std::lock_guard lock(mutex_);
    if (auto queue = default_queue_.lock()) return queue;
  }
  HALYARD_ASSIGN(auto fresh, create_queue());
  std::lock_guard lock(mutex_);
  // Another thread may have been faster; its queue is the one, and this one dies unused.
  if (auto queue = default_queue_.lock()) return queue;
  default_queue_ = fresh;
  return fresh;
}

Result<std::shared_ptr<Module>> Device::load_module(const ModuleDesc& desc) {
  return hal::load_module(shared_from_this(), desc);
}

Result<Measurements> Device::measurements(bool run) {
  {
    std::lock_guard lock(mutex_);
    if (measured_) return *measured_;
  }
  HALYARD_ASSIGN(Measurements measured, measure_device(shared_from_this(), run));
  std::lock_guard lock(mutex_);
  measured_ = measured;
  return measured;
}

}  // namespace halyard::hal
