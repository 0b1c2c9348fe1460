#include "validation_objects.h"

#include <algorithm>

namespace halyard::hal::validation {

Tables& tables() {
  static auto* instance = new Tables;
  return *instance;
}

void Device::add_peer(const std::shared_ptr<Device>& peer) {
  std::lock_guard lock(mutex);
  peers.push_back(peer);
}

bool Device::reaches(const std::shared_ptr<Device>& other) {
  std::lock_guard lock(mutex);
  return std::any_of(peers.begin(), peers.end(), [&](const auto& peer) { return peer.lock() == other; });
}

void Uses::add(const std::shared_ptr<Timeline>& timeline, std::uint64_t value) {
  std::lock_guard lock(mutex);
  for (Use& use : uses) {
    if (use.timeline.lock() != timeline) continue;
    use.value = std::max(use.value, value);
    return;
  }
  uses.push_back({timeline, value});
}

bool Uses::pending() {
  std::lock_guard lock(mutex);
  return std::any_of(uses.begin(), uses.end(), [](const Use& use) {
    const auto timeline = use.timeline.lock();
    if (!timeline) return false;
    std::uint64_t now = 0;
    return timeline->device->backend->timeline_query(timeline->inner, &now, nullptr) == HY_OK &&
           now < use.value;
  });
}

void Uses::wait() {
  std::lock_guard lock(mutex);
  for (const Use& use : uses)
    if (const auto timeline = use.timeline.lock())
      (void)timeline->device->backend->timeline_wait(timeline->inner, use.value, UINT64_MAX, nullptr);
}

OwnedCommand::OwnedCommand(const HyCommand& source) : command(source) {
  dependencies.assign(source.dependencies, source.dependencies + source.dependency_count);
  command.dependencies = dependencies.data();
  if (source.dispatch != nullptr) {
    dispatch = *source.dispatch;
    slices.assign(dispatch.buffers, dispatch.buffers + dispatch.buffer_count);
    dispatch.buffers = slices.data();
    dispatch.scalars = nullptr;  // only their size is looked at again
    dispatch.opaque = nullptr;
    command.dispatch = &dispatch;
  }
  if (source.copy != nullptr) {
    copy = *source.copy;
    command.copy = &copy;
  }
  if (source.fill != nullptr) {
    fill = *source.fill;
    command.fill = &fill;
  }
}

std::string order_nodes(Graph& graph) {
  const std::size_t count = graph.nodes.size();
  graph.before.assign(count, std::vector<bool>(count, false));
  for (std::size_t j = 0; j < count; ++j) {
    for (const std::uint32_t i : graph.nodes[j]->dependencies) {
      if (i >= j)
        return "node " + std::to_string(j) + " depends on node " + std::to_string(i) +
               ", which is not before it";
      graph.before[j][i] = true;
      for (std::size_t k = 0; k < i; ++k)
        if (graph.before[i][k]) graph.before[j][k] = true;
    }
  }
  return {};
}

namespace {

struct Access {
  HySlice slice;
  bool writes;
};

std::vector<Access> accesses(const OwnedCommand& node, const HyReplay* replay) {
  std::vector<Access> result;
  const auto add = [&](HySlice slice, bool writes) {
    if (replay != nullptr && slice.buffer == nullptr) {
      const HySlice& given = replay->buffers[slice.slot];
      slice.buffer = given.buffer;
      slice.offset += given.offset;
    }
    if (slice.bytes != 0) result.push_back({slice, writes});
  };
  if (node.command.kind == HY_COMMAND_DISPATCH) {
    const auto module = tables().modules.find(node.dispatch.module);
    const std::uint64_t written = module ? module->kernels[node.dispatch.kernel].written : 0;
    for (std::size_t i = 0; i < node.slices.size(); ++i)
      add(node.slices[i], i >= 64 || ((written >> i) & 1u) != 0);
  } else if (node.command.kind == HY_COMMAND_COPY) {
    add(node.copy.source, false);
    add(node.copy.destination, true);
  } else {
    add(node.fill.destination, true);
  }
  return result;
}

bool overlap(const HySlice& a, const HySlice& b) {
  if (a.buffer != b.buffer || (a.buffer == nullptr && a.slot != b.slot)) return false;
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

}  // namespace

std::string find_race(const Graph& graph, const HyReplay* replay) {
  if (graph.sequential) return {};
  std::vector<std::vector<Access>> all;
  for (const auto& node : graph.nodes) all.push_back(accesses(*node, replay));
  for (std::size_t j = 0; j < all.size(); ++j)
    for (std::size_t i = 0; i < j; ++i) {
      if (graph.before[j][i]) continue;
      for (const Access& a : all[i])
        for (const Access& b : all[j])
          if ((a.writes || b.writes) && overlap(a.slice, b.slice))
            return "nodes " + std::to_string(i) + " and " + std::to_string(j) +
                   " touch the same bytes, one of them writes, and neither depends on the other";
    }
  return {};
}

}  // namespace halyard::hal::validation
