#include <fmt/format.h>

#include "validation_objects.h"

namespace halyard::hal::validation {

CheckedSubmission::CheckedSubmission(const std::shared_ptr<Device>& device, const HySubmission& submission)
    : device_(device), submission_(submission) {
  for (std::uint32_t i = 0; i < submission.wait_count; ++i) {
    const auto timeline = tables().timelines.find(submission.waits[i].timeline);
    if (!timeline || timeline->device != device) {
      reject(fmt::format("wait {} is for a timeline that was destroyed or is of another device", i));
      return;
    }
    waits_.push_back({timeline->inner, submission.waits[i].value});
  }
  for (std::uint32_t i = 0; i < submission.signal_count; ++i) {
    const auto timeline = tables().timelines.find(submission.signals[i].timeline);
    if (!timeline || timeline->device != device || timeline->of_queue) {
      reject(fmt::format(
          "signal {} is on a timeline that was destroyed, is of another device or a queue's own", i));
      return;
    }
    signals_.push_back({timeline->inner, submission.signals[i].value});
  }
  if (submission.time_stamps != nullptr) {
    time_stamps_ = tables().time_stamps.find(submission.time_stamps);
    if (!time_stamps_ || time_stamps_->device != device)
      reject("the time stamps were destroyed or are of another device");
  }
}

bool CheckedSubmission::reject(const std::string& text) {
  if (problem_.empty()) problem_ = text;
  return false;
}

void CheckedSubmission::allow_slots(std::uint32_t buffers, std::uint32_t scalars) {
  slots_allowed_ = true;
  buffer_slots_ = buffers;
  scalar_slots_ = scalars;
}

bool CheckedSubmission::translate(const HySlice& slice, HySlice& inner, const std::string& role) {
  inner = slice;
  if (slice.buffer == nullptr) {
    if (!slots_allowed_) return reject(role + " has no buffer");
    if (slice.slot >= buffer_slots_)
      return reject(fmt::format("{} names slot {} of {}", role, slice.slot, buffer_slots_));
    return true;
  }
  const auto buffer = tables().buffers.find(slice.buffer);
  if (!buffer) return reject(role + " was destroyed");
  const bool reachable = buffer->device == device_ || device_->reaches(buffer->device);
  if (!reachable) return reject(role + " is of another device");
  if (slice.offset > buffer->bytes || slice.bytes > buffer->bytes - slice.offset)
    return reject(fmt::format("{} spans bytes {} to {} of a buffer of {}", role, slice.offset,
                              slice.offset + slice.bytes, buffer->bytes));
  inner.buffer = buffer->inner;
  buffers_.push_back(buffer);
  return true;
}

bool CheckedSubmission::check_dispatch(const HyDispatch& dispatch, const KernelFacts& kernel) {
  const DeviceInfo& info = device_->info;
  if (dispatch.buffer_count != kernel.buffer_count)
    return reject(fmt::format("kernel '{}' takes {} buffers and got {}", kernel.entry, kernel.buffer_count,
                              dispatch.buffer_count));
  if (dispatch.scalar_slot != HY_NO_SLOT && (!slots_allowed_ || dispatch.scalar_slot >= scalar_slots_))
    return reject(
        fmt::format("kernel '{}': scalar slot {} of {}", kernel.entry, dispatch.scalar_slot, scalar_slots_));
  if (dispatch.scalar_slot == HY_NO_SLOT && dispatch.scalar_bytes != kernel.scalar_bytes)
    return reject(fmt::format("kernel '{}' takes {} bytes of scalars and got {}", kernel.entry,
                              kernel.scalar_bytes, dispatch.scalar_bytes));
  if (dispatch.opaque_count != kernel.opaque_count)
    return reject(fmt::format("kernel '{}' takes {} opaque parameters and got {}", kernel.entry,
                              kernel.opaque_count, dispatch.opaque_count));
  std::uint64_t lanes = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::uint32_t block = dispatch.block[i] != 0 ? dispatch.block[i] : kernel.workgroup_size[i];
    lanes *= block;
    if (block > info.max_workgroup_size[i])
      return reject(fmt::format("kernel '{}': a workgroup of {} lanes along axis {}; the device allows {}",
                                kernel.entry, block, i, info.max_workgroup_size[i]));
    if (dispatch.grid[i] > info.max_grid[i])
      return reject(fmt::format("kernel '{}': a grid of {} workgroups along axis {}; the device allows {}",
                                kernel.entry, dispatch.grid[i], i, info.max_grid[i]));
  }
  if (lanes > info.max_workgroup_invocations)
    return reject(fmt::format("kernel '{}': a workgroup of {} lanes; the device allows {}", kernel.entry,
                              lanes, info.max_workgroup_invocations));
  for (std::uint32_t i = 0; i < dispatch.buffer_count; ++i) {
    const HySlice& slice = dispatch.buffers[i];
    if (slice.bytes != 0 && slice.offset % info.storage_alignment != 0)
      return reject(fmt::format("kernel '{}': buffer {} begins at byte {}, which is not a multiple of {}",
                                kernel.entry, i, slice.offset, info.storage_alignment));
    if (info.max_storage_range != 0 && slice.bytes > info.max_storage_range)
      return reject(fmt::format("kernel '{}': buffer {} spans {} bytes; the device allows {}", kernel.entry,
                                i, slice.bytes, info.max_storage_range));
  }
  return check_overlaps(dispatch, kernel);
}

