// What is the cpu's own in running commands; what all devices share is tested in conformance/hal.
#include <xmmintrin.h>
#include <bit>
#include "cpu_fixture.h"

using namespace halyard::cpu::tests;

namespace {

std::vector<HyKernelDesc> example_kernels() {
  return {kernel_desc("add_one", 1), kernel_desc("halve", 1, 8), kernel_desc("through_scratch", 1, 0, 1024)};
}

/// A device with the example kernels.
struct Loaded : Device {
  explicit Loaded(std::uint32_t threads = 2)
      : Device(threads), module(make_module(*this, "llvm-ir", example_text, example_kernels())) {}
  ~Loaded() { backend().module_destroy(module); }
  HyModule* module;
};

std::uint32_t bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

}  // namespace

TEST_CASE("a dispatch runs every workgroup exactly once, on any number of threads") {
  for (std::uint32_t threads : {1u, 2u, 5u}) {
    Loaded device(threads);
    for (std::uint32_t count : {1u, 2u, 7u, 1000u, 300001u}) {
      HyBuffer* buffer = device.make_buffer(std::vector<std::int32_t>(count, 41));
      for (int repeat = 0; repeat < 3; ++repeat)
        run(device.queue, Commands().dispatch(device.module, 0, count, {slice(buffer, 4 * count)}));
      bool all = true;
      for (std::int32_t value : Device::contents<std::int32_t>(buffer, count)) all = all && value == 44;
      CHECK(all);
      backend().buffer_destroy(buffer);
    }
  }
}

TEST_CASE("each task has scratch of its own") {
  Loaded device(4);
  const std::uint32_t count = 4096;
  HyBuffer* buffer = device.make_buffer(4 * count);
  run(device.queue, Commands().dispatch(device.module, 2, count, {slice(buffer, 4 * count)}));
  auto sums = Device::contents<std::uint32_t>(buffer, count);
  for (std::uint32_t i = 0; i < count; ++i) REQUIRE_EQ(sums[i], 256 * i);
  backend().buffer_destroy(buffer);
}

TEST_CASE("an empty grid and an empty submission do nothing and are reached") {
  Loaded device;
  HyBuffer* buffer = device.make_buffer(std::vector<std::int32_t>{5});
  run(device.queue, Commands().dispatch(device.module, 0, 0, {slice(buffer, 4)}));
  run(device.queue, Commands());
  CHECK_EQ(Device::contents<std::int32_t>(buffer, 1)[0], 5);
  backend().buffer_destroy(buffer);
}

TEST_CASE("subnormals are kept although the host flushes them, and the host's mode is restored") {
  Loaded device;
  HyBuffer* buffer = device.make_buffer(std::vector<float>{2e-40f});
  unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040u);  // flush to zero, denormals are zero
  unsigned flushing = _mm_getcsr();
  HyError error = no_error();
  Commands commands;
  commands.dispatch(device.module, 1, 1, {slice(buffer, 4)}, {0, 0});
  std::uint64_t value = 0;
  HyStatus submitted = submit(device.queue, commands, &value, &error);
  HyStatus waited = wait(device.queue, value, &error);
  unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  REQUIRE_EQ(submitted, HY_OK);
  REQUIRE_EQ(waited, HY_OK);
  CHECK_EQ(after & ~0x3fu, flushing & ~0x3fu);  // but for the sticky flags
  CHECK_EQ(bits(Device::contents<float>(buffer, 1)[0]), bits(2e-40f) / 2);
  backend().buffer_destroy(buffer);
}

TEST_CASE("malformed commands are refused before anything runs") {
  Loaded device;
  HyBuffer* buffer = device.make_buffer(std::vector<std::int32_t>{0, 0});
  HyError error = no_error();
  std::uint64_t value = 0;
  auto status_of = [&](Commands commands) { return submit(device.queue, commands, &value, &error); };
  CHECK_EQ(status_of(Commands().dispatch(device.module, 7, 1, {slice(buffer, 4)})), HY_INVALID_ARGUMENT);
  CHECK_EQ(status_of(Commands().dispatch(device.module, 0, 1, {})), HY_INVALID_ARGUMENT);
  CHECK_EQ(status_of(Commands().dispatch(device.module, 1, 1, {slice(buffer, 4)})), HY_INVALID_ARGUMENT);
  CHECK_EQ(status_of(Commands().dispatch(device.module, 0, 1, {slice(buffer, 16)})), HY_INVALID_ARGUMENT);
  CHECK_EQ(status_of(Commands().dispatch(device.module, 0, 1, {slot(0, 4)})), HY_INVALID_ARGUMENT);
  CHECK_EQ(status_of(Commands().copy(slice(buffer, 4), slice(buffer, 2, 4))), HY_INVALID_ARGUMENT);
  CHECK_EQ(status_of(Commands().fill(slice(buffer, 3), 0, 4)), HY_INVALID_ARGUMENT);
  CHECK_NE(std::string(error.message).find("command 0"), std::string::npos);
  backend().buffer_destroy(buffer);
}
