#pragma once

#include <halyard/hal/plugin.h>
#include <memory>
#include "command_list.h"

/// A task list, recorded and checked once. Replays share it; an update puts a changed copy in its place, so
/// that pending replays keep what they had. Nodes run in order, which satisfies any dependencies among them.
struct HyGraph {
  std::shared_ptr<const halyard::cpu::CommandList> commands;
  std::uint32_t buffer_slots = 0;
  std::uint32_t scalar_slots = 0;
};

namespace halyard::cpu {

HyStatus graph_create(HyDevice* device, const HyGraphDesc* desc, HyGraph** graph, HyError* error);
void graph_destroy(HyGraph* graph);
HyStatus graph_update(HyGraph* graph, std::uint32_t node, const HyCommand* command, HyError* error);
HyStatus graph_replay(HyQueue* queue, HyGraph* graph, const HyReplay* replay, const HySubmission* submission,
                      std::uint64_t* value, HyError* error);

}  // namespace halyard::cpu
