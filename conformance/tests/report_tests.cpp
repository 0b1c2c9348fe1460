#include <doctest/doctest.h>
#include <halyard/conformance/exceptions.h>
#include <halyard/conformance/report.h>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "ops_case.h"

namespace halyard::conformance {
namespace {

Report sample() {
  Report report;
  report.halyard_version = "0.1.0";
  report.started = "2026-12-01T12:00:00Z";
  report.seconds = 1.5;
  report.seed = 7;
  report.device = {"vulkan:0", "A <device> & more", "vulkan", "driver", "1.2", "arch",
                   false,      "unfused",           "flushed"};
  report.cases = {
      {"ops/exp/f32/129/plain/ordinary", "ops", "exp", "f32", {Verdict::passed, "", 0.25, "00ff"}, 0.1, ""},
      {"ops/add/f32/1/plain/ordinary",
       "ops",
       "add",
       "f32",
       {Verdict::failed, "1 < 2 & \"3\"", HUGE_VAL, "0123"},
       0.2,
       "halyard conformance --case 'x'"},
      {"ops/add/f64/1/plain/ordinary", "ops", "add", "f64", {Verdict::unsupported, "no f64", {}, ""}, 0, ""}};
  return report;
}

}  // namespace

TEST_CASE("a report comes back from its JSON whole") {
  const std::string json = to_json(sample());
  const Report read = from_json(json).value();
  CHECK(to_json(read) == json);
  CHECK(read.cases[0].outcome.error == 0.25);
  CHECK(std::isinf(*read.cases[1].outcome.error));
  CHECK_FALSE(read.cases[2].outcome.error.has_value());
  CHECK(read.device.numeric_class() == "unfused, flushes subnormals");
  CHECK(read.failed());
}

TEST_CASE("JSON that is no report is refused by the field at fault") {
  CHECK(from_json("").error().code == ErrorCode::invalid_argument);
  CHECK(from_json("[]").error().message.find("no object") != std::string::npos);
  CHECK(from_json(R"({"format": "something"})").error().message.find("format") != std::string::npos);
  std::string newer = to_json(sample());
  newer.replace(newer.find("\"version\": 1"), 12, "\"version\": 9");
  CHECK(from_json(newer).error().message.find("version") != std::string::npos);
  std::string wrong = to_json(sample());
  constexpr std::string_view good = "\"verdict\": \"passed\"";
  wrong.replace(wrong.find(good), good.size(), "\"verdict\": \"perhaps\"");
  CHECK(from_json(wrong).error().message.find("case 0") != std::string::npos);
}

TEST_CASE("JUnit and HTML escape what devices and messages say") {
  const Report report = sample();
  const std::string junit = to_junit(report);
  CHECK(junit.find("message=\"1 &lt; 2 &amp; &quot;3&quot;\"") != std::string::npos);
  CHECK(junit.find("tests=\"3\" failures=\"1\" skipped=\"1\"") != std::string::npos);
  const std::string html = to_html(std::span(&report, 1));
  CHECK(html.find("A &lt;device&gt; &amp; more") != std::string::npos);
  CHECK(html.find("halyard conformance --case &#39;x&#39;") != std::string::npos);
  CHECK(html.find("<device>") == std::string::npos);
}

TEST_CASE("other bits are a failure within one class and none between classes") {
  const Report a = sample();
  Report b = sample();
  b.cases[0].outcome.hash = "00fe";
  CHECK(compare(a, a).differences.empty());
  CHECK(compare(a, a).same_bits == 2);
  CHECK(compare(a, b).failed());
  b.device.fma = "fused";
  CHECK_FALSE(compare(a, b).failed());
  CHECK(compare(a, b).other_bits == 1);
}

TEST_CASE("a case in one report alone is told and is no failure, another verdict is") {
  const Report a = sample();
  Report b = sample();
  b.cases.pop_back();
  CHECK(compare(a, b).differences.size() == 1);
  CHECK_FALSE(compare(a, b).failed());
  b.cases[1].outcome.verdict = Verdict::passed;
  CHECK(compare(a, b).failed());
}

TEST_CASE("a report is written whole or not at all") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "halyard-report-test";
  std::filesystem::create_directories(folder);
  REQUIRE(write_file(folder / "a.json", to_json(sample())));
  CHECK(read_report(folder / "a.json").has_value());
  const Status refused = write_file(folder / "absent" / "a.json", "text");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("absent") != std::string::npos);
  CHECK(read_report(folder / "b.json").error().code == ErrorCode::not_found);
  CHECK(std::distance(std::filesystem::directory_iterator(folder), {}) == 1);
  std::filesystem::remove_all(folder);
}

TEST_CASE("an exception excuses a failure and becomes stale when the case passes") {
  const auto rows =
      parse_exceptions(R"([{"kind": "expected_failure", "device": "*pipe*", "cases": "ops/exp/*",
                                         "reason": "a known fault"}])")
          .value();
  const auto verdict = [&](const char* name, Verdict found) {
    return apply(rows, name, {found, "", {}, ""}).verdict;
  };
  CHECK(verdict("ops/exp/f32", Verdict::failed) == Verdict::expected_failure);
  CHECK(verdict("ops/exp/f32", Verdict::passed) == Verdict::stale_exception);
  CHECK(verdict("ops/add/f32", Verdict::failed) == Verdict::failed);
  CHECK(verdict("ops/exp/f32", Verdict::unsupported) == Verdict::unsupported);
  CHECK(parse_exceptions("{}").error().code == ErrorCode::invalid_argument);
  CHECK(parse_exceptions(R"([{"kind": "sometimes"}])").error().message.find("sometimes") !=
        std::string::npos);
}

TEST_CASE("a star matches any characters, and all of the text must match") {
  CHECK(matches("*", ""));
  CHECK(matches("ops/*/f32/*", "ops/exp/f32/129"));
  CHECK_FALSE(matches("ops/*/f32", "ops/exp/f32/129"));
  CHECK(matches("*ab*ab", "xabab"));
  CHECK_FALSE(matches("", "a"));
}

TEST_CASE("a case's name makes the case again, and a wrong name says what it lacks") {
  for (const OpsCase& each : listed_ops_cases()) {
    const auto again = OpsCase::parse(each.name());
    REQUIRE(again.has_value());
    CHECK(again->name() == each.name());
  }
  CHECK(OpsCase::parse("ops/expp/f32/1/plain/ordinary").error().message.find("did you mean") !=
        std::string::npos);
  CHECK_FALSE(OpsCase::parse("ops/exp/f32/1x-3/plain/ordinary"));
  CHECK_FALSE(OpsCase::parse("ops/exp/f32/9999999999999x99999999999/plain/ordinary"));
  CHECK_FALSE(OpsCase::parse("ops/exp"));
}

TEST_CASE("every primitive that computes has cases, and fast ones among them") {
  std::set<ops::Primitive> all, fast;
  for (const OpsCase& each : listed_ops_cases()) {
    all.insert(each.primitive);
    if (each.fast) fast.insert(each.primitive);
  }
  for (const ops::PrimitiveRow& row : ops::rows()) {
    if (row.primitive == ops::Primitive::input || row.primitive == ops::Primitive::constant) continue;
    INFO(row.name);
    CHECK(all.contains(row.primitive));
    CHECK(fast.contains(row.primitive));
  }
}

}  // namespace halyard::conformance
