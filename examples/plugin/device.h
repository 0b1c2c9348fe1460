#pragma once

#include <halyard/hal/backend/device_health.h>
#include <halyard/hal/plugin.h>
#include <cstdint>

/// An opened device. Thread-safe.
struct HyDevice : halyard::hal::backend::DeviceHealth {};

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
