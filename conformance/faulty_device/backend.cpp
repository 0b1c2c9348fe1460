// The deliberately wrong device: another backend's, named by HALYARD_FAULTY_BACKEND (the path of its library;
// it must take thread programs), behind a door that plants the fault HALYARD_FAULT. Test equipment: it proves
// that the conformance suite finds what it must.
#include <dlfcn.h>
#include <halyard/hal/plugin.h>
#include <halyard/program/serialize.h>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "faults.h"

namespace halyard::faulty {
namespace {

const HyBackend* wrapped = nullptr;
const Fault* fault = nullptr;
HyBackend table{};

/// Kernels by their names, for the fault that caches by nothing else.
struct StaleCache {
  std::mutex mutex;
  std::map<std::string, std::vector<std::byte>> bytes;
};
StaleCache stale_cache;

/// Probes run unharmed: the fault is one that they do not show.
bool is_probe(const program::Program& program) {
  return program.name.starts_with("probe");
}

HyStatus module_create(HyDevice* device, const HyModuleDesc* desc, HyModule** module, HyError* error) {
  HyModuleDesc changed = *desc;
  auto program = program::deserialize({static_cast<const std::byte*>(desc->bytes), desc->byte_count});
  if (!program || is_probe(*program)) return wrapped->module_create(device, desc, module, error);
  std::vector<std::byte> bytes;
  if (fault->alter_program && fault->alter_program(*program)) bytes = program::serialize(*program);
  if (fault->caches_by_name) {
    std::lock_guard lock(stale_cache.mutex);
    const auto* first = static_cast<const std::byte*>(desc->bytes);
    bytes = stale_cache.bytes.try_emplace(program->name, first, first + desc->byte_count).first->second;
  }
  if (!bytes.empty()) {
    changed.bytes = bytes.data();
    changed.byte_count = bytes.size();
  }
  return wrapped->module_create(device, &changed, module, error);
}

HyStatus queue_submit(HyQueue* queue, const HySubmission* submission, std::uint64_t* value, HyError* error) {
  HySubmission changed = *submission;
  Commands commands;
  const std::size_t room = 2 * static_cast<std::size_t>(submission->command_count);
  commands.dispatches.reserve(room);
  commands.copies.reserve(room);
  commands.fills.reserve(room);
  commands.scalars.reserve(room);
  const auto* first = reinterpret_cast<const std::byte*>(submission->commands);
  for (std::uint32_t i = 0; i < submission->command_count; ++i)
    commands.list.push_back(*reinterpret_cast<const HyCommand*>(first + i * submission->commands->size));
  // Time stamps count the commands that were given.
  if (fault->alter_commands && !submission->time_stamps) fault->alter_commands(commands);
  changed.commands = commands.list.data();
  changed.command_count = static_cast<std::uint32_t>(commands.list.size());
  if (fault->ignores_waits) changed.wait_count = 0;
  return wrapped->queue_submit(queue, &changed, value, error);
}

HyStatus timeline_wait(HyTimeline* timeline, std::uint64_t value, std::uint64_t timeout_ns, HyError* error) {
  const HyStatus status = wrapped->timeline_wait(timeline, value, timeout_ns, error);
  return fault->loses_errors && status == HY_INTERNAL ? static_cast<HyStatus>(HY_OK) : status;
}

HyStatus timeline_error(HyTimeline* timeline, std::uint64_t value, HyError* error) {
  const HyStatus status = wrapped->timeline_error(timeline, value, error);
  return fault->loses_errors && status == HY_INTERNAL ? static_cast<HyStatus>(HY_OK) : status;
}

const HyBackend* wrap(std::uint32_t abi_version, const HyHost* host) {
  const char* path = std::getenv("HALYARD_FAULTY_BACKEND");
  void* library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  fault = chosen_fault();
  if (!library || !fault) return nullptr;
  const auto entry = reinterpret_cast<HyBackendEntry>(dlsym(library, "halyard_backend_entry"));
  wrapped = entry ? entry(abi_version, host) : nullptr;
  if (!wrapped || wrapped->size < sizeof table) return nullptr;
  table = *wrapped;
  table.name = "faulty";
  table.module_create = module_create;
  table.queue_submit = queue_submit;
  table.timeline_wait = timeline_wait;
  table.timeline_error = timeline_error;
  return &table;
}

}  // namespace
}  // namespace halyard::faulty

/// The names of all faults, one a line, for the script that tries each.
extern "C" __attribute__((visibility("default"))) const char* halyard_fault_names() {
  static const std::string names = [] {
    std::string all;
    for (const halyard::faulty::Fault& fault : halyard::faulty::faults())
      all += std::string(fault.name) + "\n";
    return all;
  }();
  return names.c_str();
}

HY_BACKEND_ENTRY(faulty)(std::uint32_t abi_version, const HyHost* host) {
  if (abi_version != HY_ABI_VERSION) return nullptr;
  return halyard::faulty::wrap(abi_version, host);
}
