#include <cstdlib>
#include <cstring>

#include "fixture.h"

using namespace halyard;
using namespace halyard::conformance;
using namespace halyard::hal;

namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes counting_bytes(std::size_t count) {
  Bytes values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::uint8_t>(3 + i * 7);
  return values;
}

void upload(const Rig& rig, const Bytes& bytes, const BufferSlice& slice) {
  must(value_of(rig.queue->upload(std::as_bytes(std::span(bytes)), slice)).wait(patience));
}

Bytes download(const Rig& rig, const BufferSlice& slice) {
  Bytes bytes(slice.bytes);
  must(rig.queue->download(slice, std::as_writable_bytes(std::span(bytes)), patience));
  return bytes;
}

}  // namespace

TEST_CASE("bytes of any number come back from every kind of memory") {
  on_every_device([](Rig& rig) {
    for (Memory memory : {Memory::device, Memory::upload, Memory::readback})
      for (std::size_t count : {1U, 3U, 4U, 255U, 4096U, 100001U}) {
        CAPTURE(static_cast<int>(memory));
        CAPTURE(count);
        auto buffer = value_of(rig.device->allocate(BufferDesc{.bytes = count, .memory = memory}));
        const Bytes bytes = counting_bytes(count);
        upload(rig, bytes, buffer);
        CHECK(download(rig, buffer) == bytes);
        if (memory != Memory::device) REQUIRE(buffer->host_pointer() != nullptr);
        if (const std::byte* mapped = buffer->host_pointer())
          CHECK(std::memcmp(mapped, bytes.data(), count) == 0);
      }
  });
}

TEST_CASE("device memory is mapped exactly where the device says so") {
  on_every_device([](Rig& rig) {
    auto buffer = value_of(rig.device->allocate(64));
    CHECK((buffer->host_pointer() != nullptr) == rig.device->info().host_visible_device_memory);
  });
}

TEST_CASE("a buffer of no bytes is a buffer") {
  on_every_device([](Rig& rig) {
    auto empty = value_of(rig.device->allocate(std::uint64_t{0}));
    CHECK(empty->size() == 0);
    upload(rig, {}, empty);
    CHECK(download(rig, empty).empty());
    auto word = rig.words({5});
    Dispatch nothing = rig.add(word, word, 1);
    nothing.grid = {0, 1, 1};
    nothing.buffers = {BufferSlice(word, 0, 0), BufferSlice(word, 0, 0)};
    must(value_of(rig.queue->submit(nothing)).wait(patience));
    CHECK(rig.read(word) == Words{5});
  });
}

TEST_CASE("copies of any offset and length leave their neighbours alone") {
  on_every_device([](Rig& rig) {
    constexpr std::uint64_t size = 700001;  // enough for copies that a device splits among threads
    struct Range {
      std::uint64_t from, to, bytes;
    };
    const Bytes source = counting_bytes(size);
    auto given = value_of(rig.device->allocate(size));
    auto made = value_of(rig.device->allocate(size));
    upload(rig, source, given);
    for (const Range& range : {Range{0, 0, size}, Range{3, 2, size - 5}, Range{1, 4, 1}, Range{5, 64, 7},
                               Range{4, 9, 4096}, Range{size - 1, 0, 1}}) {
      CAPTURE(range.from);
      CAPTURE(range.to);
      CAPTURE(range.bytes);
      Bytes expected(size, 9);
      upload(rig, expected, made);
      std::memcpy(expected.data() + range.to, source.data() + range.from, range.bytes);
      must(value_of(rig.queue->submit(Copy{BufferSlice(given, range.from, range.bytes),
                                           BufferSlice(made, range.to, range.bytes)}))
               .wait(patience));
      CHECK(download(rig, made) == expected);
    }
  });
}

TEST_CASE("fills of 1, 2 and 4 bytes begin and end at any byte that fits the pattern") {
  on_every_device([](Rig& rig) {
    constexpr std::uint64_t size = 5000;
    auto buffer = value_of(rig.device->allocate(size));
    for (std::uint32_t width : {1U, 2U, 4U})
      for (std::uint64_t begin : {0U, 3U, 4U, 998U})
        for (std::uint64_t count : {1U, 2U, 3U, 64U, 999U}) {
          const std::uint64_t offset = begin / width * width;
          Bytes expected(size, 9);
          upload(rig, expected, buffer);
          constexpr std::uint32_t pattern = 0xddccbbaa;
          for (std::uint64_t i = 0; i < count * width; ++i)
            expected[offset + i] = static_cast<std::uint8_t>(pattern >> (8 * (i % width)));
          must(value_of(rig.queue->submit(Fill{BufferSlice(buffer, offset, count * width), pattern, width}))
                   .wait(patience));
          CAPTURE(width);
          CAPTURE(offset);
          CAPTURE(count);
          CHECK(download(rig, buffer) == expected);
        }
  });
}

TEST_CASE("a caller's memory is used in place, or the device says that it cannot") {
  on_every_device([](Rig& rig) {
    constexpr std::size_t bytes = 1 << 16;
    std::shared_ptr<void> memory(std::aligned_alloc(4096, bytes), &std::free);
    std::memset(memory.get(), 0, bytes);
    HyHandle handle{.size = sizeof handle,
                    .kind = HY_HANDLE_HOST_POINTER,
                    .value = reinterpret_cast<std::uint64_t>(memory.get()),
                    .bytes = bytes};
    auto imported = rig.device->import_memory(handle, memory);
    if (!imported) {
      CHECK_MESSAGE(imported.error().code == ErrorCode::unsupported, imported.error().message);
      return;
    }
    auto source = rig.words(counting(64));
    must(value_of(rig.queue->submit(rig.add(source, BufferSlice(*imported, 256, 256), 5))).wait(patience));
    Words seen(64);
    std::memcpy(seen.data(), static_cast<std::byte*>(memory.get()) + 256, 256);
    CHECK(seen == counting(64, 5));
    const std::weak_ptr<void> watch = memory;
    memory.reset();
    CHECK(!watch.expired());
    imported->reset();
    must(rig.queue->wait_idle(patience));
    rig.device->trim_pool();
    CHECK(watch.expired());
  });
}

