#pragma once

#include <doctest/doctest.h>
#include <halyard/hal/fault_injection.h>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halyard::vulkan::tests {

/// The backend's table, from the module as a host opens it.
const HyBackend& backend();
/// Whether there is any Vulkan device; says so if not.
bool has_device();
/// SPIR-V words of an assembly text.
std::vector<std::uint32_t> assembled(std::string_view text);
/// out[i] = in[i] + scalars[scalar_bytes / 4 - 1], 32 lanes; the scalars come by push constants or, where
/// they are more than those hold, by buffer.
std::vector<std::uint32_t> add_kernel(std::uint32_t scalar_bytes, bool by_buffer);
HyKernelDesc add_kernel_desc(std::uint32_t scalar_bytes);

/// A fresh error to be filled.
inline HyError no_error() {
  HyError error{};
  error.size = sizeof error;
  return error;
}

/// Requires success, and shows the message otherwise.
#define REQUIRE_OK(call)                                \
  do {                                                  \
    HyError error = halyard::vulkan::tests::no_error(); \
    HyStatus status = (call);                           \
    REQUIRE_MESSAGE(status == HY_OK, error.message);    \
  } while (false)

/// An open device with one queue under the validation layer; checks at the end that the layer had nothing to
/// say.
struct Device {
  Device();
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  HyQueue* make_queue() const;
  HyBuffer* make_buffer(std::uint64_t bytes) const;
  template <class T>
  HyBuffer* make_buffer(const std::vector<T>& values) const {
    HyBuffer* buffer = make_buffer(values.size() * sizeof(T));
    std::memcpy(pointer(buffer), values.data(), values.size() * sizeof(T));
    return buffer;
  }
  static void* pointer(HyBuffer* buffer);
  template <class T>
  static std::vector<T> contents(HyBuffer* buffer, std::size_t count) {
    std::vector<T> values(count);
    std::memcpy(values.data(), pointer(buffer), count * sizeof(T));
    return values;
  }
  HyModule* make_add_module(std::uint32_t scalar_bytes = 8) const;
  std::uint64_t submit(std::span<const HyCommand> commands, std::span<const HySyncPoint> waits = {},
                       std::span<const HySyncPoint> signals = {}, HyQueue* on = nullptr) const;
  HyStatus wait(std::uint64_t value, HyQueue* on = nullptr, std::string* message = nullptr) const;
  void arm(std::uint32_t fault) const;

  HyDevice* handle = nullptr;
  HyQueue* queue = nullptr;
  HyDeviceInfo info{};
};

/// A dispatch of the add kernel with what it points to.
struct Add {
  Add(HyModule* module, HyBuffer* in, HyBuffer* out, std::uint32_t count, float addend,
      std::uint32_t scalar_bytes = 8);
  Add(const Add&) = delete;
  Add& operator=(const Add&) = delete;

  std::vector<std::byte> scalars;
  HySlice slices[2];
  HyDispatch dispatch{};
  HyCommand command{};
};

}  // namespace halyard::vulkan::tests
