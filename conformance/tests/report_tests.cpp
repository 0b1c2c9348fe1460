#include <doctest/doctest.h>
#include <halyard/conformance/exceptions.h>
#include <halyard/conformance/report.h>
#include <sys/stat.h>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

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

TEST_CASE("every field of a report must be there and of its type, and the error names it") {
  using Json = nlohmann::ordered_json;
  const Json good = Json::parse(to_json(sample()));
  const auto refused = [](const Json& json, const std::string& field) {
    const auto read = from_json(json.dump());
    return !read && read.error().code == ErrorCode::invalid_argument &&
           read.error().message.find(field) != std::string::npos;
  };
  const auto check_fields = [&](const Json::json_pointer& object, const std::set<std::string>& optional) {
    for (const auto& [key, value] : good[object].items()) {
      INFO(object.to_string(), "/", key);
      Json without = good, other_type = good;
      without[object].erase(key);
      other_type[object][key] = Json::array({1});
      CHECK(refused(without, key) != optional.contains(key));
      if (key != "cases") CHECK(refused(other_type, key));
    }
  };
  check_fields(Json::json_pointer(""), {"against"});
  check_fields(Json::json_pointer("/device"), {});
  check_fields(Json::json_pointer("/totals"), {});
  check_fields(Json::json_pointer("/cases/1"), {"message", "error", "hash", "repeat"});
}

TEST_CASE("an error is a number from 0 on, \"inf\", null or absent") {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(to_json(sample()));
  const auto read_with = [&](const nlohmann::ordered_json& error) {
    json["cases"][0]["error"] = error;
    return from_json(json.dump());
  };
  CHECK_FALSE(read_with(nullptr).value().cases[0].outcome.error.has_value());
  CHECK(read_with(2).value().cases[0].outcome.error == 2.0);
  CHECK(std::isinf(*read_with("inf").value().cases[0].outcome.error));
  CHECK(read_with("large").error().message.find("'error' of case 0") != std::string::npos);
  CHECK(read_with(-0.5).error().message.find("'error' of case 0 is less than 0") != std::string::npos);
}

TEST_CASE("another format and a newer version are refused by name") {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(to_json(sample()));
  json["version"] = 2;
  CHECK(from_json(json.dump()).error().message.find("is 2, newer than 1") != std::string::npos);
  json["format"] = "junit";
  CHECK(from_json(json.dump()).error().message.find("'junit'") != std::string::npos);
}

TEST_CASE("hostile JSON is an error and nothing worse") {
  const std::string good = to_json(sample());
  for (std::size_t length = 0; length + 1 < good.size(); length += 7)
    CHECK_FALSE(from_json(std::string_view(good).substr(0, length)).has_value());
  CHECK_FALSE(from_json(std::string(100000, '[')).has_value());
  CHECK_FALSE(from_json("{\"format\": \"\xff\xfe\"}").has_value());
  CHECK_FALSE(from_json(R"({"format": "\ud800"})").has_value());
  CHECK_FALSE(from_json(R"({"format": "halyard-conformance", "version": 1e999})").has_value());
  std::string many_keys = "{";
  for (int i = 0; i < 50000; ++i) many_keys += "\"" + std::to_string(i) + "\": 0, ";
  CHECK_FALSE(from_json(many_keys + "\"end\": 0}").has_value());  // in linear time, or this test never ends
}

