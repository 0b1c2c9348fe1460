#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "halyard/base/result.h"
#include "halyard/hal/buffer.h"
#include "halyard/hal/module.h"
#include "halyard/hal/sync_point.h"

namespace halyard::hal {

/// Runs a kernel over a grid of workgroups. A slice that the kernel writes must overlap no other slice of the
/// dispatch.
struct Dispatch {
  Kernel kernel;
  std::array<std::uint32_t, 3> grid{1, 1, 1};  ///< workgroups; a zero means nothing to do
  std::vector<BufferSlice> buffers;            ///< in the kernel's order
  std::vector<std::byte> scalars;              ///< see ScalarBlock
  std::uint32_t dynamic_shared_bytes = 0;
  std::array<std::uint32_t, 3> block{0, 0, 0};    ///< zeros: the kernel's workgroup size
  std::array<std::uint32_t, 3> cluster{0, 0, 0};  ///< zeros: none
  std::vector<HyOpaqueParameter> opaque;
};

/// Copies `source.bytes` bytes; the two slices have equal length and do not overlap.
struct Copy {
  BufferSlice source, destination;
};

/// Repeats the low `pattern_bytes` (1, 2 or 4) bytes of `pattern` over the slice.
struct Fill {
  BufferSlice destination;
  std::uint32_t pattern = 0;
  std::uint32_t pattern_bytes = 4;
};

using Command = std::variant<Dispatch, Copy, Fill>;

/// When a command ran, in nanoseconds of the device's clock.
struct TimeSpan {
  std::uint64_t begin_ns = 0, end_ns = 0;
};

/// Filled by a submission with time stamps; read it once the sync point is reached.
class TimeStamps;

struct SubmitOptions {
  /// Those of other devices are waited for by the host inside the call, which blocks until they end and fails
  /// if their work failed: they must not depend on anything that the same thread does later.
  std::span<const SyncPoint> waits;
  std::span<const SyncPoint> signals;  ///< on timelines made by Timeline::create or import_from
  TimeStamps* time_stamps = nullptr;   ///< at least as long as the commands; must outlive the work
};

/// A caller's own stream or queue, with callbacks around every use of it. It must outlive the Queue.
struct QueueDesc {
  bool high_priority = false;
  void* foreign_queue = nullptr;  ///< CUstream, hipStream_t, VkQueue
  std::uint32_t foreign_queue_family = 0;
  void (*lock)(void* user_data) = nullptr;
  void (*unlock)(void* user_data) = nullptr;
  void* user_data = nullptr;
};

/// An in-order, asynchronous stream of work. Each submission begins after the one before it ended; within
/// one, each command sees the writes of those before it. Made by `Device::create_queue`. Safe from any
/// thread: submissions from several threads are taken one after another. Destruction waits for the queue's
/// work.
class Queue : public std::enable_shared_from_this<Queue> {
 public:
  Queue(std::shared_ptr<Device> device, HyQueue* handle);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  const std::shared_ptr<Device>& device() const { return device_; }
  HyQueue* handle() const { return handle_; }

  /// Enqueues and returns at once. On an error nothing was enqueued. Failures of the work itself appear at
  /// the point.
  Result<SyncPoint> submit(std::span<const Command> commands, const SubmitOptions& options = {});
  Result<SyncPoint> submit(Command command, const SubmitOptions& options = {});

  /// Copies host bytes into a slice of equal length; the bytes are read before this returns.
  Result<SyncPoint> upload(std::span<const std::byte> bytes, const BufferSlice& destination);
  /// Waits for all earlier work of this queue, then copies a slice into host bytes of equal length. Fails if
  /// the last submission before it failed.
  Status download(const BufferSlice& source, std::span<std::byte> bytes,
                  std::optional<std::chrono::nanoseconds> timeout = std::nullopt);

  /// The end of all that was submitted so far.
  SyncPoint last() const;
  /// Waits for all that was submitted so far; `timeout` error if a bound is given and passes.
  Status wait_idle(std::optional<std::chrono::nanoseconds> timeout = std::nullopt);

 private:
  friend class CommandGraph;
  friend class Pool;
  /// Work that still needs objects which the caller may have dropped.
  struct InFlight {
    std::uint64_t value;
    std::vector<std::shared_ptr<const void>> objects;
  };
  SyncPoint point(std::uint64_t value) const { return SyncPoint{timeline_, value}; }
  void release_finished_work();
  std::shared_ptr<Device> device_;
  HyQueue* handle_;
  std::shared_ptr<Timeline> timeline_;
  mutable std::mutex mutex_;
  std::deque<InFlight> in_flight_;
  std::uint64_t submitted_ = 0;
};

class TimeStamps {
 public:
  static Result<std::unique_ptr<TimeStamps>> create(const std::shared_ptr<Device>& device,
                                                    std::uint32_t capacity);
  ~TimeStamps();
  TimeStamps(const TimeStamps&) = delete;
  TimeStamps& operator=(const TimeStamps&) = delete;
  std::uint32_t capacity() const { return capacity_; }
  HyTimeStamps* handle() const { return handle_; }
  /// The first `count` commands' spans, once the submission that wrote them was reached.
  Result<std::vector<TimeSpan>> read(std::uint32_t count) const;

 private:
  TimeStamps(std::shared_ptr<Device> device, HyTimeStamps* handle, std::uint32_t capacity);
  std::shared_ptr<Device> device_;
  HyTimeStamps* handle_;
  std::uint32_t capacity_;
};

}  // namespace halyard::hal
