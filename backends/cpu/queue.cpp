#include "queue.h"
#include <fmt/format.h>
#include <algorithm>
#include <exception>
#include "device.h"
#include "error.h"

using halyard::Error;
using halyard::ErrorCode;
using halyard::Status;
using halyard::cpu::Submission;

namespace {

/// How often a queue that waits for another timeline looks whether the device was lost meanwhile.
constexpr std::chrono::milliseconds lost_poll{5};

bool passed(const std::optional<HyTimeline::Clock::time_point>& deadline) {
  return deadline && HyTimeline::Clock::now() >= *deadline;
}

}  // namespace

HyQueue::HyQueue(HyDevice& device)
    : device_(device), timeline_(0, this), thread_([this] { run_pending(); }) {}

HyQueue::~HyQueue() {
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();  // ends once nothing is pending
  // A helping thread may have run the last submission and still be leaving.
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !running_; });
}

halyard::Result<std::uint64_t> HyQueue::submit(std::unique_ptr<Submission> submission) {
  HALYARD_TRY(device_.status());
  if (device_.fault_fires(HY_FAULT_DEVICE_LOST)) {
    submission->loses_device = true;
    submission->injected_fault =
        Error{ErrorCode::device_lost, "cpu: the device was lost (an injected fault)"};
  } else if (device_.fault_fires(HY_FAULT_SUBMISSION_FAILS)) {
    submission->injected_fault = Error{ErrorCode::internal, "cpu: the submission failed (an injected fault)"};
  }
  std::lock_guard lock(mutex_);
  submission->value = submitted_ + 1;
  pending_.push_back(std::move(submission));
  ++submitted_;
  if (!running_) changed_.notify_one();
  return submitted_;
}

void HyQueue::run_pending() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return !running_ && (stopping_ || !pending_.empty()); });
    if (pending_.empty()) return;
    running_ = true;
    Submission& front = *pending_.front();
    lock.unlock();
    if (!front.waited) {
      Status others = wait_for_others(front);
      front.waited = true;
      if (!others && !front.injected_fault) front.injected_fault = others.error();
    }
    bool done = advance(front, std::nullopt);
    lock.lock();
    if (done) pending_.pop_front();
    running_ = false;
  }
}

void HyQueue::help(std::uint64_t value, Deadline deadline) {
  std::unique_lock lock(mutex_);
  while (timeline_.value() < value && !running_ && !pending_.empty()) {
    Submission& front = *pending_.front();
    if (!front.waited && !waits_are_reached(front)) break;
    running_ = true;
    lock.unlock();
    if (!front.waited) {
      Status others = wait_for_others(front);  // all are reached: only their outcome is asked
      front.waited = true;
      if (!others && !front.injected_fault) front.injected_fault = others.error();
    }
    bool done = advance(front, deadline);
    lock.lock();
    if (done) pending_.pop_front();
    running_ = false;
    if (passed(deadline)) break;
  }
  // The queue's own thread goes on with what is left.
  if (!running_ && (!pending_.empty() || stopping_)) changed_.notify_all();
}

bool HyQueue::waits_are_reached(const Submission& submission) const {
  return std::all_of(submission.waits.begin(), submission.waits.end(),
                     [](const HySyncPoint& point) { return point.timeline->value() >= point.value; });
}

Status HyQueue::wait_for_others(const Submission& submission) {
  for (const HySyncPoint& point : submission.waits) {
    while (!point.timeline->wait(point.value, HyTimeline::Clock::now() + lost_poll))
      HALYARD_TRY(device_.status());
    if (Status outcome = point.timeline->outcome(point.value); !outcome)
      return halyard::fail(
          outcome.error().code,
          fmt::format("cpu: a submission waited for work that failed: {}", outcome.error().message));
  }
  return {};
}

