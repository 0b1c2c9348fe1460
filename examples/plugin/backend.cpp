// The door of the backend: one table of functions. What is left out is optional; Halyard then does the work
// itself (command graphs are replayed as submissions) or answers "unsupported".
#include <halyard/hal/plugin.h>
#include <string_view>

#include "buffer.h"
#include "device.h"
#include "module.h"
#include "queue.h"
#include "timeline.h"

namespace halyard::interpreter {
namespace {

const void* get_extension(const char* name) {
  return std::string_view(name) == HY_EXTENSION_FAULT_INJECTION ? fault_injection() : nullptr;
}

const HyBackend table{
    .size = sizeof(HyBackend),
    .abi_version = HY_ABI_VERSION,
    .name = "interpreter",
    .version = "1",
    .enumerate = enumerate,
    .device_open = device_open,
    .device_close = device_close,
    .device_info = device_info,
    .device_status = device_status,
    .buffer_create = buffer_create,
    .buffer_destroy = buffer_destroy,
    .buffer_map = buffer_map,
    .buffer_import = buffer_import,
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
    .module_create = module_create,
    .module_destroy = module_destroy,
    .time_stamps_create = time_stamps_create,
    .time_stamps_destroy = time_stamps_destroy,
    .time_stamps_read = time_stamps_read,
    .get_extension = get_extension,
};

}  // namespace
}  // namespace halyard::interpreter

HY_BACKEND_ENTRY(interpreter)(uint32_t abi_version, const HyHost* host) {
  if (abi_version != HY_ABI_VERSION || !host || !host->allocate || !host->release) return nullptr;
  halyard::interpreter::set_host(host);
  return &halyard::interpreter::table;
}
