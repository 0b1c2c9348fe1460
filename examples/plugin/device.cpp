#include "device.h"

#include "error.h"

namespace halyard::interpreter {
namespace {

const HyHost* the_host = nullptr;

constexpr HyElementTypes all_types = (1u << 13) - 1;
constexpr HyElementTypes float_types = 1u << 9 | 1u << 10 | 1u << 11 | 1u << 12;  // f16 bf16 f32 f64
constexpr const char* formats[] = {"thread-program"};

HyDeviceInfo describe() {
  HyDeviceInfo info{};
  info.size = sizeof info;
  info.type = HY_DEVICE_VIRTUAL;
  info.flags = HY_DEVICE_FLAG_EMULATED;
  info.execution_flags =
      HY_EXECUTION_HOST_VISIBLE_DEVICE_MEMORY | HY_EXECUTION_DIRECT_PARAMETERS | HY_EXECUTION_TIME_STAMPS;
  info.name = "Halyard thread-program interpreter";
  info.vendor = "Halyard";
  info.driver = "interpreter";
  info.driver_version = "1";
  info.architecture = "thread-program";
  info.compute_units = 1;
  info.subgroup_size = info.subgroup_size_min = info.subgroup_size_max = Model::subgroup_size;
  info.subgroup_operations = HY_SUBGROUP_BASIC | HY_SUBGROUP_SHUFFLE;
  info.max_workgroup_invocations = Model::workgroup_lanes;
  for (std::uint32_t& size : info.max_workgroup_size) size = Model::workgroup_lanes;
  for (std::uint32_t& size : info.max_grid) size = 0x7fffffffu;
  info.shared_bytes = info.shared_bytes_optin = Model::shared_bytes;
  info.registers_per_workgroup = 65536;
  info.registers_per_lane = 255;
  info.max_scalar_bytes = 4096;
  info.max_buffers_per_kernel = 64;
  info.memory_bytes = std::uint64_t{8} << 30;
  info.max_allocation_bytes = std::uint64_t{4} << 30;
  info.max_storage_range = std::uint64_t{4} << 30;
  info.storage_alignment = Model::storage_alignment;
  info.cache_line_bytes = 64;
  info.l1_bytes = 32u << 10;
  info.l2_bytes = 1u << 20;
  info.storage_types = info.arithmetic_types = info.shared_types = all_types;
  info.declares_keeps_subnormals = info.declares_rounds_to_even = info.declares_keeps_nan = float_types;
  info.module_formats = formats;
  info.module_format_count = 1;
  return info;
}

}  // namespace

void set_host(const HyHost* host) {
  the_host = host;
}

const HyHost* host() {
  return the_host;
}

HyStatus enumerate(HyDeviceSummary* summaries, std::uint32_t capacity, std::uint32_t* count, HyError*) {
  *count = 1;
  if (capacity == 0 || !summaries) return HY_OK;
  HyDeviceSummary summary{};
  summary.type = HY_DEVICE_VIRTUAL;
  summary.flags = HY_DEVICE_FLAG_EMULATED;
  summary.score = 1;
  std::strcpy(summary.name, "Halyard thread-program interpreter");
  std::strcpy(summary.alias, "emulated");
  std::strcpy(summary.driver, "interpreter");
  std::strcpy(summary.driver_version, "1");
  write_sized(summary, summaries);
  return HY_OK;
}

HyStatus device_open(const HyDeviceDesc* desc, HyDevice** device, HyError* error) {
  return at_border(error, [&]() -> Status {
    HyDeviceDesc known = read_sized(desc);
    if (known.foreign && known.foreign->kind != HY_FOREIGN_NONE)
      return fail(
          ErrorCode::unsupported,
          "interpreter: device_open: it has no contexts that another program could have made: open it "
          "without one");
    if (known.ordinal != 0)
      return fail(ErrorCode::not_found, "interpreter: device_open: there is no device " +
                                            std::to_string(known.ordinal) +
                                            "; the only one is interpreter:0");
    *device = new HyDevice;
    return {};
  });
}

void device_close(HyDevice* device) {
  delete device;
}

HyStatus device_info(HyDevice*, HyDeviceInfo* info, HyError*) {
  write_sized(describe(), info);
  return HY_OK;
}

HyStatus device_status(HyDevice* device, HyError* error) {
  return at_border(error, [&] { return device->status(); });
}

const HyFaultInjection* fault_injection() {
  static const HyFaultInjection table{
      sizeof(HyFaultInjection), 0,
      [](HyDevice* device, std::uint32_t fault, std::uint32_t after) { return device->arm(fault, after); }};
  return &table;
}

}  // namespace halyard::interpreter
