#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace halyard::fusion {

/// A value that lives in the arena from the step that writes it to the last one that reads it.
struct Lifetime {
  std::uint64_t bytes = 0;
  std::uint32_t first = 0;  ///< step that writes it
  std::uint32_t last = 0;   ///< last step that uses it, >= first
};

struct MemoryPlan {
  std::vector<std::uint64_t> offsets;  ///< per value, multiples of the alignment
  std::uint64_t arena_bytes = 0;
  std::uint64_t unshared_bytes = 0;  ///< what the values would take without reuse
};

/// Offsets in one arena such that values whose lives meet (steps inclusive) never overlap. Larger values are
/// placed first, each in the lowest gap that fits (greedy by size; Pisarchyk and Lee, "Efficient Memory
/// Management for Deep Neural Net Inference", 2020).
MemoryPlan plan_memory(std::span<const Lifetime> values, std::uint64_t alignment = 256);

}  // namespace halyard::fusion
