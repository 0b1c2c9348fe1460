#include <fmt/format.h>
#include <halyard/hal/registry.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"

namespace halyard::tools {
namespace {

using nlohmann::ordered_json;

std::string types_text(hal::ElementTypeSet types) {
  std::string text;
  for (std::size_t i = 0; i < element_type_facts.size(); ++i)
    if (types.has(static_cast<ElementType>(i)))
      text += (text.empty() ? "" : " ") + std::string(element_type_facts[i].name);
  return text.empty() ? "none" : text;
}

/// The subgroup operations of HY_SUBGROUP_… bits, by their Vulkan names.
std::vector<std::string> subgroup_operations(const hal::DeviceInfo& info) {
  constexpr std::pair<std::uint32_t, const char*> names[] = {
      {HY_SUBGROUP_BASIC, "basic"},
      {HY_SUBGROUP_VOTE, "vote"},
      {HY_SUBGROUP_ARITHMETIC, "arithmetic"},
      {HY_SUBGROUP_BALLOT, "ballot"},
      {HY_SUBGROUP_SHUFFLE, "shuffle"},
      {HY_SUBGROUP_SHUFFLE_RELATIVE, "shuffle_relative"},
      {HY_SUBGROUP_QUAD, "quad"}};
  std::vector<std::string> offered;
  for (const auto& [bit, operation] : names)
    if (info.has_subgroup(bit)) offered.emplace_back(operation);
  return offered;
}

/// m x n x k of the matrix instructions, with their operands' and accumulator's types.
std::vector<std::string> matrix_shapes(const hal::DeviceInfo& info) {
  std::vector<std::string> shapes;
  for (const hal::MatrixShape& shape : info.matrix_shapes)
    shapes.push_back(fmt::format("{}x{}x{} {}->{}", shape.m, shape.n, shape.k, halyard::name(shape.operand),
                                 halyard::name(shape.accumulator)));
  return shapes;
}

struct NamedFact {
  const char* name;
  hal::Fact fact;
};

std::vector<NamedFact> probe_results(const hal::NumericFacts& facts) {
  return {{"fused_fma", facts.fused_fma},
          {"fused_fma_f64", facts.fused_fma_f64},
          {"keeps_subnormals", facts.keeps_subnormals},
          {"keeps_subnormals_f16", facts.keeps_subnormals_f16},
          {"keeps_subnormals_f64", facts.keeps_subnormals_f64},
          {"exact_add_multiply", facts.exact_add_multiply},
          {"exact_division", facts.exact_division},
          {"exact_sqrt", facts.exact_sqrt},
          {"rounds_f16", facts.rounds_f16},
          {"converts_integers", facts.converts_integers},
          {"keeps_signed_zero", facts.keeps_signed_zero}};
}

using TypeRates = std::array<double, element_type_facts.size()>;

/// Of the types that have one.
ordered_json rates_by_type(const TypeRates& rates) {
  ordered_json json = ordered_json::object();
  for (std::size_t i = 0; i < rates.size(); ++i)
    if (rates[i] > 0) json[std::string(element_type_facts[i].name)] = rates[i];
  return json;
}

ordered_json levels_of(const hal::Measurements& measured) {
  ordered_json json = ordered_json::array();
  for (const hal::Measurements::Bandwidth& each : measured.bandwidth)
    json.push_back({{"bytes", each.bytes},
                    {"copy_bytes_per_second", each.copy_bytes_per_second},
                    {"triad_bytes_per_second", each.triad_bytes_per_second}});
  return json;
}

ordered_json device_json(const hal::DeviceInfo& info, const hal::Measurements& measured) {
  ordered_json json;
  json["uri"] = info.uri;
  json["name"] = info.name;
  json["vendor"] = info.vendor;
  json["driver"] = info.driver;
  json["driver_version"] = info.driver_version;
  json["architecture"] = info.architecture;
  json["type"] = hal::name(info.type);
  json["emulated"] = info.emulated;
  json["software"] = info.software;
  json["limits"] = {{"compute_units", info.compute_units},
                    {"lanes_per_subgroup", info.lanes_per_subgroup},
                    {"min_lanes_per_subgroup", info.min_lanes_per_subgroup},
                    {"max_lanes_per_subgroup", info.max_lanes_per_subgroup},
                    {"subgroup_operations", subgroup_operations(info)},
                    {"max_workgroup_invocations", info.max_workgroup_invocations},
                    {"max_workgroup_size", info.max_workgroup_size},
                    {"max_grid", info.max_grid},
                    {"shared_bytes", info.shared_bytes},
                    {"shared_bytes_optin", info.shared_bytes_optin},
                    {"registers_per_workgroup", info.registers_per_workgroup},
                    {"registers_per_lane", info.registers_per_lane},
                    {"vector_register_bytes", info.vector_register_bytes},
                    {"max_scalar_bytes", info.max_scalar_bytes},
                    {"max_buffers_per_kernel", info.max_buffers_per_kernel},
                    {"matrix_shapes", matrix_shapes(info)},
                    {"memory_bytes", info.memory_bytes},
                    {"max_allocation_bytes", info.max_allocation_bytes},
                    {"max_storage_range", info.max_storage_range},
                    {"storage_alignment", info.storage_alignment},
                    {"l1_bytes", info.l1_bytes},
                    {"l2_bytes", info.l2_bytes},
                    {"l3_bytes", info.l3_bytes}};
  json["storage_types"] = types_text(info.storage_types);
  json["arithmetic_types"] = types_text(info.arithmetic_types);
  json["module_formats"] = info.module_formats;
  json["isa_features"] = info.isa_features;
  for (const NamedFact& fact : probe_results(info.numeric)) json["probe"][fact.name] = hal::name(fact.fact);
  json["quirks"] = ordered_json::array();
  for (const hal::Quirk& quirk : info.quirks)
    json["quirks"].push_back({{"name", quirk.name}, {"value", quirk.value}, {"reason", quirk.reason}});
  json["measured"] = {
      {"copy_bytes_per_second", measured.copy_bytes_per_second},
      {"triad_bytes_per_second", measured.triad_bytes_per_second},
      {"cached_bytes_per_second", measured.cached_bytes_per_second},
      {"f32_flops_per_second", measured.flops_per_second[static_cast<std::size_t>(ElementType::f32)]},
      {"flops_per_second", rates_by_type(measured.flops_per_second)},
      {"peak_flops_per_second", rates_by_type(measured.peak_flops_per_second)},
      {"bandwidth", levels_of(measured)},
      {"launch_seconds", measured.launch_seconds},
      {"submit_seconds", measured.submit_seconds},
      {"workgroup_seconds", measured.workgroup_seconds}};
  return json;
}

std::string rates_text(const TypeRates& rates) {
  std::string text;
  for (std::size_t i = 0; i < rates.size(); ++i)
    if (rates[i] > 0)
      text +=
          fmt::format("{}{} {:.0f}", text.empty() ? "" : ", ", element_type_facts[i].name, rates[i] * 1e-9);
  return text;
}

void print_measurements(const hal::Measurements& measured) {
  fmt::print(
      "  measured    copy {:.1f} GB/s, triad {:.1f} GB/s (in cache {:.1f}), launch {:.1f} us, submit {:.1f} "
      "us\n",
      measured.copy_bytes_per_second * 1e-9, measured.triad_bytes_per_second * 1e-9,
      measured.cached_bytes_per_second * 1e-9, measured.launch_seconds * 1e6, measured.submit_seconds * 1e6);
  fmt::print("  GFLOP/s     products: {}; in registers: {}\n", rates_text(measured.flops_per_second),
             rates_text(measured.peak_flops_per_second));
  std::string levels;
  for (const hal::Measurements::Bandwidth& each : measured.bandwidth)
    levels += fmt::format("{}{:.2g} MB: {:.1f} / {:.1f}", levels.empty() ? "" : ", ", each.bytes * 1e-6,
                          each.copy_bytes_per_second * 1e-9, each.triad_bytes_per_second * 1e-9);
  fmt::print("  copy/triad  GB/s by working set: {}\n", levels);
}

void print_device(const hal::DeviceInfo& info, const hal::Measurements& measured) {
  fmt::print("\n{}  {}{}{}\n", info.uri, info.name, info.emulated ? "  [emulated]" : "",
             info.software ? "  [software driver]" : "");
  fmt::print("  driver      {} {}, architecture {}\n", info.driver, info.driver_version, info.architecture);
  fmt::print("  execution   {} units, {} lanes per subgroup, workgroups of up to {}, {} KiB shared\n",
             info.compute_units, info.lanes_per_subgroup, info.max_workgroup_invocations,
             info.shared_bytes / 1024);
  fmt::print("  kernels     workgroups of up to {}, {} buffers, {} bytes of scalars\n",
             fmt::join(info.max_workgroup_size, " x "), info.max_buffers_per_kernel, info.max_scalar_bytes);
  if (const auto operations = subgroup_operations(info); !operations.empty())
    fmt::print("  subgroups   of {} to {} lanes: {}\n", info.min_lanes_per_subgroup,
               info.max_lanes_per_subgroup, fmt::join(operations, ", "));
  if (info.vector_register_bytes > 0) fmt::print("  vectors     of {} bytes\n", info.vector_register_bytes);
  if (!info.matrix_shapes.empty()) fmt::print("  matrices    {}\n", fmt::join(matrix_shapes(info), ", "));
  fmt::print("  memory      {} MiB, allocations of up to {} MiB, slices of up to {} MiB aligned to {}\n",
             info.memory_bytes >> 20, info.max_allocation_bytes >> 20, info.max_storage_range >> 20,
             info.storage_alignment);
  fmt::print("  storage     {}\n  arithmetic  {}\n", types_text(info.storage_types),
             types_text(info.arithmetic_types));
  fmt::print("  modules     {}\n", fmt::join(info.module_formats, " "));
  if (!info.isa_features.empty()) fmt::print("  features    {}\n", fmt::join(info.isa_features, " "));
  std::string facts;
  for (const NamedFact& fact : probe_results(info.numeric))
    facts += fmt::format("{}{}: {}", facts.empty() ? "" : ", ", fact.name, hal::name(fact.fact));
  fmt::print("  probed      {}\n", facts);
  for (const hal::Quirk& quirk : info.quirks)
    fmt::print("  quirk       {} = {}: {}\n", quirk.name, quirk.value, quirk.reason);
  if (info.emulated)
    fmt::print("  measured    nothing: an emulated device has no performance\n");
  else if (measured.measured())
    print_measurements(measured);
}

void list(bool as_json) {
  hal::Registry& registry = hal::Registry::shared();
  ordered_json json;
  json["backends"] = ordered_json::array();
  json["devices"] = ordered_json::array();
  if (!as_json) fmt::print("backends\n");
  for (const hal::BackendReport& backend : registry.backends()) {
    const std::string state = backend.status ? fmt::format("{} device{}", backend.device_count,
                                                           backend.device_count == 1 ? "" : "s")
                                             : backend.status.error().message;
    if (!as_json) fmt::print("  {:<12} {}\n", backend.name, state);
    json["backends"].push_back({{"name", backend.name},
                                {"version", backend.version},
                                {"path", backend.path.string()},
                                {"usable", backend.status.has_value()},
                                {"state", state}});
  }
  for (const hal::DeviceSummary& summary : registry.devices()) {
    auto device = registry.open(summary.uri);
    if (!device) {
      if (!as_json)
        fmt::print("\n{}  {}: cannot be opened: {}\n", summary.uri, summary.name, device.error().message);
      json["devices"].push_back(
          {{"uri", summary.uri}, {"name", summary.name}, {"error", device.error().message}});
      continue;
    }
    auto measured = (*device)->measurements(!summary.emulated);
    const hal::Measurements figures = measured ? *measured : hal::Measurements{};
    if (as_json)
      json["devices"].push_back(device_json((*device)->info(), figures));
    else
      print_device((*device)->info(), figures);
  }
  if (as_json) fmt::print("{}\n", json.dump(2));
}

}  // namespace

void add_devices_command(CLI::App& application) {
  auto as_json = std::make_shared<bool>(false);
  CLI::App* command = application.add_subcommand(
      "devices", "List backends and devices: limits, probe results, quirks, measured rates");
  command->add_flag("--json", *as_json, "JSON instead of text");
  command->callback([as_json] { list(*as_json); });
}

}  // namespace halyard::tools
