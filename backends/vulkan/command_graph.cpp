#include "command_graph.h"
#include <fmt/format.h>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>
#include "buffer.h"
#include "command_list.h"
#include "device.h"
#include "error.h"
#include "queue.h"
#include "time_stamps.h"

namespace halyard::vulkan {
namespace {

/// A command with everything that it points to.
struct Node {
  explicit Node(const HyCommand& from) : command(from) {
    if (from.dispatch && from.kind == HY_COMMAND_DISPATCH) {
      dispatch = *from.dispatch;
      if (dispatch.buffer_count) slices.assign(dispatch.buffers, dispatch.buffers + dispatch.buffer_count);
      const auto* bytes = static_cast<const std::byte*>(dispatch.scalars);
      if (bytes) scalars.assign(bytes, bytes + dispatch.scalar_bytes);
    }
    if (from.copy) copy = *from.copy;
    if (from.fill) fill = *from.fill;
    if (from.dependency_count)
      dependencies.assign(from.dependencies, from.dependencies + from.dependency_count);
  }

  /// The command again, pointing into this node.
  HyCommand view() const {
    HyCommand result = command;
    result.dispatch = &dispatch;
    result.copy = &copy;
    result.fill = &fill;
    result.dependencies = dependencies.data();
    return result;
  }
  void link() {
    dispatch.buffers = slices.data();
    dispatch.scalars = scalars.data();
  }

  HyCommand command;
  HyDispatch dispatch{};
  HyCopy copy{};
  HyFill fill{};
  std::vector<HySlice> slices;
  std::vector<std::byte> scalars;
  std::vector<std::uint32_t> dependencies;
};

/// The commands recorded with certain arguments.
struct Recording {
  std::string key;
  std::shared_ptr<CommandList> commands;
};

constexpr std::size_t most_recordings = 8;

}  // namespace
}  // namespace halyard::vulkan

/// Commands kept as they were given, and command buffers recorded of them: one for each of the last few sets
/// of arguments, submitted again as it is whenever the same come back.
struct HyGraph {
  explicit HyGraph(HyDevice& the_device) : device(the_device) {}

  HyDevice& device;
  bool is_sequential = false;
  std::uint32_t buffer_slots = 0, scalar_slots = 0;
  std::vector<std::unique_ptr<halyard::vulkan::Node>> nodes;
  std::shared_ptr<halyard::vulkan::CommandPool> pool;
  std::vector<halyard::vulkan::Recording> recordings;  // most recently used last
};

