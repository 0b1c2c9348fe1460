#include "fake_backend.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fake_objects.h"
#include "halyard/hal/fault_injection.h"

using fake::record;
using fake::Recorded;
using fake::report;
using fake::Work;

namespace {

HyStatus enumerate_with(bool bare, HyDeviceSummary* summaries, uint32_t capacity, uint32_t* count) {
  *count = bare ? 1 : 3;
  for (uint32_t i = 0; i < *count && i < capacity; ++i) {
    HyDeviceSummary& summary = summaries[i];
    summary.type = HY_DEVICE_DISCRETE;
    summary.score = 1000 - static_cast<int32_t>(i);
    summary.flags = i == 2 ? static_cast<uint32_t>(HY_DEVICE_FLAG_EMULATED) : 0u;
    if (i == 2) summary.score = 5000;
    for (std::size_t k = 0; k < 16; ++k) summary.uuid[k] = static_cast<uint8_t>(k + 16 * i);
    std::snprintf(summary.name, sizeof summary.name, "%s",
                  bare     ? "Bare"
                  : i == 0 ? "Fake Mapped"
                  : i == 1 ? "Fake Staged"
                           : "Fake Stand-in");
    std::snprintf(summary.alias, sizeof summary.alias, "%s",
                  bare     ? "bare"
                  : i == 0 ? "mapped"
                  : i == 1 ? "staged"
                           : "standin");
    std::snprintf(summary.driver, sizeof summary.driver, "fake");
    std::snprintf(summary.driver_version, sizeof summary.driver_version, "1.2.3");
  }
  return HY_OK;
}
HyStatus enumerate_fake(HyDeviceSummary* summaries, uint32_t capacity, uint32_t* count, HyError*) {
  return enumerate_with(false, summaries, capacity, count);
}
HyStatus enumerate_bare(HyDeviceSummary* summaries, uint32_t capacity, uint32_t* count, HyError*) {
  return enumerate_with(true, summaries, capacity, count);
}
#ifdef HALYARD_STATIC_BACKEND
HyStatus enumerate_absent(HyDeviceSummary*, uint32_t, uint32_t*, HyError* error) {
  return report(error, HY_NOT_FOUND, "libvendor.so.1 not found: install the vendor's driver");
}
#endif

HyStatus open_with(bool bare, const HyDeviceDesc* desc, HyDevice** device, HyError* error) {
  if (desc->ordinal >= (bare ? 1u : 3u)) return report(error, HY_NOT_FOUND, "no such device");
  auto fresh = std::make_unique<HyDevice>();
  fresh->ordinal = desc->ordinal;
  fresh->bare = bare;
  *device = fresh.release();
  return HY_OK;
}
HyStatus open_fake(const HyDeviceDesc* desc, HyDevice** device, HyError* error) {
  return open_with(false, desc, device, error);
}
HyStatus open_bare(const HyDeviceDesc* desc, HyDevice** device, HyError* error) {
  return open_with(true, desc, device, error);
}
void close_device(HyDevice* device) {
  delete device;
}

HyStatus describe(HyDevice* device, HyDeviceInfo* info, HyError*) {
  static const char* const formats[] = {"fake-native", "fake"};
  static const char* const features[] = {"word", "gate"};
  static const HyQuirk quirks[] = {{"only_words", 32, "the fake device computes in words"}};
  HyDeviceInfo filled{};
  filled.size = info->size;
  filled.type = HY_DEVICE_DISCRETE;
  filled.flags = device->ordinal == 2 ? static_cast<uint32_t>(HY_DEVICE_FLAG_EMULATED) : 0u;
  filled.execution_flags = HY_EXECUTION_TIME_STAMPS;
  if (device->ordinal == 0) filled.execution_flags |= HY_EXECUTION_HOST_VISIBLE_DEVICE_MEMORY;
  filled.name = "Fake";
  filled.vendor = "Nobody";
  filled.driver = "fake";
  filled.driver_version = "1.2.3";
  filled.architecture = "fake1";
  filled.compute_units = 2;
  filled.subgroup_size = 4;
  filled.max_workgroup_invocations = 256;
  for (std::size_t i = 0; i < 3; ++i) {
    filled.max_workgroup_size[i] = 256;
    filled.max_grid[i] = 65535;
  }
  filled.memory_bytes = fake::memory_bytes;
  filled.max_allocation_bytes = fake::memory_bytes / 2;
  filled.max_storage_range = fake::memory_bytes / 4;
  filled.storage_alignment = 64;
  filled.storage_types = filled.arithmetic_types = 1u << 7;
  filled.isa_features = features;
  filled.isa_feature_count = 2;
  filled.module_formats = formats;
  filled.module_format_count = 2;
  filled.quirks = quirks;
  filled.quirk_count = 1;
  std::memcpy(info, &filled, std::min<std::size_t>(info->size, sizeof filled));
  return HY_OK;
}

HyStatus property(HyDevice* device, const char* key, HyProperty* value, HyError* error) {
  if (std::string(key) != "memory.free_bytes") return report(error, HY_NOT_FOUND, "no such property");
  std::lock_guard lock(device->mutex);
  value->kind = HY_PROPERTY_INTEGER;
  value->integer = static_cast<int64_t>(fake::memory_bytes - device->held);
  return HY_OK;
}

HyStatus device_status(HyDevice* device, HyError* error) {
  std::lock_guard lock(device->mutex);
  return device->lost ? report(error, HY_DEVICE_LOST, "the fake device was lost (simulated)") : HY_OK;
}

HyStatus enable_peer(HyDevice*, HyDevice*, HyError*) {
  return HY_OK;
}

HyStatus create_buffer(HyDevice* device, const HyBufferDesc* desc, HyBuffer** buffer, HyError* error) {
  if ((desc->export_kinds & ~(1u << HY_HANDLE_HOST_POINTER)) != 0)
    return report(error, HY_UNSUPPORTED, "only host pointers are exported");
  if (device->strikes(HY_FAULT_OUT_OF_MEMORY))
    return report(error, HY_OUT_OF_MEMORY, "out of memory (simulated)");
  {
    std::lock_guard lock(device->mutex);
    if (desc->bytes > fake::memory_bytes - device->held)
      return report(error, HY_OUT_OF_MEMORY, "the fake device is full");
    device->held += desc->bytes;
  }
  auto fresh = std::make_unique<HyBuffer>();
  fresh->device = device;
  fresh->own.resize(desc->bytes, 0xCD);
  fresh->data = fresh->own.data();
  fresh->bytes = desc->bytes;
  fresh->memory = desc->memory;
  *buffer = fresh.release();
  return HY_OK;
}
void destroy_buffer(HyBuffer* buffer) {
  if (!buffer->imported) {
    std::lock_guard lock(buffer->device->mutex);
    buffer->device->held -= buffer->bytes;
  }
  delete buffer;
}
HyStatus map_buffer(HyBuffer* buffer, void** pointer, HyError* error) {
  if (buffer->memory == HY_MEMORY_DEVICE && buffer->device->ordinal != 0 && !buffer->imported)
    return report(error, HY_UNSUPPORTED, "device memory is not mapped");
  *pointer = buffer->data;
  return HY_OK;
}
HyStatus import_buffer(HyDevice* device, const HyHandle* handle, HyBuffer** buffer, HyError* error) {
  if (handle->kind != HY_HANDLE_HOST_POINTER)
    return report(error, HY_UNSUPPORTED, "only host pointers are imported");
  auto fresh = std::make_unique<HyBuffer>();
  fresh->device = device;
  fresh->data = reinterpret_cast<unsigned char*>(handle->value) + handle->offset;
  fresh->bytes = handle->bytes;
  fresh->imported = true;
  *buffer = fresh.release();
  return HY_OK;
}
HyStatus export_buffer(HyBuffer* buffer, HyHandle* handle, HyError* error) {
  if (handle->kind != HY_HANDLE_HOST_POINTER)
    return report(error, HY_UNSUPPORTED, "only host pointers are exported");
  handle->value = reinterpret_cast<std::uint64_t>(buffer->data);
  handle->bytes = buffer->bytes;
  return HY_OK;
}

HyStatus create_queue(HyDevice* device, const HyQueueDesc*, HyQueue** queue, HyError*) {
  auto fresh = std::make_unique<HyQueue>();
  fresh->device = device;
  fresh->timeline.device = device;
  fresh->thread = std::thread([raw = fresh.get()] { raw->loop(); });
  *queue = fresh.release();
  return HY_OK;
}
void destroy_queue(HyQueue* queue) {
  {
    std::lock_guard lock(queue->mutex);
    queue->ending = true;
    queue->changed.notify_all();
  }
  queue->thread.join();
  delete queue;
}
HyTimeline* timeline_of(HyQueue* queue) {
  return &queue->timeline;
}

HyStatus enqueue(HyQueue* queue, const HySubmission& submission, std::vector<Recorded> commands,
                 std::uint64_t* value, HyError* error) {
  if (queue->device->strikes(HY_FAULT_DEVICE_LOST)) queue->device->lose();
  if (device_status(queue->device, nullptr) != HY_OK)
    return report(error, HY_DEVICE_LOST, "the fake device was lost (simulated)");
  Work item;
  item.waits.assign(submission.waits, submission.waits + submission.wait_count);
  item.signals.assign(submission.signals, submission.signals + submission.signal_count);
  item.commands = std::move(commands);
  item.stamps = submission.time_stamps;
  item.fails = queue->device->strikes(HY_FAULT_SUBMISSION_FAILS);
  *value = queue->push(std::move(item));
  return HY_OK;
}

HyStatus submit(HyQueue* queue, const HySubmission* submission, std::uint64_t* value, HyError* error) {
  std::vector<Recorded> commands;
  for (uint32_t i = 0; i < submission->command_count; ++i)
    commands.push_back(record(submission->commands[i]));
  return enqueue(queue, *submission, std::move(commands), value, error);
}

HyStatus create_timeline(HyDevice* device, std::uint64_t initial, HyTimeline** timeline, HyError*) {
  auto fresh = std::make_unique<HyTimeline>();
  fresh->device = device;
  fresh->reached = initial;
  *timeline = fresh.release();
  return HY_OK;
}
void destroy_timeline(HyTimeline* timeline) {
  delete timeline;
}
HyStatus signal_timeline(HyTimeline* timeline, std::uint64_t value, HyError*) {
  timeline->raise(value, HY_OK, "");
  return HY_OK;
}
HyStatus wait_timeline(HyTimeline* timeline, std::uint64_t value, std::uint64_t timeout, HyError* error) {
  return timeline->wait(value, timeout, error);
}
HyStatus query_timeline(HyTimeline* timeline, std::uint64_t* value, HyError* error) {
  std::lock_guard lock(timeline->device->mutex);
  if (timeline->device->lost) return report(error, HY_DEVICE_LOST, "the fake device was lost (simulated)");
  *value = timeline->reached;
  return HY_OK;
}
HyStatus outcome_of(HyTimeline* timeline, std::uint64_t value, HyError* error) {
  std::lock_guard lock(timeline->device->mutex);
  return timeline->outcome(value, error);
}

HyStatus create_module(HyDevice*, const HyModuleDesc* desc, HyModule** module, HyError* error) {
  const std::string bytes(static_cast<const char*>(desc->bytes), desc->byte_count);
  const bool native = std::string(desc->format) == "fake-native";
  if (bytes.rfind(native ? "native:" : "code:", 0) != 0)
    return report(error, HY_COMPILE_ERROR, "the fake compiler expects code that begins with 'code:'");
  if (!native) fake::count_compilation();
  auto fresh = std::make_unique<HyModule>();
  for (uint32_t i = 0; i < desc->kernel_count; ++i) fresh->kernels.push_back({desc->kernels[i].entry});
  fresh->native = native ? bytes : "native:" + bytes;
  *module = fresh.release();
  return HY_OK;
}
void destroy_module(HyModule* module) {
  delete module;
}
HyStatus native_of(HyModule* module, const char** format, const void** bytes, size_t* count, HyError*) {
  *format = "fake-native";
  *bytes = module->native.data();
  *count = module->native.size();
  return HY_OK;
}

HyStatus create_graph(HyDevice*, const HyGraphDesc* desc, HyGraph** graph, HyError*) {
  auto fresh = std::make_unique<HyGraph>();
  for (uint32_t i = 0; i < desc->node_count; ++i) fresh->nodes.push_back(record(desc->nodes[i]));
  *graph = fresh.release();
  return HY_OK;
}
void destroy_graph(HyGraph* graph) {
  delete graph;
}
HyStatus update_graph(HyGraph* graph, uint32_t node, const HyCommand* command, HyError*) {
  graph->nodes[node] = record(*command);
  return HY_OK;
}
HyStatus replay_graph(HyQueue* queue, HyGraph* graph, const HyReplay* replay, const HySubmission* submission,
                      std::uint64_t* value, HyError* error) {
  std::vector<Recorded> commands = graph->nodes;
  for (Recorded& command : commands) {
    for (HySlice& slice : command.slices) {
      if (slice.buffer != nullptr) continue;
      slice.buffer = replay->buffers[slice.slot].buffer;
      slice.offset += replay->buffers[slice.slot].offset;
    }
    if (command.scalar_slot != HY_NO_SLOT) {
      const HyBytes& block = replay->scalars[command.scalar_slot];
      const auto* first = static_cast<const unsigned char*>(block.data);
      command.scalars.assign(first, first + block.bytes);
    }
  }
  return enqueue(queue, *submission, std::move(commands), value, error);
}

HyStatus create_stamps(HyDevice*, uint32_t capacity, HyTimeStamps** stamps, HyError*) {
  auto fresh = std::make_unique<HyTimeStamps>();
  fresh->spans.resize(capacity);
  *stamps = fresh.release();
  return HY_OK;
}
void destroy_stamps(HyTimeStamps* stamps) {
  delete stamps;
}
HyStatus read_stamps(HyTimeStamps* stamps, uint32_t first, uint32_t count, HyTimeSpan* spans, HyError*) {
  std::copy_n(stamps->spans.begin() + first, count, spans);
  return HY_OK;
}

HyStatus arm(HyDevice* device, uint32_t fault, uint32_t after) {
  std::lock_guard lock(device->mutex);
  device->faults[fault] = after;
  return HY_OK;
}
const void* extension(const char* name) {
  static const HyFaultInjection faults = {sizeof(HyFaultInjection), 0, arm};
  return std::string(name) == HY_EXTENSION_FAULT_INJECTION ? &faults : nullptr;
}

HyBackend required_functions(const char* name) {
  HyBackend table{};
  table.size = sizeof table;
  table.abi_version = HY_ABI_VERSION;
  table.name = name;
  table.version = "1";
  table.enumerate = enumerate_bare;
  table.device_open = open_bare;
  table.device_close = close_device;
  table.device_info = describe;
  table.device_status = device_status;
  table.buffer_create = create_buffer;
  table.buffer_destroy = destroy_buffer;
  table.buffer_map = map_buffer;
  table.queue_create = create_queue;
  table.queue_destroy = destroy_queue;
  table.queue_timeline = timeline_of;
  table.queue_submit = submit;
  table.timeline_wait = wait_timeline;
  table.timeline_query = query_timeline;
  table.timeline_error = outcome_of;
  table.module_create = create_module;
  table.module_destroy = destroy_module;
  return table;
}

HyBackend all_functions() {
  HyBackend table = required_functions("fake");
  table.enumerate = enumerate_fake;
  table.device_open = open_fake;
  table.device_property = property;
  table.device_enable_peer = enable_peer;
  table.buffer_import = import_buffer;
  table.buffer_export = export_buffer;
  table.timeline_create = create_timeline;
  table.timeline_destroy = destroy_timeline;
  table.timeline_signal = signal_timeline;
  table.module_get_native = native_of;
  table.graph_create = create_graph;
  table.graph_destroy = destroy_graph;
  table.graph_update = update_graph;
  table.graph_replay = replay_graph;
  table.time_stamps_create = create_stamps;
  table.time_stamps_destroy = destroy_stamps;
  table.time_stamps_read = read_stamps;
  table.get_extension = extension;
  return table;
}

}  // namespace

#ifdef HALYARD_STATIC_BACKEND
HY_BACKEND_ENTRY(fake)(uint32_t abi_version, const HyHost*) {
  static const HyBackend table = all_functions();
  return abi_version == HY_ABI_VERSION ? &table : nullptr;
}
HY_BACKEND_ENTRY(bare)(uint32_t abi_version, const HyHost*) {
  static const HyBackend table = required_functions("bare");
  return abi_version == HY_ABI_VERSION ? &table : nullptr;
}
HY_BACKEND_ENTRY(absent)(uint32_t abi_version, const HyHost*) {
  static const HyBackend table = [] {
    HyBackend absent = required_functions("absent");
    absent.enumerate = enumerate_absent;
    return absent;
  }();
  return abi_version == HY_ABI_VERSION ? &table : nullptr;
}
#else
HY_BACKEND_ENTRY(fake)(uint32_t abi_version, const HyHost*) {
  // Loaded as a module it takes another name, so that both can live in one registry.
  static const HyBackend table = [] {
    HyBackend loaded = all_functions();
    loaded.name = "fakemodule";
    return loaded;
  }();
  return abi_version == HY_ABI_VERSION ? &table : nullptr;
}
#endif