TEST_CASE("memory announced for export is shared with a second device, or the device says that it cannot") {
  on_every_device([](Rig& rig) {
    Rig other(rig.device->info().uri);
    for (std::uint32_t kind :
         std::initializer_list<std::uint32_t>{HY_HANDLE_OPAQUE_FD, HY_HANDLE_DMA_BUF_FD}) {
      CAPTURE(kind);
      auto made = rig.device->allocate(BufferDesc{.bytes = 1 << 16, .export_kinds = 1U << kind});
      if (!made) {
        CHECK_MESSAGE(made.error().code == ErrorCode::unsupported, made.error().message);
        continue;
      }
      auto handle = (*made)->export_memory(kind);
      if (!handle) {
        CHECK_MESSAGE(handle.error().code == ErrorCode::unsupported, handle.error().message);
        continue;
      }
      auto same = other.device->import_memory(*handle, *made);
      if (!same) {
        CHECK_MESSAGE(same.error().code == ErrorCode::unsupported, same.error().message);
        continue;
      }
      must(value_of(rig.queue->submit(Fill{BufferSlice(*made), 0x2a2a2a2a, 4})).wait(patience));
      CHECK(other.read(BufferSlice(*same, 0, 4096)) == Words(1024, 0x2a2a2a2a));
    }
  });
}

TEST_CASE("memory not announced gives no descriptor, and what is no descriptor is not taken for memory") {
  on_every_device([](Rig& rig) {
    auto plain = rig.words(counting(64));
    for (std::uint32_t kind :
         std::initializer_list<std::uint32_t>{HY_HANDLE_OPAQUE_FD, HY_HANDLE_DMA_BUF_FD}) {
      CAPTURE(kind);
      auto given = plain->export_memory(kind);
      REQUIRE(!given);
      CHECK_MESSAGE(given.error().code == ErrorCode::unsupported, given.error().message);
      auto taken = rig.device->import_memory(
          HyHandle{.size = sizeof(HyHandle), .kind = kind, .fd = -1, .bytes = 4096});
      REQUIRE(!taken);
      CHECK_MESSAGE(
          (taken.error().code == ErrorCode::unsupported || taken.error().code == ErrorCode::invalid_argument),
          taken.error().message);
    }
    must(rig.device->status());
    CHECK(rig.read(plain) == counting(64));
  });
}

TEST_CASE("more memory than there is gives an error that tells how much was asked, held and free") {
  on_every_device([](Rig& rig) {
    auto kept = rig.words(counting(16));
    for (std::uint64_t bytes : {std::uint64_t{1} << 60, ~std::uint64_t{0}}) {
      auto huge = rig.device->allocate(bytes);
      REQUIRE(!huge);
      CHECK(huge.error().code == ErrorCode::out_of_memory);
      CHECK_MESSAGE(mentions(huge.error(), "asked"), huge.error().message);
      CHECK_MESSAGE(mentions(huge.error(), "held"), huge.error().message);
      CHECK_MESSAGE(mentions(huge.error(), "free"), huge.error().message);
    }
    CHECK(rig.read(kept) == counting(16));
  });
}

TEST_CASE("a shortage of memory fails one allocation, once what the pool held back was tried, and no other") {
  on_every_device([](Rig& rig) {
    rig.device->trim_pool();
    const BufferDesc desc{.bytes = 1 << 20, .dedicated = true};
    if (Status armed = rig.device->inject_fault(HY_FAULT_OUT_OF_MEMORY); !armed) {
      CHECK(armed.error().code == ErrorCode::unsupported);
      return;
    }
    auto first = rig.device->allocate(desc);
    if (!first) CHECK(first.error().code == ErrorCode::out_of_memory);
    value_of(rig.device->allocate(desc));
    must(rig.device->status());
  });
}

TEST_CASE("freed memory is reused, and never while work still needs it") {
  on_every_device([](Rig& rig) {
    auto source = rig.words(counting(1024));
    auto target = rig.words(Words(1024, 0));
    auto gate = rig.gate();
    const SyncPoint opened{gate, 1};
    auto point = value_of(rig.queue->submit(rig.add(source, target, 1), {.waits = std::span(&opened, 1)}));
    source.reset();  // work still reads it
    Rig* keep = &rig;
    std::vector<std::shared_ptr<Buffer>> others;
    for (int i = 0; i < 16; ++i) {
      auto buffer = value_of(keep->device->allocate(BufferDesc{.bytes = 4096, .memory = Memory::upload}));
      std::memset(buffer->host_pointer(), 0xff, 4096);
      others.push_back(buffer);
    }
    must(gate->signal(1));
    must(point.wait(patience));
    CHECK(rig.read(target) == counting(1024, 1));
    target.reset();
    others.clear();
    must(rig.queue->wait_idle(patience));
    const PoolStatistics before = rig.device->pool_statistics();
    auto again = value_of(rig.device->allocate(4096));
    CHECK(rig.device->pool_statistics().device_calls == before.device_calls);
  });
}
