#include "halyard/hal/sync_point.h"

#include <fmt/format.h>

#include "backend_call.h"
#include "halyard/hal/device.h"

namespace halyard::hal {

Timeline::Timeline(std::shared_ptr<Device> device, HyTimeline* handle, std::shared_ptr<void> owner)
    : device_(std::move(device)), handle_(handle), owner_(std::move(owner)) {}

Timeline::~Timeline() {
  if (!owner_ && device_->backend().timeline_destroy != nullptr) device_->backend().timeline_destroy(handle_);
  owner_.reset();  // before the device
}

Result<std::shared_ptr<Timeline>> Timeline::create(const std::shared_ptr<Device>& device,
                                                   std::uint64_t initial) {
  const std::string& uri = device->info().uri;
  if (device->backend().timeline_create == nullptr)
    return tl::unexpected<Error>(missing_function(uri, "create timeline"));
  HyTimeline* handle = nullptr;
  BackendError error;
  HALYARD_TRY(to_status(device->backend().timeline_create(device->handle(), initial, &handle, &error), error,
                        uri, "create timeline"));
  return std::make_shared<Timeline>(device, handle, nullptr);
}

Result<std::shared_ptr<Timeline>> Timeline::import_from(const std::shared_ptr<Device>& device,
                                                        const HyHandle& handle) {
  const std::string& uri = device->info().uri;
  if (device->backend().timeline_import == nullptr)
    return tl::unexpected<Error>(missing_function(uri, "import timeline"));
  HyTimeline* timeline = nullptr;
  BackendError error;
  HALYARD_TRY(to_status(device->backend().timeline_import(device->handle(), &handle, &timeline, &error),
                        error, uri, "import timeline"));
  return std::make_shared<Timeline>(device, timeline, nullptr);
}

Result<HyHandle> Timeline::export_as(std::uint32_t handle_kind) const {
  const std::string& uri = device_->info().uri;
  if (device_->backend().timeline_export == nullptr)
    return tl::unexpected<Error>(missing_function(uri, "export timeline"));
  HyHandle handle{};
  handle.size = sizeof handle;
  handle.kind = handle_kind;
  BackendError error;
  HALYARD_TRY(
      to_status(device_->backend().timeline_export(handle_, &handle, &error), error, uri, "export timeline"));
  return handle;
}

Status Timeline::signal(std::uint64_t value) {
  if (device_->backend().timeline_signal == nullptr)
    return tl::unexpected<Error>(missing_function(device_->info().uri, "signal timeline"));
  BackendError error;
  return to_status(device_->backend().timeline_signal(handle_, value, &error), error, device_->info().uri,
                   "signal timeline");
}

Status Timeline::wait(std::uint64_t value, std::optional<std::chrono::nanoseconds> timeout) const {
  std::uint64_t nanoseconds = UINT64_MAX;
  if (timeout) nanoseconds = timeout->count() > 0 ? static_cast<std::uint64_t>(timeout->count()) : 0;
  BackendError error;
  const HyStatus status = device_->backend().timeline_wait(handle_, value, nanoseconds, &error);
  if (status == HY_TIMEOUT)
    return fail(ErrorCode::timeout,
                fmt::format("{}: wait: point {} was not reached within {:.3f} s", device_->info().uri, value,
                            static_cast<double>(nanoseconds) * 1e-9));
  return to_status(status, error, device_->info().uri, "wait");
}

Result<std::uint64_t> Timeline::value() const {
  std::uint64_t reached = 0;
  BackendError error;
  HALYARD_TRY(to_status(device_->backend().timeline_query(handle_, &reached, &error), error,
                        device_->info().uri, "query timeline"));
  return reached;
}

Status Timeline::outcome(std::uint64_t value) const {
  BackendError error;
  return to_status(device_->backend().timeline_error(handle_, value, &error), error, device_->info().uri,
                   "submission");
}

Status SyncPoint::wait(std::optional<std::chrono::nanoseconds> timeout) const {
  if (!timeline) return {};
  return timeline->wait(value, timeout);
}

bool SyncPoint::reached() const {
  if (!timeline) return true;
  const auto now = timeline->value();
  // A timeline that cannot be asked belongs to a lost device: nothing more will happen to the work.
  return !now || *now >= value;
}

}  // namespace halyard::hal
