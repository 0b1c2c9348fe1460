#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "halyard/base/result.h"
#include "halyard/hal/fault_injection.h"

namespace halyard::hal::backend {

/// Whether a device was lost, and faults on demand (HyFaultInjection): what a backend's HyDevice begins with.
/// Safe from any thread.
class DeviceHealth {
 public:
  /// Success, or the error with which the device was lost.
  Status status() const {
    if (!is_lost()) return {};
    std::lock_guard lock(mutex_);
    return tl::unexpected<Error>(reason_);
  }
  bool is_lost() const { return lost_.load(std::memory_order_acquire); }
  /// For good; the first reason stays.
  void lose(const Error& reason) {
    std::lock_guard lock(mutex_);
    if (is_lost()) return;
    reason_ = {ErrorCode::device_lost, reason.message};
    lost_.store(true, std::memory_order_release);
  }

  /// The `after`-th next call of the kind `fault` (HY_FAULT_…) fails.
  HyStatus arm(std::uint32_t fault, std::uint32_t after) {
    if (fault < HY_FAULT_DEVICE_LOST || fault > HY_FAULT_SUBMISSION_FAILS) return HY_INVALID_ARGUMENT;
    countdown_[fault].store(after);
    return HY_OK;
  }
  /// Counts one call down; true if this is the one that must fail.
  bool fault_fires(std::uint32_t fault) {
    std::atomic<std::int64_t>& left = countdown_[fault];
    std::int64_t now = left.load(std::memory_order_relaxed);
    while (now >= 0)
      if (left.compare_exchange_weak(now, now - 1)) return now == 0;
    return false;
  }

 private:
  std::atomic<bool> lost_{false};
  mutable std::mutex mutex_;
  Error reason_;
  std::atomic<std::int64_t> countdown_[4] = {-1, -1, -1, -1};  // by HY_FAULT_…; negative: not armed
};

}  // namespace halyard::hal::backend
