#include <halyard/fusion/explanation.h>

#include <fmt/format.h>
#include <algorithm>
#include <nlohmann/json.hpp>

namespace halyard::fusion {
namespace {

using Json = nlohmann::ordered_json;

std::string node_text(const ops::Graph& graph, ops::NodeId id) {
  const ops::Node& node = graph.node(id);
  std::string text(ops::name(node.primitive));
  if (!node.name.empty()) text += fmt::format(" ({})", node.name);
  return text;
}

std::string_view pattern_name(Pattern pattern) {
  switch (pattern) {
    case Pattern::map:
      return "map";
    case Pattern::rows:
      return "rows";
    case Pattern::columns:
      return "columns";
    case Pattern::contraction:
      return "contraction";
    case Pattern::attention:
      return "attention";
  }
  return "map";
}

std::string_view kind_of(Pattern pattern) {
  if (pattern == Pattern::contraction || pattern == Pattern::attention) return "contraction";
  return pattern == Pattern::map ? "elementwise" : "normalization";
}

std::string reason_of(const Cluster& cluster) {
  const std::size_t count = cluster.spec.members.size();
  if (count == 1) return "one primitive: no neighbour could join it, or none would have saved time";
  const double saved =
      static_cast<double>(cluster.unfused.bytes()) - static_cast<double>(cluster.cost.bytes());
  return fmt::format(
      "{} primitives as one {} kernel: {} launches and {:.1f} KB less, {:.1f} us instead of {:.1f}", count,
      pattern_name(cluster.pattern), count - 1, saved / 1e3, cluster.cost.seconds * 1e6,
      cluster.unfused.seconds * 1e6);
}

/// What the measurement says limits the kernel.
Bound measured_bound(double seconds, double bandwidth_fraction, double flops_fraction,
                     const DeviceProfile& profile) {
  if (seconds < 2 * profile.launch_seconds) return Bound::launch;
  return bandwidth_fraction > flops_fraction ? Bound::memory : Bound::compute;
}

/// "add, mul x3, …": each primitive once, in order of its first use.
std::string operation_list(const ClusterExplanation& item) {
  std::vector<std::pair<std::string, int>> counts;
  for (const std::string& operation : item.operations) {
    const std::string primitive = operation.substr(0, operation.find(' '));
    auto known =
        std::find_if(counts.begin(), counts.end(), [&](const auto& c) { return c.first == primitive; });
    if (known == counts.end())
      counts.emplace_back(primitive, 1);
    else
      ++known->second;
  }
  std::string text;
  for (const auto& [primitive, count] : counts)
    text += (text.empty() ? "" : ", ") + primitive + (count > 1 ? fmt::format(" x{}", count) : "");
  return text;
}

}  // namespace

Explanation explain(const Plan& plan, const DeviceProfile& profile) {
  Explanation result;
  result.device = profile.name;
  result.architecture = profile.architecture;
  result.fusion = "on";
  result.simplified = plan.simplified;
  for (const Cluster& cluster : plan.clusters) {
    ClusterExplanation item;
    item.name = cluster.tile.program.name;
    for (ops::NodeId member : cluster.spec.members) item.operations.push_back(node_text(plan.graph, member));
    item.pattern = cluster.pattern;
    item.schedule = to_text(cluster.schedule);
    item.kind = kind_of(cluster.pattern);
    item.bytes_unfused = cluster.unfused.bytes();
    item.bytes = cluster.cost.bytes();
    item.flops = cluster.cost.flops;
    item.predicted_seconds = cluster.cost.seconds;
    item.predicted_unfused_seconds = cluster.unfused.seconds;
    item.bound = cluster.cost.bound;
    item.bandwidth_ceiling = cluster.cost.bandwidth;
    item.reason = reason_of(cluster);
    item.outputs = static_cast<std::uint32_t>(cluster.spec.stores.size());
    result.primitives += static_cast<std::uint32_t>(cluster.spec.members.size());
    result.bytes_unfused += item.bytes_unfused;
    result.bytes += item.bytes;
    result.predicted_seconds += item.predicted_seconds;
    result.predicted_unfused_seconds += item.predicted_unfused_seconds;
    result.clusters.push_back(std::move(item));
  }
  for (const Boundary& boundary : plan.boundaries)
    result.boundaries.push_back(
        {boundary.producer, boundary.consumer, node_text(plan.graph, boundary.value), boundary.reason});
  return result;
}

Explanation explain(const Executable& executable, const Executable::Timings* timings) {
  Explanation result = explain(executable.plan(), executable.profile());
  result.device = executable.device()->info().uri + " (" + executable.device()->info().name + ")";
  result.fusion = executable.options().fusion == ops::Fusion::on ? "on" : "off";
  result.memory = executable.memory();
  result.kernels = executable.counters();
  if (!timings) return result;
  result.measured_seconds = timings->total;
  const DeviceProfile& profile = executable.profile();
  for (std::size_t i = 0; i < timings->steps.size(); ++i) {
    ClusterExplanation& item = result.clusters[executable.steps()[i].cluster];
    double seconds = std::max(timings->steps[i], 1e-9);
    item.measured_seconds = seconds;
    item.bandwidth_fraction = static_cast<double>(item.bytes) / seconds / item.bandwidth_ceiling;
    item.flops_fraction = item.flops / seconds / profile.flops_f32;
    item.bound = measured_bound(seconds, *item.bandwidth_fraction, *item.flops_fraction, profile);
  }
  return result;
}

std::string to_json(const Explanation& explanation) {
  Json json;
  json["version"] = 1;
  json["device"] = explanation.device;
  json["architecture"] = explanation.architecture;
  json["fusion"] = explanation.fusion;
  json["primitives"] = explanation.primitives;
  json["launches"] = explanation.clusters.size();
  json["bytes_unfused"] = explanation.bytes_unfused;
  json["bytes"] = explanation.bytes;
  json["predicted_seconds"] = explanation.predicted_seconds;
  json["predicted_unfused_seconds"] = explanation.predicted_unfused_seconds;
  if (explanation.measured_seconds) json["measured_seconds"] = *explanation.measured_seconds;
  const SimplifyReport& simplified = explanation.simplified;
  json["simplified"] = {{"folded", simplified.folded},
                        {"merged", simplified.merged},
                        {"rewritten", simplified.rewritten},
                        {"removed", simplified.removed}};
  if (explanation.memory)
    json["memory"] = {{"arena_bytes", explanation.memory->arena_bytes},
                      {"unshared_bytes", explanation.memory->unshared_bytes},
                      {"weight_bytes", explanation.memory->weight_bytes}};
  if (explanation.kernels)
    json["kernels"] = {{"distinct", explanation.kernels->kernels},
                       {"compiled", explanation.kernels->compiled},
                       {"loaded", explanation.kernels->loaded},
                       {"reused", explanation.kernels->reused}};
  json["clusters"] = Json::array();
  for (const ClusterExplanation& item : explanation.clusters) {
    Json entry{{"name", item.name},
               {"operations", item.operations},
               {"pattern", pattern_name(item.pattern)},
               {"kind", item.kind},
               {"schedule", item.schedule},
               {"outputs", item.outputs},
               {"bytes_unfused", item.bytes_unfused},
               {"bytes", item.bytes},
               {"flops", item.flops},
               {"predicted_seconds", item.predicted_seconds},
               {"predicted_unfused_seconds", item.predicted_unfused_seconds},
               {"bound", name(item.bound)},
               {"bandwidth_ceiling", item.bandwidth_ceiling},
               {"reason", item.reason}};
    if (item.measured_seconds) entry["measured_seconds"] = *item.measured_seconds;
    if (item.bandwidth_fraction) entry["bandwidth_fraction"] = *item.bandwidth_fraction;
    if (item.flops_fraction) entry["flops_fraction"] = *item.flops_fraction;
    json["clusters"].push_back(std::move(entry));
  }
  json["boundaries"] = Json::array();
  for (const BoundaryExplanation& item : explanation.boundaries)
    json["boundaries"].push_back({{"producer", item.producer},
                                  {"consumer", item.consumer},
                                  {"value", item.value},
                                  {"reason", item.reason}});
  return json.dump(2) + "\n";
}

std::string to_table(const Explanation& explanation, bool boundaries) {
  std::string text = fmt::format(
      "{}: {} primitives in {} kernels, fusion {}\n{:>4}  {:<11} {:<32} {:>4} {:>10} {:>10} {:>9} {:>10} "
      "{:>10} "
      "{:<7} {:>5} {:>5}\n",
      explanation.device, explanation.primitives, explanation.clusters.size(), explanation.fusion, "#",
      "pattern", "kernel", "ops", "KB apart", "KB fused", "MFLOP", "us model", "us meas.", "bound", "%bw",
      "%flop");
  auto share = [](const std::optional<double>& fraction) {
    return fraction ? fmt::format("{:.0f}", *fraction * 100) : std::string("-");
  };
  for (std::size_t i = 0; i < explanation.clusters.size(); ++i) {
    const ClusterExplanation& item = explanation.clusters[i];
    text += fmt::format(
        "{:>4}  {:<11} {:<32.32} {:>4} {:>10.1f} {:>10.1f} {:>9.2f} {:>10.2f} {:>10} {:<7} {:>5} {:>5}\n", i,
        pattern_name(item.pattern), item.name, item.operations.size(),
        static_cast<double>(item.bytes_unfused) / 1e3, static_cast<double>(item.bytes) / 1e3,
        item.flops / 1e6, item.predicted_seconds * 1e6,
        item.measured_seconds ? fmt::format("{:.2f}", *item.measured_seconds * 1e6) : std::string("-"),
        name(item.bound), share(item.bandwidth_fraction), share(item.flops_fraction));
  }
  text += fmt::format(
      "total: {:.1f} KB moved ({:.1f} KB one primitive at a time), model {:.1f} us ({:.1f} us)",
      static_cast<double>(explanation.bytes) / 1e3, static_cast<double>(explanation.bytes_unfused) / 1e3,
      explanation.predicted_seconds * 1e6, explanation.predicted_unfused_seconds * 1e6);
  if (explanation.measured_seconds)
    text += fmt::format(", measured {:.1f} us", *explanation.measured_seconds * 1e6);
  text += "\n";
  if (!boundaries) return text;
  text += "why these kernels:\n";
  for (std::size_t i = 0; i < explanation.clusters.size(); ++i)
    text += fmt::format("  {:>3}  {}\n       {}\n", i, explanation.clusters[i].reason,
                        operation_list(explanation.clusters[i]));
  if (explanation.boundaries.empty()) return text;
  text += "boundaries kept:\n";
  for (const BoundaryExplanation& item : explanation.boundaries)
    text += fmt::format("  {:>3} -> {:<3} {}: {}\n", item.producer, item.consumer, item.value, item.reason);
  return text;
}

std::size_t Inspector::count(Pattern pattern) const {
  return static_cast<std::size_t>(
      std::count_if(plan_.clusters.begin(), plan_.clusters.end(),
                    [pattern](const Cluster& cluster) { return cluster.pattern == pattern; }));
}

std::size_t Inspector::count(std::size_t cluster, ops::Primitive primitive) const {
  const auto& members = plan_.clusters[cluster].spec.members;
  return static_cast<std::size_t>(std::count_if(members.begin(), members.end(), [&](ops::NodeId member) {
    return plan_.graph.node(member).primitive == primitive;
  }));
}

bool Inspector::some_cluster_fuses(std::vector<ops::Primitive> primitives) const {
  for (std::size_t i = 0; i < plan_.clusters.size(); ++i) {
    bool all = std::all_of(primitives.begin(), primitives.end(), [&](ops::Primitive primitive) {
      auto wanted = std::count(primitives.begin(), primitives.end(), primitive);
      return count(i, primitive) >= static_cast<std::size_t>(wanted);
    });
    if (all) return true;
  }
  return false;
}

std::string Inspector::reason(std::size_t producer, std::size_t consumer) const {
  for (const Boundary& boundary : plan_.boundaries)
    if (boundary.producer == producer && boundary.consumer == consumer) return boundary.reason;
  return {};
}

}  // namespace halyard::fusion
