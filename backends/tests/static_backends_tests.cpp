#include <doctest/doctest.h>
#include <halyard/hal/buffer.h>
#include <halyard/hal/device.h>
#include <halyard/hal/queue.h>
#include <halyard/hal/registry.h>

#include <algorithm>
#include <vector>

extern "C" const HyBackend* halyard_backend_entry_cpu(uint32_t abi_version, const HyHost* host);
extern "C" const HyBackend* halyard_backend_entry_vulkan(uint32_t abi_version, const HyHost* host);

namespace halyard::hal {
namespace {

/// A registry that looks nowhere: its backends are those of this program.
Registry& linked() {
  static Registry registry(Registry::Options{.search_defaults = false});
  static const bool added = [] {
    for (HyBackendEntry entry : {halyard_backend_entry_cpu, halyard_backend_entry_vulkan})
      REQUIRE(registry.add(entry).has_value());
    return true;
  }();
  (void)added;
  return registry;
}

template <class T>
T must(Result<T> result) {
  REQUIRE_MESSAGE(result.has_value(), (result ? std::string() : result.error().message));
  return std::move(*result);
}

std::vector<std::byte> contents(Queue& queue, const std::shared_ptr<Buffer>& buffer) {
  std::vector<std::byte> bytes(buffer->size());
  REQUIRE(queue.download(buffer, bytes).has_value());
  return bytes;
}

}  // namespace

TEST_CASE("cpu and vulkan live in one program without a module") {
  auto backends = linked().backends();
  auto known = [&](std::string_view name) {
    return std::any_of(backends.begin(), backends.end(),
                       [&](const BackendReport& backend) { return backend.name == name; });
  };
  CHECK(known("cpu"));
  CHECK(known("vulkan"));
}

TEST_CASE("every device of the linked backends fills and copies memory") {
  for (const DeviceSummary& summary : linked().devices()) {
    CAPTURE(summary.uri);
    auto device = must(linked().open(summary.uri));
    auto queue = must(device->default_queue());
    auto from = must(device->allocate({.bytes = 1000}));
    auto to = must(device->allocate({.bytes = 1000}));
    must(queue->submit(Command(Fill{from, 0x2a, 1})));
    must(queue->submit(Command(Copy{from, to})));
    CHECK(contents(*queue, to) == std::vector<std::byte>(1000, std::byte{0x2a}));
  }
}

TEST_CASE("memory announced for export is seen by another device object through a file descriptor") {
  for (const DeviceSummary& summary : linked().devices()) {
    CAPTURE(summary.uri);
    auto first = must(linked().open(summary.uri));
    auto second = must(linked().open(summary.uri));
    auto shared = first->allocate({.bytes = 1000, .export_kinds = 1u << HY_HANDLE_OPAQUE_FD});
    if (!shared) {
      CHECK(shared.error().code == ErrorCode::unsupported);
      continue;
    }
    HyHandle handle = must((*shared)->export_memory(HY_HANDLE_OPAQUE_FD));
    auto seen = must(second->import_memory(handle));
    auto writer = must(first->default_queue());
    must(writer->submit(Command(Fill{*shared, 0x17, 1})));
    REQUIRE(writer->wait_idle().has_value());
    // What is given out is the whole allocation.
    auto bytes = contents(*must(second->default_queue()), seen);
    REQUIRE(bytes.size() >= 1000);
    bytes.resize(1000);
    CHECK(bytes == std::vector<std::byte>(1000, std::byte{0x17}));
  }
}

}  // namespace halyard::hal
