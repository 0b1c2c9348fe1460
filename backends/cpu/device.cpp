#include "device.h"
#include <fmt/format.h>
#include <algorithm>
#include <cstring>
#include <memory>
#include "error.h"
#include "llvm_library.h"

namespace halyard::cpu {
namespace {

const HyHost* the_host = nullptr;

}  // namespace

void set_host(const HyHost* host) {
  if (host) the_host = host;
}

const HyHost* host() {
  return the_host;
}

HyStatus enumerate(HyDeviceSummary* summaries, std::uint32_t capacity, std::uint32_t* count, HyError* error) {
  return at_border(error, [&]() -> Status {
    *count = 1;
    if (capacity == 0 || !summaries) return {};
    write_sized(summarize(), summaries);
    return {};
  });
}

HyStatus device_open(const HyDeviceDesc* desc, HyDevice** device, HyError* error) {
  return at_border(error, [&]() -> Status {
    HyDeviceDesc known = read_sized(desc);
    if (known.foreign && known.foreign->kind != HY_FOREIGN_NONE)
      return fail(ErrorCode::unsupported,
                  "cpu: there is no foreign context on the cpu: open the device without one");
    if (known.ordinal != 0)
      return fail(ErrorCode::not_found,
                  fmt::format("cpu: there is no device {}; the only one is cpu:0", known.ordinal));
    *device = new HyDevice(known.worker_threads ? known.worker_threads : default_thread_count());
    // Pointers into the facts are set where they have come to rest.
    DeviceFacts& facts = (*device)->facts;
    for (const std::string& feature : facts.processor.features) facts.features.push_back(feature.c_str());
    facts.info.name = facts.processor.brand.c_str();
    facts.info.vendor = facts.processor.vendor.c_str();
    facts.info.driver = "halyard-cpu";
    facts.info.driver_version = facts.driver_version.c_str();
    facts.info.architecture = facts.architecture.c_str();
    facts.info.isa_features = facts.features.data();
    facts.info.isa_feature_count = static_cast<std::uint32_t>(facts.features.size());
    return {};
  });
}

void device_close(HyDevice* device) {
  delete device;
}

HyStatus device_info(HyDevice* device, HyDeviceInfo* info, HyError* error) {
  return at_border(error, [&]() -> Status {
    write_sized(device->facts.info, info);
    return {};
  });
}

HyStatus device_property(HyDevice* device, const char* key, HyProperty* property, HyError* error) {
  return at_border(error, [&]() -> Status {
    std::string_view name = key;
    property->kind = HY_PROPERTY_INTEGER;
    if (name == "memory.free_bytes")
      property->integer = static_cast<std::int64_t>(available_memory_bytes());
    else if (name == "cpu.threads")
      property->integer = device->pool.threads();
    else if (name == "cpu.vector_registers")
      property->integer = device->facts.processor.vector_registers;
    else if (name == "cpu.llvm_is_open")
      property->integer = llvm::library_is_open();
    else
      return fail(ErrorCode::not_found,
                  fmt::format("cpu: no property \"{}\"; there are memory.free_bytes, cpu.threads, "
                              "cpu.vector_registers, cpu.llvm_is_open",
                              name));
    return {};
  });
}

HyStatus device_status(HyDevice* device, HyError* error) {
  return at_border(error, [&] { return device->status(); });
}

HyStatus device_enable_peer(HyDevice*, HyDevice*, HyError*) {
  return HY_OK;  // all devices of this backend share the host's memory
}

const HyFaultInjection* fault_injection() {
  static const HyFaultInjection table{
      sizeof(HyFaultInjection), 0,
      [](HyDevice* device, std::uint32_t fault, std::uint32_t after) { return device->arm(fault, after); }};
  return &table;
}

}  // namespace halyard::cpu
