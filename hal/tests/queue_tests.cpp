#include <numeric>
#include <thread>

#include "fixture.h"

using namespace halyard;
using namespace halyard::hal;
using namespace halyard::hal::testing;
using namespace std::chrono_literals;

namespace {
std::vector<std::uint32_t> counting(std::size_t count) {
  std::vector<std::uint32_t> values(count);
  std::iota(values.begin(), values.end(), 1u);
  return values;
}
}  // namespace

TEST_CASE("a kernel's results come back, with and without mapped memory and optional functions") {
  for (const char* uri : {"fake:0", "fake:1", "bare"}) {
    CAPTURE(uri);
    Machine machine(uri);
    const auto from = machine.words(counting(100));
    const auto to = machine.words(std::vector<std::uint32_t>(100, 0));
    value_of(machine.queue->submit(machine.scale(from, to, 3)));
    CHECK(machine.read(to)[99] == 300);
  }
}

TEST_CASE("commands of a submission and submissions of a queue take effect in order") {
  Machine machine;
  const auto a = machine.words(counting(16));
  const auto b = machine.words(counting(16));
  const std::vector<Command> commands{
      machine.scale(a, b, 2), Copy{BufferSlice(b, 0, 64), BufferSlice(a, 0, 64)}, machine.scale(a, b, 5)};
  value_of(machine.queue->submit(commands));
  value_of(machine.queue->submit(Fill{BufferSlice(b, 0, 8), 7, 4}));
  const auto result = machine.read(b);
  CHECK(result[0] == 7);
  CHECK(result[1] == 7);
  CHECK(result[2] == 30);
}

TEST_CASE("submit returns at once and a wait has its time limit") {
  Machine machine;
  SyncPoint end;
  {
    ClosedGate closed;
    end = value_of(machine.queue->submit(machine.hold()));
    CHECK(!end.reached());
    const Status status = end.wait(1ms);
    REQUIRE(!status);
    CHECK(status.error().code == ErrorCode::timeout);
  }
  must(end.wait(10s));
  CHECK(end.reached());
  CHECK(SyncPoint{}.reached());
  must(SyncPoint{}.wait());
}

TEST_CASE("a queue waits for points of another queue and of another device") {
  Machine one;
  Machine other("fake:1");
  const auto second = value_of(one.device->create_queue());
  const auto a = one.words(counting(4));
  const auto b = one.words({0, 0, 0, 0});
  std::vector<SyncPoint> waits;
  {
    ClosedGate closed;
    waits.push_back(value_of(one.queue->submit(one.hold())));
    const auto held = value_of(second->submit(one.scale(a, b, 9), {.waits = waits}));
    CHECK(!held.reached());
  }
  waits.push_back(value_of(other.queue->submit(std::span<const Command>())));
  must(value_of(second->submit(std::span<const Command>(), {.waits = waits})).wait());
  CHECK(one.read(b)[3] == 36);
}

TEST_CASE("the host raises a timeline that work waits for, and work raises one that the host waits for") {
  Machine machine;
  const auto start = value_of(Timeline::create(machine.device));
  const auto done = value_of(Timeline::create(machine.device, 5));
  const SyncPoint begin{start, 1};
  const SyncPoint finish{done, 6};
  const auto end = value_of(machine.queue->submit(
      std::span<const Command>(), {.waits = std::span(&begin, 1), .signals = std::span(&finish, 1)}));
  CHECK(!end.reached());
  CHECK(value_of(done->value()) == 5);
  must(start->signal(1));
  must(finish.wait(10s));
  must(end.wait(10s));
}

TEST_CASE("a failed submission fails its point and what waits for it, and the device lives on") {
  Machine machine;
  must(machine.device->inject_fault(HY_FAULT_SUBMISSION_FAILS));
  const auto failed = value_of(machine.queue->submit(std::span<const Command>()));
  const auto second = value_of(machine.device->create_queue());
  const auto dependent =
      value_of(second->submit(std::span<const Command>(), {.waits = std::span(&failed, 1)}));
  const Status status = failed.wait();
  REQUIRE(!status);
  CHECK(status.error().code == ErrorCode::internal);
  CHECK(mentions(status.error(), "simulated"));
  REQUIRE(!dependent.wait());
  CHECK(!failed.timeline->outcome(failed.value));
  must(value_of(machine.queue->submit(std::span<const Command>())).wait());
  must(machine.device->status());
}

TEST_CASE("a lost device fails pending points and later calls, and nothing hangs") {
  Machine machine;
  const auto buffer = machine.words(counting(4));
  SyncPoint pending;
  {
    ClosedGate closed;
    pending = value_of(machine.queue->submit(machine.hold()));
    must(machine.device->inject_fault(HY_FAULT_DEVICE_LOST));
    const auto lost = machine.queue->submit(std::span<const Command>());
    REQUIRE(!lost);
    CHECK(lost.error().code == ErrorCode::device_lost);
    CHECK(mentions(lost.error(), "open it again"));
    const Status waited = pending.wait();
    REQUIRE(!waited);
    CHECK(waited.error().code == ErrorCode::device_lost);
    CHECK(pending.reached());
    CHECK(machine.device->status().error().code == ErrorCode::device_lost);
    std::uint32_t word = 0;
    CHECK(!machine.queue->download(BufferSlice(buffer, 0, 4), std::as_writable_bytes(std::span(&word, 1))));
  }
}

