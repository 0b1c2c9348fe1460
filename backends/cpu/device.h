#pragma once

#include <halyard/base/result.h>
#include <halyard/hal/plugin.h>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include "device_info.h"
#include "thread_pool.h"

/// An opened device: the threads, and what all its objects share. Thread-safe.
struct HyDevice {
  explicit HyDevice(unsigned threads) : pool(threads), facts(halyard::cpu::describe_device(pool.threads())) {}

  halyard::cpu::ThreadPool pool;
  halyard::cpu::ScratchPool scratch;
  halyard::cpu::DeviceFacts facts;

  /// Success, or the error with which the device was lost.
  halyard::Status status() const;
  void lose(const halyard::Error& reason);
  bool is_lost() const { return lost_flag_.load(std::memory_order_acquire); }

  // ---- faults on demand (HyFaultInjection)
  void arm(std::uint32_t fault, std::uint32_t after);
  /// Counts one call down; true if this is the one that must fail.
  bool fault_fires(std::uint32_t fault);

 private:
  std::atomic<bool> lost_flag_{false};
  mutable std::mutex mutex_;
  halyard::Error lost_reason_;
  std::atomic<std::int64_t> countdown_[4] = {-1, -1, -1, -1};  // by HY_FAULT_…; negative: not armed
};

namespace halyard::cpu {

/// The host that loaded this backend; set once by the entry, before anything else is called.
void set_host(const HyHost* host);
const HyHost* host();

HyStatus enumerate(HyDeviceSummary* summaries, std::uint32_t capacity, std::uint32_t* count, HyError* error);
HyStatus device_open(const HyDeviceDesc* desc, HyDevice** device, HyError* error);
void device_close(HyDevice* device);
HyStatus device_info(HyDevice* device, HyDeviceInfo* info, HyError* error);
HyStatus device_property(HyDevice* device, const char* key, HyProperty* property, HyError* error);
HyStatus device_status(HyDevice* device, HyError* error);
HyStatus device_enable_peer(HyDevice* device, HyDevice* peer, HyError* error);
const HyFaultInjection* fault_injection();

}  // namespace halyard::cpu
