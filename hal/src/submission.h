#pragma once

#include <vector>

#include "halyard/base/result.h"
#include "halyard/hal/queue.h"

namespace halyard::hal {

/// A submission's waits, signals and time stamps in the form that backends take. Waits for points of other
/// devices happen here, on the host.
class SubmissionForm {
 public:
  static Result<SubmissionForm> make(const Device& device, const SubmitOptions& options,
                                     std::size_t command_count);
  HySubmission with(std::span<const HyCommand> commands) const;

 private:
  std::vector<HySyncPoint> waits_, signals_;
  HyTimeStamps* time_stamps_ = nullptr;
};

}  // namespace halyard::hal
