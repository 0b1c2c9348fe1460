#include "halyard/hal/command_graph.h"

#include <fmt/format.h>

#include "backend_call.h"
#include "command_list.h"
#include "halyard/hal/device.h"
#include "submission.h"

namespace halyard::hal {
namespace {

HyGraphDesc form_of(const CommandGraphDesc& desc, std::span<const HyCommand> nodes) {
  HyGraphDesc form{};
  form.size = sizeof form;
  form.flags = desc.sequential ? static_cast<std::uint32_t>(HY_GRAPH_SEQUENTIAL) : 0u;
  form.nodes = nodes.data();
  form.node_count = static_cast<std::uint32_t>(nodes.size());
  form.buffer_slot_count = desc.buffer_slots;
  form.scalar_slot_count = desc.scalar_slots;
  return form;
}

bool has_graphs(const HyBackend& backend) {
  return backend.graph_create != nullptr && backend.graph_destroy != nullptr &&
         backend.graph_update != nullptr && backend.graph_replay != nullptr;
}

}  // namespace

CommandGraph::CommandGraph(std::shared_ptr<Device> device, CommandGraphDesc desc)
    : device_(std::move(device)), desc_(std::move(desc)) {}

CommandGraph::~CommandGraph() {
  for (const SyncPoint& point : pending_) (void)point.wait();
  if (handle_ != nullptr) device_->backend().graph_destroy(handle_);
}

Status CommandGraph::check(const GraphCommand& command, std::uint32_t node) const {
  const auto error = [&](std::string text) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}: command graph: node {}: {}", device_->info().uri, node, text));
  };
  const auto check_slot = [&](const SlotSlice& slice) -> Status {
    if (slice.slot >= desc_.buffer_slots)
      return error(fmt::format("buffer slot {} of {}", slice.slot, desc_.buffer_slots));
    return {};
  };
  if (const auto* dispatch = std::get_if<GraphDispatch>(&command)) {
    for (const SlotSlice& slice : dispatch->buffers) HALYARD_TRY(check_slot(slice));
    if (dispatch->scalar_slot != HY_NO_SLOT && dispatch->scalar_slot >= desc_.scalar_slots)
      return error(fmt::format("scalar slot {} of {}", dispatch->scalar_slot, desc_.scalar_slots));
  } else if (const auto* copy = std::get_if<GraphCopy>(&command)) {
    HALYARD_TRY(check_slot(copy->source));
    HALYARD_TRY(check_slot(copy->destination));
    if (copy->source.bytes != copy->destination.bytes)
      return error(fmt::format("a copy of {} bytes into {}", copy->source.bytes, copy->destination.bytes));
  } else {
    HALYARD_TRY(check_slot(std::get<GraphFill>(command).destination));
  }
  return {};
}

Result<std::unique_ptr<CommandGraph>> CommandGraph::create(const std::shared_ptr<Device>& device,
                                                           CommandGraphDesc desc) {
  std::unique_ptr<CommandGraph> graph(new CommandGraph(device, std::move(desc)));
  const CommandGraphDesc& recorded = graph->desc_;
  CommandList list(*device);
  for (std::uint32_t i = 0; i < recorded.nodes.size(); ++i) {
    const GraphNode& node = recorded.nodes[i];
    HALYARD_TRY(graph->check(node.command, i));
    for (const std::uint32_t dependency : node.dependencies)
      if (dependency >= i)
        return fail(ErrorCode::invalid_argument,
                    fmt::format("{}: command graph: node {} depends on node {}, which is not before it",
                                device->info().uri, i, dependency));
    HALYARD_TRY(list.add(node.command, node.dependencies));
  }
  graph->measure_slots();
  if (has_graphs(device->backend())) {
    const HyGraphDesc form = form_of(recorded, list.commands());
    BackendError error;
    HALYARD_TRY(to_status(device->backend().graph_create(device->handle(), &form, &graph->handle_, &error),
                          error, device->info().uri, "create command graph"));
  }
  return graph;
}

Status CommandGraph::update(std::uint32_t node, GraphCommand command) {
  std::lock_guard lock(mutex_);
  if (node >= desc_.nodes.size())
    return fail(ErrorCode::invalid_argument, fmt::format("{}: command graph: update of node {} of {}",
                                                         device_->info().uri, node, desc_.nodes.size()));
  GraphNode& target = desc_.nodes[node];
  if (target.command.index() != command.index())
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}: command graph: update of node {}: a node keeps its kind",
                            device_->info().uri, node));
  HALYARD_TRY(check(command, node));
  CommandList list(*device_);
  HALYARD_TRY(list.add(command, target.dependencies));
  if (handle_ != nullptr) {
    BackendError error;
    HALYARD_TRY(to_status(device_->backend().graph_update(handle_, node, list.commands().data(), &error),
                          error, device_->info().uri, "update command graph"));
  }
  // Pending replays may still need the old kernel's module.
  if (const auto* dispatch = std::get_if<GraphDispatch>(&target.command))
    if (const auto* next = std::get_if<GraphDispatch>(&command);
        next->kernel.module() != dispatch->kernel.module())
      for (const SyncPoint& point : pending_) (void)point.wait();
  target.command = std::move(command);
  measure_slots();
  return {};
}