namespace halyard::vulkan {
namespace {

template <class T>
void append(std::string& key, const T& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

/// Everything that a recording depends on. Objects count by number, since addresses are used again.
std::string key_of(const HyReplay& replay, const HyTimeStamps* stamps) {
  std::string key;
  for (std::uint32_t i = 0; i < replay.buffer_count; ++i) {
    const HySlice& slice = replay.buffers[i];
    append(key, slice.buffer ? slice.buffer->id : std::uint64_t{0});
    append(key, slice.offset);
    append(key, slice.bytes);
  }
  for (std::uint32_t i = 0; i < replay.scalar_count; ++i) {
    append(key, replay.scalars[i].bytes);
    key.append(static_cast<const char*>(replay.scalars[i].data), replay.scalars[i].bytes);
  }
  append(key, stamps ? stamps->id : std::uint64_t{0});
  return key;
}

Status check_node(const HyGraph& graph, const HyCommand& command, std::uint32_t number) {
  for (std::uint32_t i = 0; i < command.dependency_count; ++i)
    if (command.dependencies[i] >= number)
      return fail(ErrorCode::invalid_argument,
                  fmt::format("vulkan: graph node {} depends on node {}, which does not "
                              "come before it",
                              number, command.dependencies[i]));
  auto check_slice = [&](const HySlice& slice) -> Status {
    if (!slice.buffer && slice.slot >= graph.buffer_slots)
      return fail(ErrorCode::invalid_argument, fmt::format("vulkan: graph node {} names buffer slot {} of {}",
                                                           number, slice.slot, graph.buffer_slots));
    return {};
  };
  switch (command.kind) {
    case HY_COMMAND_DISPATCH:
      for (std::uint32_t i = 0; i < command.dispatch->buffer_count; ++i)
        HALYARD_TRY(check_slice(command.dispatch->buffers[i]));
      return {};
    case HY_COMMAND_COPY:
      HALYARD_TRY(check_slice(command.copy->source));
      return check_slice(command.copy->destination);
    case HY_COMMAND_FILL:
      return check_slice(command.fill->destination);
    default:
      return fail(ErrorCode::invalid_argument,
                  fmt::format("vulkan: graph node {} is of unknown kind {}", number, command.kind));
  }
}

std::unique_ptr<Node> copy_node(const HyCommand& command) {
  auto node = std::make_unique<Node>(command);
  node->link();
  return node;
}

Result<std::shared_ptr<CommandList>> recorded(HyGraph& graph, const HyReplay& replay, HyTimeStamps* stamps,
                                              std::uint32_t* failed) {
  if (replay.buffer_count < graph.buffer_slots || replay.scalar_count < graph.scalar_slots)
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("vulkan: a replay with {} buffers and {} scalar blocks of a graph with {} and {} slots",
                    replay.buffer_count, replay.scalar_count, graph.buffer_slots, graph.scalar_slots));
  std::string key = key_of(replay, stamps);
  auto found = std::find_if(graph.recordings.begin(), graph.recordings.end(),
                            [&](const Recording& recording) { return recording.key == key; });
  if (found != graph.recordings.end()) {
    std::rotate(found, found + 1, graph.recordings.end());
    return graph.recordings.back().commands;
  }
  std::vector<HyCommand> commands;
  for (const auto& node : graph.nodes) commands.push_back(node->view());
  HALYARD_ASSIGN(auto list, CommandList::create(graph.pool));
  SlotValues slots{{replay.buffers, replay.buffer_count}, {replay.scalars, replay.scalar_count}};
  HALYARD_TRY(list->record(commands, slots, stamps, true, failed));
  if (graph.recordings.size() >= most_recordings) graph.recordings.erase(graph.recordings.begin());
  graph.recordings.push_back({std::move(key), list});
  return list;
}

}  // namespace

HyStatus graph_create(HyDevice* device, const HyGraphDesc* desc, HyGraph** graph, HyError* error) {
  return at_border(error, [&]() -> Status {
    HALYARD_TRY(device->status());
    auto made = std::make_unique<HyGraph>(*device);
    made->is_sequential = (desc->flags & HY_GRAPH_SEQUENTIAL) != 0;
    made->buffer_slots = desc->buffer_slot_count;
    made->scalar_slots = desc->scalar_slot_count;
    for (std::uint32_t i = 0; i < desc->node_count; ++i) {
      HALYARD_TRY(check_node(*made, desc->nodes[i], i));
      made->nodes.push_back(copy_node(desc->nodes[i]));
    }
    HALYARD_ASSIGN(made->pool, CommandPool::create(*device));
    *graph = made.release();
    return {};
  });
}

void graph_destroy(HyGraph* graph) {
  delete graph;
}

HyStatus graph_update(HyGraph* graph, std::uint32_t node, const HyCommand* command, HyError* error) {
  return at_border(error, [&]() -> Status {
    if (node >= graph->nodes.size() || graph->nodes[node]->command.kind != command->kind)
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("vulkan: graph_update of node {} of {} by a command of kind {}; the kind must stay",
                      node, graph->nodes.size(), command->kind));
    HALYARD_TRY(check_node(*graph, *command, node));
    graph->nodes[node] = copy_node(*command);
    graph->recordings.clear();  // pending replays hold theirs
    return {};
  });
}

HyStatus graph_replay(HyQueue* queue, HyGraph* graph, const HyReplay* replay, const HySubmission* submission,
                      std::uint64_t* value, HyError* error) {
  std::uint32_t failed = UINT32_MAX;
  HyStatus status = at_border(error, [&]() -> Status {
    HALYARD_TRY(queue->device.status());
    if (&queue->device != &graph->device)
      return fail(ErrorCode::invalid_argument, "vulkan: a graph is replayed on queues of its own device");
    HALYARD_ASSIGN(Submission accepted, copy_submission(*queue, *submission));
    HALYARD_ASSIGN(accepted.commands, recorded(*graph, *replay, submission->time_stamps, &failed));
    if (accepted.commands->is_empty()) accepted.commands.reset();
    HALYARD_ASSIGN(*value, queue->accept(std::move(accepted)));
    return {};
  });
  if (error && failed != UINT32_MAX) error->node = failed;
  return status;
}

}  // namespace halyard::vulkan
