#include <halyard/conformance/performance.h>

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <limits>

#include "json_reader.h"

/// What reports of performance say together, and their JSON; docs/performance.md describes the fields.
namespace halyard::conformance {
namespace {

constexpr std::string_view format_name = "halyard-performance";
constexpr std::uint64_t format_version = 1;

const BenchmarkResult* find(const PerformanceReport& report, std::string_view name) {
  const auto found = std::find_if(report.results.begin(), report.results.end(),
                                  [&](const BenchmarkResult& each) { return each.name == name; });
  return found == report.results.end() || found->verdict == Verdict::unsupported ? nullptr : &*found;
}

bool same_device(const Report::DeviceLine& a, const Report::DeviceLine& b) {
  return a.backend == b.backend && a.name == b.name && a.driver_version == b.driver_version;
}

Json rates_of(const std::array<double, element_type_facts.size()>& rates) {
  Json json = Json::object();
  for (std::size_t i = 0; i < rates.size(); ++i)
    if (rates[i] > 0) json[std::string(element_type_facts[i].name)] = rates[i];
  return json;
}

Json json_of(const hal::Measurements& ceilings) {
  Json levels = Json::array();
  for (const hal::Measurements::Bandwidth& each : ceilings.bandwidth)
    levels.push_back({{"bytes", each.bytes},
                      {"copy_bytes_per_second", each.copy_bytes_per_second},
                      {"triad_bytes_per_second", each.triad_bytes_per_second}});
  return {{"bandwidth", levels},
          {"flops_per_second", rates_of(ceilings.flops_per_second)},
          {"peak_flops_per_second", rates_of(ceilings.peak_flops_per_second)},
          {"launch_seconds", ceilings.launch_seconds},
          {"submit_seconds", ceilings.submit_seconds}};
}

Json json_of(const BenchmarkResult& each) {
  Json json = {{"name", each.name},
               {"suite", each.suite},
               {"operation", each.operation},
               {"verdict", name(each.verdict)},
               {"fraction", each.fraction},
               {"seconds", each.seconds},
               {"least_seconds", each.least_seconds},
               {"replays", each.replays},
               {"launches", each.launches},
               {"bytes", each.bytes},
               {"bytes_fewest", each.bytes_fewest},
               {"flops", each.flops},
               {"ceiling_seconds", each.ceiling_seconds},
               {"bound", fusion::name(each.bound)}};
  if (!each.message.empty()) json["message"] = each.message;
  return json;
}

std::array<double, element_type_facts.size()> rates_from(const Parsed& json, const char* where,
                                                         Reader& outer) {
  std::array<double, element_type_facts.size()> rates{};
  Reader reader(json, where);
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const char* type = element_type_facts[i].name.data();
    if (reader.has(type)) rates[i] = reader.amount(type);
  }
  if (!reader.problem().empty()) outer.complain(where, "holds what is no rate: " + reader.problem());
  return rates;
}

Result<hal::Measurements> ceilings_of(const Parsed& json) {
  Reader reader(json, "ceilings");
  hal::Measurements ceilings;
  const Parsed& levels = reader.at("bandwidth");
  if (!levels.is_array()) reader.complain("bandwidth", "is no array");
  for (const Parsed& each : levels) {
    Reader level(each, "a level of bandwidth");
    ceilings.bandwidth.push_back({level.amount("bytes"), level.amount("copy_bytes_per_second"),
                                  level.amount("triad_bytes_per_second")});
    HALYARD_TRY(checked(level));
  }
  ceilings.flops_per_second = rates_from(reader.at("flops_per_second"), "flops_per_second", reader);
  ceilings.peak_flops_per_second =
      rates_from(reader.at("peak_flops_per_second"), "peak_flops_per_second", reader);
  ceilings.launch_seconds = reader.amount("launch_seconds");
  ceilings.submit_seconds = reader.amount("submit_seconds");
  HALYARD_TRY(checked(reader));
  return ceilings;
}

Result<BenchmarkResult> result_of(const Parsed& json, std::size_t number) {
  Reader reader(json, fmt::format("result {}", number));
  BenchmarkResult each;
  each.name = reader.text("name");
  each.suite = reader.text("suite");
  each.operation = reader.text("operation");
  const auto verdict = parse_verdict(reader.text("verdict"));
  if (!verdict) reader.complain("verdict", "is none of the known ones");
  each.verdict = verdict.value_or(Verdict::failed);
  each.message = reader.optional_text("message");
  each.fraction = reader.amount("fraction");
  each.seconds = reader.amount("seconds");
  each.least_seconds = reader.amount("least_seconds");
  each.replays = static_cast<std::uint32_t>(reader.whole("replays"));
  each.launches = static_cast<std::uint32_t>(reader.whole("launches"));
  each.bytes = reader.whole("bytes");
  each.bytes_fewest = reader.whole("bytes_fewest");
  each.flops = reader.amount("flops");
  each.ceiling_seconds = reader.amount("ceiling_seconds");
  const std::string bound = reader.text("bound");
  for (fusion::Bound known : {fusion::Bound::launch, fusion::Bound::memory, fusion::Bound::compute})
    if (fusion::name(known) == bound) each.bound = known;
  if (fusion::name(each.bound) != bound) reader.complain("bound", "is none of the known ones");
  HALYARD_TRY(checked(reader));
  return each;
}

Result<PerformanceReport> report_of(const Parsed& json, std::size_t number) {
  Reader reader(json, fmt::format("report {}", number));
  PerformanceReport report;
  report.halyard_version = reader.text("halyard");
  report.started = reader.text("started");
  report.seconds = reader.amount("seconds");
  const Parsed& results = reader.at("results");
  if (!results.is_array()) reader.complain("results", "is no array");
  HALYARD_TRY(checked(reader));
  HALYARD_ASSIGN(report.device, device_of(reader.at("device"), "device"));
  HALYARD_ASSIGN(report.ceilings, ceilings_of(reader.at("ceilings")));
  for (std::size_t i = 0; i < results.size(); ++i) {
    HALYARD_ASSIGN(BenchmarkResult each, result_of(results[i], i));
    report.results.push_back(std::move(each));
  }
  HALYARD_TRY(checked(reader));
  return report;
}

}  // namespace

