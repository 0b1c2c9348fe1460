#include <array>
#include <thread>
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

TEST_CASE("commands of one submission see each other's writes, and those of earlier submissions") {
  if (!has_device()) return;
  AddFixture f;
  Add forth(f.module, f.a, f.b, 64, 1.0f), back(f.module, f.b, f.a, 64, 1.0f);
  std::array<HyCommand, 6> commands{forth.command, back.command,  forth.command,
                                    back.command,  forth.command, back.command};
  f.submit(commands);
  CHECK(f.wait(f.submit(commands)) == HY_OK);
  CHECK(f.values(f.a) == all(13.0f));
  CHECK(f.values(f.b) == all(12.0f));
}

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

TEST_CASE("fills and copies of odd lengths touch their bytes alone") {
  if (!has_device()) return;
  Device device;
  HyBuffer* x = device.make_buffer(std::vector<std::uint8_t>(64, 0));
  HyBuffer* y = device.make_buffer(std::vector<std::uint8_t>(64, 9));
  for (std::uint32_t width : {1u, 2u}) {
    std::uint64_t begin = width == 1 ? 3 : 6;
    HyFill fill{.destination = {x, begin, 2 * 9, 0, 0}, .pattern = 0x2211, .pattern_bytes = width};
    HyCopy copy{.source = {x, begin, 17, 0, 0}, .destination = {y, 1, 17, 0, 0}};
    std::array<HyCommand, 2> commands{};
    commands[0] = {.size = sizeof(HyCommand), .kind = HY_COMMAND_FILL, .fill = &fill};
    commands[1] = {.size = sizeof(HyCommand), .kind = HY_COMMAND_COPY, .copy = &copy};
    CHECK(device.wait(device.submit(commands)) == HY_OK);
    auto filled = Device::contents<std::uint8_t>(x, 64);
    auto copied = Device::contents<std::uint8_t>(y, 64);
    for (std::uint64_t i = 0; i < 18; ++i)
      CHECK(filled[begin + i] == (width == 1 || i % 2 == 0 ? 0x11 : 0x22));
    for (std::uint64_t i = 0; i < 17; ++i) CHECK(copied[1 + i] == filled[begin + i]);
    CHECK(filled[begin + 18] == 0);
    CHECK(copied[0] == 9);
    CHECK(copied[18] == 9);
    std::memset(Device::pointer(x), 0, 64);
  }
  for (HyBuffer* each : {x, y}) backend().buffer_destroy(each);
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

TEST_CASE("a submission waits for a point that the host signals later, and does not hold up other queues") {
  if (!has_device()) return;
  AddFixture f;
  HyTimeline* gate = nullptr;
  REQUIRE_OK(backend().timeline_create(f.handle, 0, &gate, &error));
  HyQueue* second = f.make_queue();
  Add add(f.module, f.a, f.b, 64, 1.0f);
  HySyncPoint point{gate, 5};
  std::uint64_t gated = f.submit({&add.command, 1}, {&point, 1});
  std::uint64_t other = f.submit({}, {}, {}, second);
  CHECK(f.wait(other, second) == HY_OK);
  HyError error = no_error();
  CHECK(backend().timeline_wait(backend().queue_timeline(f.queue), gated, 1'000'000, &error) == HY_TIMEOUT);
  CHECK(f.values(f.b) == all(0.0f));
  REQUIRE_OK(backend().timeline_signal(gate, 5, &error));
  CHECK(f.wait(gated) == HY_OK);
  CHECK(f.values(f.b) == all(2.0f));
  CHECK(backend().timeline_signal(gate, 5, &error) == HY_INVALID_ARGUMENT);
  backend().queue_destroy(second);
  backend().timeline_destroy(gate);
}

TEST_CASE("queues wait for each other by their own and by made timelines") {
  if (!has_device()) return;
  AddFixture f;
  HyQueue* second = f.make_queue();
  HyTimeline* made = nullptr;
  REQUIRE_OK(backend().timeline_create(f.handle, 7, &made, &error));
  Add forth(f.module, f.a, f.b, 64, 1.0f), back(f.module, f.b, f.a, 64, 1.0f);
  HySyncPoint raised{made, 9};
  std::uint64_t last = f.submit({&back.command, 1}, {&raised, 1});  // before what it waits for
  std::uint64_t first = f.submit({&forth.command, 1}, {}, {&raised, 1}, second);
  CHECK(f.wait(last) == HY_OK);
  CHECK(f.wait(first, second) == HY_OK);
  CHECK(f.values(f.a) == all(3.0f));
  HySyncPoint own{backend().queue_timeline(f.queue), last};
  CHECK(f.wait(f.submit({&forth.command, 1}, {&own, 1}, {}, second), second) == HY_OK);
  CHECK(f.values(f.b) == all(4.0f));
  std::uint64_t value = 0;
  REQUIRE_OK(backend().timeline_query(made, &value, &error));
  CHECK(value == 9);
  backend().queue_destroy(second);
  backend().timeline_destroy(made);
}

TEST_CASE("a submission that fails fails what waits for it, and the device lives on") {
  if (!has_device()) return;
  AddFixture f;
  HyQueue* second = f.make_queue();
  HyTimeline* made = nullptr;
  REQUIRE_OK(backend().timeline_create(f.handle, 0, &made, &error));
  Add add(f.module, f.a, f.b, 64, 1.0f);
  HySyncPoint raised{made, 1};
  std::uint64_t dependent = f.submit({&add.command, 1}, {&raised, 1}, {}, second);
  f.arm(HY_FAULT_SUBMISSION_FAILS);
  std::uint64_t failed = f.submit({&add.command, 1}, {}, {&raised, 1});
  std::string message;
  CHECK(f.wait(failed) == HY_INTERNAL);
  CHECK(f.wait(dependent, second, &message) == HY_INTERNAL);
  CHECK(message.find("waited for work that failed") != std::string::npos);
  HyError error = no_error();
  CHECK(backend().timeline_error(made, 1, &error) == HY_INTERNAL);
  CHECK(f.values(f.b) == all(0.0f));
  CHECK(f.wait(f.submit({&add.command, 1})) == HY_OK);
  CHECK(f.values(f.b) == all(2.0f));
  backend().queue_destroy(second);
  backend().timeline_destroy(made);
}

TEST_CASE("a graph replays with new buffers and scalars, and after an update") {
  if (!has_device()) return;
  AddFixture f;
  Add slots(f.module, nullptr, nullptr, 64, 0.0f);
  slots.dispatch.scalar_slot = 0;
  Add fixed(f.module, nullptr, f.a, 64, 10.0f);
  fixed.slices[0].slot = 1;
  std::uint32_t dependency = 0;
  std::array<HyCommand, 2> nodes{slots.command, fixed.command};
  nodes[1].dependencies = &dependency;
  nodes[1].dependency_count = 1;
  HyGraphDesc desc{.size = sizeof desc,
                   .nodes = nodes.data(),
                   .node_count = 2,
                   .buffer_slot_count = 2,
                   .scalar_slot_count = 1};
  HyGraph* graph = nullptr;
  REQUIRE_OK(backend().graph_create(f.handle, &desc, &graph, &error));
  HyBuffer* c = f.make_buffer(all(100.0f));
  auto replay = [&](HyBuffer* in, HyBuffer* out, float addend) {
    std::array<float, 2> scalars{0.0f, addend};
    HySlice slices[2] = {{in, 0, 256, 0, 0}, {out, 0, 256, 0, 0}};
    HyBytes block{scalars.data(), 8};
    HyReplay arguments{
        .size = sizeof arguments, .buffer_count = 2, .buffers = slices, .scalars = &block, .scalar_count = 1};
    HySubmission submission{.size = sizeof submission};
    std::uint64_t value = 0;
    REQUIRE_OK(backend().graph_replay(f.queue, graph, &arguments, &submission, &value, &error));
    return value;
  };
  for (int round = 0; round < 3; ++round) replay(c, f.b, 1.0f);
  CHECK(f.wait(replay(c, f.b, 1.0f)) == HY_OK);
  CHECK(f.values(f.b) == all(101.0f));
  CHECK(f.values(f.a) == all(111.0f));
  CHECK(f.wait(replay(c, f.b, 2.0f)) == HY_OK);
  CHECK(f.values(f.a) == all(112.0f));
  CHECK(f.wait(replay(f.b, c, 5.0f)) == HY_OK);
  CHECK(f.values(c) == all(107.0f));
  Add other(f.module, nullptr, f.a, 64, 20.0f);
  other.slices[0].slot = 1;
  REQUIRE_OK(backend().graph_update(graph, 1, &other.command, &error));
  CHECK(f.wait(replay(c, f.b, 1.0f)) == HY_OK);
  CHECK(f.values(f.a) == all(128.0f));
  backend().graph_destroy(graph);
  backend().buffer_destroy(c);
}

TEST_CASE("time stamps tell when each command ran, in order") {
  if (!has_device()) return;
  AddFixture f;
  if (!(f.info.execution_flags & HY_EXECUTION_TIME_STAMPS)) return;
  HyTimeStamps* stamps = nullptr;
  REQUIRE_OK(backend().time_stamps_create(f.handle, 2, &stamps, &error));
  Add forth(f.module, f.a, f.b, 64, 1.0f), back(f.module, f.b, f.a, 64, 1.0f);
  std::array<HyCommand, 2> commands{forth.command, back.command};
  HySubmission submission{
      .size = sizeof submission, .command_count = 2, .commands = commands.data(), .time_stamps = stamps};
  std::uint64_t value = 0;
  REQUIRE_OK(backend().queue_submit(f.queue, &submission, &value, &error));
  CHECK(f.wait(value) == HY_OK);
  HyTimeSpan spans[2];
  REQUIRE_OK(backend().time_stamps_read(stamps, 0, 2, spans, &error));
  CHECK(spans[0].begin_ns <= spans[0].end_ns);
  CHECK(spans[0].end_ns <= spans[1].begin_ns);
  CHECK(spans[1].begin_ns <= spans[1].end_ns);
  HyError error = no_error();
  CHECK(backend().time_stamps_read(stamps, 1, 2, spans, &error) == HY_INVALID_ARGUMENT);
  backend().time_stamps_destroy(stamps);
}

TEST_CASE("two threads drive one device, each with a queue of its own") {
  if (!has_device()) return;
  AddFixture f;
  std::array<bool, 2> right{};
  auto work = [&](std::size_t number) {
    HyQueue* queue = f.make_queue();
    HyModule* module = f.make_add_module();
    HyBuffer* x = f.make_buffer(all(0.0f));
    HyBuffer* y = f.make_buffer(all(0.0f));
    Add forth(module, x, y, 64, 1.0f), back(module, y, x, 64, 1.0f);
    std::array<HyCommand, 2> commands{forth.command, back.command};
    std::uint64_t value = 0;
    for (int i = 0; i < 50; ++i) value = f.submit(commands, {}, {}, queue);
    right[number] = f.wait(value, queue) == HY_OK && f.values(x) == all(100.0f);
    backend().queue_destroy(queue);
    backend().module_destroy(module);
    for (HyBuffer* each : {x, y}) backend().buffer_destroy(each);
  };
  std::thread first(work, 0), second(work, 1);
  first.join();
  second.join();
  CHECK(right[0]);
  CHECK(right[1]);
}
