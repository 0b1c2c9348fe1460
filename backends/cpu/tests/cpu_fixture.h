#pragma once

#include <doctest/doctest.h>
#include <halyard/hal/cpu_kernel_abi.h>
#include <halyard/hal/plugin.h>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halyard::cpu::tests {

/// The backend's table, from the module as a host opens it.
const HyBackend& backend();

/// A fresh error to be filled.
inline HyError no_error() {
  HyError error{};
  error.size = sizeof error;
  return error;
}

/// Requires success, and shows the message otherwise.
#define REQUIRE_OK(call)                             \
  do {                                               \
    HyError error = halyard::cpu::tests::no_error(); \
    HyStatus status = (call);                        \
    REQUIRE_MESSAGE(status == HY_OK, error.message); \
  } while (false)

/// An open device with one queue; closes them in the right order.
struct Device {
  explicit Device(std::uint32_t threads = 2);
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
  static std::span<T> contents(HyBuffer* buffer, std::size_t count) {
    return {static_cast<T*>(pointer(buffer)), count};
  }

  HyDevice* handle = nullptr;
  HyQueue* queue = nullptr;
};

HyKernelDesc kernel_desc(const char* entry, std::uint32_t buffers, std::uint32_t scalar_bytes = 0,
                         std::uint64_t scratch = 0);
HyStatus create_module(const Device& device, const char* format, std::string_view bytes,
                       const std::vector<HyKernelDesc>& kernels, HyModule** module, HyError* error);
HyModule* make_module(const Device& device, const char* format, std::string_view bytes,
                      const std::vector<HyKernelDesc>& kernels);

HySlice slice(HyBuffer* buffer, std::uint64_t bytes, std::uint64_t offset = 0);
HySlice slot(std::uint32_t number, std::uint64_t bytes, std::uint64_t offset = 0);

/// A list of commands that owns what its descriptions point to.
class Commands {
 public:
  Commands& dispatch(HyModule* module, std::uint32_t kernel, std::uint32_t workgroups,
                     std::vector<HySlice> buffers, std::vector<std::uint32_t> scalars = {},
                     std::uint32_t scalar_slot = HY_NO_SLOT);
  Commands& copy(HySlice source, HySlice destination);
  Commands& fill(HySlice destination, std::uint32_t pattern, std::uint32_t pattern_bytes);
  const std::vector<HyCommand>& list();

 private:
  struct Item {
    std::uint32_t kind;
    HyDispatch dispatch{};
    HyCopy copy{};
    HyFill fill{};
    std::vector<HySlice> buffers;
    std::vector<std::uint32_t> scalars;
  };
  std::vector<Item> items_;
  std::vector<HyCommand> list_;
};

struct SubmitOptions {
  std::vector<HySyncPoint> waits, signals;
  HyTimeStamps* time_stamps = nullptr;
};
HyStatus submit(HyQueue* queue, Commands& commands, std::uint64_t* value, HyError* error,
                const SubmitOptions& options = {});
/// Submits, which must succeed; the value.
std::uint64_t submit(HyQueue* queue, Commands& commands, const SubmitOptions& options = {});
HyStatus wait(HyQueue* queue, std::uint64_t value, HyError* error, std::uint64_t timeout_ns = UINT64_MAX);
/// Submits and waits; both must succeed.
void run(HyQueue* queue, Commands commands);

/// Kernels over one element per workgroup: 0 add_one (buffer of i32), 1 halve (buffer of f32; scalar f32: x /
/// 2 + s), 2 through_scratch (buffer of i32; 1 KiB of scratch: 256 times the workgroup number).
extern const char* const example_text;

}  // namespace halyard::cpu::tests
