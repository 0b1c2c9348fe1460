#include "halyard/hal/device_info.h"

#include <algorithm>

#include "device_info_reader.h"

namespace halyard::hal {

bool DeviceInfo::has_feature(std::string_view isa_feature) const {
  return std::find(isa_features.begin(), isa_features.end(), isa_feature) != isa_features.end();
}

bool DeviceInfo::accepts(std::string_view module_format) const {
  return std::find(module_formats.begin(), module_formats.end(), module_format) != module_formats.end();
}

std::optional<std::int64_t> DeviceInfo::quirk(std::string_view wanted) const {
  for (const Quirk& row : quirks)
    if (row.name == wanted) return row.value;
  return std::nullopt;
}

std::string_view name(DeviceType type) {
  switch (type) {
    case DeviceType::cpu:
      return "cpu";
    case DeviceType::integrated:
      return "integrated";
    case DeviceType::discrete:
      return "discrete";
    case DeviceType::virtual_machine:
      return "virtual";
    case DeviceType::other:
      break;
  }
  return "other";
}

std::string_view name(Fact fact) {
  switch (fact) {
    case Fact::no:
      return "no";
    case Fact::yes:
      return "yes";
    case Fact::unknown:
      break;
  }
  return "unknown";
}

DeviceType device_type(std::uint32_t type) {
  return type <= HY_DEVICE_VIRTUAL ? static_cast<DeviceType>(type) : DeviceType::other;
}

namespace {

std::string text(const char* source) {
  return source != nullptr ? source : "";
}

std::vector<std::string> texts(const char* const* source, std::uint32_t count) {
  std::vector<std::string> result;
  for (std::uint32_t i = 0; source != nullptr && i < count; ++i) result.push_back(text(source[i]));
  return result;
}

std::optional<ElementType> element_type(std::uint8_t number) {
  if (number >= element_type_facts.size()) return std::nullopt;
  return static_cast<ElementType>(number);
}

void read_tables(const HyDeviceInfo& raw, DeviceInfo& info) {
  info.isa_features = texts(raw.isa_features, raw.isa_feature_count);
  info.module_formats = texts(raw.module_formats, raw.module_format_count);
  for (std::uint32_t i = 0; raw.matrix_shapes != nullptr && i < raw.matrix_shape_count; ++i) {
    const HyMatrixShape& row = raw.matrix_shapes[i];
    const auto operand = element_type(row.operand_type);
    const auto accumulator = element_type(row.accumulator_type);
    const auto result = element_type(row.result_type);
    // A type that this version does not know (a newer backend's) cannot be used by it either.
    if (operand && accumulator && result)
      info.matrix_shapes.push_back({row.m, row.n, row.k, *operand, *accumulator, *result});
  }
  for (std::uint32_t i = 0; raw.quirks != nullptr && i < raw.quirk_count; ++i)
    info.quirks.push_back({text(raw.quirks[i].name), raw.quirks[i].value, text(raw.quirks[i].reason)});
}

void read_limits(const HyDeviceInfo& raw, DeviceInfo& info) {
  const auto at_least_one = [](std::uint32_t value) { return std::max(value, 1u); };
  info.compute_units = at_least_one(raw.compute_units);
  info.lanes_per_subgroup = at_least_one(raw.subgroup_size);
  info.min_lanes_per_subgroup = raw.subgroup_size_min != 0 ? raw.subgroup_size_min : info.lanes_per_subgroup;
  info.max_lanes_per_subgroup = raw.subgroup_size_max != 0 ? raw.subgroup_size_max : info.lanes_per_subgroup;
  info.subgroup_operations = raw.subgroup_operations;
  info.max_workgroup_invocations = at_least_one(raw.max_workgroup_invocations);
  for (std::size_t i = 0; i < 3; ++i) {
    info.max_workgroup_size[i] = at_least_one(raw.max_workgroup_size[i]);
    info.max_grid[i] = at_least_one(raw.max_grid[i]);
  }
  info.shared_bytes = raw.shared_bytes;
  info.shared_bytes_optin = std::max(raw.shared_bytes, raw.shared_bytes_optin);
  info.registers_per_workgroup = raw.registers_per_workgroup;
  info.registers_per_lane = raw.registers_per_lane;
  info.max_scalar_bytes = raw.max_scalar_bytes;
  info.max_buffers_per_kernel = raw.max_buffers_per_kernel;
  info.vector_register_bytes = raw.vector_register_bytes;
  info.memory_bytes = raw.memory_bytes;
  info.max_allocation_bytes = raw.max_allocation_bytes;
  info.max_storage_range = raw.max_storage_range;
  if (raw.storage_alignment != 0) info.storage_alignment = raw.storage_alignment;
  if (raw.cache_line_bytes != 0) info.cache_line_bytes = raw.cache_line_bytes;
  info.l1_bytes = raw.l1_bytes;
  info.l2_bytes = raw.l2_bytes;
  info.l3_bytes = raw.l3_bytes;
}

}  // namespace

DeviceInfo read_device_info(const HyBackend& backend, const HyDeviceInfo& raw, std::string uri) {
  DeviceInfo info;
  info.backend = text(backend.name);
  info.backend_version = text(backend.version);
  info.uri = std::move(uri);
  info.name = text(raw.name);
  info.vendor = text(raw.vendor);
  info.driver = text(raw.driver);
  info.driver_version = text(raw.driver_version);
  info.architecture = text(raw.architecture);
  std::copy(std::begin(raw.uuid), std::end(raw.uuid), info.uuid.begin());
  info.type = device_type(raw.type);
  info.emulated = (raw.flags & HY_DEVICE_FLAG_EMULATED) != 0;
  info.software = (raw.flags & HY_DEVICE_FLAG_SOFTWARE) != 0;
  info.one_lane_per_workgroup = (raw.execution_flags & HY_EXECUTION_ONE_LANE_PER_WORKGROUP) != 0;
  info.subgroup_size_control = (raw.execution_flags & HY_EXECUTION_SUBGROUP_SIZE_CONTROL) != 0;
  info.device_address = (raw.execution_flags & HY_EXECUTION_DEVICE_ADDRESS) != 0;
  info.host_visible_device_memory = (raw.execution_flags & HY_EXECUTION_HOST_VISIBLE_DEVICE_MEMORY) != 0;
  info.time_stamps = (raw.execution_flags & HY_EXECUTION_TIME_STAMPS) != 0;
  info.vulkan_memory_model = (raw.execution_flags & HY_EXECUTION_MEMORY_MODEL) != 0;
  info.spirv_version = raw.spirv_version;
  read_limits(raw, info);
  info.storage_types.bits = raw.storage_types;
  info.arithmetic_types.bits = raw.arithmetic_types;
  info.shared_types.bits = raw.shared_types;
  info.declares_keeps_subnormals.bits = raw.declares_keeps_subnormals;
  info.declares_flushes_subnormals.bits = raw.declares_flushes_subnormals;
  info.declares_rounds_to_even.bits = raw.declares_rounds_to_even;
  info.declares_keeps_nan.bits = raw.declares_keeps_nan;
  read_tables(raw, info);
  add_known_quirks(info);
  return info;
}

}  // namespace halyard::hal
