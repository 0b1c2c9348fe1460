#include <unistd.h>

#include <atomic>
#include <ctime>

#include "device_info_reader.h"
#include "fixture.h"
#include "halyard/hal/disk_cache.h"
#include "halyard/hal/quirks.h"
#include "measured_facts.h"

using namespace halyard;
using namespace halyard::hal;
using namespace halyard::hal::testing;

TEST_CASE("a device's info tells limits, types, features and quirks") {
  const auto device = open("fake:1");
  const DeviceInfo& info = device->info();
  CHECK(info.backend == "fake");
  CHECK(info.lanes_per_subgroup == 4);
  CHECK(info.min_lanes_per_subgroup == 4);
  CHECK(info.arithmetic_types.has(ElementType::u32));
  CHECK(!info.arithmetic_types.has(ElementType::f32));
  CHECK(info.has_feature("word"));
  CHECK(!info.has_feature("avx2"));
  CHECK(info.accepts("fake"));
  CHECK(info.quirk("only_words") == 32);
  CHECK(!info.quirk("nothing"));
  CHECK(open("fake:2")->info().emulated);
  CHECK(info.numeric.fused_fma == Fact::unknown);
}

TEST_CASE("quirks are keyed by backend, driver and version") {
  const auto quirks_of = [](std::string backend, std::string driver, std::string version) {
    DeviceInfo info;
    info.backend = std::move(backend);
    info.driver = std::move(driver);
    info.driver_version = std::move(version);
    add_known_quirks(info);
    return info;
  };
  CHECK(quirks_of("vulkan", "llvmpipe", "Mesa 22.3.6").quirk(quirk::max_loop_iterations) == 65535);
  CHECK(!quirks_of("vulkan", "llvmpipe", "Mesa 25.0.7-2~bpo12+1").quirk(quirk::max_loop_iterations));
  CHECK(quirks_of("vulkan", "llvmpipe", "Mesa 25.0.7-2~bpo12+1").quirk(quirk::elides_round_trips) == 1);
  CHECK(quirks_of("vulkan", "SwiftShader driver", "5.0.0").quirk(quirk::barriers_are_slow) == 1);
  CHECK(quirks_of("vulkan", "NVIDIA", "535").quirks.empty());
  CHECK(quirks_of("cpu", "llvmpipe", "22").quirks.empty());
}

TEST_CASE("versions compare number by number") {
  CHECK(compare_versions("22.3.6", "25") < 0);
  CHECK(compare_versions("Mesa 9.10", "9.9") > 0);
  CHECK(compare_versions("1.0", "1") == 0);
}

TEST_CASE("numeric facts come from the prober once and then from the disk cache") {
  static std::atomic<int> runs{0};
  const std::string version = "test " + std::to_string(std::time(nullptr)) + std::to_string(::getpid());
  set_prober({version, [](const std::shared_ptr<Device>& device) -> Result<NumericFacts> {
                ++runs;
                CHECK(device->info().numeric.fused_fma == Fact::unknown);
                NumericFacts facts;
                facts.fused_fma = Fact::yes;
                facts.exact_division = Fact::no;
                return facts;
              }});
  CHECK(open("fake:1", {.probe = false})->info().numeric.fused_fma == Fact::unknown);
  CHECK(runs == 0);
  CHECK(open("fake:1")->info().numeric.fused_fma == Fact::yes);
  CHECK(open("fake:1")->info().numeric.exact_division == Fact::no);
  CHECK(runs == (DiskCache::shared().enabled() ? 1 : 2));
  set_prober({version + " failing", [](const std::shared_ptr<Device>&) -> Result<NumericFacts> {
                return fail(ErrorCode::compile_error, "no compiler");
              }});
  LogRecorder log;
  CHECK(open("fake:1")->info().numeric == NumericFacts{});
  CHECK(log.has("the arithmetic probe failed"));
  set_prober({});
}

TEST_CASE("rates are measured when asked for and remembered") {
  static std::atomic<int> runs{0};
  const auto device = open("fake:1");
  CHECK(device->measurements().error().code == ErrorCode::unsupported);
  const std::string version = "test " + std::to_string(std::time(nullptr)) + std::to_string(::getpid());
  set_measurer({version, [](const std::shared_ptr<Device>&) -> Result<Measurements> {
                  ++runs;
                  Measurements measurements;
                  measurements.triad_bytes_per_second = 1e9;
                  measurements.flops_per_second[static_cast<std::size_t>(ElementType::f32)] = 2e9;
                  return measurements;
                }});
  CHECK(device->measurements(false).error().code == ErrorCode::not_found);
  CHECK(value_of(device->measurements()).triad_bytes_per_second == 1e9);
  CHECK(value_of(device->measurements()).flops_per_second[11] == 2e9);
  CHECK(runs == 1);
  if (DiskCache::shared().enabled()) CHECK(open("fake:1")->info().measurements.measured());
  set_measurer({});
}

TEST_CASE("facts and rates that were damaged in the cache are not trusted") {
  NumericFacts facts;
  facts.rounds_f16 = Fact::no;
  CHECK(read_numeric_facts(write_numeric_facts(facts)) == facts);
  for (const char* text : {"", "{", "[]", "{}", "{\"fused_fma\": 3}", "\xff\xff"}) {
    CHECK(!read_numeric_facts(text));
    CHECK(!read_measurements(text));
  }
  Measurements measurements;
  measurements.launch_seconds = 1e-6;
  measurements.peak_flops_per_second[11] = 3e9;
  measurements.bandwidth = {{1024, 2e9, 3e9}, {4096, 1e9, 1.5e9}};
  const auto read = read_measurements(write_measurements(measurements));
  REQUIRE(read);
  CHECK(read->launch_seconds == 1e-6);
  CHECK(read->peak_flops_per_second[11] == 3e9);
  REQUIRE(read->bandwidth.size() == 2);
  CHECK(read->bandwidth[1].bytes == 4096);
  CHECK(read->bandwidth[1].copy_bytes_per_second == 1e9);
  CHECK(read->bandwidth[1].triad_bytes_per_second == 1.5e9);
  std::string other = write_measurements(measurements);
  other.replace(other.find("4096"), 4, "\"xx\"");
  CHECK(!read_measurements(other));
  measurements.launch_seconds = -1;
  CHECK(!read_measurements(write_measurements(measurements)));
}

TEST_CASE("properties are read by key") {
  const auto device = open("fake:0");
  CHECK(value_of(device->property("memory.free_bytes")).integer > 0);
  CHECK(device->property("nothing").error().code == ErrorCode::not_found);
  CHECK(open("bare")->property("memory.free_bytes").error().code == ErrorCode::unsupported);
}
