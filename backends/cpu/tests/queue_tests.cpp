// Queues, timelines, command graphs and faults of the cpu backend, through its C interface.
#include <xmmintrin.h>
#include <atomic>
#include <bit>
#include <numeric>
#include <thread>
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

TEST_CASE("commands of a submission, and submissions of a queue, take effect in order") {
  Loaded device;
  HyBuffer* buffer = device.make_buffer(std::vector<float>{1024.0f});
  HyBuffer* copy = device.make_buffer(std::vector<float>{0.0f});
  std::uint64_t last = 0;
  for (int i = 0; i < 200; ++i) {
    Commands commands;
    commands.dispatch(device.module, 1, 1, {slice(buffer, 4)}, {bits(1.0f), 0})
        .dispatch(device.module, 1, 1, {slice(buffer, 4)}, {bits(-1.0f), 0})
        .copy(slice(buffer, 4), slice(copy, 4));
    last = submit(device.queue, commands);
  }
  REQUIRE_OK(wait(device.queue, last, &error));
  float expected = 1024.0f;
  for (int i = 0; i < 200; ++i) expected = (expected * 0.5f + 1.0f) * 0.5f - 1.0f;
  CHECK_EQ(Device::contents<float>(copy, 1)[0], expected);
  CHECK_EQ(last, 200u);
  backend().buffer_destroy(buffer);
  backend().buffer_destroy(copy);
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

TEST_CASE("copies and fills of any length and offset") {
  Device device;
  const std::size_t bytes = 700001;
  std::vector<std::uint8_t> numbers(bytes);
  std::iota(numbers.begin(), numbers.end(), std::uint8_t{3});
  HyBuffer* source = device.make_buffer(numbers);
  HyBuffer* target = device.make_buffer(std::vector<std::uint8_t>(bytes, 9));
  run(device.queue, Commands().copy(slice(source, bytes - 5, 3), slice(target, bytes - 5, 2)));
  auto result = Device::contents<std::uint8_t>(target, bytes);
  CHECK_EQ(result[1], 9);
  CHECK_EQ(result[bytes - 3], 9);
  CHECK(std::equal(numbers.begin() + 3, numbers.end() - 2, result.begin() + 2));

  run(device.queue, Commands()
                        .fill(slice(target, 300000, 1), 0xab, 1)
                        .fill(slice(target, 299998, 300002), 0x1234, 2)
                        .fill(slice(target, 8, 600000), 0xdeadbeef, 4));
  CHECK_EQ(result[0], 3 * 0 + 9);
  CHECK_EQ(result[1], 0xab);
  CHECK_EQ(result[300000], 0xab);
  CHECK_EQ(result[300002], 0x34);
  CHECK_EQ(result[300003], 0x12);
  CHECK_EQ(result[599999], 0x12);
  CHECK_EQ(result[600000], 0xef);
  CHECK_EQ(result[600007], 0xde);
  backend().buffer_destroy(source);
  backend().buffer_destroy(target);
}

TEST_CASE("a submission waits for a timeline that the host signals, and signals another") {
  Loaded device;
  HyBuffer* buffer = device.make_buffer(std::vector<std::int32_t>{0});
  HyTimeline *gate = nullptr, *done = nullptr;
  REQUIRE_OK(backend().timeline_create(device.handle, 5, &gate, &error));
  REQUIRE_OK(backend().timeline_create(device.handle, 0, &done, &error));
  Commands commands;
  commands.dispatch(device.module, 0, 1, {slice(buffer, 4)});
  std::uint64_t value = submit(device.queue, commands, {.waits = {{gate, 6}}, .signals = {{done, 17}}});
  HyError late = no_error();
  CHECK_EQ(wait(device.queue, value, &late, 20'000'000), HY_TIMEOUT);
  CHECK_EQ(wait(device.queue, value, &late, 0), HY_TIMEOUT);
  CHECK_EQ(Device::contents<std::int32_t>(buffer, 1)[0], 0);
  REQUIRE_OK(backend().timeline_signal(gate, 6, &error));
  REQUIRE_OK(backend().timeline_wait(done, 17, UINT64_MAX, &error));
  CHECK_EQ(Device::contents<std::int32_t>(buffer, 1)[0], 1);
  REQUIRE_OK(wait(device.queue, value, &error));
  CHECK_EQ(backend().timeline_signal(gate, 6, &late), HY_INVALID_ARGUMENT);
  std::uint64_t reached = 0;
  REQUIRE_OK(backend().timeline_query(done, &reached, &error));
  CHECK_EQ(reached, 17u);
  backend().timeline_destroy(gate);
  backend().timeline_destroy(done);
  backend().buffer_destroy(buffer);
}

TEST_CASE("queues wait for each other in turns") {
  Loaded device;
  HyQueue* other = device.make_queue();
  HyBuffer* buffer = device.make_buffer(std::vector<std::int32_t>{0});
  std::uint64_t here = 0, there = 0;
  for (int i = 0; i < 100; ++i) {
    Commands commands;
    commands.dispatch(device.module, 0, 1, {slice(buffer, 4)});
    here = submit(device.queue, commands, {.waits = {{backend().queue_timeline(other), there}}});
    there = submit(other, commands, {.waits = {{backend().queue_timeline(device.queue), here}}});
  }
  REQUIRE_OK(wait(other, there, &error));
  CHECK_EQ(Device::contents<std::int32_t>(buffer, 1)[0], 200);
  backend().queue_destroy(other);
  backend().buffer_destroy(buffer);
}

TEST_CASE("two host threads drive one device") {
  Loaded device;
  std::atomic<int> wrong{0};
  auto drive = [&](int seed) {
    HyQueue* queue = device.make_queue();
    HyBuffer* buffer = device.make_buffer(std::vector<std::int32_t>(5000, seed));
    for (int i = 0; i < 50; ++i) {
      Commands commands;
      commands.dispatch(device.module, 0, 5000, {slice(buffer, 20000)});
      HyError error = no_error();
      std::uint64_t value = 0;
      if (submit(queue, commands, &value, &error) != HY_OK || wait(queue, value, &error) != HY_OK) ++wrong;
    }
    for (std::int32_t value : Device::contents<std::int32_t>(buffer, 5000)) wrong += value != seed + 50;
    backend().queue_destroy(queue);
    backend().buffer_destroy(buffer);
  };
  std::thread one(drive, 100), two(drive, 1000);
  one.join();
  two.join();
  CHECK_EQ(wrong.load(), 0);
}

TEST_CASE("many threads may wait for one point, and destroying a queue waits for its work") {
  Loaded device;
  HyBuffer* buffer = device.make_buffer(std::vector<std::int32_t>(100000, 0));
  HyQueue* queue = device.make_queue();
  Commands commands;
  for (int i = 0; i < 20; ++i) commands.dispatch(device.module, 0, 100000, {slice(buffer, 400000)});
  std::uint64_t value = submit(queue, commands);
  std::vector<std::thread> waiters;
  std::atomic<int> woken{0};
  for (int i = 0; i < 4; ++i)
    waiters.emplace_back([&] {
      HyError error = no_error();
      woken += wait(queue, value, &error) == HY_OK;
    });
  for (std::thread& waiter : waiters) waiter.join();
  CHECK_EQ(woken.load(), 4);
  submit(queue, commands);
  backend().queue_destroy(queue);
  CHECK_EQ(Device::contents<std::int32_t>(buffer, 100000)[99999], 40);
  backend().buffer_destroy(buffer);
}

TEST_CASE("time stamps are in order and cover their commands") {
  Loaded device;
  HyBuffer* buffer = device.make_buffer(std::vector<std::int32_t>(1000, 0));
  HyTimeStamps* stamps = nullptr;
  REQUIRE_OK(backend().time_stamps_create(device.handle, 2, &stamps, &error));
  Commands commands;
  commands.dispatch(device.module, 0, 1000, {slice(buffer, 4000)}).fill(slice(buffer, 4000), 0, 4);
  std::uint64_t value = submit(device.queue, commands, {.time_stamps = stamps});
  REQUIRE_OK(wait(device.queue, value, &error));
  HyTimeSpan spans[2];
  REQUIRE_OK(backend().time_stamps_read(stamps, 0, 2, spans, &error));
  CHECK_LE(spans[0].begin_ns, spans[0].end_ns);
  CHECK_LE(spans[0].end_ns, spans[1].begin_ns);
  CHECK_GT(spans[0].begin_ns, 0u);
  HyError error = no_error();
  CHECK_EQ(backend().time_stamps_read(stamps, 1, 2, spans, &error), HY_INVALID_ARGUMENT);
  backend().time_stamps_destroy(stamps);
  backend().buffer_destroy(buffer);
}

TEST_CASE("a lost device fails its sync points with an error, and nothing hangs") {
  Loaded device;
  auto* faults = static_cast<const HyFaultInjection*>(backend().get_extension(HY_EXTENSION_FAULT_INJECTION));
  REQUIRE(faults != nullptr);
  HyBuffer* buffer = device.make_buffer(std::vector<std::int32_t>{0});
  HyTimeline *gate = nullptr, *done = nullptr;
  REQUIRE_OK(backend().timeline_create(device.handle, 0, &gate, &error));
  REQUIRE_OK(backend().timeline_create(device.handle, 0, &done, &error));
  HyQueue* stuck_queue = device.make_queue();
  Commands commands;
  commands.dispatch(device.module, 0, 1, {slice(buffer, 4)});
  std::uint64_t stuck = submit(stuck_queue, commands, {.waits = {{gate, 1}}, .signals = {{done, 1}}});

  REQUIRE_EQ(faults->arm(device.handle, HY_FAULT_DEVICE_LOST, 1), HY_OK);
  std::uint64_t good = submit(device.queue, commands);
  std::uint64_t lost = submit(device.queue, commands);
  REQUIRE_OK(wait(device.queue, good, &error));
  HyError error = no_error();
  CHECK_EQ(wait(device.queue, lost, &error), HY_DEVICE_LOST);
  CHECK_NE(std::string(error.message).find("lost"), std::string::npos);
  CHECK_EQ(wait(stuck_queue, stuck, &error), HY_DEVICE_LOST);
  CHECK_EQ(backend().timeline_wait(done, 1, UINT64_MAX, &error), HY_DEVICE_LOST);
  CHECK_EQ(Device::contents<std::int32_t>(buffer, 1)[0], 1);
  std::uint64_t value = 0;
  CHECK_EQ(submit(device.queue, commands, &value, &error), HY_DEVICE_LOST);
  CHECK_EQ(backend().device_status(device.handle, &error), HY_DEVICE_LOST);
  REQUIRE_OK(backend().timeline_error(backend().queue_timeline(device.queue), good, &error));
  backend().queue_destroy(stuck_queue);
  backend().timeline_destroy(gate);
  backend().timeline_destroy(done);
  backend().buffer_destroy(buffer);
}

TEST_CASE("a failed submission fails what waits for it; the device lives on") {
  Loaded device;
  auto* faults = static_cast<const HyFaultInjection*>(backend().get_extension(HY_EXTENSION_FAULT_INJECTION));
  HyQueue* other = device.make_queue();
  HyBuffer* buffer = device.make_buffer(std::vector<std::int32_t>{0});
  REQUIRE_EQ(faults->arm(device.handle, HY_FAULT_SUBMISSION_FAILS, 0), HY_OK);
  Commands commands;
  commands.dispatch(device.module, 0, 1, {slice(buffer, 4)});
  std::uint64_t failed = submit(device.queue, commands);
  std::uint64_t waiting =
      submit(other, commands, {.waits = {{backend().queue_timeline(device.queue), failed}}});
  std::uint64_t next = submit(device.queue, commands);
  HyError error = no_error();
  CHECK_EQ(wait(device.queue, failed, &error), HY_INTERNAL);
  CHECK_EQ(wait(other, waiting, &error), HY_INTERNAL);
  REQUIRE_OK(wait(device.queue, next, &error));
  CHECK_EQ(Device::contents<std::int32_t>(buffer, 1)[0], 1);
  REQUIRE_OK(backend().device_status(device.handle, &error));
  backend().queue_destroy(other);
  backend().buffer_destroy(buffer);
}

TEST_CASE("an armed shortage of memory fails one buffer and no other") {
  Device device;
  auto* faults = static_cast<const HyFaultInjection*>(backend().get_extension(HY_EXTENSION_FAULT_INJECTION));
  REQUIRE_EQ(faults->arm(device.handle, HY_FAULT_OUT_OF_MEMORY, 1), HY_OK);
  HyBuffer* first = device.make_buffer(64);
  HyBufferDesc desc{sizeof(HyBufferDesc), HY_MEMORY_DEVICE, 4096};
  HyBuffer* second = nullptr;
  HyError error = no_error();
  CHECK_EQ(backend().buffer_create(device.handle, &desc, &second, &error), HY_OUT_OF_MEMORY);
  CHECK_NE(std::string(error.message).find("4096"), std::string::npos);
  HyBuffer* third = device.make_buffer(64);
  desc.bytes = std::uint64_t{1} << 60;
  CHECK_EQ(backend().buffer_create(device.handle, &desc, &second, &error), HY_OUT_OF_MEMORY);
  backend().buffer_destroy(first);
  backend().buffer_destroy(third);
}

TEST_CASE("a command graph replays with new buffers and scalars; pending replays keep what they had") {
  Loaded device;
  HyBuffer* fixed = device.make_buffer(std::vector<float>{0.0f});
  HyBuffer* one = device.make_buffer(std::vector<float>{8.0f, 16.0f});
  HyBuffer* two = device.make_buffer(std::vector<float>{32.0f, 64.0f});
  Commands nodes;
  nodes.dispatch(device.module, 1, 1, {slot(0, 4, 4)}, {}, 0).copy(slot(0, 4, 4), slice(fixed, 4));
  const std::vector<HyCommand>& list = nodes.list();
  HyGraphDesc desc{};
  desc.size = sizeof desc;
  desc.flags = HY_GRAPH_SEQUENTIAL;
  desc.nodes = list.data();
  desc.node_count = 2;
  desc.buffer_slot_count = desc.scalar_slot_count = 1;
  HyGraph* graph = nullptr;
  REQUIRE_OK(backend().graph_create(device.handle, &desc, &graph, &error));

  auto replay = [&](HyBuffer* buffer, float addend, std::uint64_t bytes, HyError* error) {
    HySlice argument = slice(buffer, bytes);
    std::uint32_t scalars[2] = {bits(addend), 0};
    HyBytes block{scalars, 8};
    HyReplay values{};
    values.size = sizeof values;
    values.buffers = &argument;
    values.buffer_count = 1;
    values.scalars = &block;
    values.scalar_count = 1;
    HySubmission submission{};
    submission.size = sizeof submission;
    std::uint64_t value = 0;
    HyStatus status = backend().graph_replay(device.queue, graph, &values, &submission, &value, error);
    return status == HY_OK ? wait(device.queue, value, error) : status;
  };
  HyError failure = no_error();
  REQUIRE_EQ(replay(one, 1.0f, 8, &failure), HY_OK);
  CHECK_EQ(Device::contents<float>(one, 2)[0], 8.0f);
  CHECK_EQ(Device::contents<float>(one, 2)[1], 9.0f);
  CHECK_EQ(Device::contents<float>(fixed, 1)[0], 9.0f);
  REQUIRE_EQ(replay(two, 2.0f, 8, &failure), HY_OK);
  CHECK_EQ(Device::contents<float>(fixed, 1)[0], 34.0f);
  CHECK_EQ(replay(two, 2.0f, 4, &failure), HY_INVALID_ARGUMENT);  // too short for the node's range

  Commands changed;
  changed.dispatch(device.module, 0, 1, {slot(0, 4, 0)});
  REQUIRE_OK(backend().graph_update(graph, 0, &changed.list()[0], &error));
  std::memset(Device::pointer(two), 0, 8);
  REQUIRE_EQ(replay(two, 0.0f, 8, &failure), HY_OK);
  CHECK_EQ(Device::contents<std::int32_t>(two, 2)[0], 1);
  Commands other_kind;
  other_kind.fill(slot(0, 4), 0, 4);
  CHECK_EQ(backend().graph_update(graph, 0, &other_kind.list()[0], &failure), HY_INVALID_ARGUMENT);
  backend().graph_destroy(graph);
  for (HyBuffer* buffer : {fixed, one, two}) backend().buffer_destroy(buffer);
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
