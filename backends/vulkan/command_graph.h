#pragma once

#include <halyard/hal/plugin.h>
#include <cstdint>

namespace halyard::vulkan {

HyStatus graph_create(HyDevice* device, const HyGraphDesc* desc, HyGraph** graph, HyError* error);
void graph_destroy(HyGraph* graph);
HyStatus graph_update(HyGraph* graph, std::uint32_t node, const HyCommand* command, HyError* error);
HyStatus graph_replay(HyQueue* queue, HyGraph* graph, const HyReplay* replay, const HySubmission* submission,
                      std::uint64_t* value, HyError* error);

}  // namespace halyard::vulkan
