#include "queue.h"

#include "device.h"
#include "error.h"

using halyard::Error;
using halyard::ErrorCode;
using halyard::Status;
using halyard::interpreter::Submission;

namespace {

/// How often a queue that waits for another timeline looks whether the device was lost meanwhile.
constexpr std::chrono::milliseconds lost_poll{5};

}  // namespace

HyQueue::HyQueue(HyDevice& device) : device_(device), thread_([this] { run_pending(); }) {}

HyQueue::~HyQueue() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

halyard::Result<std::uint64_t> HyQueue::submit(Submission submission) {
  HALYARD_TRY(device_.status());
  if (device_.fault_fires(HY_FAULT_DEVICE_LOST))
    submission.injected_fault =
        Error{ErrorCode::device_lost, "interpreter: the device was lost (an injected fault)"};
  else if (device_.fault_fires(HY_FAULT_SUBMISSION_FAILS))
    submission.injected_fault =
        Error{ErrorCode::internal, "interpreter: the submission failed (an injected fault)"};
  std::lock_guard lock(mutex_);
  submission.value = ++submitted_;
  pending_.push_back(std::move(submission));
  changed_.notify_all();
  return submitted_;
}

void HyQueue::run_pending() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !pending_.empty(); });
    if (pending_.empty()) return;
    Submission submission = std::move(pending_.front());
    pending_.pop_front();
    lock.unlock();
    Status status;
    try {
      status = run(submission);
    } catch (const std::exception& exception) {
      status = halyard::fail(ErrorCode::internal, std::string("interpreter: ") + exception.what());
    }
    const Error* failure = status ? nullptr : &status.error();
    for (const HySyncPoint& point : submission.signals) (void)point.timeline->advance(point.value, failure);
    (void)timeline_.advance(submission.value, failure);
    lock.lock();
  }
}

Status HyQueue::wait_for_others(const Submission& submission) const {
  for (const HySyncPoint& point : submission.waits) {
    while (!point.timeline->wait(point.value, HyTimeline::Clock::now() + lost_poll))
      HALYARD_TRY(device_.status());
    if (Status outcome = point.timeline->outcome(point.value); !outcome)
      return halyard::fail(outcome.error().code, "interpreter: a submission waited for work that failed: " +
                                                     outcome.error().message);
  }
  return {};
}

Status HyQueue::run(const Submission& submission) const {
  HALYARD_TRY(wait_for_others(submission));
  HALYARD_TRY(device_.status());
  if (submission.injected_fault) {
    if (submission.injected_fault->code == ErrorCode::device_lost) device_.lose(*submission.injected_fault);
    return tl::unexpected<Error>(*submission.injected_fault);
  }
  for (std::size_t i = 0; i < submission.commands.size(); ++i) {
    HALYARD_TRY(device_.status());
    std::uint64_t begin = HyTimeStamps::now();
    if (Status status = halyard::interpreter::execute(submission.commands[i]); !status)
      return halyard::fail(status.error().code,
                           "interpreter: command " + std::to_string(i) + ": " + status.error().message);
    if (submission.time_stamps) submission.time_stamps->spans[i] = {begin, HyTimeStamps::now()};
  }
  return {};
}

namespace halyard::interpreter {

HyStatus queue_create(HyDevice* device, const HyQueueDesc* desc, HyQueue** queue, HyError* error) {
  return at_border(error, [&]() -> Status {
    HALYARD_TRY(device->status());
    if (desc && read_sized(desc).foreign_queue)
      return fail(ErrorCode::unsupported,
                  "interpreter: queue_create: there are no foreign queues: leave it NULL");
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
    const HySubmission known = read_sized(submission);
    Submission copied;
    HALYARD_ASSIGN(copied.commands, record_all(known.commands, known.command_count));
    if (known.wait_count) copied.waits.assign(known.waits, known.waits + known.wait_count);
    if (known.signal_count) copied.signals.assign(known.signals, known.signals + known.signal_count);
    copied.time_stamps = known.time_stamps;
    if (copied.time_stamps && copied.time_stamps->spans.size() < copied.commands.size())
      return fail(ErrorCode::invalid_argument, "interpreter: queue_submit: fewer time stamps than commands");
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

}  // namespace halyard::interpreter
