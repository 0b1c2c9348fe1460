#include "submission.h"

#include <fmt/format.h>

#include "halyard/hal/device.h"

namespace halyard::hal {

Result<SubmissionForm> SubmissionForm::make(const Device& device, const SubmitOptions& options,
                                            std::size_t command_count) {
  SubmissionForm form;
  for (const SyncPoint& point : options.waits) {
    if (!point.timeline) continue;
    if (point.timeline->device().get() == &device) {
      form.waits_.push_back({point.timeline->handle(), point.value});
    } else {
      HALYARD_TRY(point.wait());
    }
  }
  for (const SyncPoint& point : options.signals) {
    if (!point.timeline || point.timeline->device().get() != &device)
      return fail(ErrorCode::invalid_argument,
                  device.info().uri + ": submit: a signal's timeline is of another device");
    form.signals_.push_back({point.timeline->handle(), point.value});
  }
  if (options.time_stamps != nullptr) {
    if (options.time_stamps->capacity() < command_count)
      return fail(ErrorCode::invalid_argument,
                  fmt::format("{}: submit: {} time stamps for {} commands", device.info().uri,
                              options.time_stamps->capacity(), command_count));
    form.time_stamps_ = options.time_stamps->handle();
  }
  return form;
}

HySubmission SubmissionForm::with(std::span<const HyCommand> commands) const {
  HySubmission submission{};
  submission.size = sizeof submission;
  submission.waits = waits_.data();
  submission.wait_count = static_cast<std::uint32_t>(waits_.size());
  submission.signals = signals_.data();
  submission.signal_count = static_cast<std::uint32_t>(signals_.size());
  submission.commands = commands.data();
  submission.command_count = static_cast<std::uint32_t>(commands.size());
  submission.time_stamps = time_stamps_;
  return submission;
}

}  // namespace halyard::hal