/// Runs the submission until it is done (true) or the deadline has passed (false). Only one thread at a time.
bool HyQueue::advance(Submission& submission, const Deadline& deadline) {
  Status status = device_.status();
  if (status && submission.injected_fault) {
    if (submission.loses_device) device_.lose(*submission.injected_fault);
    status = tl::unexpected<Error>(*submission.injected_fault);
  }
  if (status) {
    try {
      run_commands(submission, deadline);
    } catch (const std::bad_alloc&) {
      status = halyard::fail(ErrorCode::out_of_memory,
                             fmt::format("cpu: command {}: no memory for scratch", submission.next_command));
    } catch (const std::exception& exception) {
      status = halyard::fail(ErrorCode::internal,
                             fmt::format("cpu: command {}: {}", submission.next_command, exception.what()));
    }
    if (status && submission.next_command < submission.commands->size()) return false;
  }
  finish(submission, status);
  return true;
}

void HyQueue::run_commands(Submission& submission, const Deadline& deadline) {
  const halyard::cpu::CommandList& commands = *submission.commands;
  auto run = [&] {
    while (submission.next_command < commands.size()) {
      std::size_t i = submission.next_command;
      std::uint64_t begin = submission.time_stamps ? HyTimeStamps::now() : 0;
      halyard::cpu::execute(device_, commands[i], submission.arguments);
      if (submission.time_stamps) submission.time_stamps->spans[i] = {begin, HyTimeStamps::now()};
      submission.next_command = i + 1;
      if (passed(deadline)) return;
    }
  };
  if (commands.size() > 1)
    device_.pool.enter(run);  // threads woken for one command stay for the next
  else
    run();
}

void HyQueue::finish(Submission& submission, const Status& status) {
  const Error* failure = status ? nullptr : &status.error();
  for (const HySyncPoint& point : submission.signals)
    if (Status raised = point.timeline->advance(point.value, failure); !raised && !failure) {
      // A signal that does not grow is the caller's mistake; the work itself is done.
      continue;
    }
  (void)timeline_.advance(submission.value, failure);
}

namespace halyard::cpu {

std::unique_ptr<Submission> copy_submission(const HySubmission& from) {
  auto submission = std::make_unique<Submission>();
  if (from.wait_count) submission->waits.assign(from.waits, from.waits + from.wait_count);
  if (from.signal_count) submission->signals.assign(from.signals, from.signals + from.signal_count);
  submission->time_stamps = from.time_stamps;
  return submission;
}

HyStatus queue_create(HyDevice* device, const HyQueueDesc* desc, HyQueue** queue, HyError* error) {
  return at_border(error, [&]() -> Status {
    HALYARD_TRY(device->status());
    if (desc && desc->foreign_queue)
      return fail(ErrorCode::unsupported,
                  "cpu: queue_create: the cpu has no foreign queues: leave foreign_queue NULL");
    *queue = new HyQueue(*device);
    return {};
  });
}

void queue_destroy(HyQueue* queue) {
  delete queue;
}

HyTimeline* queue_timeline(HyQueue* queue) {
  return &queue->timeline();
}

HyStatus queue_submit(HyQueue* queue, const HySubmission* submission, std::uint64_t* value, HyError* error) {
  return at_border(error, [&]() -> Status {
    HALYARD_ASSIGN(CommandList list, record_all(submission->commands, submission->command_count, 0, 0));
    auto copied = copy_submission(*submission);
    if (copied->time_stamps && copied->time_stamps->spans.size() < list.size())
      return fail(ErrorCode::invalid_argument,
                  fmt::format("cpu: queue_submit: time stamps for {} of {} commands",
                              copied->time_stamps->spans.size(), list.size()));
    copied->commands = std::make_shared<const CommandList>(std::move(list));
    HALYARD_ASSIGN(*value, queue->submit(std::move(copied)));
    return {};
  });
}

HyStatus time_stamps_create(HyDevice*, std::uint32_t capacity, HyTimeStamps** stamps, HyError* error) {
  return at_border(error, [&]() -> Status {
    *stamps = new HyTimeStamps{{std::vector<HyTimeSpan>(capacity)}};
    return {};
  });
}

void time_stamps_destroy(HyTimeStamps* stamps) {
  delete stamps;
}

HyStatus time_stamps_read(HyTimeStamps* stamps, std::uint32_t first, std::uint32_t count, HyTimeSpan* spans,
                          HyError* error) {
  return at_border(error, [&] { return stamps->read(first, count, spans); });
}

}  // namespace halyard::cpu
