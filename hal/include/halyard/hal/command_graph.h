#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "halyard/base/result.h"
#include "halyard/hal/queue.h"

namespace halyard::hal {

/// A range of the buffer that a replay gives for a slot; `offset` counts from the start of that slice.
struct SlotSlice {
  std::uint32_t slot = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

struct GraphDispatch {
  Kernel kernel;
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::vector<SlotSlice> buffers;
  std::vector<std::byte> scalars;          ///< recorded ones, if `scalar_slot` is none
  std::uint32_t scalar_slot = HY_NO_SLOT;  ///< which scalar block of a replay to use instead
  std::uint32_t dynamic_shared_bytes = 0;
  std::array<std::uint32_t, 3> block{0, 0, 0};
  std::array<std::uint32_t, 3> cluster{0, 0, 0};
  std::vector<HyOpaqueParameter> opaque;
};

struct GraphCopy {
  SlotSlice source, destination;
};

struct GraphFill {
  SlotSlice destination;
  std::uint32_t pattern = 0;
  std::uint32_t pattern_bytes = 4;
};

using GraphCommand = std::variant<GraphDispatch, GraphCopy, GraphFill>;

struct GraphNode {
  GraphCommand command;
  std::vector<std::uint32_t> dependencies;  ///< earlier nodes that must be complete before this one
};

struct CommandGraphDesc {
  std::vector<GraphNode> nodes;
  std::uint32_t buffer_slots = 0;
  std::uint32_t scalar_slots = 0;
  /// Nodes run in the order recorded and dependencies are ignored.
  bool sequential = false;
};

/// Commands recorded once and replayed with new buffers and scalars: a CUDA or HIP graph, a recorded Vulkan
/// command buffer, a cpu task list. Where a backend has none, hal submits the commands one by one. Threads:
/// calls are taken one after another. Replays may overlap on the device; each keeps its arguments.
class CommandGraph {
 public:
  /// `invalid_argument` if a slot, a dependency or an argument count does not fit.
  static Result<std::unique_ptr<CommandGraph>> create(const std::shared_ptr<Device>& device,
                                                      CommandGraphDesc desc);
  ~CommandGraph();  ///< waits for pending replays
  CommandGraph(const CommandGraph&) = delete;
  CommandGraph& operator=(const CommandGraph&) = delete;

  const CommandGraphDesc& desc() const { return desc_; }
  const std::shared_ptr<Device>& device() const { return device_; }

  /// Replaces a node's command by one of the same kind, for replays from now on (a new grid, scalars,
  /// kernel).
  Status update(std::uint32_t node, GraphCommand command);

  /// Enqueues the graph with `buffers[i]` for buffer slot i and `scalars[i]` for scalar slot i. Time stamps,
  /// if asked for, are one per node.
  Result<SyncPoint> replay(Queue& queue, std::span<const BufferSlice> buffers,
                           std::span<const std::vector<std::byte>> scalars = {},
                           const SubmitOptions& options = {});

 private:
  CommandGraph(std::shared_ptr<Device> device, CommandGraphDesc desc);
  Status check(const GraphCommand& command, std::uint32_t node) const;
  Status check_arguments(std::span<const BufferSlice> buffers,
                         std::span<const std::vector<std::byte>> scalars) const;
  void measure_slots();
  std::shared_ptr<Device> device_;
  CommandGraphDesc desc_;
  HyGraph* handle_ = nullptr;                               ///< null: submitted one by one
  std::vector<std::uint64_t> buffer_bytes_;                 // what each slot must span
  std::vector<std::optional<std::uint32_t>> scalar_bytes_;  // what each scalar slot must hold, if it is used
  std::mutex mutex_;
  std::vector<SyncPoint> pending_;
};

}  // namespace halyard::hal
