#include <atomic>
#include <thread>

#include "fixture.h"

using namespace halyard;
using namespace halyard::conformance;
using namespace halyard::hal;
using namespace std::chrono_literals;

TEST_CASE("a kernel's results come back for counts around the workgroup's size") {
  on_every_device([](Rig& rig) {
    for (std::uint32_t count : {1U, 31U, 32U, 33U, 1000U, 100003U}) {
      CAPTURE(count);
      auto from = rig.words(counting(count));
      auto to = rig.words(Words(count + 1, 7));
      must(value_of(rig.queue->submit(rig.add(from, BufferSlice(to, 0, count * 4), 3))).wait(patience));
      Words expected = counting(count, 3);
      expected.push_back(7);
      CHECK(rig.read(to) == expected);
    }
  });
}

TEST_CASE("commands of a submission, and submissions of a queue, take effect in order") {
  on_every_device([](Rig& rig) {
    auto a = rig.words(counting(64));
    auto b = rig.words(Words(64, 0));
    SyncPoint last;
    for (std::uint32_t i = 0; i < 50; ++i) {
      const std::vector<Command> commands{rig.add(a, b, 1), Copy{b, a}, rig.add(a, b, 1), Copy{b, a}};
      last = value_of(rig.queue->submit(commands));
    }
    must(last.wait(patience));
    CHECK(rig.read(a) == counting(64, 100));
    CHECK(last.reached());
  });
}

TEST_CASE("an empty submission is reached") {
  on_every_device(
      [](Rig& rig) { must(value_of(rig.queue->submit(std::span<const Command>())).wait(patience)); });
}

TEST_CASE("submit returns at once, a wait has its time limit, and other queues go on") {
  on_every_device([](Rig& rig) {
    auto gate = rig.gate();
    auto other = value_of(rig.device->create_queue());
    auto a = rig.words(counting(8));
    auto b = rig.words(Words(8, 0));
    const SyncPoint opened{gate, 5};
    auto held = value_of(rig.queue->submit(rig.add(a, b, 1), {.waits = std::span(&opened, 1)}));
    CHECK(!held.reached());
    for (auto limit : {0ms, 5ms}) {
      const Status waited = held.wait(limit);
      REQUIRE(!waited);
      CHECK(waited.error().code == ErrorCode::timeout);
    }
    must(value_of(other->submit(std::span<const Command>())).wait(patience));
    must(gate->signal(5));
    must(held.wait(patience));
    CHECK(rig.read(b) == counting(8, 1));
  });
}

TEST_CASE("the host raises a timeline that work waits for, and work raises one that the host waits for") {
  on_every_device([](Rig& rig) {
    auto gate = value_of(Timeline::create(rig.device, 5));
    auto done = value_of(Timeline::create(rig.device, 2));
    CHECK(value_of(done->value()) == 2);
    const SyncPoint opened{gate, 6};
    const SyncPoint finished{done, 17};
    auto point = value_of(rig.queue->submit(
        std::span<const Command>(), {.waits = std::span(&opened, 1), .signals = std::span(&finished, 1)}));
    CHECK(!point.reached());
    must(gate->signal(6));
    must(finished.wait(patience));
    CHECK(value_of(done->value()) == 17);
    must(point.wait(patience));
    const Status back = gate->signal(6);
    REQUIRE(!back);
    CHECK(back.error().code == ErrorCode::invalid_argument);
  });
}

TEST_CASE("a timeline given out is the same one where it is taken, or the device says that it cannot") {
  on_every_device([](Rig& rig) {
    Rig other(rig.device->info().uri);
    struct Way {
      std::uint32_t kind;
      std::shared_ptr<Device> taker;  // a vendor's object belongs to its device
    };
    for (const Way& way :
         {Way{HY_HANDLE_VENDOR_OBJECT, rig.device}, Way{HY_HANDLE_OPAQUE_FD, other.device}}) {
      CAPTURE(way.kind);
      auto made = rig.gate();
      auto handle = made->export_as(way.kind);
      if (!handle) {
        CHECK_MESSAGE(handle.error().code == ErrorCode::unsupported, handle.error().message);
        continue;
      }
      auto same = value_of(Timeline::import_from(way.taker, *handle));
      const SyncPoint raised{made, 7};
      auto point =
          value_of(rig.queue->submit(std::span<const Command>(), {.signals = std::span(&raised, 1)}));
      must(same->wait(7, patience));
      CHECK(value_of(same->value()) == 7);
      // Work of the taker waits for it as for its own.
      auto taking = value_of(way.taker->create_queue());
      const SyncPoint later{same, 9};
      auto waiting = value_of(taking->submit(std::span<const Command>(), {.waits = std::span(&later, 1)}));
      CHECK(!waiting.reached());
      must(made->signal(9));
      must(waiting.wait(patience));
    }
    CHECK(!Timeline::import_from(rig.device,
                                 HyHandle{.size = sizeof(HyHandle), .kind = HY_HANDLE_HOST_POINTER}));
  });
}

