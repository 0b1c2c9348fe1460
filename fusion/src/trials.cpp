#include "trials.h"

#include <fmt/format.h>
#include <algorithm>
#include "cluster_to_tile.h"

namespace halyard::fusion {
namespace {

/// A value read in two places is computed in both, and so is what it is made of: chains of such operations
/// (the doubling steps of a cumulative sum) would double at every step. Compilers take minutes for larger
/// programs.
constexpr std::size_t most_values = 1024;

std::string key_of(const ClusterSpec& spec) {
  std::string key;
  for (ops::NodeId member : spec.members) key += fmt::format("{},", ops::index(member));
  for (ops::NodeId store : spec.stores) key += fmt::format(";{}", ops::index(store));
  return key;
}

/// A kernel computes its stores where its pattern runs: what lives on other axes must be a kernel of its own.
Status check_stores(const TileProgram& program, Pattern pattern) {
  AxisSet reduced, all, result;
  for (const TileValue& value : program.values) {
    if (value.op == TileOp::reduce)
      for (Axis axis : value.axes_list) reduced = reduced | AxisSet{axis};
    if (value.op == TileOp::reduce || value.op == TileOp::store) all = all | value.axes;
    if (value.op == TileOp::dot) result = value.axes;  // the last one's
  }
  bool products = pattern == Pattern::contraction || pattern == Pattern::attention;
  for (const TileValue& value : program.values) {
    if (value.op != TileOp::store || pattern == Pattern::map) continue;
    if (products ? !(value.axes == result) : !value.axes.contains(all - reduced))
      return fail(ErrorCode::unsupported, "one of its results lives on other axes than the rest");
    AxisSet part = value.axes & reduced;
    if (!products && !part.empty() && !(part == reduced))
      return fail(ErrorCode::unsupported, "one of its results lives on a part of the axes it reduces");
  }
  return {};
}

Status check_sizes(const ClusterTile& tile, const DeviceProfile& profile) {
  if (tile.program.operands.size() > profile.max_buffers)
    return fail(ErrorCode::unsupported,
                fmt::format("it has {} operands and results; a kernel of this device binds {}",
                            tile.program.operands.size(), profile.max_buffers));
  for (std::size_t i = 0; i < tile.program.operands.size(); ++i) {
    std::uint64_t bytes =
        static_cast<std::uint64_t>(std::max<std::int64_t>(tile.binding.operand_elements[i], 0)) *
        byte_size(tile.program.operands[i].type);
    if (bytes > profile.max_buffer_range)
      return fail(
          ErrorCode::unsupported,
          fmt::format("a tensor of {} bytes exceeds the {} bytes that a kernel of this device can address",
                      bytes, profile.max_buffer_range));
  }
  return {};
}

}  // namespace

Result<Cluster> Trials::attempt(ClusterSpec spec) const {
  Cluster cluster;
  cluster.spec = std::move(spec);
  HALYARD_ASSIGN(cluster.tile, cluster_to_tile(nodes_.graph(), cluster.spec, nodes_.materialized()));
  if (cluster.spec.members.size() > 1 && cluster.tile.program.values.size() > most_values)
    return fail(ErrorCode::unsupported,
                fmt::format("with what is read in several places it has more than {} values", most_values));
  HALYARD_ASSIGN(cluster.pattern, classify(cluster.tile.program));
  HALYARD_TRY(check_stores(cluster.tile.program, cluster.pattern));
  HALYARD_TRY(check_sizes(cluster.tile, profile_));
  HALYARD_ASSIGN(auto schedules, candidate_schedules(cluster.tile.program, cluster.tile.binding, profile_));
  if (schedules.empty()) return fail(ErrorCode::unsupported, "no schedule fits the device");
  cluster.schedule = schedules[candidate_ % schedules.size()];
  cluster.cost =
      estimate(cluster.tile.program, cluster.tile.binding, cluster.pattern, cluster.schedule, profile_);
  return cluster;
}

const Trial& Trials::get(ClusterSpec spec) {
  auto [found, added] = trials_.try_emplace(key_of(spec));
  Trial& trial = found->second;
  if (!added) return trial;
  if (auto made = attempt(std::move(spec)))
    trial.cluster = std::move(*made);
  else
    trial.reason = made.error().message;
  return trial;
}

void Trials::rule_out(const ClusterSpec& spec, std::string reason) {
  Trial& trial = trials_[key_of(spec)];
  trial.cluster.reset();
  trial.reason = std::move(reason);
}

}  // namespace halyard::fusion
