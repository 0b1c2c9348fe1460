#pragma once

#include <doctest/doctest.h>
#include <halyard/hal/command_graph.h>
#include <halyard/hal/device.h>
#include <halyard/hal/fault_injection.h>
#include <halyard/hal/registry.h>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "chosen_devices.h"

namespace halyard::conformance {

/// The value of a result; the test fails with the error's message if there is none.
template <class T>
T value_of(Result<T> result) {
  if (!result) FAIL(result.error().message);
  return std::move(*result);
}

void must(const Status& status);
bool mentions(const Error& error, std::string_view part);

using Words = std::vector<std::uint32_t>;
Words counting(std::uint32_t count, std::uint32_t first = 0);

/// A device of its own, so that losing it harms no other test, with a queue and one kernel.
class Rig {
 public:
  explicit Rig(const std::string& uri);

  std::shared_ptr<hal::Device> device;
  std::shared_ptr<hal::Queue> queue;

  /// Device memory that holds these words.
  std::shared_ptr<hal::Buffer> words(const Words& values) const;
  Words read(const hal::BufferSlice& slice) const;
  Words read(const std::shared_ptr<hal::Buffer>& buffer) const { return read(hal::BufferSlice(buffer)); }
  /// A counter that work can wait for and the host raises.
  std::shared_ptr<hal::Timeline> gate() const;

  /// to[i] = from[i] + addend for each word of the two slices.
  hal::Dispatch add(const hal::BufferSlice& from, const hal::BufferSlice& to, std::uint32_t addend) const;
  hal::GraphDispatch add_node(hal::SlotSlice from, hal::SlotSlice to) const;
  std::vector<std::byte> add_scalars(std::uint64_t words, std::uint32_t addend) const;
  std::array<std::uint32_t, 3> grid_for(std::uint64_t words) const;
  /// What the kernel is made from.
  hal::ModuleDesc add_module() const;

 private:
  hal::Kernel kernel_;
  std::uint32_t lanes_;
};

/// Runs `body` on every device that can be opened here, the plug-ins on HALYARD_BACKEND_PATH included.
void on_every_device(const std::function<void(Rig&)>& body);
/// How many devices that is.
std::size_t device_count();

/// Long enough for any device; a wait that reaches it is a hang.
constexpr std::chrono::seconds patience{60};

}  // namespace halyard::conformance