TEST_CASE("queues wait for each other in turns") {
  on_every_device([](Rig& rig) {
    auto other = value_of(rig.device->create_queue());
    auto a = rig.words(counting(8));
    auto b = rig.words(Words(8, 0));
    SyncPoint point;
    for (int i = 0; i < 40; ++i) {
      point = value_of(rig.queue->submit(rig.add(a, b, 1), {.waits = std::span(&point, 1)}));
      point = value_of(other->submit(rig.add(b, a, 1), {.waits = std::span(&point, 1)}));
    }
    must(point.wait(patience));
    CHECK(rig.read(a) == counting(8, 80));
  });
}

TEST_CASE("a submission may wait for one that is submitted later on another queue") {
  on_every_device([](Rig& rig) {
    auto other = value_of(rig.device->create_queue());
    auto made = value_of(Timeline::create(rig.device, 7));
    auto a = rig.words(counting(8));
    auto b = rig.words(Words(8, 0));
    const SyncPoint raised{made, 9};
    auto last = value_of(rig.queue->submit(rig.add(b, a, 1), {.waits = std::span(&raised, 1)}));
    value_of(other->submit(rig.add(a, b, 1), {.signals = std::span(&raised, 1)}));
    must(last.wait(patience));
    CHECK(rig.read(a) == counting(8, 2));
  });
}

TEST_CASE("work waits for another device's work") {
  on_every_device([](Rig& rig) {
    Rig other(rig.device->info().uri);
    auto a = other.words(counting(8));
    auto b = other.words(Words(8, 0));
    auto point = value_of(other.queue->submit(other.add(a, b, 1)));
    must(value_of(rig.queue->submit(std::span<const Command>(), {.waits = std::span(&point, 1)}))
             .wait(patience));
    CHECK(point.reached());
    // Raised by another thread while submit waits; and work that failed fails the submission.
    auto gate = other.gate();
    std::jthread raiser([&] {
      std::this_thread::sleep_for(10ms);
      [[maybe_unused]] const Status raised = gate->signal(1);
    });
    const SyncPoint raised{gate, 1};
    must(value_of(rig.queue->submit(std::span<const Command>(), {.waits = std::span(&raised, 1)}))
             .wait(patience));
    if (!other.device->inject_fault(HY_FAULT_SUBMISSION_FAILS)) return;
    const auto failed = value_of(other.queue->submit(other.add(a, b, 1)));
    CHECK(!rig.queue->submit(std::span<const Command>(), {.waits = std::span(&failed, 1)}));
  });
}

TEST_CASE("two host threads drive one device, on one queue and on two") {
  on_every_device([](Rig& rig) {
    auto second = value_of(rig.device->create_queue());
    for (const auto& other : {rig.queue, second}) {
      std::atomic<int> wrong{0};
      const auto drive = [&](const std::shared_ptr<Queue>& queue, std::uint32_t first) {
        auto a = rig.device->allocate(4000);
        auto b = rig.device->allocate(4000);
        const Words start = counting(1000, first);
        Words seen(1000);
        bool good = a && b && queue->upload(std::as_bytes(std::span(start)), *a).has_value();
        for (int i = 0; good && i < 20; ++i)
          good =
              queue->submit(rig.add(*a, *b, 1)).has_value() && queue->submit(rig.add(*b, *a, 1)).has_value();
        good = good && queue->download(*a, std::as_writable_bytes(std::span(seen)), patience).has_value();
        wrong += !good || seen != counting(1000, first + 40);
      };
      std::jthread one([&] { drive(rig.queue, 100); });
      drive(other, 5000);
      one.join();
      CHECK(wrong == 0);
    }
  });
}

