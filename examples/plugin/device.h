#pragma once

#include <halyard/base/result.h>
#include <halyard/hal/plugin.h>
#include <atomic>
#include <cstdint>
#include <mutex>

/// An opened device. Thread-safe.
struct HyDevice {
 public:
  /// Success, or the error with which the device was lost.
  halyard::Status status() const;
  void lose(const halyard::Error& reason);

  /// The `after`-th next call of the kind fails (HyFaultInjection).
  void arm(std::uint32_t fault, std::uint32_t after) { countdown_[fault].store(after); }
  /// Counts one call down; true if this is the one that must fail.
  bool fault_fires(std::uint32_t fault);

 private:
  mutable std::mutex mutex_;
  bool lost_ = false;
  halyard::Error reason_;
  std::atomic<std::int64_t> countdown_[4] = {-1, -1, -1, -1};  // by HY_FAULT_…; negative: not armed
};

namespace halyard::interpreter {

/// What the device pretends to be: a small GPU, so that schedules with subgroups, shared memory and barriers
/// are what runs here.
struct Model {
  static constexpr std::uint32_t subgroup_size = 8;
  static constexpr std::uint32_t workgroup_lanes = 256;
  static constexpr std::uint32_t shared_bytes = 32u << 10;
  static constexpr std::uint64_t storage_alignment = 64;
};

void set_host(const HyHost* host);
/// What loaded this backend; lives as long as the process.
const HyHost* host();

HyStatus enumerate(HyDeviceSummary* summaries, std::uint32_t capacity, std::uint32_t* count, HyError* error);
HyStatus device_open(const HyDeviceDesc* desc, HyDevice** device, HyError* error);
void device_close(HyDevice* device);
HyStatus device_info(HyDevice* device, HyDeviceInfo* info, HyError* error);
HyStatus device_status(HyDevice* device, HyError* error);
const HyFaultInjection* fault_injection();

}  // namespace halyard::interpreter
