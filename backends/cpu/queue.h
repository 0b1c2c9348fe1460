#pragma once

#include <halyard/base/result.h>
#include <halyard/hal/plugin.h>
#include <condition_variable>
#include <cstdint>
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

namespace halyard::cpu {

/// One submission on its way through a queue.
struct Submission {
  std::vector<HySyncPoint> waits, signals;
  std::shared_ptr<const CommandList> commands;
  Arguments arguments;
  HyTimeStamps* time_stamps = nullptr;
  std::uint64_t value = 0;              // of the queue's timeline, once done
  std::optional<Error> injected_fault;  // fails instead of running
  bool loses_device = false;
  // progress
  bool waited = false;
  std::size_t next_command = 0;
};

}  // namespace halyard::cpu

/// An in-order queue. Its own thread runs the work; a host thread that waits for the queue runs it instead if
/// it comes first (`help`), which saves two switches between threads.
struct HyQueue {
 public:
  explicit HyQueue(HyDevice& device);
  ~HyQueue();

  HyDevice& device() { return device_; }
  HyTimeline& timeline() { return timeline_; }

  /// Enqueues; the value that the timeline will reach. Externally synchronized.
  halyard::Result<std::uint64_t> submit(std::unique_ptr<halyard::cpu::Submission> submission);

  /// Runs pending work on this thread while that can bring the timeline nearer to `value`; returns when it is
  /// reached, when another thread is at it, when work must wait for something else, or soon after the
  /// deadline.
  void help(std::uint64_t value, std::optional<HyTimeline::Clock::time_point> deadline);

 private:
  using Deadline = std::optional<HyTimeline::Clock::time_point>;
  void run_pending();
  bool advance(halyard::cpu::Submission& submission, const Deadline& deadline);
  bool waits_are_reached(const halyard::cpu::Submission& submission) const;
  halyard::Status wait_for_others(const halyard::cpu::Submission& submission);
  void run_commands(halyard::cpu::Submission& submission, const Deadline& deadline);
  void finish(halyard::cpu::Submission& submission, const halyard::Status& status);

  HyDevice& device_;
  HyTimeline timeline_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<halyard::cpu::Submission>> pending_;  // the front one may be running
  bool running_ = false;                                           // some thread advances the front one
  bool stopping_ = false;
  std::uint64_t submitted_ = 0;
  std::thread thread_;
};

namespace halyard::cpu {

/// What HySubmission says apart from its commands.
std::unique_ptr<Submission> copy_submission(const HySubmission& from);

HyStatus queue_create(HyDevice* device, const HyQueueDesc* desc, HyQueue** queue, HyError* error);
void queue_destroy(HyQueue* queue);
HyTimeline* queue_timeline(HyQueue* queue);
HyStatus queue_submit(HyQueue* queue, const HySubmission* submission, std::uint64_t* value, HyError* error);

HyStatus time_stamps_create(HyDevice* device, std::uint32_t capacity, HyTimeStamps** stamps, HyError* error);
void time_stamps_destroy(HyTimeStamps* stamps);
HyStatus time_stamps_read(HyTimeStamps* stamps, std::uint32_t first, std::uint32_t count, HyTimeSpan* spans,
                          HyError* error);

}  // namespace halyard::cpu