bool CheckedSubmission::check_overlaps(const HyDispatch& dispatch, const KernelFacts& kernel) {
  for (std::uint32_t i = 0; i < dispatch.buffer_count; ++i)
    for (std::uint32_t j = 0; j < dispatch.buffer_count; ++j) {
      const HySlice& a = dispatch.buffers[i];
      const HySlice& b = dispatch.buffers[j];
      const bool written = i < 64 && ((kernel.written >> i) & 1u) != 0;
      if (i == j || !written || a.buffer != b.buffer || (a.buffer == nullptr && a.slot != b.slot)) continue;
      if (a.bytes != 0 && b.bytes != 0 && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes)
        return reject(
            fmt::format("kernel '{}' writes buffer {}, which overlaps buffer {}", kernel.entry, i, j));
    }
  return true;
}

void CheckedSubmission::add_dispatch(const HyDispatch& dispatch, HyCommand& command) {
  const auto module = tables().modules.find(dispatch.module);
  if (!module || module->device != device_) {
    reject("the dispatch's module was destroyed or is of another device");
    return;
  }
  if (dispatch.kernel >= module->kernels.size()) {
    reject(fmt::format("kernel {} of {}", dispatch.kernel, module->kernels.size()));
    return;
  }
  const KernelFacts& kernel = module->kernels[dispatch.kernel];
  if (!check_dispatch(dispatch, kernel)) return;
  modules_.push_back(module);
  auto& slices = slices_.emplace_back(dispatch.buffer_count);
  for (std::uint32_t i = 0; i < dispatch.buffer_count; ++i)
    if (!translate(dispatch.buffers[i], slices[i], fmt::format("kernel '{}': buffer {}", kernel.entry, i)))
      return;
  HyDispatch& inner = dispatches_.emplace_back(dispatch);
  inner.module = module->inner;
  inner.buffers = slices.data();
  command.dispatch = &inner;
}

void CheckedSubmission::add_copy(const HyCopy& copy, HyCommand& command) {
  HyCopy& inner = copies_.emplace_back();
  command.copy = &inner;
  if (!translate(copy.source, inner.source, "the copy's source") ||
      !translate(copy.destination, inner.destination, "the copy's destination"))
    return;
  const HySlice& a = copy.source;
  const HySlice& b = copy.destination;
  if (a.bytes != b.bytes) reject(fmt::format("a copy of {} bytes into {}", a.bytes, b.bytes));
  const bool same = a.buffer == b.buffer && (a.buffer != nullptr || a.slot == b.slot);
  if (same && a.bytes != 0 && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes)
    reject("the copy's source and destination overlap");
}

void CheckedSubmission::add_fill(const HyFill& fill, HyCommand& command) {
  HyFill& inner = fills_.emplace_back(fill);
  command.fill = &inner;
  if (!translate(fill.destination, inner.destination, "the fill's destination")) return;
  const std::uint32_t bytes = fill.pattern_bytes;
  if (bytes != 1 && bytes != 2 && bytes != 4) {
    reject(fmt::format("a fill's pattern has 1, 2 or 4 bytes, not {}", bytes));
    return;
  }
  if (fill.destination.offset % bytes != 0 || fill.destination.bytes % bytes != 0)
    reject(fmt::format("a fill of bytes {} to {} with a pattern of {}", fill.destination.offset,
                       fill.destination.offset + fill.destination.bytes, bytes));
}

void CheckedSubmission::add_commands(const HyCommand* commands, std::uint32_t count) {
  if (time_stamps_ && time_stamps_->capacity < count) reject("fewer time stamps than commands");
  for (std::uint32_t i = 0; i < count && problem_.empty(); ++i) {
    HyCommand inner = commands[i];
    if (inner.kind == HY_COMMAND_DISPATCH && inner.dispatch != nullptr) {
      add_dispatch(*commands[i].dispatch, inner);
    } else if (inner.kind == HY_COMMAND_COPY && inner.copy != nullptr) {
      add_copy(*commands[i].copy, inner);
    } else if (inner.kind == HY_COMMAND_FILL && inner.fill != nullptr) {
      add_fill(*commands[i].fill, inner);
    } else {
      reject("a command of an unknown kind, or without its operands");
    }
    if (!problem_.empty()) problem_ = fmt::format("command {}: {}", i, problem_);
    commands_.push_back(inner);
  }
}

HySubmission CheckedSubmission::form() const {
  HySubmission form = submission_;
  form.waits = waits_.data();
  form.signals = signals_.data();
  form.commands = commands_.data();
  form.command_count = static_cast<std::uint32_t>(commands_.size());
  form.time_stamps = time_stamps_ ? time_stamps_->inner : nullptr;
  return form;
}

void CheckedSubmission::used_until(const std::shared_ptr<Timeline>& timeline, std::uint64_t value) const {
  for (const auto& buffer : buffers_) buffer->uses.add(timeline, value);
  for (const auto& module : modules_) module->uses.add(timeline, value);
  if (time_stamps_) time_stamps_->uses.add(timeline, value);
}

}  // namespace halyard::hal::validation
