#include <halyard/conformance/report.h>

#include <fmt/format.h>
#include <array>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

/// The JSON form of a report; docs/conformance.md describes it field by field.
namespace halyard::conformance {
namespace {

using Json = nlohmann::ordered_json;  // writes keys in the order of the code
using Parsed = nlohmann::json;        // finds keys in logarithmic time: the ordered one takes linear
constexpr std::array all_verdicts{Verdict::passed, Verdict::failed, Verdict::unsupported,
                                  Verdict::expected_failure, Verdict::stale_exception};
constexpr std::string_view format_name = "halyard-conformance";
constexpr std::uint64_t format_version = 1;

Json json_of(const Report::DeviceLine& device) {
  return {{"uri", device.uri},
          {"name", device.name},
          {"backend", device.backend},
          {"driver", device.driver},
          {"driver_version", device.driver_version},
          {"architecture", device.architecture},
          {"emulated", device.emulated},
          {"fma", device.fma},
          {"subnormals", device.subnormals},
          {"class", device.numeric_class()}};
}

Json json_of(const CaseReport& each) {
  Json json = {{"name", each.name},
               {"suite", each.suite},
               {"operation", each.operation},
               {"element", each.element},
               {"verdict", name(each.outcome.verdict)},
               {"seconds", each.seconds}};
  if (!each.outcome.message.empty()) json["message"] = each.outcome.message;
  if (each.outcome.error) {
    // JSON has no infinity.
    if (std::isfinite(*each.outcome.error))
      json["error"] = *each.outcome.error;
    else
      json["error"] = "inf";
  }
  if (!each.outcome.hash.empty()) json["hash"] = each.outcome.hash;
  if (!each.repeat.empty()) json["repeat"] = each.repeat;
  return json;
}

/// Reads fields of one object; remembers the first that is missing or of another type.
class Reader {
 public:
  Reader(const Parsed& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) problem_ = where_ + " is no object";
  }

  const std::string& problem() const { return problem_; }
  bool has(const char* field) const { return json_.is_object() && json_.contains(field); }
  const Parsed& at(const char* field) {
    static const Parsed nothing;
    if (has(field)) return json_[field];
    complain(field, "is missing");
    return nothing;
  }
  std::string text(const char* field) {
    const Parsed& value = at(field);
    if (value.is_string()) return value.get<std::string>();
    complain(field, "is no text");
    return {};
  }
  std::string optional_text(const char* field) { return has(field) ? text(field) : std::string(); }
  /// One of the two words.
  std::string either(const char* field, std::string_view one, std::string_view other) {
    std::string word = text(field);
    if (word != one && word != other) complain(field, fmt::format("is neither '{}' nor '{}'", one, other));
    return word;
  }
  /// A finite number from 0 on.
  double amount(const char* field) {
    const Parsed& value = at(field);
    if (!value.is_number())
      complain(field, "is no number");
    else if (value.get<double>() >= 0)
      return value.get<double>();
    complain(field, "is less than 0");
    return 0;
  }
  std::uint64_t whole(const char* field) {
    const Parsed& value = at(field);
    if (value.is_number_unsigned()) return value.get<std::uint64_t>();
    complain(field, "is no whole number without sign");
    return 0;
  }
  bool flag(const char* field) {
    const Parsed& value = at(field);
    if (value.is_boolean()) return value.get<bool>();
    complain(field, "is neither true nor false");
    return false;
  }
  void complain(const char* field, std::string_view what) {
    if (problem_.empty()) problem_ = fmt::format("'{}' of {} {}", field, where_, what);
  }

