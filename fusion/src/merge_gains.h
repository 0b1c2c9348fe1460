#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace halyard::fusion {

using GroupId = std::uint32_t;
using GroupSet = std::vector<GroupId>;  ///< ascending

/// The merges that would make a plan faster, and by how many seconds: the best one first, and none that names
/// a group which is gone.
class MergeGains {
 public:
  bool contains(const GroupSet& groups) const { return seconds_.contains(groups); }
  void add(const GroupSet& groups, double seconds) {
    if (!seconds_.emplace(groups, seconds).second) return;
    order_.emplace(-seconds, groups);
    for (GroupId group : groups) of_group_[group].push_back(groups);
  }
  bool empty() const { return order_.empty(); }
  /// Takes the largest gain out. Of equal ones that of the earlier groups, so that plans are stable.
  GroupSet take_best() {
    GroupSet groups = order_.begin()->second;
    remove(groups);
    return groups;
  }
  /// Forgets every merge in which the group takes part.
  void forget(GroupId group) {
    for (const GroupSet& groups : of_group_[group]) remove(groups);
    of_group_.erase(group);
  }

 private:
  void remove(const GroupSet& groups) {
    auto found = seconds_.find(groups);
    if (found == seconds_.end()) return;
    order_.erase({-found->second, groups});
    seconds_.erase(found);
  }

  std::map<GroupSet, double> seconds_;
  std::set<std::pair<double, GroupSet>> order_;
  std::unordered_map<GroupId, std::vector<GroupSet>> of_group_;
};

}  // namespace halyard::fusion
