#include "device_info.h"
#include <fmt/format.h>
#include <halyard/hal/backend/sized_struct.h>
#include <algorithm>
#include <array>
#include <cstring>

namespace halyard::cpu {
namespace {

constexpr HyElementTypes all_types = (1u << 13) - 1;
constexpr HyElementTypes float_types = 1u << 9 | 1u << 10 | 1u << 11 | 1u << 12;  // f16 bf16 f32 f64
constexpr std::array<const char*, 2> formats{"elf-object", "llvm-ir"};

/// Two machines with the same architecture string can run each other's compiled kernels.
std::string architecture_of(const Processor& processor) {
  std::string text =
      fmt::format("x86-64-{}-{:x}h-{:02x}h", processor.vendor, processor.family, processor.model);
  for (const std::string& feature : processor.features) text += "+" + feature;
  return text;
}

}  // namespace

DeviceFacts describe_device(unsigned threads) {
  DeviceFacts facts;
  facts.processor = find_processor();
  const Processor& processor = facts.processor;
  facts.architecture = architecture_of(processor);
  facts.driver_version = HALYARD_CPU_VERSION;
  HyDeviceInfo& info = facts.info;
  info.size = sizeof(HyDeviceInfo);
  info.type = HY_DEVICE_CPU;
  info.execution_flags = HY_EXECUTION_ONE_LANE_PER_WORKGROUP | HY_EXECUTION_HOST_VISIBLE_DEVICE_MEMORY |
                         HY_EXECUTION_TIME_STAMPS | HY_EXECUTION_DIRECT_PARAMETERS;
  info.compute_units = threads;
  info.subgroup_size = info.subgroup_size_min = info.subgroup_size_max = 1;
  info.subgroup_operations = HY_SUBGROUP_BASIC | HY_SUBGROUP_SHUFFLE;
  info.max_workgroup_invocations = 1;
  std::fill_n(info.max_workgroup_size, 3, 1u);
  std::fill_n(info.max_grid, 3, 0x7fffffffu);
  // Scratch that stays in the second-level cache beside the operands.
  info.shared_bytes = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(processor.l2_bytes / 2, std::uint64_t{64} << 10, std::uint64_t{1} << 20));
  info.shared_bytes_optin = 64u << 20;
  info.registers_per_lane = processor.vector_registers;  // of a cpu: vector registers
  info.max_scalar_bytes = 64u << 10;
  info.max_buffers_per_kernel = 1024;
  info.vector_register_bytes = processor.vector_register_bytes;
  info.memory_bytes = processor.memory_bytes;
  info.max_allocation_bytes = processor.memory_bytes;
  info.max_storage_range = processor.memory_bytes;
  info.storage_alignment = 64;
  info.cache_line_bytes = processor.cache_line_bytes;
  info.l1_bytes = processor.l1_bytes;
  info.l2_bytes = processor.l2_bytes;
  info.l3_bytes = processor.l3_bytes;
  info.storage_types = info.arithmetic_types = info.shared_types = all_types;
  info.declares_keeps_subnormals = info.declares_rounds_to_even = info.declares_keeps_nan = float_types;
  info.module_format_count = formats.size();
  info.module_formats = formats.data();
  return facts;
}

HyDeviceSummary summarize() {
  Processor processor = find_processor();
  HyDeviceSummary summary{};
  summary.size = sizeof summary;
  summary.type = HY_DEVICE_CPU;
  summary.score = 100;
  hal::backend::write_text(processor.brand, summary.name);
  hal::backend::write_text("halyard-cpu", summary.driver);
  hal::backend::write_text(HALYARD_CPU_VERSION, summary.driver_version);
  return summary;
}

}  // namespace halyard::cpu
