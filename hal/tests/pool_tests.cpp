#include "fixture.h"

using namespace halyard;
using namespace halyard::hal;
using namespace halyard::hal::testing;

namespace {
constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
}

TEST_CASE("freed memory is reused without asking the device") {
  const auto device = open("fake:1");
  for (int round = 0; round < 10; ++round) {
    const auto small = value_of(device->allocate(1000));
    const auto middle = value_of(device->allocate(3 * mebibyte));
    const auto large = value_of(device->allocate(20 * mebibyte));
  }
  const PoolStatistics statistics = device->pool_statistics();
  CHECK(statistics.device_calls == 3);
  CHECK(statistics.allocations == 30);
  CHECK(statistics.reuses == 27);
  CHECK(statistics.used_bytes == 0);
  CHECK(statistics.cached_bytes == statistics.held_bytes);
  CHECK(statistics.peak_used_bytes >= 23 * mebibyte);
  CHECK(statistics.live_buffers == 0);
}

TEST_CASE("small buffers share an allocation, aligned and without overlap") {
  const auto device = open("fake:0");
  std::vector<std::shared_ptr<Buffer>> buffers;
  for (std::uint64_t i = 0; i < 100; ++i) buffers.push_back(value_of(device->allocate(1 + 97 * i)));
  CHECK(device->pool_statistics().device_calls == 1);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    CHECK(buffers[i]->backend_offset() % device->info().storage_alignment == 0);
    for (std::size_t j = 0; j < i; ++j) {
      const auto begin = buffers[i]->backend_offset();
      const auto other = buffers[j]->backend_offset();
      CHECK((begin >= other + buffers[j]->size() || other >= begin + buffers[i]->size()));
    }
  }
}

TEST_CASE("neighbours merge when freed, so that a larger buffer fits again") {
  const auto device = open("fake:1");
  auto a = value_of(device->allocate(600 * 1024));
  auto b = value_of(device->allocate(600 * 1024));
  auto c = value_of(device->allocate(600 * 1024));
  b.reset();
  a.reset();
  c.reset();
  const auto whole = value_of(device->allocate(1000 * 1024));
  const auto more = value_of(device->allocate(1000 * 1024));
  CHECK(device->pool_statistics().device_calls == 1);
}

TEST_CASE("memory that work still uses is not reused, save by the queue that runs after it") {
  Machine machine("fake:1");
  const auto kept = value_of(machine.device->allocate(20 * mebibyte));
  auto dropped = value_of(machine.device->allocate(20 * mebibyte));
  const HyBuffer* memory = dropped->backend_buffer();
  const auto other = value_of(machine.device->create_queue());
  {
    ClosedGate closed;
    value_of(machine.queue->submit(machine.hold()));
    value_of(machine.queue->submit(Copy{BufferSlice(dropped), BufferSlice(kept)}));
    dropped.reset();
    const auto elsewhere =
        value_of(machine.device->allocate({.bytes = 20 * mebibyte, .first_queue = other.get()}));
    CHECK(elsewhere->backend_buffer() != memory);
    const auto unhinted = value_of(machine.device->allocate(20 * mebibyte));
    CHECK(unhinted->backend_buffer() != memory);
    const auto in_order =
        value_of(machine.device->allocate({.bytes = 20 * mebibyte, .first_queue = machine.queue.get()}));
    CHECK(in_order->backend_buffer() == memory);
    CHECK(!in_order->idle());
  }
  must(machine.queue->wait_idle());
}

TEST_CASE("upload memory is never handed out while work still reads it") {
  Machine machine("fake:1");
  const auto target = value_of(machine.device->allocate(64));
  auto staging = value_of(machine.device->allocate({.bytes = 64, .memory = Memory::upload}));
  const std::byte* place = staging->host_pointer();
  REQUIRE(place != nullptr);
  {
    ClosedGate closed;
    value_of(machine.queue->submit(machine.hold()));
    value_of(machine.queue->submit(Copy{BufferSlice(staging), BufferSlice(target)}));
    staging.reset();
    const auto next = value_of(machine.device->allocate(
        {.bytes = 64, .memory = Memory::upload, .first_queue = machine.queue.get()}));
    CHECK(next->host_pointer() != place);
  }
  must(machine.queue->wait_idle());
}

