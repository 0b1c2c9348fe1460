#include <halyard/fusion/planner.h>

#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include "cluster_to_tile.h"
#include "expand_compounds.h"
#include "fold_empty.h"
#include "kernel_nodes.h"
#include "merge_gains.h"
#include "pack_weight.h"
#include "trials.h"

namespace halyard::fusion {
namespace {

using ops::NodeId;

/// More operations than one kernel is made of: a bound on what compilers and planning take, far beyond where
/// merging still saves memory traffic.
constexpr std::size_t most_members = 128;
/// A group is tried with this many neighbours at most, the nearest in the graph's order: each trial costs as
/// much as the group is large, and the next nearest have their turn once these are merged.
constexpr std::size_t most_neighbours = 16;

class Planner {
 public:
  Planner(const ops::Graph& graph, const DeviceProfile& profile, std::uint32_t candidate)
      : nodes_(graph), profile_(profile), trials_(nodes_, profile, candidate) {}

  Status start();
  /// Puts every node back into a group of its own. What was tried is remembered.
  void reset();
  void merge_while_faster();
  void recompute_in_readers();
  Result<std::vector<Cluster>> clusters(std::vector<Boundary>& boundaries);
  /// Remembers that this merged cluster cannot be lowered, and why.
  void rule_out(const ClusterSpec& spec, std::string reason) { trials_.rule_out(spec, std::move(reason)); }

 private:
  struct Group {
    std::vector<NodeId> members;
    bool alive = true;
  };

  std::vector<NodeId> united(const GroupSet& groups) const;
  std::vector<NodeId> stores_of(const std::vector<NodeId>& members, const GroupSet& absorbed) const;
  const Trial& trial(std::vector<NodeId> members, std::vector<NodeId> stores) {
    return trials_.get({std::move(members), std::move(stores)});
  }
  const Trial& trial(const GroupSet& groups) {
    auto members = united(groups);
    auto stores = stores_of(members, groups);
    return trial(std::move(members), std::move(stores));
  }
  bool holds(GroupId group, NodeId node) const {
    const auto& members = groups_[group].members;
    return std::binary_search(members.begin(), members.end(), node);
  }
  GroupId home(NodeId node) const { return groups_of_.at(ops::index(node)).front(); }
  std::set<GroupId> readers(GroupId group) const;
  std::set<GroupId> writers(GroupId group) const;
  std::set<GroupId> siblings(GroupId group) const;
  std::vector<GroupId> nearest(GroupId group, const std::set<GroupId>& groups) const;
  bool makes_cycle(const GroupSet& groups) const;
  bool too_many(const GroupSet& groups) const;
  void consider(const GroupSet& groups, MergeGains& gains);
  bool product_beside_reduction(GroupId a, GroupId b);
  void consider_all(GroupId group, MergeGains& gains);
  GroupId merge(const GroupSet& groups);
  void adopt(GroupId group);
  std::optional<double> gain_of_recomputing(GroupId group);
  std::vector<GroupId> run_order() const;
  std::optional<std::string> triple_reason(const GroupSet& pair);
  std::string boundary_reason(GroupId producer, GroupId consumer);
  ClusterCost unfused(const std::vector<NodeId>& members);

