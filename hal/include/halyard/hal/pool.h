#pragma once

#include <cstdint>

namespace halyard::hal {

/// What a device's caching allocator holds. Bytes; a snapshot.
struct PoolStatistics {
  std::uint64_t held_bytes = 0;    ///< taken from the device
  std::uint64_t used_bytes = 0;    ///< of these, in live buffers
  std::uint64_t cached_bytes = 0;  ///< of these, ready for reuse or waiting for work to end
  std::uint64_t peak_used_bytes = 0, peak_held_bytes = 0;
  std::uint64_t allocations = 0;   ///< buffers ever asked for
  std::uint64_t reuses = 0;        ///< of these, served without asking the device
  std::uint64_t device_calls = 0;  ///< times the backend was asked for memory
  std::uint64_t live_buffers = 0;
};

}  // namespace halyard::hal
