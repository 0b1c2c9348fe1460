#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "fake_backend.h"
#include "halyard/hal/device.h"
#include "halyard/hal/fault_injection.h"
#include "halyard/hal/log.h"
#include "halyard/hal/registry.h"

namespace halyard::hal::testing {

/// The value of a result; the test fails with the error's message if there is none.
template <class T>
T value_of(Result<T> result) {
  if (!result) FAIL(result.error().message);
  return std::move(*result);
}

inline void must(const Status& status) {
  if (!status) FAIL(status.error().message);
}

/// A registry that knows the fake backends and nothing else.
inline std::unique_ptr<Registry> fake_registry() {
  auto registry = std::make_unique<Registry>(Registry::Options{.folders = {}, .search_defaults = false});
  must(registry->add(halyard_backend_entry_fake));
  must(registry->add(halyard_backend_entry_bare));
  must(registry->add(halyard_backend_entry_absent));
  return registry;
}

inline std::shared_ptr<Device> open(const std::string& uri, DeviceOptions options = {}) {
  return value_of(fake_registry()->open(uri, options));
}

inline KernelDesc kernel(std::string entry, std::uint32_t buffers, std::uint64_t written,
                         std::uint32_t scalar_bytes = 0) {
  KernelDesc desc;
  desc.entry = std::move(entry);
  desc.buffer_count = buffers;
  desc.written_buffers = written;
  desc.read_buffers = ~written & ((std::uint64_t{1} << buffers) - 1);
  desc.scalar_bytes = scalar_bytes;
  return desc;
}

inline ModuleDesc fake_module(const std::string& text = "code: words") {
  ModuleDesc desc;
  desc.format = "fake";
  desc.label = "words";
  for (const char c : text) desc.bytes.push_back(static_cast<std::byte>(c));
  desc.kernels = {kernel("copy_words", 2, 0b10), kernel("scale_words", 2, 0b10, 8),
                  kernel("add_words", 3, 0b100), kernel("hold", 0, 0)};
  return desc;
}

/// A device with a queue and the fake kernels.
struct Machine {
  std::shared_ptr<Device> device;
  std::shared_ptr<Queue> queue;
  std::shared_ptr<Module> module;
  explicit Machine(const std::string& uri = "fake:0", DeviceOptions options = {})
      : device(open(uri, options)),
        queue(value_of(device->create_queue())),
        module(value_of(device->load_module(fake_module()))) {}

  Kernel kernel(const char* entry) const { return value_of(Kernel::find(module, entry)); }
  std::shared_ptr<Buffer> words(const std::vector<std::uint32_t>& values) {
    auto buffer = value_of(device->allocate(values.size() * 4));
    must(value_of(queue->upload(std::as_bytes(std::span(values)), BufferSlice(buffer))).wait());
    return buffer;
  }
  std::vector<std::uint32_t> read(const BufferSlice& slice) {
    std::vector<std::uint32_t> values(slice.bytes / 4);
    must(queue->download(slice, std::as_writable_bytes(std::span(values))));
    return values;
  }
  Dispatch scale(BufferSlice from, BufferSlice to, std::uint32_t factor) const {
    return Dispatch{.kernel = kernel("scale_words"),
                    .buffers = {std::move(from), std::move(to)},
                    .scalars = ScalarBlock().add(factor).bytes()};
  }
  Dispatch hold() const { return Dispatch{.kernel = kernel("hold")}; }
};

/// Work that runs `hold` stays under way while this lives.
struct ClosedGate {
  ClosedGate() { fake::close_gate(); }
  ~ClosedGate() { fake::open_gate(); }
};

/// Collects what is logged while it lives.
struct LogRecorder {
  std::mutex mutex;
  std::vector<std::string> lines;
  LogRecorder() {
    set_log_sink([this](LogLevel, std::string_view source, std::string_view message) {
      std::lock_guard lock(mutex);
      lines.push_back(std::string(source) + ": " + std::string(message));
    });
  }
  ~LogRecorder() { set_log_sink({}); }
  bool has(std::string_view part) {
    std::lock_guard lock(mutex);
    for (const std::string& line : lines)
      if (line.find(part) != std::string::npos) return true;
    return false;
  }
};

/// A folder of its own, removed at the end.
struct TemporaryFolder {
  std::filesystem::path path;
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "halyard-test-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~TemporaryFolder() {
    std::error_code code;
    std::filesystem::remove_all(path, code);
  }
};

inline bool mentions(const Error& error, std::string_view part) {
  return error.message.find(part) != std::string::npos;
}

}  // namespace halyard::hal::testing