std::vector<Parity> parity_of(std::span<const PerformanceReport> reports) {
  std::vector<Parity> all;
  if (reports.empty()) return all;
  for (const BenchmarkResult& first : reports[0].results) {
    Parity parity{.name = first.name, .fractions = {}, .least = std::numeric_limits<double>::infinity()};
    double reciprocals = 0;
    for (const PerformanceReport& report : reports) {
      const BenchmarkResult* result = find(report, first.name);
      if (result == nullptr) break;
      parity.fractions.push_back(result->fraction);
      parity.least = std::min(parity.least, result->fraction);
      parity.most = std::max(parity.most, result->fraction);
      reciprocals += 1 / result->fraction;  // infinite for a wrong result: the mean is 0
    }
    if (parity.fractions.size() < reports.size()) continue;
    parity.harmonic_mean = static_cast<double>(reports.size()) / reciprocals;
    all.push_back(std::move(parity));
  }
  return all;
}

std::vector<Regression> regressions(std::span<const PerformanceReport> baseline,
                                    std::span<const PerformanceReport> now, double allowed) {
  std::vector<Regression> all;
  for (const PerformanceReport& before : baseline)
    for (const PerformanceReport& after : now) {
      if (!same_device(before.device, after.device)) continue;
      for (const BenchmarkResult& result : after.results) {
        const BenchmarkResult* was = find(before, result.name);
        if (was != nullptr && result.fraction < was->fraction * (1 - allowed))
          all.push_back({after.device.uri, result.name, was->fraction, result.fraction});
      }
    }
  return all;
}

std::string to_json(std::span<const PerformanceReport> reports) {
  Json json = {{"format", format_name}, {"version", format_version}, {"reports", Json::array()}};
  for (const PerformanceReport& report : reports) {
    Json results = Json::array();
    for (const BenchmarkResult& each : report.results) results.push_back(json_of(each));
    json["reports"].push_back({{"halyard", report.halyard_version},
                               {"started", report.started},
                               {"seconds", report.seconds},
                               {"device", json_of(report.device)},
                               {"ceilings", json_of(report.ceilings)},
                               {"results", std::move(results)}});
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<std::vector<PerformanceReport>> performance_from_json(std::string_view text) {
  const Parsed json = Parsed::parse(text, nullptr, false);
  if (json.is_discarded()) return fail(ErrorCode::invalid_argument, "report: this is no JSON");
  HALYARD_TRY(check_format(json, format_name, format_version));
  Reader reader(json, "the document");
  const Parsed& reports = reader.at("reports");
  if (!reports.is_array()) reader.complain("reports", "is no array");
  HALYARD_TRY(checked(reader));
  std::vector<PerformanceReport> all;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    HALYARD_ASSIGN(PerformanceReport report, report_of(reports[i], i));
    all.push_back(std::move(report));
  }
  return all;
}

Result<std::vector<PerformanceReport>> read_performance(const std::filesystem::path& path) {
  HALYARD_ASSIGN(std::string text, read_file(path));
  auto reports = performance_from_json(text);
  if (!reports)
    return fail(reports.error().code, fmt::format("{}: {}", path.string(), reports.error().message));
  return reports;
}

}  // namespace halyard::conformance