TEST_CASE("many threads may wait for one point") {
  on_every_device([](Rig& rig) {
    auto gate = rig.gate();
    const SyncPoint opened{gate, 1};
    auto point = value_of(rig.queue->submit(std::span<const Command>(), {.waits = std::span(&opened, 1)}));
    std::atomic<int> woken{0};
    std::vector<std::jthread> waiters;
    for (int i = 0; i < 4; ++i) waiters.emplace_back([&] { woken += point.wait(patience).has_value(); });
    must(gate->signal(1));
    waiters.clear();
    CHECK(woken == 4);
  });
}

TEST_CASE("buffers, queues and modules may be dropped while their work is under way") {
  on_every_device([](Rig& rig) {
    auto gate = rig.gate();
    const SyncPoint opened{gate, 1};
    auto target = rig.words(Words(8, 0));
    SyncPoint point;
    std::jthread opener;
    {
      auto queue = value_of(rig.device->create_queue());
      auto module = value_of(rig.device->load_module(rig.add_module()));
      auto source = rig.words(counting(8));
      Dispatch dispatch = rig.add(source, target, 2);
      dispatch.kernel = value_of(Kernel::find(module, "add_words"));
      point = value_of(queue->submit(std::move(dispatch), {.waits = std::span(&opened, 1)}));
      opener = std::jthread([gate] {
        std::this_thread::sleep_for(10ms);
        [[maybe_unused]] const Status raised = gate->signal(1);
      });
    }
    must(point.wait(patience));
    CHECK(rig.read(target) == counting(8, 2));
  });
}

TEST_CASE("a queue and a timeline may be dropped as soon as the host sees the end of what waited for them") {
  on_every_device([](Rig& rig) {
    auto source = rig.words(counting(8));
    auto target = rig.words(Words(8, 0));
    for (int i = 1; i <= 200; ++i) {
      auto other = value_of(rig.device->create_queue());
      auto raised = value_of(Timeline::create(rig.device, 0));
      const SyncPoint waits[] = {value_of(other->submit(std::span<const Command>())), {raised, 1}};
      auto end = value_of(rig.queue->submit(rig.add(source, target, i), {.waits = waits}));
      value_of(other->submit(std::span<const Command>(), {.signals = std::span(&waits[1], 1)}));
      must(end.wait(patience));
    }
    CHECK(rig.read(target) == counting(8, 200));
  });
}

TEST_CASE("time stamps tell when each command ran, in order") {
  on_every_device([](Rig& rig) {
    auto stamps = TimeStamps::create(rig.device, 2);
    if (!stamps) {
      CHECK(stamps.error().code == ErrorCode::unsupported);
      return;
    }
    auto a = rig.words(counting(1000));
    auto b = rig.words(Words(1000, 0));
    const std::vector<Command> commands{rig.add(a, b, 1), rig.add(b, a, 1)};
    must(value_of(rig.queue->submit(commands, {.time_stamps = stamps->get()})).wait(patience));
    const auto spans = value_of((*stamps)->read(2));
    CHECK(spans[0].begin_ns <= spans[0].end_ns);
    CHECK(spans[0].end_ns <= spans[1].begin_ns);
    CHECK(spans[1].begin_ns <= spans[1].end_ns);
    CHECK(!(*stamps)->read(3));
  });
}

TEST_CASE("wrong slices, counts and devices are refused by name before anything runs") {
  on_every_device([](Rig& rig) {
    Rig other(rig.device->info().uri);
    auto a = rig.words(counting(64));
    auto b = rig.words(Words(64, 0));
    auto foreign = other.words(Words(64, 0));
    const auto refused = [&](Command command) {
      auto point = rig.queue->submit(std::move(command));
      REQUIRE(!point);
      CHECK_MESSAGE(point.error().code == ErrorCode::invalid_argument, point.error().message);
    };
    refused(rig.add(a, BufferSlice(b, 0, 512), 1));
    refused(rig.add(a, foreign, 1));
    refused(rig.add(a, BufferSlice(b, 2, 64), 1));
    Dispatch few = rig.add(a, b, 1);
    few.buffers.pop_back();
    refused(few);
    Dispatch no_scalars = rig.add(a, b, 1);
    no_scalars.scalars.clear();
    refused(no_scalars);
    refused(Copy{BufferSlice(a, 0, 8), BufferSlice(b, 0, 4)});
    refused(Copy{BufferSlice(a, 0, 8), BufferSlice(a, 4, 8)});
    refused(Fill{BufferSlice(b, 0, 3), 0, 4});
    refused(Fill{BufferSlice(b, 0, 3), 0, 3});
    CHECK(rig.read(b) == Words(64, 0));
  });
}
