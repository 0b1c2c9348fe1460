#pragma once

#include <halyard/base/result.h>
#include <halyard/hal/plugin.h>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "command_list.h"
#include "timeline.h"

/// Begin and end of each command of a submission.
struct HyTimeStamps : halyard::hal::backend::HostTimeStamps {};

namespace halyard::interpreter {

struct Submission {
  std::vector<HySyncPoint> waits, signals;
  std::vector<RecordedCommand> commands;
  HyTimeStamps* time_stamps = nullptr;
  std::uint64_t value = 0;              ///< of the queue's timeline, at the end
  std::optional<Error> injected_fault;  ///< fails instead of running
};

}  // namespace halyard::interpreter

/// An in-order queue; a thread of its own runs the work.
struct HyQueue {
 public:
  explicit HyQueue(HyDevice& device);
  /// Waits for the work to end.
  ~HyQueue();

  HyTimeline& timeline() { return timeline_; }
  /// Enqueues; the value that the timeline will reach. Externally synchronized.
  halyard::Result<std::uint64_t> submit(halyard::interpreter::Submission submission);

 private:
  void run_pending();
  halyard::Status wait_for_others(const halyard::interpreter::Submission& submission) const;
  halyard::Status run(const halyard::interpreter::Submission& submission) const;

  HyDevice& device_;
  HyTimeline timeline_{0, true};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<halyard::interpreter::Submission> pending_;
  bool stopping_ = false;
  std::uint64_t submitted_ = 0;
  std::thread thread_;  // last: it uses all of the above
};

namespace halyard::interpreter {

HyStatus queue_create(HyDevice* device, const HyQueueDesc* desc, HyQueue** queue, HyError* error);
void queue_destroy(HyQueue* queue);
HyTimeline* queue_timeline(HyQueue* queue);
HyStatus queue_submit(HyQueue* queue, const HySubmission* submission, std::uint64_t* value, HyError* error);
HyStatus time_stamps_create(HyDevice* device, std::uint32_t capacity, HyTimeStamps** stamps, HyError* error);
void time_stamps_destroy(HyTimeStamps* stamps);
HyStatus time_stamps_read(HyTimeStamps* stamps, std::uint32_t first, std::uint32_t count, HyTimeSpan* spans,
                          HyError* error);

}  // namespace halyard::interpreter
