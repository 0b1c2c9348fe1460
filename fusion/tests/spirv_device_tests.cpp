#include "spirv_sample_programs.h"
#include "vulkan_runner.h"

#include <doctest/doctest.h>
#include <halyard/program/interpret.h>
#include <cstdlib>
#include <cstring>
#include <string_view>

using namespace halyard;
using namespace halyard::fusion;
using namespace halyard::fusion::testing;

namespace {

std::vector<std::vector<std::byte>> interpreted(const Sample& sample) {
  auto interpreter = program::Interpreter::prepare(sample.program);
  REQUIRE_MESSAGE(interpreter.has_value(), interpreter.error().message);
  auto buffers = sample.buffers;
  std::vector<program::BufferView> views;
  for (auto& bytes : buffers) views.push_back({bytes.data(), bytes.size()});
  auto ran = interpreter->run(sample.grid, views, sample.scalars);
  REQUIRE_MESSAGE(ran.has_value(), ran.error().message);
  return buffers;
}

std::string first_difference(const std::vector<std::vector<std::byte>>& a,
                             const std::vector<std::vector<std::byte>>& b) {
  for (std::size_t buffer = 0; buffer < a.size(); ++buffer)
    for (std::size_t at = 0; at < a[buffer].size(); ++at)
      if (a[buffer][at] != b[buffer][at])
        return "buffer " + std::to_string(buffer) + ", byte " + std::to_string(at);
  return "none";
}

void check_all(VulkanRunner& runner, SpirvOptions options) {
  bool by_address = options.binding == SpirvBinding::device_addresses;
  for (const Sample& sample : sample_programs(runner.info().subgroup_size)) {
    if (sample.needs_f64 && !contains(options.facts.arithmetic_types, ElementType::f64)) continue;
    // How buffers are bound does not matter to arithmetic and conversions.
    if (by_address &&
        (sample.program.name.starts_with("cast") || sample.program.name.starts_with("arithmetic")))
      continue;
    CAPTURE(std::string(runner.info().name));
    CAPTURE(sample.program.name);
    auto results = runner.run(sample, options);
    if (!results) {
      FAIL_CHECK(results.error().message);
      continue;
    }
    auto expected = interpreted(sample);
    CHECK(*results == expected);
    if (*results != expected) MESSAGE(first_difference(*results, expected));
  }
}

}  // namespace

TEST_CASE("every sample program computes the interpreter's bits on every Vulkan device") {
  std::string why;
  auto runners = VulkanRunner::open_all(&why);
  const char* promised = std::getenv("HALYARD_TEST_BACKENDS");
  if (runners.empty()) {
    CHECK_MESSAGE((!promised || !std::strstr(promised, "vulkan")), why);
    MESSAGE("skipped: no Vulkan driver (" << why << ")");
    return;
  }
  for (auto& runner : runners) {
    SpirvOptions options = spirv_options(runner->info());
    check_all(*runner, options);
    if (runner->info().execution_flags & HY_EXECUTION_DEVICE_ADDRESS) {
      options.binding = SpirvBinding::device_addresses;
      check_all(*runner, options);
    }
    if (!runner->has_validation_layer())
      MESSAGE("the Khronos validation layer is not installed: not checked");
    CHECK(runner->validation_messages() == 0);
  }
}