TEST_CASE("out of memory tells how much was asked, held and free, and the device lives on") {
  const auto device = open("fake:1");
  std::vector<std::shared_ptr<Buffer>> buffers;
  Error error;
  for (;;) {
    auto buffer = device->allocate(60 * mebibyte);
    if (!buffer) {
      error = buffer.error();
      break;
    }
    buffers.push_back(std::move(*buffer));
  }
  CHECK(buffers.size() == 4);
  CHECK(error.code == ErrorCode::out_of_memory);
  CHECK(mentions(error, "asked for 60.0 MiB"));
  CHECK(mentions(error, "held by Halyard 240.0 MiB"));
  CHECK(mentions(error, "free on the device 16.0 MiB"));
  buffers.pop_back();
  CHECK(device->allocate(60 * mebibyte));
  const auto beyond = device->allocate(200 * mebibyte);
  REQUIRE(!beyond);
  CHECK(mentions(beyond.error(), "one allocation of this device may hold 128.0 MiB"));
  const auto absurd = device->allocate(UINT64_MAX);
  REQUIRE(!absurd);
  CHECK(absurd.error().code == ErrorCode::out_of_memory);
}

TEST_CASE("cached memory of other sizes is given back when the device has no more") {
  const auto device = open("fake:1");
  for (int i = 0; i < 2; ++i) {
    std::vector<std::shared_ptr<Buffer>> buffers;
    for (int k = 0; k < 4; ++k) buffers.push_back(value_of(device->allocate(50 * mebibyte)));
  }
  CHECK(device->pool_statistics().held_bytes == 200 * mebibyte);
  const auto large = value_of(device->allocate(120 * mebibyte));
  CHECK(large->size() == 120 * mebibyte);
}

TEST_CASE("a failed allocation is tried once more after cached memory was given back") {
  const auto device = open("fake:1");
  must(device->inject_fault(HY_FAULT_OUT_OF_MEMORY));
  CHECK(device->allocate(20 * mebibyte));
}

TEST_CASE("trimming gives unused memory back") {
  const auto device = open("fake:1");
  const auto kept = value_of(device->allocate(20 * mebibyte));
  value_of(device->allocate(30 * mebibyte)).reset();
  device->trim_pool();
  CHECK(device->pool_statistics().held_bytes == 20 * mebibyte);
}

TEST_CASE("an empty buffer is a buffer") {
  Machine machine;
  const auto empty = value_of(machine.device->allocate(0));
  const auto words = machine.words({1, 2});
  CHECK(empty->size() == 0);
  const std::vector<Command> commands{machine.scale(empty, empty, 2),
                                      Copy{BufferSlice(empty), BufferSlice(words, 4, 0)}};
  must(value_of(machine.queue->submit(commands)).wait());
  must(value_of(machine.queue->upload({}, BufferSlice(empty))).wait());
  must(machine.queue->download(BufferSlice(empty), {}));
}

TEST_CASE("imported memory is used in place and let go once no work needs it") {
  Machine machine("fake:1");
  auto memory = std::make_shared<std::vector<std::uint32_t>>(std::vector<std::uint32_t>{1, 2, 3, 4});
  HyHandle handle{};
  handle.size = sizeof handle;
  handle.kind = HY_HANDLE_HOST_POINTER;
  handle.value = reinterpret_cast<std::uint64_t>(memory->data());
  handle.bytes = 16;
  auto imported = value_of(machine.device->import_memory(handle, memory));
  CHECK(imported->imported());
  CHECK(imported->host_pointer() == reinterpret_cast<std::byte*>(memory->data()));
  const auto result = machine.words({0, 0, 0, 0});
  {
    ClosedGate closed;
    value_of(machine.queue->submit(machine.hold()));
    value_of(machine.queue->submit(machine.scale(imported, result, 10)));
    imported.reset();
    machine.device->trim_pool();
    CHECK(memory.use_count() == 2);
  }
  must(machine.queue->wait_idle());
  CHECK(machine.read(result)[3] == 40);
  machine.device->trim_pool();
  CHECK(memory.use_count() == 1);
}

TEST_CASE(
    "memory announced for export is not cut from the pool, and a kind that the device lacks is refused") {
  const auto device = open("fake:0");
  const auto pooled = value_of(device->allocate(100));
  const auto announced =
      value_of(device->allocate({.bytes = 100, .export_kinds = 1u << HY_HANDLE_HOST_POINTER}));
  CHECK(value_of(announced->export_memory(HY_HANDLE_HOST_POINTER)).offset == 0);
  CHECK(announced->backend_buffer() != pooled->backend_buffer());
  const auto refused = device->allocate({.bytes = 100, .export_kinds = 1u << HY_HANDLE_OPAQUE_FD});
  CHECK(refused.error().code == ErrorCode::unsupported);
}

TEST_CASE("exported memory points to the buffer, not to the allocation it is cut from") {
  const auto device = open("fake:0");
  const auto first = value_of(device->allocate(100));
  const auto second = value_of(device->allocate(100));
  const HyHandle handle = value_of(second->export_memory(HY_HANDLE_HOST_POINTER));
  CHECK(handle.value == reinterpret_cast<std::uint64_t>(second->host_pointer()));
  CHECK(handle.bytes == 100);
  CHECK(second->export_memory(HY_HANDLE_OPAQUE_FD).error().code == ErrorCode::unsupported);
}
