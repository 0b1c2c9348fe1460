#include <cstring>

#include "fixture.h"

using namespace halyard;
using namespace halyard::conformance;
using namespace halyard::hal;

namespace {

/// Whether the fault is armed; a device that offers none says so.
bool armed(Rig& rig, std::uint32_t fault, std::uint32_t after = 0) {
  const Status status = rig.device->inject_fault(fault, after);
  if (!status) CHECK_MESSAGE(status.error().code == ErrorCode::unsupported, status.error().message);
  return status.has_value();
}

ErrorCode code_of(const Status& status) {
  REQUIRE(!status);
  return status.error().code;
}

}  // namespace

TEST_CASE("a submission that fails fails what waits for it, and the device lives on") {
  on_every_device([](Rig& rig) {
    auto other = value_of(rig.device->create_queue());
    auto made = rig.gate();
    auto a = rig.words(counting(8));
    auto b = rig.words(Words(8, 0));
    if (!armed(rig, HY_FAULT_SUBMISSION_FAILS)) return;
    const SyncPoint raised{made, 1};
    auto failed = value_of(rig.queue->submit(rig.add(a, b, 1), {.signals = std::span(&raised, 1)}));
    auto dependent = value_of(other->submit(rig.add(a, b, 1), {.waits = std::span(&failed, 1)}));
    CHECK(code_of(failed.wait(patience)) == ErrorCode::internal);
    CHECK(code_of(dependent.wait(patience)) == ErrorCode::internal);
    CHECK(code_of(raised.wait(patience)) == ErrorCode::internal);
    CHECK(!failed.timeline->outcome(failed.value));
    CHECK(failed.reached());
    Words seen(8);
    CHECK(!rig.queue->download(b, std::as_writable_bytes(std::span(seen)), patience));
    must(rig.device->status());
    must(value_of(rig.queue->submit(std::span<const Command>())).wait(patience));
    CHECK(rig.read(b) == Words(8, 0));
    must(value_of(rig.queue->submit(rig.add(a, b, 1))).wait(patience));
    CHECK(rig.read(b) == counting(8, 1));
  });
}

TEST_CASE("a device lost in mid-run fails its pending points and later calls, and nothing hangs") {
  on_every_device([](Rig& rig) {
    auto stuck_queue = value_of(rig.device->create_queue());
    auto gate = rig.gate();
    auto done = rig.gate();
    auto a = rig.words(counting(8));
    auto b = rig.words(Words(8, 0));
    const SyncPoint opened{gate, 1};
    const SyncPoint finished{done, 1};
    auto stuck = value_of(stuck_queue->submit(
        rig.add(a, b, 1), {.waits = std::span(&opened, 1), .signals = std::span(&finished, 1)}));
    if (!armed(rig, HY_FAULT_DEVICE_LOST, 1)) {
      must(gate->signal(1));
      return;
    }
    auto good = value_of(rig.queue->submit(rig.add(a, b, 1)));
    must(good.wait(patience));
    auto lost = rig.queue->submit(rig.add(a, b, 1));  // at once or at its point
    CHECK(code_of(lost ? lost->wait(patience) : Status(tl::unexpected(lost.error()))) ==
          ErrorCode::device_lost);
    CHECK(code_of(stuck.wait(patience)) == ErrorCode::device_lost);
    CHECK(code_of(finished.wait(patience)) == ErrorCode::device_lost);
    CHECK(stuck.reached());
    must(good.timeline->outcome(good.value));
    const Status status = rig.device->status();
    REQUIRE(!status);
    CHECK(status.error().code == ErrorCode::device_lost);
    CHECK_MESSAGE(mentions(status.error(), "open it again"), status.error().message);
    CHECK(!rig.queue->submit(rig.add(a, b, 1)));
    Words seen(8);
    CHECK(!rig.queue->download(a, std::as_writable_bytes(std::span(seen)), patience));
    // The same name opens again.
    Rig again(rig.device->info().uri);
    CHECK(again.read(again.words(counting(8))) == counting(8));
  });
}

TEST_CASE("a host of an older version is given just the fields that it knows") {
  on_every_device([](Rig& rig) {
    const HyBackend& backend = rig.device->backend();
    HyError error{.size = sizeof error};
    HyDeviceInfo whole{.size = sizeof whole};
    REQUIRE(backend.device_info(rig.device->handle(), &whole, &error) == HY_OK);
    constexpr std::uint32_t known = offsetof(HyDeviceInfo, size) + 64;
    HyDeviceInfo part;
    std::memset(&part, 0xee, sizeof part);
    part.size = known;
    REQUIRE(backend.device_info(rig.device->handle(), &part, &error) == HY_OK);
    CHECK(std::memcmp(reinterpret_cast<const std::byte*>(&part) + sizeof part.size,
                      reinterpret_cast<const std::byte*>(&whole) + sizeof part.size,
                      known - sizeof part.size) == 0);
    for (std::size_t i = known; i < sizeof part; ++i)
      REQUIRE(reinterpret_cast<const unsigned char*>(&part)[i] == 0xee);
  });
}

TEST_CASE("an unknown property is not found, and free memory is told where it is known") {
  on_every_device([](Rig& rig) {
    const auto unknown = rig.device->property("colour");
    REQUIRE(!unknown);
    const bool has_properties = rig.device->backend().device_property != nullptr;
    CHECK(unknown.error().code == (has_properties ? ErrorCode::not_found : ErrorCode::unsupported));
    if (auto free = rig.device->property("memory.free_bytes"))
      CHECK(free->integer > 0);
    else
      CHECK_MESSAGE(
          (free.error().code == ErrorCode::not_found || free.error().code == ErrorCode::unsupported),
          free.error().message);
  });
}
