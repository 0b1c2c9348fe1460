#pragma once

#include <halyard/hal/backend/device_health.h>
#include <halyard/hal/plugin.h>
#include <cstdint>
#include "device_info.h"
#include "thread_pool.h"

/// An opened device: the threads, and what all its objects share. Thread-safe.
struct HyDevice : halyard::hal::backend::DeviceHealth {
  explicit HyDevice(unsigned threads) : pool(threads), facts(halyard::cpu::describe_device(pool.threads())) {}

  halyard::cpu::ThreadPool pool;
  halyard::cpu::ScratchPool scratch;
  halyard::cpu::DeviceFacts facts;
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
