#include "memory_plan.h"

#include <algorithm>
#include <numeric>

namespace halyard::fusion {

MemoryPlan plan_memory(std::span<const Lifetime> values, std::uint64_t alignment) {
  MemoryPlan plan;
  plan.offsets.assign(values.size(), 0);
  auto aligned = [alignment](std::uint64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; };
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a].bytes > values[b].bytes; });
  std::vector<std::size_t> placed;  // by offset
  for (std::size_t value : order) {
    const Lifetime& life = values[value];
    std::uint64_t bytes = aligned(life.bytes), offset = 0;
    plan.unshared_bytes += bytes;
    for (std::size_t other : placed) {
      const Lifetime& met = values[other];
      if (met.last < life.first || life.last < met.first) continue;
      if (plan.offsets[other] >= offset + bytes) break;
      offset = std::max(offset, plan.offsets[other] + aligned(met.bytes));
    }
    plan.offsets[value] = offset;
    plan.arena_bytes = std::max(plan.arena_bytes, offset + bytes);
    auto at = std::upper_bound(
        placed.begin(), placed.end(), offset,
        [&](std::uint64_t wanted, std::size_t other) { return wanted < plan.offsets[other]; });
    placed.insert(at, value);
  }
  return plan;
}

}  // namespace halyard::fusion
