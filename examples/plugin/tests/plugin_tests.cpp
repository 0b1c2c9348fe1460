#include <doctest/doctest.h>
#include <halyard/hal/buffer.h>
#include <halyard/hal/command_graph.h>
#include <halyard/hal/device.h>
#include <halyard/hal/module.h>
#include <halyard/hal/queue.h>
#include <halyard/hal/registry.h>
#include <halyard/program/builder.h>
#include <halyard/program/interpret.h>
#include <halyard/program/serialize.h>
#include <cstring>
#include <filesystem>
#include <thread>

#include "sample_programs.h"

namespace halyard {
namespace {

using program::Program;

template <class T>
T value_of(Result<T> result) {
  if (!result) FAIL(result.error().message);
  return std::move(*result);
}

std::shared_ptr<hal::Device> open_device() {
  hal::Registry registry({.folders = {PLUGIN_FOLDER}, .search_defaults = false});
  return value_of(registry.open("interpreter", {.probe = false}));
}

hal::ModuleDesc describe(const Program& program) {
  hal::KernelDesc kernel;
  kernel.entry = program.name;
  for (std::size_t i = 0; i < 3; ++i) kernel.workgroup_size[i] = program.workgroup_size[i];
  kernel.required_subgroup_size = program.subgroup_size;
  kernel.buffer_count = static_cast<std::uint32_t>(program.buffers.size());
  kernel.scalar_bytes = program::scalar_offsets(program).back();
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    auto access = static_cast<unsigned>(program.buffers[i].access);
    if (access & 1u) kernel.read_buffers |= std::uint64_t{1} << i;
    if (access & 2u) kernel.written_buffers |= std::uint64_t{1} << i;
  }
  return {.format = "thread-program",
          .bytes = program::serialize(program),
          .kernels = {kernel},
          .label = program.name};
}

hal::Kernel load(const std::shared_ptr<hal::Device>& device, const Program& program) {
  return value_of(hal::Kernel::find(value_of(device->load_module(describe(program))), program.name));
}

std::shared_ptr<hal::Buffer> upload(const std::shared_ptr<hal::Device>& device,
                                    const std::vector<float>& values) {
  auto buffer = value_of(device->allocate(values.size() * sizeof(float)));
  auto queue = value_of(device->default_queue());
  value_of(queue->upload(std::as_bytes(std::span(values)), buffer));
  return buffer;
}

std::vector<float> download(const std::shared_ptr<hal::Device>& device,
                            const std::shared_ptr<hal::Buffer>& buffer) {
  std::vector<float> values(buffer->size() / sizeof(float));
  Status status =
      value_of(device->default_queue())->download(buffer, std::as_writable_bytes(std::span(values)));
  REQUIRE_MESSAGE(status, status.error().message);
  return values;
}

std::vector<float> ramp(std::size_t count, float scale) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i) * scale;
  return values;
}

/// y[i] += a x[i] for n elements.
hal::Dispatch scaled_sum(const hal::Kernel& kernel, std::shared_ptr<hal::Buffer> x,
                         std::shared_ptr<hal::Buffer> y, int n) {
  return {.kernel = kernel,
          .grid = {static_cast<std::uint32_t>((n + 63) / 64), 1, 1},
          .buffers = {std::move(x), std::move(y)},
          .scalars = hal::ScalarBlock().add(0.5f).add(n).bytes()};
}

}  // namespace

TEST_CASE("the registry finds the module in a folder, and lists its device as emulated") {
  hal::Registry registry({.folders = {PLUGIN_FOLDER}, .search_defaults = false});
  std::vector<hal::DeviceSummary> devices = registry.devices();
  REQUIRE(devices.size() == 1);
  CHECK(devices[0].uri == "interpreter:0");
  CHECK(devices[0].emulated);
}

TEST_CASE("a serialized thread program runs on the device with the interpreter's bits") {
  auto device = open_device();
  hal::Kernel kernel = load(device, program::samples::scaled_sum());
  std::vector<float> x = ramp(1000, 0.3f);
  std::vector<float> y = ramp(1000, 0.7f);
  auto x_buffer = upload(device, x);
  auto y_buffer = upload(device, y);
  auto queue = value_of(device->default_queue());
  Status done = value_of(queue->submit(scaled_sum(kernel, x_buffer, y_buffer, 1000))).wait();
  REQUIRE_MESSAGE(done, done.error().message);
  std::vector<float> result = download(device, y_buffer);
  for (std::size_t i = 0; i < 1000; ++i) {
    volatile float product = 0.5f * x[i];
    REQUIRE(result[i] == product + y[i]);
  }
}

TEST_CASE("only thread programs that fit the device become modules") {
  auto device = open_device();
  hal::ModuleDesc other = describe(program::samples::scaled_sum());
  other.format = "spirv";
  CHECK(device->load_module(other).error().code == ErrorCode::unsupported);

  hal::ModuleDesc damaged = describe(program::samples::scaled_sum());
  damaged.bytes[40] ^= std::byte{1};
  CHECK(device->load_module(damaged).error().code == ErrorCode::corrupt_data);

  // It relies on subgroups of 32; the device has 8.
  CHECK(device->load_module(describe(program::samples::subtract_row_sum())).error().code ==
        ErrorCode::unsupported);
}

TEST_CASE(
    "an access out of bounds fails the submission with kernel, workgroup and lane, and the device lives on") {
  auto device = open_device();
  hal::Kernel kernel = load(device, program::samples::scaled_sum());
  auto x = upload(device, ramp(128, 1));
  auto y = upload(device, ramp(64, 1));
  auto queue = value_of(device->default_queue());
  auto point = queue->submit(scaled_sum(kernel, x, y, 128));
  REQUIRE(point);
  Status status = point->wait();
  REQUIRE_FALSE(status);
  CHECK(status.error().message.find("workgroup (1, 0, 0), lane 0") != std::string::npos);
  CHECK(device->status());
  CHECK(value_of(queue->submit(scaled_sum(kernel, x, y, 64))).wait());
}

TEST_CASE("a missing barrier is told, though nothing here could run out of order") {
  using program::Builtin;
  program::Builder b("neighbours");
  b.program().workgroup_size[0] = 64;
  auto out = b.buffer("out", ElementType::f32, program::Access::write);
  auto tile = b.shared("tile", ElementType::f32, 64);
  auto lane = b.builtin(Builtin::lane);
  b.store(tile, lane, b.cast(ElementType::f32, lane));
  b.store(out, lane, b.load(tile, b.binary(program::Op::bit_xor, lane, b.i32(1))));
  auto device = open_device();
  hal::Kernel kernel = load(device, std::move(b).finish());
  auto buffer = upload(device, ramp(64, 0));
  auto queue = value_of(device->default_queue());
  auto point = queue->submit(hal::Dispatch{.kernel = kernel, .buffers = {buffer}});
  REQUIRE(point);
  Status status = point->wait();
  REQUIRE_FALSE(status);
  CHECK(status.error().message.find("races") != std::string::npos);
}

}  // namespace halyard