void CommandGraph::measure_slots() {
  buffer_bytes_.assign(desc_.buffer_slots, 0);
  scalar_bytes_.assign(desc_.scalar_slots, std::nullopt);
  const auto reach = [&](const SlotSlice& slice) {
    buffer_bytes_[slice.slot] = std::max(buffer_bytes_[slice.slot], slice.offset + slice.bytes);
  };
  for (const GraphNode& node : desc_.nodes) {
    if (const auto* dispatch = std::get_if<GraphDispatch>(&node.command)) {
      for (const SlotSlice& slice : dispatch->buffers) reach(slice);
      if (dispatch->scalar_slot != HY_NO_SLOT)
        scalar_bytes_[dispatch->scalar_slot] = dispatch->kernel.desc().scalar_bytes;
    } else if (const auto* copy = std::get_if<GraphCopy>(&node.command)) {
      reach(copy->source);
      reach(copy->destination);
    } else {
      reach(std::get<GraphFill>(node.command).destination);
    }
  }
}

Status CommandGraph::check_arguments(std::span<const BufferSlice> buffers,
                                     std::span<const std::vector<std::byte>> scalars) const {
  const std::string subject = device_->info().uri + ": replay";
  if (buffers.size() != desc_.buffer_slots || scalars.size() != desc_.scalar_slots)
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}: the graph has {} buffer slots and {} scalar slots and was given {} and {}",
                            subject, desc_.buffer_slots, desc_.scalar_slots, buffers.size(), scalars.size()));
  for (std::size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].bytes < buffer_bytes_[i])
      return fail(ErrorCode::invalid_argument, fmt::format("{}: slot {} needs {} bytes and was given {}",
                                                           subject, i, buffer_bytes_[i], buffers[i].bytes));
  for (std::size_t i = 0; i < scalars.size(); ++i)
    if (scalar_bytes_[i] && scalars[i].size() != *scalar_bytes_[i])
      return fail(ErrorCode::invalid_argument,
                  fmt::format("{}: scalar slot {} takes {} bytes and was given {}", subject, i,
                              *scalar_bytes_[i], scalars[i].size()));
  return {};
}

Result<SyncPoint> CommandGraph::replay(Queue& queue, std::span<const BufferSlice> buffers,
                                       std::span<const std::vector<std::byte>> scalars,
                                       const SubmitOptions& options) {
  std::lock_guard lock(mutex_);
  const std::string subject = device_->info().uri + ": replay";
  if (queue.device() != device_)
    return fail(ErrorCode::invalid_argument, subject + ": the queue is of another device");
  std::erase_if(pending_, [](const SyncPoint& point) { return point.reached(); });
  HALYARD_TRY(check_arguments(buffers, scalars));
  CommandList list(*device_);
  if (handle_ == nullptr)
    for (const GraphNode& node : desc_.nodes) HALYARD_TRY(list.add(node.command, buffers, scalars));
  HALYARD_ASSIGN(const SubmissionForm form, SubmissionForm::make(*device_, options, desc_.nodes.size()));

  std::vector<HySlice> slots;
  slots.reserve(buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    HALYARD_ASSIGN(const HySlice slice,
                   resolve_slice(*device_, buffers[i], fmt::format("{}: slot {}", subject, i)));
    slots.push_back(slice);
  }
  std::vector<HyBytes> blocks;
  blocks.reserve(scalars.size());
  for (const auto& block : scalars) blocks.push_back({block.data(), block.size()});
  HyReplay replay{};
  replay.size = sizeof replay;
  replay.buffers = slots.data();
  replay.buffer_count = static_cast<std::uint32_t>(slots.size());
  replay.scalars = blocks.data();
  replay.scalar_count = static_cast<std::uint32_t>(blocks.size());

  const HySubmission submission = form.with(list.commands());  // no commands where the backend has the graph
  const HyBackend& backend = device_->backend();
  std::lock_guard queue_lock(queue.mutex_);
  std::uint64_t value = 0;
  BackendError error;
  HALYARD_TRY(to_status(
      handle_ != nullptr ? backend.graph_replay(queue.handle_, handle_, &replay, &submission, &value, &error)
                         : backend.queue_submit(queue.handle_, &submission, &value, &error),
      error, device_->info().uri, "replay"));
  queue.submitted_ = value;
  SyncPoint end = queue.point(value);
  for (const BufferSlice& slice : buffers) slice.buffer->used_until(end);
  pending_.push_back(end);
  return end;
}

}  // namespace halyard::hal