  KernelNodes nodes_;
  const DeviceProfile& profile_;
  std::vector<Group> groups_;
  std::unordered_map<std::uint32_t, std::vector<GroupId>> groups_of_;  ///< per node, the storing one first
  Trials trials_;
};

std::vector<NodeId> Planner::united(const GroupSet& groups) const {
  std::set<NodeId> members;
  for (GroupId group : groups) members.insert(groups_[group].members.begin(), groups_[group].members.end());
  return {members.begin(), members.end()};
}

/// The members that outputs or kernels outside `absorbed` read.
std::vector<NodeId> Planner::stores_of(const std::vector<NodeId>& members, const GroupSet& absorbed) const {
  std::vector<NodeId> stores;
  auto inside = [&](GroupId group) {
    return std::find(absorbed.begin(), absorbed.end(), group) != absorbed.end();
  };
  for (NodeId member : members) {
    if (!inside(home(member))) continue;
    bool needed = false;
    for (const Use& use : nodes_.uses(member)) {
      if (use.output) {
        needed = true;
        break;
      }
      for (GroupId group : groups_of_.at(ops::index(use.consumer)))
        needed = needed || (!inside(group) && !holds(group, member));
    }
    if (needed) stores.push_back(member);
  }
  return stores;
}

void Planner::adopt(GroupId group) {
  for (NodeId member : groups_[group].members) groups_of_[ops::index(member)].push_back(group);
}

void Planner::reset() {
  groups_.clear();
  groups_of_.clear();
  for (NodeId node : nodes_.nodes()) {
    groups_.push_back({{node}});
    adopt(static_cast<GroupId>(groups_.size() - 1));
  }
}

Status Planner::start() {
  reset();
  for (GroupId group = 0; group < groups_.size(); ++group) {
    NodeId node = groups_[group].members.front();
    // Without readers (an empty result, say) nothing is stored and nothing is to be done.
    if (stores_of(groups_[group].members, {group}).empty()) continue;
    const Trial& alone = trial(GroupSet{group});
    if (!alone.cluster) {
      const ops::Node& source = nodes_.graph().node(node);
      return fail(ErrorCode::unsupported,
                  fmt::format("plan: {} (node %{}{}{}) has no kernel on {}: {}", ops::name(source.primitive),
                              ops::index(node), source.name.empty() ? "" : ", ", source.name, profile_.name,
                              alone.reason));
    }
  }
  return {};
}

std::set<GroupId> Planner::readers(GroupId group) const {
  std::set<GroupId> result;
  for (NodeId member : groups_[group].members) {
    if (home(member) != group) continue;
    for (const Use& use : nodes_.uses(member)) {
      if (use.output) continue;
      for (GroupId reader : groups_of_.at(ops::index(use.consumer)))
        if (reader != group && !holds(reader, member)) result.insert(reader);
    }
  }
  return result;
}

std::set<GroupId> Planner::writers(GroupId group) const {
  std::set<GroupId> result;
  for (NodeId member : groups_[group].members)
    for (NodeId source : nodes_.sources(member))
      if (!holds(group, source)) result.insert(home(source));
  return result;
}

/// Groups that read a value which `group` reads too.
std::set<GroupId> Planner::siblings(GroupId group) const {
  std::set<GroupId> result;
  for (GroupId writer : writers(group))
    for (GroupId reader : readers(writer))
      if (reader != group) result.insert(reader);
  return result;
}

bool Planner::too_many(const GroupSet& groups) const {
  std::size_t members = 0;
  for (GroupId group : groups) members += groups_[group].members.size();
  return members > most_members;
}

/// Whether some path leaves the set and comes back, so that as one kernel it would wait for itself.
bool Planner::makes_cycle(const GroupSet& groups) const {
  // Edges lead from lower to higher nodes. A path past the set's last node comes back only through a group
  // that lies on both sides of it; where there is none, what lies wholly behind need not be followed.
  NodeId last = groups_[groups.front()].members.back();
  for (GroupId group : groups) last = std::max(last, groups_[group].members.back());
  const bool can_come_back = std::any_of(groups_.begin(), groups_.end(), [&](const Group& group) {
    return group.alive && group.members.front() < last && last < group.members.back();
  });
  std::vector<bool> seen(groups_.size(), false);
  std::vector<GroupId> open;
  const auto reach = [&](GroupId group) {
    const bool follow = can_come_back || groups_[group].members.front() < last;
    if (!seen[group] && follow) open.push_back(group);
    seen[group] = true;
  };
  auto inside = [&](GroupId group) { return std::find(groups.begin(), groups.end(), group) != groups.end(); };
  for (GroupId group : groups)
    for (GroupId reader : readers(group))
      if (!inside(reader)) reach(reader);
  while (!open.empty()) {
    GroupId group = open.back();
    open.pop_back();
    for (GroupId reader : readers(group)) {
      if (inside(reader)) return true;
      reach(reader);
    }
  }
  return false;
}

void Planner::consider(const GroupSet& groups, MergeGains& gains) {
  if (gains.contains(groups) || too_many(groups)) return;
  const Trial& merged = trial(groups);
  if (!merged.cluster) return;
  double apart = 0;
  for (GroupId group : groups) {
    const Trial& alone = trial(GroupSet{group});
    if (!alone.cluster) return;
    apart += alone.seconds();
  }
  double gain = apart - merged.seconds();
  if (gain > 0) gains.add(groups, gain);
}

/// Whether one of the two sums products and the other reduces rows: no kernel as a pair, but perhaps one with
/// a second product.
bool Planner::product_beside_reduction(GroupId a, GroupId b) {
  const Trial &first = trial(GroupSet{a}), &second = trial(GroupSet{b});
  if (!first.cluster || !second.cluster) return false;
  auto product = [](const Trial& t) { return t.cluster->pattern == Pattern::contraction; };
  auto rows = [](const Trial& t) { return t.cluster->pattern == Pattern::rows; };
  return (product(first) && rows(second)) || (rows(first) && product(second));
}

/// Those of `groups` whose first nodes are nearest to this group's.
std::vector<GroupId> Planner::nearest(GroupId group, const std::set<GroupId>& groups) const {
  std::vector<GroupId> result(groups.begin(), groups.end());
  if (result.size() <= most_neighbours) return result;
  const auto first = [this](GroupId g) {
    return static_cast<std::int64_t>(ops::index(groups_[g].members.front()));
  };
  std::stable_sort(result.begin(), result.end(), [&](GroupId a, GroupId b) {
    return std::abs(first(a) - first(group)) < std::abs(first(b) - first(group));
  });
  result.resize(most_neighbours);
  return result;
}

/// Every merge in which `group` takes part: with a neighbour, and, where the pair alone is no kernel (a
/// product with a softmax), with one neighbour more.
void Planner::consider_all(GroupId group, MergeGains& gains) {
  std::set<GroupId> adjacent = readers(group);
  adjacent.merge(writers(group));
  const std::vector<GroupId> neighbours = nearest(group, adjacent);
  auto sorted = [](GroupSet groups) {
    std::sort(groups.begin(), groups.end());
    return groups;
  };
  for (GroupId neighbour : neighbours) {
    GroupSet pair = sorted({group, neighbour});
    if (too_many(pair)) continue;
    consider(pair, gains);
    if (trial(pair).cluster || !product_beside_reduction(group, neighbour)) continue;
    std::set<GroupId> around = readers(neighbour);
    around.merge(writers(neighbour));
    std::set<GroupId> third(neighbours.begin(), neighbours.end());
    third.merge(around);
    if (third.size() > 12) continue;
    for (GroupId other : third)
      if (other != group && other != neighbour) consider(sorted({group, neighbour, other}), gains);
  }
  if (trial(GroupSet{group}).cluster && trial(GroupSet{group}).cluster->pattern != Pattern::contraction)
    for (GroupId sibling : nearest(group, siblings(group))) consider(sorted({group, sibling}), gains);
}

GroupId Planner::merge(const GroupSet& groups) {
  auto merged = static_cast<GroupId>(groups_.size());
  groups_.push_back({united(groups)});
  for (NodeId member : groups_[merged].members) {
    auto& list = groups_of_[ops::index(member)];
    bool first = std::find(groups.begin(), groups.end(), list.front()) != groups.end();
    std::erase_if(
        list, [&](GroupId group) { return std::find(groups.begin(), groups.end(), group) != groups.end(); });
    list.insert(first ? list.begin() : list.end(), merged);
  }
  for (GroupId group : groups) groups_[group].alive = false;
  return merged;
}

void Planner::merge_while_faster() {
  MergeGains gains;
  for (GroupId group = 0; group < groups_.size(); ++group)
    if (groups_[group].alive) consider_all(group, gains);
  while (!gains.empty()) {
    const GroupSet groups = gains.take_best();
    if (makes_cycle(groups)) continue;
    GroupId merged = merge(groups);
    for (GroupId group : groups) gains.forget(group);
    consider_all(merged, gains);
  }
}

/// What the modelled time falls by if every reader computes this group's nodes itself.
std::optional<double> Planner::gain_of_recomputing(GroupId group) {
  const Trial& alone = trial(GroupSet{group});
  std::set<GroupId> targets = readers(group);
  if (!alone.cluster || alone.cluster->pattern != Pattern::map || targets.size() < 2 || targets.size() > 64)
    return std::nullopt;
  for (NodeId member : groups_[group].members)
    for (const Use& use : nodes_.uses(member))
      if (use.output) return std::nullopt;
  double gain = alone.seconds();
  for (GroupId target : targets) {
    const Trial& before = trial(GroupSet{target});
    std::vector<NodeId> members = united({group, target});
    const Trial& after = trial(members, stores_of(groups_[target].members, {target}));
    if (!before.cluster || !after.cluster || after.cluster->pattern != before.cluster->pattern)
      return std::nullopt;
    gain += before.seconds() - after.seconds();
  }
  return gain;
}

void Planner::recompute_in_readers() {
  for (GroupId group = 0; group < groups_.size(); ++group) {
    if (!groups_[group].alive) continue;
    auto gain = gain_of_recomputing(group);
    if (!gain || *gain <= 0) continue;
    std::set<GroupId> targets = readers(group);
    for (GroupId target : targets) {
      std::vector<NodeId> members = united({group, target});
      for (NodeId member : groups_[group].members)
        if (!holds(target, member)) groups_of_[ops::index(member)].push_back(target);
      groups_[target].members = std::move(members);
    }
    groups_[group].alive = false;
    for (NodeId member : groups_[group].members) std::erase(groups_of_[ops::index(member)], group);
  }
}

std::vector<GroupId> Planner::run_order() const {
  std::vector<GroupId> order;
  std::set<GroupId> done;
  // Depth first from the outputs' side keeps a value's life short.
  std::vector<std::pair<GroupId, bool>> open;
  for (GroupId group = static_cast<GroupId>(groups_.size()); group-- > 0;)
    if (groups_[group].alive) open.emplace_back(group, false);
  std::sort(open.begin(), open.end(), [this](const auto& a, const auto& b) {
    return groups_[a.first].members.front() > groups_[b.first].members.front();
  });
  while (!open.empty()) {
    auto [group, expanded] = open.back();
    open.pop_back();
    if (done.contains(group)) continue;
    if (expanded) {
      done.insert(group);
      order.push_back(group);
      continue;
    }
    open.emplace_back(group, true);
    for (GroupId writer : writers(group))
      if (!done.contains(writer)) open.emplace_back(writer, false);
  }
  return order;
}

/// Trial kernels have names that nobody sees elsewhere.
std::string without_kernel_name(const std::string& reason) {
  const std::size_t end = reason.rfind("kernel ", 0) == 0 ? reason.find(": ") : std::string::npos;
  return end == std::string::npos ? reason : reason.substr(end + 2);
}

/// A product and a reduction fuse with a second product or not at all: why not, where such a one stands
/// beside them.
std::optional<std::string> Planner::triple_reason(const GroupSet& pair) {
  if (!product_beside_reduction(pair[0], pair[1])) return std::nullopt;
  std::set<GroupId> third;
  for (GroupId group : pair) {
    third.merge(readers(group));
    third.merge(writers(group));
  }
  for (GroupId other : nearest(pair[0], third)) {
    GroupSet triple{pair[0], pair[1], other};
    if (other == pair[0] || other == pair[1] || too_many(triple)) continue;
    if (trial(GroupSet{other}).cluster && trial(GroupSet{other}).cluster->pattern != Pattern::contraction)
      continue;
    std::sort(triple.begin(), triple.end());
    if (const Trial& whole = trial(triple); !whole.cluster) return whole.reason;
  }
  return std::nullopt;
}

std::string Planner::boundary_reason(GroupId producer, GroupId consumer) {
  GroupSet pair{std::min(producer, consumer), std::max(producer, consumer)};
  if (too_many(pair)) return fmt::format("as one it would have more than {} operations", most_members);
  if (makes_cycle(pair)) return "another kernel lies between the two: as one they would wait for themselves";
  const Trial& merged = trial(pair);
  if (!merged.cluster)
    return "not one kernel: " + without_kernel_name(triple_reason(pair).value_or(merged.reason));
  double apart = trial(GroupSet{producer}).seconds() + trial(GroupSet{consumer}).seconds();
  return fmt::format("slower as one: {:.2f} us against {:.2f} us apart", merged.seconds() * 1e6, apart * 1e6);
}

ClusterCost Planner::unfused(const std::vector<NodeId>& members) {
  ClusterCost total;
  for (NodeId member : members) {
    const Trial& alone = trial(std::vector<NodeId>{member}, std::vector<NodeId>{member});
    if (!alone.cluster) continue;
    const ClusterCost& cost = alone.cluster->cost;
    total.bytes_read += cost.bytes_read;
    total.bytes_written += cost.bytes_written;
    total.flops += cost.flops;
    total.work_flops += cost.work_flops;
    total.memory_seconds += cost.memory_seconds;
    total.compute_seconds += cost.compute_seconds;
    total.seconds += cost.seconds;
  }
  return total;
}

Result<std::vector<Cluster>> Planner::clusters(std::vector<Boundary>& boundaries) {
  std::vector<Cluster> result;
  std::map<GroupId, std::uint32_t> numbers;
  for (GroupId group : run_order()) {
    if (stores_of(groups_[group].members, {group}).empty()) continue;
    const Trial& made = trial(GroupSet{group});
    if (!made.cluster)
      return fail(ErrorCode::internal, "plan: a chosen cluster has no kernel: " + made.reason);
    numbers.emplace(group, static_cast<std::uint32_t>(result.size()));
    result.push_back(*made.cluster);
    result.back().unfused = unfused(groups_[group].members);
  }
  for (auto [producer, number] : numbers)
    for (GroupId consumer : readers(producer)) {
      if (!numbers.contains(consumer)) continue;
      Boundary boundary{number, numbers.at(consumer), {}, boundary_reason(producer, consumer)};
      for (NodeId member : groups_[consumer].members)
        for (NodeId source : nodes_.sources(member))
          if (holds(producer, source) && !holds(consumer, source)) boundary.value = source;
      boundaries.push_back(std::move(boundary));
    }
  std::sort(boundaries.begin(), boundaries.end(), [](const Boundary& a, const Boundary& b) {
    return std::pair{a.producer, a.consumer} < std::pair{b.producer, b.consumer};
  });
  return result;
}

}  // namespace

namespace {

/// Whether there is nothing to store.
bool is_empty(const Cluster& cluster) {
  const TileProgram& program = cluster.tile.program;
  return std::all_of(program.operands.begin(), program.operands.end(), [&](const TileOperand& operand) {
    auto number = static_cast<std::size_t>(&operand - program.operands.data());
    return !operand.written || cluster.tile.binding.operand_elements[number] == 0;
  });
}

/// Lowers every cluster. `refused` tells whether the plan can do without the cluster that failed; then the
/// others are tried as well, and the first failure is returned as `unsupported`.
template <class Refused>
Status lower_all(std::vector<Cluster>& clusters, const DeviceProfile& profile, const Refused& refused) {
  Status result;
  for (Cluster& cluster : clusters) {
    if (is_empty(cluster)) continue;
    pack_constant_operand(cluster, profile);
    auto kernel = lower(cluster.tile.program, cluster.tile.binding, cluster.schedule, profile);
    if (kernel) {
      cluster.kernel = std::move(*kernel);
      continue;
    }
    Error error{kernel.error().code, fmt::format("plan: {}", kernel.error().message)};
    if (!refused(cluster, error)) return tl::unexpected<Error>(std::move(error));
    if (result) result = fail(ErrorCode::unsupported, error.message);
  }
  return result;
}

}  // namespace

Result<Plan> make_plan(const ops::Graph& graph, const DeviceProfile& profile, const PlanOptions& options) {
  Plan plan;
  HALYARD_ASSIGN(ops::Graph full, fold_empty(graph, profile.numeric_class()));
  HALYARD_ASSIGN(ops::Graph expanded, expand_compounds(full));
  if (options.simplify) {
    SimplifyOptions simplification{.numeric = profile.numeric_class()};
    HALYARD_ASSIGN(plan.graph, simplify(expanded, simplification, &plan.simplified));
  } else {
    plan.graph = std::move(expanded);
  }
  Planner planner(plan.graph, profile, options.candidate);
  HALYARD_TRY(planner.start());
  // Lowering may find what the pattern's check could not; such a cluster is ruled out and the rest planned
  // anew.
  constexpr int attempts = 16;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    planner.reset();
    plan.boundaries.clear();
    bool merge = options.fusion == ops::Fusion::on && attempt + 1 < attempts;
    if (merge) {
      planner.merge_while_faster();
      planner.recompute_in_readers();
    }
    HALYARD_ASSIGN(plan.clusters, planner.clusters(plan.boundaries));
    Status lowered = lower_all(plan.clusters, profile, [&](const Cluster& cluster, const Error& error) {
      bool again = merge && cluster.spec.members.size() > 1;
      if (again) planner.rule_out(cluster.spec, error.message);
      return again;
    });
    if (lowered) return plan;
    if (lowered.error().code != ErrorCode::unsupported || !merge)
      return tl::unexpected<Error>(lowered.error());
  }
  return fail(ErrorCode::internal, "plan: no set of clusters could be lowered");
}

}  // namespace halyard::fusion
