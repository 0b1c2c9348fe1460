#include <halyard/conformance/report.h>

#include <fmt/format.h>
#include <array>
#include <cmath>
#include <cstdint>

#include "json_reader.h"

/// The JSON form of a report; docs/conformance.md describes it field by field.
namespace halyard::conformance {
namespace {

constexpr std::array all_verdicts{Verdict::passed, Verdict::failed, Verdict::unsupported,
                                  Verdict::expected_failure, Verdict::stale_exception};
constexpr std::string_view format_name = "halyard-conformance";
constexpr std::uint64_t format_version = 1;

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
  HALYARD_TRY(check_format(json, format_name, format_version));
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
