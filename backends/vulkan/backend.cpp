// The door of the vulkan backend: one table of functions. Kernels arrive as SPIR-V (spirv_kernel_abi.h);
// libvulkan is opened at run time.
#include <halyard/hal/plugin.h>
#include <string_view>
#include "buffer.h"
#include "command_graph.h"
#include "device.h"
#include "instance.h"
#include "module.h"
#include "queue.h"
#include "time_stamps.h"
#include "timeline.h"

namespace halyard::vulkan {
namespace {

const void* get_extension(const char* name) {
  return std::string_view(name) == HY_EXTENSION_FAULT_INJECTION ? fault_injection() : nullptr;
}

const HyBackend table{
    .size = sizeof(HyBackend),
    .abi_version = HY_ABI_VERSION,
    .name = "vulkan",
    .version = HALYARD_VULKAN_VERSION,
    .enumerate = enumerate,
    .device_open = device_open,
    .device_close = device_close,
    .device_info = device_info,
    .device_property = device_property,
    .device_status = device_status,
    .device_enable_peer = nullptr,
    .buffer_create = buffer_create,
    .buffer_destroy = buffer_destroy,
    .buffer_map = buffer_map,
    .buffer_import = buffer_import,
    .buffer_export = buffer_export,
    .queue_create = queue_create,
    .queue_destroy = queue_destroy,
    .queue_timeline = queue_timeline,
    .queue_submit = queue_submit,
    .timeline_create = timeline_create,
    .timeline_destroy = timeline_destroy,
    .timeline_signal = timeline_signal,
    .timeline_wait = timeline_wait,
    .timeline_query = timeline_query,
    .timeline_error = timeline_error,
    .timeline_import = timeline_import,
    .timeline_export = timeline_export,
    .module_create = module_create,
    .module_destroy = module_destroy,
    .module_get_native = module_get_native,
    .graph_create = graph_create,
    .graph_destroy = graph_destroy,
    .graph_update = graph_update,
    .graph_replay = graph_replay,
    .time_stamps_create = time_stamps_create,
    .time_stamps_destroy = time_stamps_destroy,
    .time_stamps_read = time_stamps_read,
    .get_extension = get_extension,
};

}  // namespace
}  // namespace halyard::vulkan

HY_BACKEND_ENTRY(vulkan)(uint32_t abi_version, const HyHost* host) {
  if (abi_version != HY_ABI_VERSION) return nullptr;
  halyard::vulkan::set_host(host);
  return &halyard::vulkan::table;
}
