#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "halyard/hal/sync_point.h"

namespace halyard::hal {

/// The work that still needs a range of memory: per timeline the last point. Timelines are held weakly, for
/// the device owns memory and timelines own the device; one that is gone has ended its work. Not
/// synchronized.
class BufferUses {
 public:
  void add(const SyncPoint& point);
  void add(const BufferUses& others);
  void clear() { uses_.clear(); }
  /// Forgets what ended and tells whether nothing is left. Work on `in_order` counts as ended: whatever
  /// follows on that queue comes after it anyway.
  bool ended(const Timeline* in_order = nullptr);
  /// Blocks until all is over, well or not.
  void wait() const;

 private:
  struct Use {
    const Timeline* identity;
    std::weak_ptr<Timeline> timeline;
    std::uint64_t value;
  };
  void add(const Use& use);
  std::vector<Use> uses_;
};

}  // namespace halyard::hal
