#include <fmt/format.h>
#include <halyard/fusion/device_profile.h>
#include <halyard/hal/device_info.h>
#include <halyard/hal/quirks.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

namespace halyard::fusion {

ops::NumericClass DeviceProfile::numeric_class() const {
  return {.fused_fma = fused_fma};
}

double round_to_profile_step(double measured) {
  if (!(measured > 0) || std::isinf(measured)) return measured;
  return std::exp2(std::round(2 * std::log2(measured)) / 2);
}

namespace {

using Json = nlohmann::ordered_json;

/// Every field once, for both directions.
template <class Profile, class Visit>
void visit_fields(Profile& profile, const Visit& visit) {
  visit("name", profile.name);
  visit("architecture", profile.architecture);
  visit("threads", profile.threads);
  visit("vector_bytes", profile.vector_bytes);
  visit("vector_registers", profile.vector_registers);
  visit("subgroup_size", profile.subgroup_size);
  visit("subgroup_shuffle", profile.subgroup_shuffle);
  visit("cheap_barriers", profile.cheap_barriers);
  visit("max_workgroup_lanes", profile.max_workgroup_lanes);
  visit("max_grid", profile.max_grid);
  visit("shared_bytes", profile.shared_bytes);
  visit("cache_bytes_near", profile.cache_bytes_near);
  visit("cache_bytes_mid", profile.cache_bytes_mid);
  visit("cache_bytes_far", profile.cache_bytes_far);
  visit("max_buffer_range", profile.max_buffer_range);
  visit("max_buffers", profile.max_buffers);
  visit("max_loop_trips", profile.max_loop_trips);
  visit("fused_fma", profile.fused_fma);
  visit("fma_in_integers", profile.fma_in_integers);
  visit("keeps_subnormals", profile.keeps_subnormals);
  visit("has_f16", profile.has_f16);
  visit("has_f64", profile.has_f64);
  visit("has_i64", profile.has_i64);
  visit("has_8_bit_storage", profile.has_8_bit_storage);
  visit("has_16_bit_storage", profile.has_16_bit_storage);
  visit("bytes_per_second", profile.bytes_per_second);
  visit("cache_bytes_per_second", profile.cache_bytes_per_second);
  visit("flops_f32", profile.flops_f32);
  visit("launch_seconds", profile.launch_seconds);
  visit("module_format", profile.module_format);
}

}  // namespace

std::string to_json(const DeviceProfile& profile) {
  Json json;
  json["version"] = 1;
  json["model"] = profile.model == ExecutionModel::tasks ? "tasks" : "lanes";
  visit_fields(profile, [&](const char* key, const auto& field) { json[key] = field; });
  return json.dump(2) + "\n";
}

Result<DeviceProfile> profile_from_json(std::string_view text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return fail(ErrorCode::corrupt_data, "device profile: the text is not a JSON object");
  if (json.value("version", Json()) != Json(1))
    return fail(ErrorCode::unsupported, "device profile: only version 1 is known");
  DeviceProfile profile;
  std::string problem;
  auto model = json.find("model");
  if (model == json.end() || (*model != "tasks" && *model != "lanes"))
    problem = "\"model\" is neither \"tasks\" nor \"lanes\"";
  else
    profile.model = *model == "tasks" ? ExecutionModel::tasks : ExecutionModel::lanes;
  visit_fields(profile, [&](const char* key, auto& field) {
    using Field = std::remove_reference_t<decltype(field)>;
    auto found = json.find(key);
    bool fits = found != json.end();
    if constexpr (std::is_same_v<Field, bool>)
      fits = fits && found->is_boolean();
    else if constexpr (std::is_same_v<Field, std::string>)
      fits = fits && found->is_string();
    else if constexpr (std::is_same_v<Field, double>)
      fits = fits && found->is_number();
    else
      fits = fits && found->is_number_unsigned() &&
             found->template get<std::uint64_t>() <= std::numeric_limits<Field>::max();
    if (fits)
      field = found->template get<Field>();
    else if (problem.empty())
      problem = fmt::format("\"{}\" is missing or of the wrong kind", key);
  });
  if (!problem.empty()) return fail(ErrorCode::corrupt_data, "device profile: " + problem);
  return profile;
}

namespace {

template <class T>
void take_if_known(T& field, std::uint64_t value) {
  if (value > 0) field = static_cast<T>(std::min<std::uint64_t>(value, std::numeric_limits<T>::max()));
}

void take_rates(DeviceProfile& profile, const hal::DeviceInfo& info) {
  const hal::Measurements& measured = info.measurements;
  if (measured.triad_bytes_per_second > 0) {
    profile.bytes_per_second = round_to_profile_step(measured.triad_bytes_per_second);
    // A cache is at least as fast as the memory behind it, whatever a disturbed measurement says.
    profile.cache_bytes_per_second =
        round_to_profile_step(std::max(measured.cached_bytes_per_second, measured.triad_bytes_per_second));
  }
  double flops = measured.flops_per_second[static_cast<std::size_t>(ElementType::f32)];
  if (flops > 0) profile.flops_f32 = round_to_profile_step(flops);
  if (measured.launch_seconds > 0) profile.launch_seconds = round_to_profile_step(measured.launch_seconds);
}

/// The best format that an emitter of ours serves.
std::string served_format(const hal::DeviceInfo& info) {
  constexpr std::array<std::string_view, 5> served{"llvm-ir", "spirv", "cuda-c++", "hip-c++",
                                                   "thread-program"};
  for (const std::string& format : info.module_formats)
    if (std::find(served.begin(), served.end(), format) != served.end()) return format;
  return "thread-program";
}

}  // namespace

DeviceProfile make_profile(const hal::DeviceInfo& info) {
  DeviceProfile profile;
  profile.name = info.name;
  profile.architecture = fmt::format("{}/{}/{}/{}/{}", info.backend, info.architecture, info.name,
                                     info.driver, info.driver_version);
  profile.model = info.one_lane_per_workgroup ? ExecutionModel::tasks : ExecutionModel::lanes;
  bool lanes = profile.model == ExecutionModel::lanes;
  profile.threads = std::max(info.compute_units, 1u);
  profile.vector_bytes = lanes ? 16 : 32;
  if (!lanes) take_if_known(profile.vector_bytes, info.vector_register_bytes);
  if (lanes)
    profile.vector_registers = info.registers_per_lane ? info.registers_per_lane : 128;
  else
    profile.vector_registers = profile.vector_bytes >= 64 ? 32 : 16;
  profile.subgroup_size = std::max(info.lanes_per_subgroup, 1u);
  profile.subgroup_shuffle = lanes && info.has_subgroup(HY_SUBGROUP_SHUFFLE) && profile.subgroup_size > 1;
  // A driver that computes on the CPU emulates a barrier by stopping every lane; real hardware has it for
  // free.
  profile.cheap_barriers = lanes && !info.software && info.type != hal::DeviceType::cpu &&
                           info.quirk(hal::quirk::barriers_are_slow).value_or(0) == 0;
  profile.max_workgroup_lanes =
      lanes ? std::max(1u, std::min(info.max_workgroup_invocations, info.max_workgroup_size[0])) : 1;
  take_if_known(profile.max_grid, info.max_grid[0]);
  take_if_known(profile.shared_bytes, info.shared_bytes);
  take_if_known(profile.cache_bytes_near, info.l1_bytes);
  take_if_known(profile.cache_bytes_mid, info.l2_bytes);
  take_if_known(profile.cache_bytes_far, info.l3_bytes);
  take_if_known(profile.max_buffer_range, info.max_storage_range);
  take_if_known(profile.max_buffers, info.max_buffers_per_kernel);
  if (auto trips = info.quirk(hal::quirk::max_loop_iterations))
    profile.max_loop_trips = static_cast<std::uint32_t>(*trips);
  profile.fused_fma = info.numeric.fused_fma == hal::Fact::yes;
  profile.keeps_subnormals = info.numeric.keeps_subnormals != hal::Fact::no;
  profile.has_f16 = info.arithmetic_types.has(ElementType::f16) && info.storage_types.has(ElementType::f16);
  profile.has_f64 = info.arithmetic_types.has(ElementType::f64);
  profile.has_i64 = info.arithmetic_types.has(ElementType::i64);
  profile.has_8_bit_storage = info.storage_types.has(ElementType::u8);
  profile.has_16_bit_storage = info.storage_types.has(ElementType::u16);
  take_rates(profile, info);
  profile.module_format = served_format(info);
  return profile;
}

}  // namespace halyard::fusion
