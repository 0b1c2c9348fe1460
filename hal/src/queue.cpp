#include "halyard/hal/queue.h"

#include <fmt/format.h>

#include <cstring>

#include "backend_call.h"
#include "command_list.h"
#include "halyard/hal/device.h"
#include "submission.h"

namespace halyard::hal {

Queue::Queue(std::shared_ptr<Device> device, HyQueue* handle) : device_(std::move(device)), handle_(handle) {
  // The handle lives as long as anyone may still ask for one of its points.
  std::shared_ptr<void> owner(handle, [backend = &device_->backend()](void* queue) {
    backend->queue_destroy(static_cast<HyQueue*>(queue));
  });
  timeline_ =
      std::make_shared<Timeline>(device_, device_->backend().queue_timeline(handle), std::move(owner));
}

Queue::~Queue() {
  (void)last().wait();
}

Result<SyncPoint> Queue::submit(Command command, const SubmitOptions& options) {
  return submit(std::span<const Command>(&command, 1), options);
}

Result<SyncPoint> Queue::submit(std::span<const Command> commands, const SubmitOptions& options) {
  CommandList list(*device_);
  for (const Command& command : commands) HALYARD_TRY(list.add(command));
  HALYARD_ASSIGN(const SubmissionForm form, SubmissionForm::make(*device_, options, list.commands().size()));
  const HySubmission submission = form.with(list.commands());

  std::lock_guard lock(mutex_);
  std::uint64_t value = 0;
  BackendError error;
  HALYARD_TRY(to_status(device_->backend().queue_submit(handle_, &submission, &value, &error), error,
                        device_->info().uri, "submit"));
  submitted_ = value;
  SyncPoint end = point(value);
  list.used_until(end);
  release_finished_work();
  if (auto modules = list.modules(); !modules.empty()) in_flight_.push_back({value, std::move(modules)});
  return end;
}

void Queue::release_finished_work() {
  if (in_flight_.empty()) return;
  const auto reached = timeline_->value();
  while (!in_flight_.empty() && (!reached || in_flight_.front().value <= *reached)) in_flight_.pop_front();
}

Result<SyncPoint> Queue::upload(std::span<const std::byte> bytes, const BufferSlice& destination) {
  if (bytes.size() != destination.bytes)
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}: upload: {} bytes into a slice of {}", device_->info().uri, bytes.size(),
                            destination.bytes));
  HALYARD_TRY(resolve_slice(*device_, destination, device_->info().uri + ": upload: the destination"));
  if (bytes.empty()) return last();
  if (std::byte* pointer = destination.buffer->host_pointer();
      pointer != nullptr && destination.buffer->idle()) {
    std::memcpy(pointer + destination.offset, bytes.data(), bytes.size());
    return SyncPoint{};
  }
  HALYARD_ASSIGN(auto staging, device_->allocate({.bytes = bytes.size(), .memory = Memory::upload}));
  if (staging->host_pointer() == nullptr)
    return fail(ErrorCode::internal,
                device_->info().uri + ": upload: the backend does not map upload memory");
  std::memcpy(staging->host_pointer(), bytes.data(), bytes.size());
  return submit(Copy{BufferSlice(staging), destination});
}

Status Queue::download(const BufferSlice& source, std::span<std::byte> bytes,
                       std::optional<std::chrono::nanoseconds> timeout) {
  if (bytes.size() != source.bytes)
    return fail(ErrorCode::invalid_argument, fmt::format("{}: download: a slice of {} bytes into {}",
                                                         device_->info().uri, source.bytes, bytes.size()));
  HALYARD_TRY(resolve_slice(*device_, source, device_->info().uri + ": download: the source"));
  if (const std::byte* pointer = source.buffer->host_pointer(); pointer != nullptr || bytes.empty()) {
    HALYARD_TRY(wait_idle(timeout));
    if (!bytes.empty()) std::memcpy(bytes.data(), pointer + source.offset, bytes.size());
    return {};
  }
  HALYARD_ASSIGN(auto staging, device_->allocate({.bytes = bytes.size(), .memory = Memory::readback}));
  if (staging->host_pointer() == nullptr)
    return fail(ErrorCode::internal,
                device_->info().uri + ": download: the backend does not map readback memory");
  const SyncPoint earlier = last();
  HALYARD_ASSIGN(const SyncPoint end, submit(Copy{source, BufferSlice(staging)}));
  HALYARD_TRY(end.wait(timeout));
  HALYARD_TRY(earlier.timeline->outcome(earlier.value));
  std::memcpy(bytes.data(), staging->host_pointer(), bytes.size());
  return {};
}

SyncPoint Queue::last() const {
  std::lock_guard lock(mutex_);
  return point(submitted_);
}

Status Queue::wait_idle(std::optional<std::chrono::nanoseconds> timeout) {
  return last().wait(timeout);
}

TimeStamps::TimeStamps(std::shared_ptr<Device> device, HyTimeStamps* handle, std::uint32_t capacity)
    : device_(std::move(device)), handle_(handle), capacity_(capacity) {}

TimeStamps::~TimeStamps() {
  device_->backend().time_stamps_destroy(handle_);
}

Result<std::unique_ptr<TimeStamps>> TimeStamps::create(const std::shared_ptr<Device>& device,
                                                       std::uint32_t capacity) {
  const HyBackend& backend = device->backend();
  if (backend.time_stamps_create == nullptr || backend.time_stamps_destroy == nullptr ||
      backend.time_stamps_read == nullptr)
    return tl::unexpected<Error>(missing_function(device->info().uri, "create time stamps"));
  HyTimeStamps* handle = nullptr;
  BackendError error;
  HALYARD_TRY(to_status(backend.time_stamps_create(device->handle(), capacity, &handle, &error), error,
                        device->info().uri, "create time stamps"));
  return std::unique_ptr<TimeStamps>(new TimeStamps(device, handle, capacity));
}

Result<std::vector<TimeSpan>> TimeStamps::read(std::uint32_t count) const {
  if (count > capacity_)
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}: read time stamps: {} of {}", device_->info().uri, count, capacity_));
  std::vector<HyTimeSpan> raw(count);
  BackendError error;
  HALYARD_TRY(to_status(device_->backend().time_stamps_read(handle_, 0, count, raw.data(), &error), error,
                        device_->info().uri, "read time stamps"));
  std::vector<TimeSpan> spans;
  spans.reserve(count);
  for (const HyTimeSpan& span : raw) spans.push_back({span.begin_ns, span.end_ns});
  return spans;
}

}  // namespace halyard::hal
