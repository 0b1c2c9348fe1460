#include "measured_facts.h"

#include <cmath>
#include <mutex>
#include <nlohmann/json.hpp>

#include "halyard/hal/disk_cache.h"
#include "halyard/hal/log.h"

namespace halyard::hal {
namespace {

using Json = nlohmann::json;

struct Hooks {
  std::mutex mutex;
  Prober prober;
  Measurer measurer;
};

Hooks& hooks() {
  static auto* instance = new Hooks;
  return *instance;
}

/// Each fact with its name in the cached form. A new fact is a new row.
struct FactRow {
  const char* name;
  Fact NumericFacts::* member;
};
constexpr FactRow fact_rows[] = {
    {"fused_fma", &NumericFacts::fused_fma},
    {"fused_fma_f64", &NumericFacts::fused_fma_f64},
    {"keeps_subnormals", &NumericFacts::keeps_subnormals},
    {"keeps_subnormals_f16", &NumericFacts::keeps_subnormals_f16},
    {"keeps_subnormals_f64", &NumericFacts::keeps_subnormals_f64},
    {"exact_add_multiply", &NumericFacts::exact_add_multiply},
    {"exact_division", &NumericFacts::exact_division},
    {"exact_sqrt", &NumericFacts::exact_sqrt},
    {"rounds_f16", &NumericFacts::rounds_f16},
    {"converts_integers", &NumericFacts::converts_integers},
    {"keeps_signed_zero", &NumericFacts::keeps_signed_zero},
};

struct RateRow {
  const char* name;
  double Measurements::* member;
};
constexpr RateRow rate_rows[] = {
    {"copy_bytes_per_second", &Measurements::copy_bytes_per_second},
    {"triad_bytes_per_second", &Measurements::triad_bytes_per_second},
    {"cached_bytes_per_second", &Measurements::cached_bytes_per_second},
    {"launch_seconds", &Measurements::launch_seconds},
    {"submit_seconds", &Measurements::submit_seconds},
    {"workgroup_seconds", &Measurements::workgroup_seconds},
};

struct TypeRatesRow {
  const char* name;
  std::array<double, element_type_facts.size()> Measurements::* member;
};
constexpr TypeRatesRow type_rates_rows[] = {
    {"flops_per_second", &Measurements::flops_per_second},
    {"peak_flops_per_second", &Measurements::peak_flops_per_second},
};

std::optional<double> rate(const Json& json) {
  if (!json.is_number()) return std::nullopt;
  const double value = json.get<double>();
  if (!std::isfinite(value) || value < 0) return std::nullopt;
  return value;
}
std::optional<double> rate(const Json& object, const std::string& key) {
  const auto found = object.find(key);
  return found == object.end() ? std::nullopt : rate(*found);
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::optional<std::string> load_text(const CacheKey& key) {
  const auto bytes = DiskCache::shared().load(key);
  if (!bytes) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

}  // namespace

void set_prober(Prober prober) {
  std::lock_guard lock(hooks().mutex);
  hooks().prober = std::move(prober);
}

void set_measurer(Measurer measurer) {
  std::lock_guard lock(hooks().mutex);
  hooks().measurer = std::move(measurer);
}

std::string write_numeric_facts(const NumericFacts& facts) {
  Json object = Json::object();
  for (const FactRow& row : fact_rows) object[row.name] = name(facts.*row.member);
  return object.dump();
}

std::optional<NumericFacts> read_numeric_facts(std::string_view text) {
  const Json object = Json::parse(text, nullptr, false);
  if (!object.is_object()) return std::nullopt;
  NumericFacts facts;
  for (const FactRow& row : fact_rows) {
    const auto found = object.find(row.name);
    if (found == object.end() || !found->is_string()) return std::nullopt;
    const auto& value = found->get_ref<const std::string&>();
    facts.*row.member = value == "yes" ? Fact::yes : value == "no" ? Fact::no : Fact::unknown;
  }
  return facts;
}

std::string write_measurements(const Measurements& measurements) {
  Json object = Json::object();
  for (const RateRow& row : rate_rows) object[row.name] = measurements.*row.member;
  for (const TypeRatesRow& row : type_rates_rows) {
    Json& rates = object[row.name] = Json::object();
    for (std::size_t i = 0; i < element_type_facts.size(); ++i)
      rates[std::string(element_type_facts[i].name)] = (measurements.*row.member)[i];
  }
  Json& levels = object["bandwidth"] = Json::array();
  for (const Measurements::Bandwidth& each : measurements.bandwidth)
    levels.push_back({each.bytes, each.copy_bytes_per_second, each.triad_bytes_per_second});
  return object.dump();
}

std::optional<Measurements> read_measurements(std::string_view text) {
  const Json object = Json::parse(text, nullptr, false);
  if (!object.is_object()) return std::nullopt;
  Measurements measurements;
  for (const RateRow& row : rate_rows) {
    const auto value = rate(object, row.name);
    if (!value) return std::nullopt;
    measurements.*row.member = *value;
  }
  for (const TypeRatesRow& row : type_rates_rows) {
    const auto rates = object.find(row.name);
    if (rates == object.end() || !rates->is_object()) return std::nullopt;
    for (std::size_t i = 0; i < element_type_facts.size(); ++i)
      (measurements.*row.member)[i] = rate(*rates, std::string(element_type_facts[i].name)).value_or(0);
  }
  const auto levels = object.find("bandwidth");
  if (levels == object.end() || !levels->is_array()) return std::nullopt;
  for (const Json& each : *levels) {
    if (!each.is_array() || each.size() != 3) return std::nullopt;
    const auto bytes = rate(each[0]), copy = rate(each[1]), triad = rate(each[2]);
    if (!bytes || !copy || !triad) return std::nullopt;
    measurements.bandwidth.push_back({*bytes, *copy, *triad});
  }
  return measurements;
}

std::optional<NumericFacts> probe_device(const std::shared_ptr<Device>& device) {
  Prober prober;
  {
    std::lock_guard lock(hooks().mutex);
    prober = hooks().prober;
  }
  if (!prober.run) return std::nullopt;
  const CacheKey key = CacheKeyBuilder("probe").add(device->identity()).add(prober.version).key();
  if (const auto text = load_text(key))
    if (const auto facts = read_numeric_facts(*text)) return facts;
  const auto facts = prober.run(device);
  if (!facts) {
    log(LogLevel::warning, device->info().uri,
        "the arithmetic probe failed, so nothing is known of this device's numbers: " +
            facts.error().message);
    return std::nullopt;
  }
  DiskCache::shared().store(key, bytes_of(write_numeric_facts(*facts)));
  return *facts;
}

Result<Measurements> measure_device(const std::shared_ptr<Device>& device, bool run) {
  Measurer measurer;
  {
    std::lock_guard lock(hooks().mutex);
    measurer = hooks().measurer;
  }
  if (!measurer.run)
    return fail(ErrorCode::unsupported,
                device->info().uri + ": measure: no measurer is registered in this program");
  const CacheKey key = CacheKeyBuilder("measurements").add(device->identity()).add(measurer.version).key();
  if (const auto text = load_text(key))
    if (auto measurements = read_measurements(*text)) return std::move(*measurements);
  if (!run)
    return fail(ErrorCode::not_found, device->info().uri + ": measure: this device was not measured yet");
  HALYARD_ASSIGN(Measurements measurements, measurer.run(device));
  DiskCache::shared().store(key, bytes_of(write_measurements(measurements)));
  return measurements;
}

}  // namespace halyard::hal
