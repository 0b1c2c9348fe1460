#include <doctest/doctest.h>
#include <halyard/conformance/performance.h>
#include <array>
#include <set>
#include <string_view>

/// Reports of benchmarks: what they say together, and their JSON. Nothing here is timed.
namespace halyard::conformance {
namespace {

BenchmarkResult result(std::string name, double fraction) {
  BenchmarkResult made{.name = std::move(name), .suite = "ops", .operation = "softmax"};
  made.seconds = 2e-3;
  made.least_seconds = 1.5e-3;
  made.replays = 7;
  made.launches = 1;
  made.bytes = 300;
  made.bytes_fewest = 200;
  made.flops = 1e6;
  made.ceiling_seconds = fraction * made.seconds;
  made.bound = fusion::Bound::memory;
  made.fraction = fraction;
  return made;
}

PerformanceReport report(std::string uri, std::vector<BenchmarkResult> results) {
  PerformanceReport made{.halyard_version = "1.2.3", .started = "2026-01-31T12:00:00Z", .seconds = 9};
  made.device.uri = made.device.backend = std::move(uri);
  made.device.name = "a <device>";
  made.device.driver = "driver";
  made.device.driver_version = "1";
  made.device.fma = "fused";
  made.device.subnormals = "kept";
  made.ceilings.bandwidth = {{1e6, 5e10, 4e10}, {1e8, 2e10, 1.5e10}};
  made.ceilings.peak_flops_per_second[static_cast<std::size_t>(ElementType::f32)] = 1e11;
  made.ceilings.launch_seconds = 1e-6;
  made.results = std::move(results);
  return made;
}

BenchmarkResult wrong(std::string name) {
  BenchmarkResult made = result(std::move(name), 0);
  made.verdict = Verdict::failed;
  made.message = "output 0: element 3 is 1, not 2";
  return made;
}
BenchmarkResult unsupported(std::string name) {
  BenchmarkResult made = result(std::move(name), 0);
  made.verdict = Verdict::unsupported;
  made.message = "too large";
  return made;
}

}  // namespace

TEST_CASE("parity is the harmonic mean of the devices' fractions, with the least and the most") {
  const PerformanceReport reports[] = {report("a", {result("x", 0.5), result("y", 0.9)}),
                                       report("b", {result("x", 0.25), result("y", 0.9)})};
  const std::vector<Parity> parity = parity_of(reports);
  REQUIRE(parity.size() == 2);
  CHECK(parity[0].harmonic_mean == doctest::Approx(2 / (2.0 + 4.0)));
  CHECK(parity[0].least == 0.25);
  CHECK(parity[0].most == 0.5);
  CHECK(parity[1].harmonic_mean == doctest::Approx(0.9));
}

TEST_CASE("a wrong result scores 0 on all devices together, an unsupported one is left out") {
  const PerformanceReport reports[] = {report("a", {result("x", 0.5), result("y", 0.9)}),
                                       report("b", {wrong("x"), unsupported("y")})};
  const std::vector<Parity> parity = parity_of(reports);
  REQUIRE(parity.size() == 1);
  CHECK(parity[0].name == "x");
  CHECK(parity[0].harmonic_mean == 0);
  CHECK(parity[0].least == 0);
}

TEST_CASE("a baseline tells what became slower on the same device by more than is allowed") {
  const PerformanceReport before[] = {report("a", {result("x", 0.5), result("y", 0.5), result("z", 0.5)})};
  PerformanceReport after[] = {
      report("a", {result("x", 0.44), result("y", 0.46), wrong("z"), result("new", 0.1)})};
  const std::vector<Regression> lost = regressions(before, after, 0.1);
  REQUIRE(lost.size() == 2);
  CHECK(lost[0].name == "x");
  CHECK(lost[0].before == 0.5);
  CHECK(lost[0].now == 0.44);
  CHECK(lost[1].name == "z");
  after[0].device.driver_version = "2";
  CHECK(regressions(before, after, 0.1).empty());
}

TEST_CASE("a report of performance comes back from its JSON whole") {
  const PerformanceReport reports[] = {report("a", {result("x", 0.5), wrong("y")}),
                                       report("b", {unsupported("x")})};
  const std::string json = to_json(reports);
  const std::vector<PerformanceReport> read = performance_from_json(json).value();
  CHECK(to_json(read) == json);
  CHECK(read[0].ceilings.bandwidth[1].triad_bytes_per_second == 1.5e10);
  CHECK(read[0].results[1].message == "output 0: element 3 is 1, not 2");
}

TEST_CASE("JSON that is no report of performance is refused by the field at fault") {
  CHECK(performance_from_json("{").error().code == ErrorCode::invalid_argument);
  CHECK(performance_from_json(R"({"format": "halyard-conformance", "version": 1})")
            .error()
            .message.find("format") != std::string::npos);
  const PerformanceReport reports[] = {report("a", {result("x", 0.5)})};
  const std::string good = to_json(reports);
  for (const auto& [field, from, to] :
       {std::array{"fraction", "\"fraction\": 0.5", "\"fraction\": -1"},
        std::array{"bound", "\"bound\": \"memory\"", "\"bound\": \"luck\""},
        std::array{"bandwidth", "\"bandwidth\": [", "\"bandwidth\": 7, \"x\": ["},
        std::array{"f32", "\"f32\": ", "\"f32\": \"fast\", \"x\": "},
        std::array{"replays", "\"replays\": 7", "\"replays\": 7.5"}}) {
    CAPTURE(field);
    std::string text = good;
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, std::string_view(from).size(), to);
    const auto refused = performance_from_json(text);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message.find(field) != std::string::npos);
  }
  // No cut or changed byte does worse than an error.
  for (std::size_t i = 0; i < good.size(); i += 3) {
    (void)performance_from_json(std::string_view(good).substr(0, i));
    std::string text = good;
    text[i] = '{';
    (void)performance_from_json(text);
  }
}

TEST_CASE("the page shows parity, fractions and what is wrong, and escapes what devices say") {
  const PerformanceReport reports[] = {report("a", {result("x", 0.5), wrong("y")}),
                                       report("b", {result("x", 0.25)})};
  const std::string page = to_html(reports);
  CHECK(page.find("Parity") != std::string::npos);
  CHECK(page.find("0.33") != std::string::npos);
  CHECK(page.find("wrong:") != std::string::npos);
  CHECK(page.find("<device>") == std::string::npos);
}

TEST_CASE("names of benchmarks are distinct and begin with their suite") {
  std::set<std::string> names;
  for (const Benchmark& each : benchmarks()) {
    CAPTURE(each.name);
    CHECK(names.insert(each.name).second);
    CHECK(each.name.starts_with(each.suite + "/"));
  }
}

}  // namespace halyard::conformance
