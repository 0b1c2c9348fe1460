#include "fake_objects.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "fake_backend.h"

using fake::report;
using fake::Work;

namespace fake {
namespace {

std::atomic<std::uint64_t> compilation_count{0};
std::atomic<std::int64_t> live_count{0};

struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = true;
};
Gate gate;

void run(const Recorded& command) {
  const auto at = [&](std::size_t i) { return command.slices[i].buffer->data + command.slices[i].offset; };
  const auto words = [&](std::size_t i) { return reinterpret_cast<std::uint32_t*>(at(i)); };
  if (command.kind == HY_COMMAND_COPY) {
    std::memcpy(at(1), at(0), command.slices[0].bytes);
  } else if (command.kind == HY_COMMAND_FILL) {
    for (std::uint64_t i = 0; i < command.slices[0].bytes; ++i)
      at(0)[i] = static_cast<unsigned char>(command.pattern >> (8 * (i % command.pattern_bytes)));
  } else if (command.grid[0] == 0 || command.grid[1] == 0 || command.grid[2] == 0) {
    return;
  } else if (command.entry == "hold") {
    std::unique_lock lock(gate.mutex);
    gate.changed.wait(lock, [] { return gate.open; });
  } else {
    std::uint32_t factor = 1;
    if (command.entry == "scale_words") std::memcpy(&factor, command.scalars.data(), sizeof factor);
    const std::size_t target = command.entry == "add_words" ? 2 : 1;
    for (std::uint64_t i = 0; i < command.slices[target].bytes / 4; ++i) {
      std::uint32_t value = words(0)[i] * factor;
      if (command.entry == "add_words") value += words(1)[i];
      words(target)[i] = value;
    }
  }
}

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                    std::chrono::nanoseconds(1));
}

}  // namespace

Counted::Counted() {
  ++live_count;
}
Counted::~Counted() {
  --live_count;
}
void count_compilation() {
  ++compilation_count;
}

HyStatus report(HyError* error, HyStatus status, const std::string& message) {
  if (error != nullptr) {
    error->status = status;
    std::snprintf(error->message, sizeof error->message, "%s", message.c_str());
  }
  return status;
}

Recorded record(const HyCommand& command) {
  Recorded result;
  result.kind = command.kind;
  if (command.kind == HY_COMMAND_DISPATCH) {
    const HyDispatch& dispatch = *command.dispatch;
    result.entry = dispatch.module->kernels[dispatch.kernel].entry;
    result.slices.assign(dispatch.buffers, dispatch.buffers + dispatch.buffer_count);
    result.scalar_slot = dispatch.scalar_slot;
    std::memcpy(result.grid, dispatch.grid, sizeof result.grid);
    if (dispatch.scalar_slot == HY_NO_SLOT && dispatch.scalar_bytes != 0) {
      const auto* first = static_cast<const unsigned char*>(dispatch.scalars);
      result.scalars.assign(first, first + dispatch.scalar_bytes);
    }
  } else if (command.kind == HY_COMMAND_COPY) {
    result.slices = {command.copy->source, command.copy->destination};
  } else {
    result.slices = {command.fill->destination};
    result.pattern = command.fill->pattern;
    result.pattern_bytes = command.fill->pattern_bytes;
  }
  return result;
}

void close_gate() {
  std::lock_guard lock(gate.mutex);
  gate.open = false;
}
void open_gate() {
  std::lock_guard lock(gate.mutex);
  gate.open = true;
  gate.changed.notify_all();
}
std::uint64_t compilations() {
  return compilation_count;
}
std::int64_t live_objects() {
  return live_count;
}

}  // namespace fake

bool HyDevice::strikes(uint32_t fault) {
  std::lock_guard lock(mutex);
  const auto it = faults.find(fault);
  if (it == faults.end() || it->second-- != 0) return false;
  faults.erase(it);
  return true;
}

void HyDevice::lose() {
  std::lock_guard lock(mutex);
  lost = true;
  changed.notify_all();
}

void HyTimeline::raise(std::uint64_t value, HyStatus status, const std::string& message) {
  std::lock_guard lock(device->mutex);
  if (value > reached) reached = value;
  if (status != HY_OK) failures[value] = {status, message};
  device->changed.notify_all();
}

HyStatus HyTimeline::outcome(std::uint64_t value, HyError* error) const {
  const auto it = failures.find(value);
  return it == failures.end() ? HY_OK : report(error, it->second.first, it->second.second);
}

HyStatus HyTimeline::wait(std::uint64_t value, std::uint64_t timeout_ns, HyError* error) {
  std::unique_lock lock(device->mutex);
  const auto done = [&] { return reached >= value || device->lost; };
  if (timeout_ns == UINT64_MAX)
    device->changed.wait(lock, done);
  else if (!device->changed.wait_for(lock, std::chrono::nanoseconds(timeout_ns), done))
    return report(error, HY_TIMEOUT, "not reached");
  if (reached >= value) return outcome(value, error);
  return report(error, HY_DEVICE_LOST, "the fake device was lost (simulated)");
}

HyStatus HyQueue::perform(Work& item, std::string& message) {
  for (const HySyncPoint& point : item.waits) {
    HyError error{};
    error.size = sizeof error;
    if (const HyStatus status = point.timeline->wait(point.value, UINT64_MAX, &error); status != HY_OK) {
      message = std::string("a wait failed: ") + error.message;
      return status;
    }
  }
  if (item.fails) {
    message = "the submission failed (simulated)";
    return HY_INTERNAL;
  }
  for (std::size_t i = 0; i < item.commands.size(); ++i) {
    const std::uint64_t begin = fake::now_ns();
    fake::run(item.commands[i]);
    if (item.stamps != nullptr) item.stamps->spans[i] = {begin, fake::now_ns()};
  }
  return HY_OK;
}

void HyQueue::loop() {
  for (;;) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return ending || !work.empty(); });
    if (work.empty()) return;
    Work item = std::move(work.front());
    work.pop_front();
    lock.unlock();
    std::string message;
    const HyStatus status = perform(item, message);
    for (const HySyncPoint& point : item.signals) point.timeline->raise(point.value, status, message);
    timeline.raise(item.value, status, message);
  }
}

std::uint64_t HyQueue::push(Work item) {
  std::lock_guard lock(mutex);
  item.value = ++submitted;
  work.push_back(std::move(item));
  changed.notify_all();
  return submitted;
}
