#include "buffer_uses.h"

#include <algorithm>

namespace halyard::hal {

void BufferUses::add(const SyncPoint& point) {
  if (point.timeline) add(Use{point.timeline.get(), point.timeline, point.value});
}

void BufferUses::add(const BufferUses& others) {
  for (const Use& use : others.uses_) add(use);
}

void BufferUses::add(const Use& use) {
  for (Use& mine : uses_) {
    // A dead timeline's address may have been taken by a new one, so compare owners.
    if (mine.timeline.owner_before(use.timeline) || use.timeline.owner_before(mine.timeline)) continue;
    mine.value = std::max(mine.value, use.value);
    return;
  }
  uses_.push_back(use);
}

bool BufferUses::ended(const Timeline* in_order) {
  std::erase_if(uses_, [](const Use& use) {
    const auto timeline = use.timeline.lock();
    if (!timeline) return true;
    return SyncPoint{timeline, use.value}.reached();
  });
  return std::all_of(uses_.begin(), uses_.end(), [&](const Use& use) { return use.identity == in_order; });
}

void BufferUses::wait() const {
  for (const Use& use : uses_)
    if (const auto timeline = use.timeline.lock()) (void)timeline->wait(use.value);
}

}  // namespace halyard::hal