 private:
  const Parsed& json_;
  std::string where_;
  std::string problem_;
};

Status checked(const Reader& reader) {
  if (reader.problem().empty()) return {};
  return fail(ErrorCode::invalid_argument, "report: " + reader.problem());
}

Result<Report::DeviceLine> device_of(const Parsed& json, const char* where) {
  Reader reader(json, where);
  Report::DeviceLine device;
  device.uri = reader.text("uri");
  device.name = reader.text("name");
  device.backend = reader.text("backend");
  device.driver = reader.text("driver");
  device.driver_version = reader.text("driver_version");
  device.architecture = reader.text("architecture");
  device.emulated = reader.flag("emulated");
  device.fma = reader.either("fma", "fused", "unfused");
  device.subnormals = reader.either("subnormals", "kept", "flushed");
  reader.text("class");  // follows from the two
  HALYARD_TRY(checked(reader));
  return device;
}

Result<CaseReport> case_of(const Parsed& json, std::size_t number) {
  Reader reader(json, fmt::format("case {}", number));
  CaseReport each;
  each.name = reader.text("name");
  each.suite = reader.text("suite");
  each.operation = reader.text("operation");
  each.element = reader.text("element");
  each.seconds = reader.amount("seconds");
  const auto verdict = parse_verdict(reader.text("verdict"));
  if (!verdict) reader.complain("verdict", "is none of the known ones");
  each.outcome.verdict = verdict.value_or(Verdict::failed);
  each.outcome.message = reader.optional_text("message");
  each.outcome.hash = reader.optional_text("hash");
  each.repeat = reader.optional_text("repeat");
  if (reader.has("error") && !reader.at("error").is_null())
    each.outcome.error = reader.at("error") == "inf" ? HUGE_VAL : reader.amount("error");
  HALYARD_TRY(checked(reader));
  return each;
}

/// That the document is a report at all, of a version known here.
Status check_format(const Parsed& json) {
  Reader reader(json, "the document");
  const std::string format = reader.text("format");
  if (format != format_name)
    reader.complain("format", fmt::format("is '{:.40}', not '{}'", format, format_name));
  const std::uint64_t version = reader.whole("version");
  if (version > format_version)
    reader.complain("version", fmt::format("is {}, newer than {}, the newest known here: read it with the "
                                           "Halyard that wrote it or a newer one",
                                           version, format_version));
  if (version < format_version) reader.complain("version", fmt::format("is {}: there is none", version));
  return checked(reader);
}

Status check_totals(const Parsed& json) {
  Reader reader(json, "totals");
  for (Verdict verdict : all_verdicts) reader.whole(name(verdict).data());
  return checked(reader);
}

}  // namespace

std::string to_json(const Report& report) {
  Json json = {
      {"format", format_name},           {"version", format_version}, {"halyard", report.halyard_version},
      {"started", report.started},       {"seconds", report.seconds}, {"seed", report.seed},
      {"device", json_of(report.device)}};
  if (report.against) json["against"] = json_of(*report.against);
  Json totals;
  for (Verdict verdict : all_verdicts) totals[std::string(name(verdict))] = report.count(verdict);
  json["totals"] = totals;
  json["cases"] = Json::array();
  for (const CaseReport& each : report.cases) json["cases"].push_back(json_of(each));
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Report> from_json(std::string_view text) {
  const Parsed json = Parsed::parse(text, nullptr, false);
  if (json.is_discarded()) return fail(ErrorCode::invalid_argument, "report: this is no JSON");
  HALYARD_TRY(check_format(json));
  Reader reader(json, "the document");
  Report report;
  report.halyard_version = reader.text("halyard");
  report.started = reader.text("started");
  report.seconds = reader.amount("seconds");
  report.seed = reader.whole("seed");
  const Parsed& device = reader.at("device");
  const Parsed& totals = reader.at("totals");
  const Parsed& cases = reader.at("cases");
  if (!cases.is_array()) reader.complain("cases", "is no array");
  HALYARD_TRY(checked(reader));
  HALYARD_ASSIGN(report.device, device_of(device, "device"));
  if (reader.has("against")) {
    HALYARD_ASSIGN(report.against, device_of(reader.at("against"), "against"));
  }
  HALYARD_TRY(check_totals(totals));
  for (std::size_t i = 0; i < cases.size(); ++i) {
    HALYARD_ASSIGN(CaseReport each, case_of(cases[i], i));
    report.cases.push_back(std::move(each));
  }
  return report;
}

}  // namespace halyard::conformance