TEST_CASE("two threads drive one device, on one queue and on two") {
  Machine machine;
  const auto second = value_of(machine.device->create_queue());
  const auto work = [&](const std::shared_ptr<Queue>& queue, std::uint32_t factor, bool& right) {
    right = true;
    for (std::uint32_t round = 0; round < 200; ++round) {
      const std::vector<std::uint32_t> values(64, round);
      auto from = machine.device->allocate(256);
      auto to = machine.device->allocate(256);
      if (!from || !to) return void(right = false);
      std::vector<std::uint32_t> result(64);
      right = right && queue->upload(std::as_bytes(std::span(values)), BufferSlice(*from)) &&
              queue->submit(machine.scale(*from, *to, factor)) &&
              queue->download(BufferSlice(*to), std::as_writable_bytes(std::span(result))) &&
              result[63] == round * factor;
    }
  };
  bool right[3] = {false, false, false};
  std::thread first([&] { work(machine.queue, 2, right[0]); });
  std::thread other([&] { work(second, 3, right[1]); });
  work(machine.queue, 5, right[2]);
  first.join();
  other.join();
  CHECK(right[0]);
  CHECK(right[1]);
  CHECK(right[2]);
}

TEST_CASE("wrong slices, devices and argument counts are refused before they reach a device") {
  Machine machine;
  Machine other("fake:1");
  const auto a = machine.words(counting(16));
  const auto b = machine.words(counting(16));
  const auto foreign = other.words(counting(16));
  const auto refused = [&](Command command, std::string_view part) {
    const auto result = machine.queue->submit(std::move(command));
    REQUIRE(!result);
    CHECK(result.error().code == ErrorCode::invalid_argument);
    CHECK_MESSAGE(mentions(result.error(), part), result.error().message);
  };
  refused(Copy{BufferSlice(a, 32, 64), BufferSlice(b, 0, 64)},
          "spans bytes 32 to 96 of a buffer of 64 bytes");
  refused(Copy{BufferSlice(a, 0, 32), BufferSlice(b, 0, 64)}, "source has 32 bytes, its destination 64");
  refused(Copy{BufferSlice(a), BufferSlice(foreign)}, "lies on another device (fake:1)");
  refused(Copy{BufferSlice(), BufferSlice()}, "has no buffer");
  refused(Dispatch{.kernel = machine.kernel("scale_words"), .buffers = {a}}, "takes 2 buffers and got 1");
  refused(Dispatch{.kernel = machine.kernel("scale_words"), .buffers = {a, b}},
          "takes 8 bytes of scalars and got 0");
  refused(Dispatch{.kernel = other.kernel("copy_words"), .buffers = {a, b}}, "was loaded on another device");
  refused(Dispatch{}, "has no kernel");
  const auto few = counting(3);
  CHECK(!machine.queue->upload(std::as_bytes(std::span(few)), BufferSlice(a)));
}

TEST_CASE("with peer access a copy reaches another device's memory") {
  Machine one;
  Machine other;
  const auto a = one.words({1, 2});
  const auto b = other.words({0, 0});
  must(one.device->enable_peer(other.device));
  must(value_of(one.queue->submit(Copy{BufferSlice(a), BufferSlice(b)})).wait());
  CHECK(other.read(b)[1] == 2);
}

TEST_CASE("time stamps tell when each command ran") {
  Machine machine;
  const auto a = machine.words(counting(16));
  const auto b = machine.words(counting(16));
  const auto stamps = value_of(TimeStamps::create(machine.device, 2));
  const std::vector<Command> commands{machine.scale(a, b, 2), machine.scale(b, a, 2)};
  must(value_of(machine.queue->submit(commands, {.time_stamps = stamps.get()})).wait());
  const auto spans = value_of(stamps->read(2));
  CHECK(spans[0].begin_ns <= spans[0].end_ns);
  CHECK(spans[0].end_ns <= spans[1].begin_ns);
  CHECK(!stamps->read(3));
  CHECK(!TimeStamps::create(open("bare"), 1));
}

TEST_CASE("a module and a queue may be dropped while their work is under way") {
  Machine machine;
  const auto buffer = machine.words(counting(4));
  std::thread opener;
  {
    ClosedGate closed;
    auto module = value_of(machine.device->load_module(fake_module("code: short-lived")));
    auto queue = value_of(machine.device->create_queue());
    value_of(queue->submit(Dispatch{.kernel = value_of(Kernel::find(module, "hold"))}));
    module.reset();
    opener = std::thread([queue = std::move(queue)]() mutable { queue.reset(); });
  }
  opener.join();
  CHECK(machine.read(buffer)[3] == 4);
}

TEST_CASE("no object of a backend outlives its last user") {
  const std::int64_t before = fake::live_objects();
  {
    Machine machine("fake:1");
    const auto a = machine.words(counting(1000));
    const auto b = machine.words(counting(1000));
    value_of(machine.queue->submit(machine.scale(a, b, 2)));
    const auto stamps = value_of(TimeStamps::create(machine.device, 2));
    const auto timeline = value_of(Timeline::create(machine.device));
  }
  CHECK(fake::live_objects() == before);
}