TEST_CASE("no error value, however odd, breaks the page") {
  Report report = sample();
  for (double error : {-5.0, -0.0, 1.0, std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    report.cases[0].outcome.error = error;
    CHECK(to_html(std::span(&report, 1)).find("</html>") != std::string::npos);
  }
  CHECK(to_html({}).find("</html>") != std::string::npos);
}

TEST_CASE("a suite that this version does not know is shown like any other") {
  Report report = sample();
  report.cases[1].suite = "later";
  CHECK(report.suite_names() == std::vector<std::string>{"ops", "later"});
  CHECK(to_junit(report).find("<testsuite name=\"later\"") != std::string::npos);
  CHECK(to_html(std::span(&report, 1)).find("id=\"suite-later\"") != std::string::npos);
}

TEST_CASE("reports of other seeds have other values: their bits are not compared") {
  Report a = sample(), b = sample();
  b.cases[0].outcome.hash = "another";
  CHECK(compare(a, b).other_bits == 1);
  b.seed = a.seed + 1;
  const Comparison comparison = compare(a, b);
  CHECK_FALSE(comparison.same_seed);
  CHECK(comparison.other_bits == 0);
  CHECK_FALSE(comparison.failed());
}

TEST_CASE("bytes that XML cannot hold become question marks") {
  Report report = sample();
  report.cases[1].outcome.message =
      "a\xff\xc0\x80\xed\xa0\x80\xef\xbf\xbe\xf4\x90\x80\x80z é \xf0\x9f\x98\x80 \xc3";
  CHECK(to_junit(report).find("message=\"a" + std::string(13, '?') + "z é \xf0\x9f\x98\x80 ?\"") !=
        std::string::npos);
  report.cases[1].outcome.message = std::string("a\0\x01z", 4);
  CHECK(to_junit(report).find("message=\"a??z\"") != std::string::npos);
}

TEST_CASE("JUnit fails what failed and what is stale, and skips the rest with its reason") {
  Report report = sample();
  report.cases[0].outcome = {Verdict::stale_exception, "take the row out", {}, ""};
  const std::string junit = to_junit(report);
  CHECK(junit.find("<failure message=\"take the row out\" type=\"stale_exception\"") != std::string::npos);
  CHECK(junit.find("<skipped message=\"no f64\"/>") != std::string::npos);
  CHECK(junit.find("failures=\"2\" skipped=\"1\"") != std::string::npos);
}

TEST_CASE("a field of the page counts the cases passed and all, with a sign") {
  Report report = sample();
  report.cases.push_back(report.cases[1]);
  report.cases.back().outcome.verdict = Verdict::passed;
  const std::string html = to_html(std::span(&report, 1));
  CHECK(html.find(">✓ 1/1</td>") != std::string::npos);
  CHECK(html.find(">✗ 1/2</td>") != std::string::npos);
  CHECK(html.find(">– 0/1</td>") != std::string::npos);
  CHECK(html.find("http") == std::string::npos);  // no outside parts
  CHECK(html.find("<script") == std::string::npos);
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
  // What is known to be wrong has bits of its own.
  Report known = b;
  known.cases[0].outcome.verdict = Verdict::expected_failure;
  CHECK(compare(known, a).other_bits == 1);
  CHECK_FALSE(compare(known, a).failed());
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

TEST_CASE("bits are not compared where one report has none, and a name that comes twice is no difference") {
  Report a = sample();
  Report b = sample();
  b.cases[0].outcome.hash.clear();
  CHECK(compare(a, b).differences.empty());
  CHECK(compare(a, b).same_bits == 1);
  a.cases.push_back(a.cases[0]);
  CHECK(compare(a, a).differences.empty());
}

TEST_CASE(
    "a case in the second report alone is told, and a verdict between two that are no failure does not "
    "count") {
  const Report a = sample();
  Report b = sample();
  b.cases[2].name = "ops/other";
  const Comparison renamed = compare(a, b);
  REQUIRE(renamed.differences.size() == 2);
  CHECK(renamed.differences[0].what == "only in the first");
  CHECK(renamed.differences[1].what == "only in the second");
  CHECK(renamed.cases == 2);
  Report c = sample();
  c.cases[2].outcome.verdict = Verdict::passed;
  CHECK(compare(a, c).differences.at(0).what == "verdict: unsupported, passed");
  CHECK_FALSE(compare(a, c).failed());
}

TEST_CASE(
    "a folder or pipe is not replaced by a report, a folder is not read as one, an empty file is no JSON") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "halyard-report-kinds";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  CHECK(write_file(folder, "text").error().message.find("no regular file") != std::string::npos);
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(write_file(folder / "pipe", "text").error().code == ErrorCode::io_error);
  CHECK(std::filesystem::is_fifo(folder / "pipe"));
  CHECK(read_report(folder).error().code == ErrorCode::io_error);
  REQUIRE(write_file(folder / "empty", ""));
  CHECK(read_report(folder / "empty").error().message.find("no JSON") != std::string::npos);
  std::filesystem::remove_all(folder);
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
