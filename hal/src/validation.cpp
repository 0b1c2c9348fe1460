#include "validation.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "backend_call.h"
#include "halyard/hal/fault_injection.h"
#include "halyard/hal/log.h"
#include "validation_objects.h"

namespace halyard::hal {
namespace validation {
namespace {

HyStatus invalid(HyError* error, std::string_view text) {
  return set_error(error, HY_INVALID_ARGUMENT, fmt::format("validation: {}", text));
}

/// For calls that cannot answer.
void complain(std::string_view text) {
  log(LogLevel::error, "validation", text);
}

/// Complains if work still uses an object that is being destroyed, and waits, so that it is safe all the
/// same.
void end_uses(Uses& uses, std::string_view complaint) {
  if (!uses.pending()) return;
  complain(complaint);
  uses.wait();
}

HyStatus gone(HyError* error, std::string_view what) {
  return invalid(error, fmt::format("the {} was destroyed, or never existed", what));
}

HyStatus no_such(HyError* error) {
  return set_error(error, HY_INTERNAL, "validation: this call does not belong to an opened device");
}

// ------------------------------------------------------------------------------------------------ devices

HyStatus enumerate(HyDeviceSummary*, std::uint32_t, std::uint32_t*, HyError* error) {
  return no_such(error);
}
HyStatus device_open(const HyDeviceDesc*, HyDevice**, HyError* error) {
  return no_such(error);
}

void device_close(HyDevice* handle) {
  const auto device = tables().devices.remove(handle);
  if (!device) return complain("device_close: the device was closed already");
  const auto of_device = [&](const auto& object) { return object.device == device; };
  const std::size_t children = tables().buffers.count(of_device) + tables().queues.count(of_device) +
                               tables().modules.count(of_device) + tables().graphs.count(of_device) +
                               tables().time_stamps.count(of_device);
  if (children != 0)
    complain(fmt::format("device_close: {} of its objects were not destroyed before", children));
  device->backend->device_close(device->inner);
}

HyStatus device_info(HyDevice* handle, HyDeviceInfo* info, HyError* error) {
  const auto device = tables().devices.find(handle);
  return device ? device->backend->device_info(device->inner, info, error) : gone(error, "device");
}

HyStatus device_property(HyDevice* handle, const char* key, HyProperty* property, HyError* error) {
  const auto device = tables().devices.find(handle);
  if (!device) return gone(error, "device");
  if (key == nullptr || property == nullptr) return invalid(error, "device_property: no key or no property");
  return device->backend->device_property(device->inner, key, property, error);
}

HyStatus device_status(HyDevice* handle, HyError* error) {
  const auto device = tables().devices.find(handle);
  return device ? device->backend->device_status(device->inner, error) : gone(error, "device");
}

HyStatus device_enable_peer(HyDevice* handle, HyDevice* peer_handle, HyError* error) {
  const auto device = tables().devices.find(handle);
  const auto peer = tables().devices.find(peer_handle);
  if (!device || !peer) return gone(error, "device");
  const HyStatus status = device->backend->device_enable_peer(device->inner, peer->inner, error);
  if (status == HY_OK) device->add_peer(peer);
  return status;
}

// ------------------------------------------------------------------------------------------------- memory

HyStatus buffer_create(HyDevice* handle, const HyBufferDesc* desc, HyBuffer** result, HyError* error) {
  const auto device = tables().devices.find(handle);
  if (!device) return gone(error, "device");
  if (desc->bytes == 0 || desc->memory > HY_MEMORY_READBACK)
    return invalid(error, "buffer_create: 0 bytes, or unknown memory");
  auto buffer = std::make_shared<Buffer>();
  buffer->device = device;
  buffer->bytes = desc->bytes;
  const HyStatus status = device->backend->buffer_create(device->inner, desc, &buffer->inner, error);
  if (status == HY_OK) *result = tables().buffers.add(std::move(buffer));
  return status;
}

HyStatus buffer_import(HyDevice* handle, const HyHandle* memory, HyBuffer** result, HyError* error) {
  const auto device = tables().devices.find(handle);
  if (!device) return gone(error, "device");
  if (memory->bytes == 0) return invalid(error, "buffer_import: 0 bytes");
  auto buffer = std::make_shared<Buffer>();
  buffer->device = device;
  buffer->bytes = memory->bytes;
  const HyStatus status = device->backend->buffer_import(device->inner, memory, &buffer->inner, error);
  if (status == HY_OK) *result = tables().buffers.add(std::move(buffer));
  return status;
}

void buffer_destroy(HyBuffer* handle) {
  const auto buffer = tables().buffers.remove(handle);
  if (!buffer) return complain("buffer_destroy: the buffer was destroyed already");
  end_uses(buffer->uses, "buffer_destroy: submitted work still used the buffer");
  buffer->device->backend->buffer_destroy(buffer->inner);
}

HyStatus buffer_map(HyBuffer* handle, void** pointer, HyError* error) {
  const auto buffer = tables().buffers.find(handle);
  return buffer ? buffer->device->backend->buffer_map(buffer->inner, pointer, error) : gone(error, "buffer");
}

HyStatus buffer_export(HyBuffer* handle, HyHandle* memory, HyError* error) {
  const auto buffer = tables().buffers.find(handle);
  return buffer ? buffer->device->backend->buffer_export(buffer->inner, memory, error)
                : gone(error, "buffer");
}

// ------------------------------------------------------------------------------------------------- queues

HyStatus queue_create(HyDevice* handle, const HyQueueDesc* desc, HyQueue** result, HyError* error) {
  const auto device = tables().devices.find(handle);
  if (!device) return gone(error, "device");
  auto queue = std::make_shared<Queue>();
  queue->device = device;
  const HyStatus status = device->backend->queue_create(device->inner, desc, &queue->inner, error);
  if (status != HY_OK) return status;
  queue->timeline = std::make_shared<Timeline>();
  queue->timeline->device = device;
  queue->timeline->inner = device->backend->queue_timeline(queue->inner);
  queue->timeline->of_queue = true;
  queue->timeline_handle = tables().timelines.add(queue->timeline);
  *result = tables().queues.add(std::move(queue));
  return HY_OK;
}

void queue_destroy(HyQueue* handle) {
  const auto queue = tables().queues.remove(handle);
  if (!queue) return complain("queue_destroy: the queue was destroyed already");
  tables().timelines.remove(queue->timeline_handle);
  queue->timeline.reset();
  queue->device->backend->queue_destroy(queue->inner);
}

HyTimeline* queue_timeline(HyQueue* handle) {
  const auto queue = tables().queues.find(handle);
  return queue ? queue->timeline_handle : nullptr;
}

HyStatus queue_submit(HyQueue* handle, const HySubmission* submission, std::uint64_t* value, HyError* error) {
  const auto queue = tables().queues.find(handle);
  if (!queue) return gone(error, "queue");
  CheckedSubmission checked(queue->device, *submission);
  checked.add_commands(submission->commands, submission->command_count);
  if (!checked.problem().empty()) return invalid(error, "submit: " + checked.problem());
  const HySubmission form = checked.form();
  const HyStatus status = queue->device->backend->queue_submit(queue->inner, &form, value, error);
  if (status == HY_OK) checked.used_until(queue->timeline, *value);
  return status;
}

// ---------------------------------------------------------------------------------------------- timelines

HyStatus add_timeline(const std::shared_ptr<Device>& device, HyTimeline* inner, HyTimeline** result) {
  auto timeline = std::make_shared<Timeline>();
  timeline->device = device;
  timeline->inner = inner;
  *result = tables().timelines.add(std::move(timeline));
  return HY_OK;
}

HyStatus timeline_create(HyDevice* handle, std::uint64_t initial, HyTimeline** result, HyError* error) {
  const auto device = tables().devices.find(handle);
  if (!device) return gone(error, "device");
  HyTimeline* inner = nullptr;
  const HyStatus status = device->backend->timeline_create(device->inner, initial, &inner, error);
  return status == HY_OK ? add_timeline(device, inner, result) : status;
}

HyStatus timeline_import(HyDevice* handle, const HyHandle* source, HyTimeline** result, HyError* error) {
  const auto device = tables().devices.find(handle);
  if (!device) return gone(error, "device");
  HyTimeline* inner = nullptr;
  const HyStatus status = device->backend->timeline_import(device->inner, source, &inner, error);
  return status == HY_OK ? add_timeline(device, inner, result) : status;
}

void timeline_destroy(HyTimeline* handle) {
  const auto timeline = tables().timelines.find(handle);
  if (!timeline) return complain("timeline_destroy: the timeline was destroyed already");
  if (timeline->of_queue) return complain("timeline_destroy: a queue's own timeline dies with the queue");
  tables().timelines.remove(handle);
  timeline->device->backend->timeline_destroy(timeline->inner);
}

HyStatus timeline_signal(HyTimeline* handle, std::uint64_t value, HyError* error) {
  const auto timeline = tables().timelines.find(handle);
  if (!timeline) return gone(error, "timeline");
  if (timeline->of_queue)
    return invalid(error, "timeline_signal: a queue's own timeline is raised by the queue alone");
  std::uint64_t now = 0;
  if (timeline->device->backend->timeline_query(timeline->inner, &now, nullptr) == HY_OK && value <= now)
    return invalid(error, fmt::format("timeline_signal: {} is not above the present value {}", value, now));
  return timeline->device->backend->timeline_signal(timeline->inner, value, error);
}

HyStatus timeline_wait(HyTimeline* handle, std::uint64_t value, std::uint64_t timeout, HyError* error) {
  const auto timeline = tables().timelines.find(handle);
  if (!timeline) return gone(error, "timeline");
  return timeline->device->backend->timeline_wait(timeline->inner, value, timeout, error);
}

HyStatus timeline_query(HyTimeline* handle, std::uint64_t* value, HyError* error) {
  const auto timeline = tables().timelines.find(handle);
  if (!timeline) return gone(error, "timeline");
  return timeline->device->backend->timeline_query(timeline->inner, value, error);
}

HyStatus timeline_error(HyTimeline* handle, std::uint64_t value, HyError* error) {
  const auto timeline = tables().timelines.find(handle);
  if (!timeline) return gone(error, "timeline");
  return timeline->device->backend->timeline_error(timeline->inner, value, error);
}

HyStatus timeline_export(HyTimeline* handle, HyHandle* target, HyError* error) {
  const auto timeline = tables().timelines.find(handle);
  if (!timeline) return gone(error, "timeline");
  return timeline->device->backend->timeline_export(timeline->inner, target, error);
}

// ------------------------------------------------------------------------------------------------ modules

HyStatus module_create(HyDevice* handle, const HyModuleDesc* desc, HyModule** result, HyError* error) {
  const auto device = tables().devices.find(handle);
  if (!device) return gone(error, "device");
  auto module = std::make_shared<Module>();
  module->device = device;
  for (std::uint32_t i = 0; i < desc->kernel_count; ++i) {
    const HyKernelDesc& kernel = desc->kernels[i];
    if (kernel.entry == nullptr || kernel.scalar_bytes % 8 != 0)
      return invalid(error, fmt::format("module_create: kernel {}: no entry, or scalars of {} bytes", i,
                                        kernel.scalar_bytes));
    module->kernels.push_back({kernel.entry,
                               {kernel.workgroup_size[0], kernel.workgroup_size[1], kernel.workgroup_size[2]},
                               kernel.buffer_count,
                               kernel.scalar_bytes,
                               kernel.opaque_count,
                               kernel.read_buffers,
                               kernel.written_buffers});
  }
  const HyStatus status = device->backend->module_create(device->inner, desc, &module->inner, error);
  if (status == HY_OK) *result = tables().modules.add(std::move(module));
  return status;
}

void module_destroy(HyModule* handle) {
  const auto module = tables().modules.remove(handle);
  if (!module) return complain("module_destroy: the module was destroyed already");
  end_uses(module->uses, "module_destroy: submitted work still used the module");
  module->device->backend->module_destroy(module->inner);
}

HyStatus module_get_native(HyModule* handle, const char** format, const void** bytes, std::size_t* count,
                           HyError* error) {
  const auto module = tables().modules.find(handle);
  if (!module) return gone(error, "module");
  return module->device->backend->module_get_native(module->inner, format, bytes, count, error);
}

// ------------------------------------------------------------------------------------------------- graphs

HyStatus graph_create(HyDevice* handle, const HyGraphDesc* desc, HyGraph** result, HyError* error) {
  const auto device = tables().devices.find(handle);
  if (!device) return gone(error, "device");
  CheckedSubmission checked(device, HySubmission{});
  checked.allow_slots(desc->buffer_slot_count, desc->scalar_slot_count);
  checked.add_commands(desc->nodes, desc->node_count);
  if (!checked.problem().empty()) return invalid(error, "graph_create: " + checked.problem());
  auto graph = std::make_shared<Graph>();
  graph->device = device;
  graph->sequential = (desc->flags & HY_GRAPH_SEQUENTIAL) != 0;
  graph->buffer_slots = desc->buffer_slot_count;
  graph->scalar_slots = desc->scalar_slot_count;
  for (std::uint32_t i = 0; i < desc->node_count; ++i)
    graph->nodes.push_back(std::make_unique<OwnedCommand>(desc->nodes[i]));
  std::string problem = graph->sequential ? std::string() : order_nodes(*graph);
  if (problem.empty()) problem = find_race(*graph, nullptr);
  if (!problem.empty()) return invalid(error, "graph_create: " + problem);
  HyGraphDesc form = *desc;
  form.nodes = checked.commands().data();
  const HyStatus status = device->backend->graph_create(device->inner, &form, &graph->inner, error);
  if (status == HY_OK) *result = tables().graphs.add(std::move(graph));
  return status;
}

void graph_destroy(HyGraph* handle) {
  const auto graph = tables().graphs.remove(handle);
  if (!graph) return complain("graph_destroy: the graph was destroyed already");
  end_uses(graph->uses, "graph_destroy: a replay was still under way");
  graph->device->backend->graph_destroy(graph->inner);
}

HyStatus graph_update(HyGraph* handle, std::uint32_t node, const HyCommand* command, HyError* error) {
  const auto graph = tables().graphs.find(handle);
  if (!graph) return gone(error, "graph");
  if (node >= graph->nodes.size() || graph->nodes[node]->command.kind != command->kind)
    return invalid(error, fmt::format("graph_update: node {} does not exist or is of another kind", node));
  CheckedSubmission checked(graph->device, HySubmission{});
  checked.allow_slots(graph->buffer_slots, graph->scalar_slots);
  checked.add_commands(command, 1);
  if (!checked.problem().empty()) return invalid(error, "graph_update: " + checked.problem());
  const HyStatus status =
      graph->device->backend->graph_update(graph->inner, node, checked.commands().data(), error);
  if (status == HY_OK) graph->nodes[node] = std::make_unique<OwnedCommand>(*command);
  return status;
}

/// The graph's commands with the replay's slices in place of slots, checked like any submission.
std::string check_filled_in(const Graph& graph, const HyReplay& replay) {
  CheckedSubmission checked(graph.device, HySubmission{});
  const auto fill_in = [&](HySlice& slice) {
    if (slice.buffer != nullptr) return;
    slice.buffer = replay.buffers[slice.slot].buffer;
    slice.offset += replay.buffers[slice.slot].offset;
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    OwnedCommand filled(graph.nodes[i]->command);
    for (HySlice& slice : filled.slices) fill_in(slice);
    if (filled.command.kind == HY_COMMAND_COPY) {
      fill_in(filled.copy.source);
      fill_in(filled.copy.destination);
    }
    if (filled.command.kind == HY_COMMAND_FILL) fill_in(filled.fill.destination);
    if (filled.command.kind == HY_COMMAND_DISPATCH && filled.dispatch.scalar_slot != HY_NO_SLOT) {
      filled.dispatch.scalar_bytes =
          static_cast<std::uint32_t>(replay.scalars[filled.dispatch.scalar_slot].bytes);
      filled.dispatch.scalar_slot = HY_NO_SLOT;
    }
    checked.add_commands(&filled.command, 1);
    if (!checked.problem().empty()) return fmt::format("node {}: {}", i, checked.problem());
  }
  return find_race(graph, &replay);
}

HyStatus graph_replay(HyQueue* queue_handle, HyGraph* handle, const HyReplay* replay,
                      const HySubmission* submission, std::uint64_t* value, HyError* error) {
  const auto queue = tables().queues.find(queue_handle);
  const auto graph = tables().graphs.find(handle);
  if (!queue) return gone(error, "queue");
  if (!graph) return gone(error, "graph");
  if (graph->device != queue->device) return invalid(error, "replay: the queue is of another device");
  if (replay->buffer_count != graph->buffer_slots || replay->scalar_count != graph->scalar_slots)
    return invalid(error, fmt::format("replay: {} buffers and {} scalar blocks for {} and {} slots",
                                      replay->buffer_count, replay->scalar_count, graph->buffer_slots,
                                      graph->scalar_slots));
  CheckedSubmission checked(queue->device, *submission);
  std::vector<HySlice> slots(replay->buffer_count);
  for (std::uint32_t i = 0; i < replay->buffer_count; ++i)
    if (!checked.translate(replay->buffers[i], slots[i], fmt::format("slot {}", i))) break;
  std::string problem = checked.problem();
  if (problem.empty()) problem = check_filled_in(*graph, *replay);
  if (!problem.empty()) return invalid(error, "replay: " + problem);
  HyReplay inner_replay = *replay;
  inner_replay.buffers = slots.data();
  const HySubmission form = checked.form();
  const HyStatus status =
      queue->device->backend->graph_replay(queue->inner, graph->inner, &inner_replay, &form, value, error);
  if (status == HY_OK) {
    checked.used_until(queue->timeline, *value);
    graph->uses.add(queue->timeline, *value);
  }
  return status;
}

// -------------------------------------------------------------------------------------------- time stamps

HyStatus time_stamps_create(HyDevice* handle, std::uint32_t capacity, HyTimeStamps** result, HyError* error) {
  const auto device = tables().devices.find(handle);
  if (!device) return gone(error, "device");
  auto stamps = std::make_shared<TimeStamps>();
  stamps->device = device;
  stamps->capacity = capacity;
  const HyStatus status = device->backend->time_stamps_create(device->inner, capacity, &stamps->inner, error);
  if (status == HY_OK) *result = tables().time_stamps.add(std::move(stamps));
  return status;
}

void time_stamps_destroy(HyTimeStamps* handle) {
  const auto stamps = tables().time_stamps.remove(handle);
  if (!stamps) return complain("time_stamps_destroy: they were destroyed already");
  end_uses(stamps->uses, "time_stamps_destroy: submitted work still wrote them");
  stamps->device->backend->time_stamps_destroy(stamps->inner);
}

HyStatus time_stamps_read(HyTimeStamps* handle, std::uint32_t first, std::uint32_t count, HyTimeSpan* spans,
                          HyError* error) {
  const auto stamps = tables().time_stamps.find(handle);
  if (!stamps) return gone(error, "time stamps");
  if (first > stamps->capacity || count > stamps->capacity - first)
    return invalid(error, fmt::format("time_stamps_read: {} from {} of {}", count, first, stamps->capacity));
  return stamps->device->backend->time_stamps_read(stamps->inner, first, count, spans, error);
}

// --------------------------------------------------------------------------------------------- extensions

HyStatus arm_fault(HyDevice* handle, std::uint32_t fault, std::uint32_t after) {
  const auto device = tables().devices.find(handle);
  if (!device || device->backend->get_extension == nullptr) return HY_UNSUPPORTED;
  const auto* inner =
      static_cast<const HyFaultInjection*>(device->backend->get_extension(HY_EXTENSION_FAULT_INJECTION));
  return inner != nullptr && inner->arm != nullptr ? inner->arm(device->inner, fault, after) : HY_UNSUPPORTED;
}

const void* get_extension(const char* name) {
  static const HyFaultInjection fault_injection = {sizeof(HyFaultInjection), 0, arm_fault};
  return std::string_view(name) == HY_EXTENSION_FAULT_INJECTION ? &fault_injection : nullptr;
}

/// Ours where the backend has the function, else NULL as the backend's own.
template <class Function>
void wrap(Function& entry, Function ours) {
  if (entry != nullptr) entry = ours;
}

HyBackend wrapped(const HyBackend& inner) {
  HyBackend table = inner;
  wrap(table.enumerate, enumerate);
  wrap(table.device_open, device_open);
  wrap(table.device_close, device_close);
  wrap(table.device_info, device_info);
  wrap(table.device_property, device_property);
  wrap(table.device_status, device_status);
  wrap(table.device_enable_peer, device_enable_peer);
  wrap(table.buffer_create, buffer_create);
  wrap(table.buffer_destroy, buffer_destroy);
  wrap(table.buffer_map, buffer_map);
  wrap(table.buffer_import, buffer_import);
  wrap(table.buffer_export, buffer_export);
  wrap(table.queue_create, queue_create);
  wrap(table.queue_destroy, queue_destroy);
  wrap(table.queue_timeline, queue_timeline);
  wrap(table.queue_submit, queue_submit);
  wrap(table.timeline_create, timeline_create);
  wrap(table.timeline_destroy, timeline_destroy);
  wrap(table.timeline_signal, timeline_signal);
  wrap(table.timeline_wait, timeline_wait);
  wrap(table.timeline_query, timeline_query);
  wrap(table.timeline_error, timeline_error);
  wrap(table.timeline_import, timeline_import);
  wrap(table.timeline_export, timeline_export);
  wrap(table.module_create, module_create);
  wrap(table.module_destroy, module_destroy);
  wrap(table.module_get_native, module_get_native);
  wrap(table.graph_create, graph_create);
  wrap(table.graph_destroy, graph_destroy);
  wrap(table.graph_update, graph_update);
  wrap(table.graph_replay, graph_replay);
  wrap(table.time_stamps_create, time_stamps_create);
  wrap(table.time_stamps_destroy, time_stamps_destroy);
  wrap(table.time_stamps_read, time_stamps_read);
  wrap(table.get_extension, get_extension);
  return table;
}

}  // namespace
}  // namespace validation

bool validation_wanted() {
  const char* text = std::getenv("HALYARD_VALIDATE");
  return text != nullptr && std::string_view(text) == "1";
}

ValidatedDevice validate_device(std::shared_ptr<const HyBackend> backend, HyDevice* device,
                                const DeviceInfo& info) {
  auto table = std::make_shared<const HyBackend>(validation::wrapped(*backend));
  auto tracked = std::make_shared<validation::Device>();
  tracked->backend = std::move(backend);
  tracked->inner = device;
  tracked->info = info;
  return {std::move(table), validation::tables().devices.add(std::move(tracked))};
}

}  // namespace halyard::hal
