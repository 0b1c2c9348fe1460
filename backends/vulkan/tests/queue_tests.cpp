#include <array>
#include "vulkan_fixture.h"

using namespace halyard::vulkan::tests;

namespace {

/// A device, a kernel that adds, and two buffers of 64 floats.
struct AddFixture : Device {
  AddFixture() {
    module = make_add_module();
    a = make_buffer(std::vector<float>(64, 1.0f));
    b = make_buffer(std::vector<float>(64, 0.0f));
  }
  ~AddFixture() {
    backend().module_destroy(module);
    backend().buffer_destroy(a);
    backend().buffer_destroy(b);
  }
  std::vector<float> values(HyBuffer* buffer) const { return contents<float>(buffer, 64); }

  HyModule* module = nullptr;
  HyBuffer* a = nullptr;
  HyBuffer* b = nullptr;
};

std::vector<float> all(float value) {
  return std::vector<float>(64, value);
}

}  // namespace

TEST_CASE("a scalar block larger than the push constants travels by buffer") {
  if (!has_device()) return;
  AddFixture f;
  std::uint32_t bytes = f.info.max_scalar_bytes + 8;
  HyModule* module = f.make_add_module(bytes);
  Add add(module, f.a, f.b, 64, 4.0f, bytes);
  CHECK(f.wait(f.submit({&add.command, 1})) == HY_OK);
  CHECK(f.values(f.b) == all(5.0f));
  backend().module_destroy(module);
}

TEST_CASE("a wrong dispatch is refused, and the error names the command") {
  if (!has_device()) return;
  AddFixture f;
  Add good(f.module, f.a, f.b, 64, 1.0f), bad(f.module, f.a, f.b, 64, 1.0f);
  bad.slices[1].bytes = 1000;
  std::array<HyCommand, 2> commands{good.command, bad.command};
  HySubmission submission{.size = sizeof submission, .command_count = 2, .commands = commands.data()};
  std::uint64_t value = 0;
  HyError error = no_error();
  CHECK(backend().queue_submit(f.queue, &submission, &value, &error) == HY_INVALID_ARGUMENT);
  CHECK(error.node == 1);
  bad.slices[1].bytes = 256;
  bad.dispatch.scalar_bytes = 0;
  CHECK(backend().queue_submit(f.queue, &submission, &value, &error) == HY_INVALID_ARGUMENT);
  bad.dispatch.scalar_bytes = 8;
  bad.dispatch.grid[1] = f.info.max_grid[1] == UINT32_MAX ? 1 : f.info.max_grid[1] + 1;
  if (bad.dispatch.grid[1] > 1)
    CHECK(backend().queue_submit(f.queue, &submission, &value, &error) == HY_INVALID_ARGUMENT);
  bad.dispatch.grid[1] = 0;  // nothing to do
  CHECK(f.wait(f.submit(commands)) == HY_OK);
}
