#include "command_graph.h"
#include <fmt/format.h>
#include "buffer.h"
#include "device.h"
#include "error.h"
#include "queue.h"

namespace halyard::cpu {
namespace {

Result<Arguments> copy_arguments(const HyGraph& graph, const HyReplay* replay) {
  std::uint32_t buffers = replay ? replay->buffer_count : 0;
  std::uint32_t scalars = replay ? replay->scalar_count : 0;
  if (buffers != graph.buffer_slots || scalars != graph.scalar_slots)
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("cpu: graph_replay: {} buffers and {} scalar blocks are given for {} and {} slots",
                    buffers, scalars, graph.buffer_slots, graph.scalar_slots));
  Arguments arguments;
  for (std::uint32_t i = 0; i < buffers; ++i) {
    const HySlice& slice = replay->buffers[i];
    if (!slice.buffer || slice.offset > slice.buffer->bytes ||
        slice.bytes > slice.buffer->bytes - slice.offset)
      return fail(ErrorCode::invalid_argument,
                  fmt::format("cpu: graph_replay: slot {}: bytes {} to {} of a buffer of {}", i, slice.offset,
                              slice.offset + slice.bytes, slice.buffer ? slice.buffer->bytes : 0));
    arguments.buffers.push_back({slice.buffer->memory + slice.offset, slice.bytes, 0, HY_NO_SLOT});
  }
  for (std::uint32_t i = 0; i < scalars; ++i)
    arguments.scalars.push_back(copy_scalars(replay->scalars[i].data, replay->scalars[i].bytes));
  return arguments;
}

}  // namespace

HyStatus graph_create(HyDevice* device, const HyGraphDesc* desc, HyGraph** graph, HyError* error) {
  return at_border(error, [&]() -> Status {
    HALYARD_TRY(device->status());
    HALYARD_ASSIGN(CommandList list, record_all(desc->nodes, desc->node_count, desc->buffer_slot_count,
                                                desc->scalar_slot_count));
    for (std::uint32_t i = 0; i < desc->node_count; ++i) {
      HyCommand node = element_of(desc->nodes, i);
      for (std::uint32_t k = 0; k < node.dependency_count; ++k)
        if (node.dependencies[k] >= i)
          return fail(
              ErrorCode::invalid_argument,
              fmt::format("cpu: graph_create: node {} depends on node {}, which is not an earlier one", i,
                          node.dependencies[k]));
    }
    *graph = new HyGraph{std::make_shared<const CommandList>(std::move(list)), desc->buffer_slot_count,
                         desc->scalar_slot_count};
    return {};
  });
}

void graph_destroy(HyGraph* graph) {
  delete graph;
}

HyStatus graph_update(HyGraph* graph, std::uint32_t node, const HyCommand* command, HyError* error) {
  return at_border(error, [&]() -> Status {
    if (node >= graph->commands->size())
      return fail(ErrorCode::invalid_argument,
                  fmt::format("cpu: graph_update: node {} of {}", node, graph->commands->size()));
    if ((*graph->commands)[node].kind != command->kind)
      return fail(ErrorCode::invalid_argument,
                  fmt::format("cpu: graph_update: node {} is of kind {}, not {}: make a new graph", node,
                              (*graph->commands)[node].kind, command->kind));
    HALYARD_ASSIGN(RecordedCommand recorded,
                   record(read_sized(command), graph->buffer_slots, graph->scalar_slots));
    auto changed = std::make_shared<CommandList>(*graph->commands);
    (*changed)[node] = std::move(recorded);
    graph->commands = std::move(changed);
    return {};
  });
}

HyStatus graph_replay(HyQueue* queue, HyGraph* graph, const HyReplay* replay, const HySubmission* submission,
                      std::uint64_t* value, HyError* error) {
  return at_border(error, [&]() -> Status {
    HALYARD_ASSIGN(Arguments arguments, copy_arguments(*graph, replay));
    HALYARD_TRY(check_arguments(*graph->commands, arguments));
    auto copied = submission ? copy_submission(*submission) : std::make_unique<Submission>();
    if (copied->time_stamps && copied->time_stamps->spans.size() < graph->commands->size())
      return fail(ErrorCode::invalid_argument,
                  fmt::format("cpu: graph_replay: time stamps for {} of {} nodes",
                              copied->time_stamps->spans.size(), graph->commands->size()));
    copied->commands = graph->commands;
    copied->arguments = std::move(arguments);
    HALYARD_ASSIGN(*value, queue->submit(std::move(copied)));
    return {};
  });
}

}  // namespace halyard::cpu
