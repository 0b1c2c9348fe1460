#include "vulkan_runner.h"

#include <dlfcn.h>
#include <halyard/program/program.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace halyard::fusion::testing {
namespace {

void* allocate(void*, std::size_t bytes, std::size_t alignment) {
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void release(void*, void* memory, std::size_t, std::size_t) {
  std::free(memory);
}

void log(void*, std::int32_t level, const char* backend, const char* message) {
  if (level >= HY_LOG_WARNING) std::fprintf(stderr, "%s: %s\n", backend, message);
}

const HyBackend* load_backend(std::string* why) {
  static const HyHost host{sizeof(HyHost), HY_ABI_VERSION, nullptr, &allocate, &release, &log, nullptr};
  const char* folder = std::getenv("HALYARD_BACKEND_PATH");
  std::string file = std::string(folder ? folder : ".") + "/libhalyard_vulkan.so";
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    *why = dlerror();
    return nullptr;
  }
  auto entry = reinterpret_cast<HyBackendEntry>(dlsym(library, "halyard_backend_entry"));
  return entry ? entry(HY_ABI_VERSION, &host) : nullptr;
}

Status check(HyStatus status, const HyError& error) {
  if (status == HY_OK) return {};
  return fail(static_cast<ErrorCode>(status), error.message);
}

HyError no_error() {
  HyError error{};
  error.size = sizeof error;
  return error;
}

HyKernelDesc describe(const program::Program& program, const SpirvOptions& options) {
  HyKernelDesc desc{};
  desc.size = sizeof desc;
  desc.binding_model = static_cast<std::uint32_t>(options.binding);
  desc.entry = program.name.c_str();
  std::copy_n(program.workgroup_size, 3, desc.workgroup_size);
  desc.required_subgroup_size = program.subgroup_size;
  desc.buffer_count = static_cast<std::uint32_t>(program.buffers.size());
  desc.scalar_bytes = program::scalar_offsets(program).back();
  desc.static_shared_bytes = static_cast<std::uint32_t>(program::shared_bytes(program));
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    auto access = static_cast<unsigned>(program.buffers[i].access);
    if (access & 2) desc.written_buffers |= std::uint64_t{1} << i;
    if (access & 1) desc.read_buffers |= std::uint64_t{1} << i;
  }
  return desc;
}

}  // namespace

std::vector<std::unique_ptr<VulkanRunner>> VulkanRunner::open_all(std::string* why) {
  std::vector<std::unique_ptr<VulkanRunner>> runners;
  static std::string load_failure;
  static const HyBackend* backend = load_backend(&load_failure);
  *why = load_failure;
  if (!backend) return runners;
  HyError error = no_error();
  std::uint32_t count = 0;
  if (backend->enumerate(nullptr, 0, &count, &error) != HY_OK) {
    *why = error.message;
    return runners;
  }
  for (std::uint32_t ordinal = 0; ordinal < count; ++ordinal) {
    auto runner = std::unique_ptr<VulkanRunner>(new VulkanRunner);
    runner->backend_ = backend;
    HyDeviceDesc desc{.size = sizeof desc, .ordinal = ordinal, .debug = 1};
    HyQueueDesc queue{.size = sizeof queue};
    runner->info_.size = sizeof(HyDeviceInfo);
    bool opened = backend->device_open(&desc, &runner->device_, &error) == HY_OK &&
                  backend->device_info(runner->device_, &runner->info_, &error) == HY_OK &&
                  backend->queue_create(runner->device_, &queue, &runner->queue_, &error) == HY_OK;
    if (!opened) {
      *why = error.message;
      continue;
    }
    runners.push_back(std::move(runner));
  }
  return runners;
}

VulkanRunner::~VulkanRunner() {
  if (queue_) backend_->queue_destroy(queue_);
  if (device_) backend_->device_close(device_);
}

std::int64_t VulkanRunner::validation_messages() const {
  HyProperty property{.size = sizeof property};
  backend_->device_property(device_, "vulkan.validation_messages", &property, nullptr);
  return property.integer;
}

bool VulkanRunner::has_validation_layer() const {
  HyProperty property{.size = sizeof property};
  backend_->device_property(device_, "vulkan.validation_layer", &property, nullptr);
  return property.integer != 0;
}

Result<HyBuffer*> VulkanRunner::buffer_with(const std::vector<std::byte>& bytes) {
  HyError error = no_error();
  HyBufferDesc desc{
      .size = sizeof desc, .memory = HY_MEMORY_READBACK, .bytes = std::max<std::size_t>(1, bytes.size())};
  HyBuffer* buffer = nullptr;
  HALYARD_TRY(check(backend_->buffer_create(device_, &desc, &buffer, &error), error));
  void* pointer = nullptr;
  HALYARD_TRY(check(backend_->buffer_map(buffer, &pointer, &error), error));
  std::memcpy(pointer, bytes.data(), bytes.size());
  return buffer;
}

Result<std::vector<std::vector<std::byte>>> VulkanRunner::run(const Sample& sample,
                                                              const SpirvOptions& options) {
  HALYARD_ASSIGN(auto words, emit_spirv(sample.program, options));
  HyError error = no_error();
  HyKernelDesc kernel = describe(sample.program, options);
  HyModuleDesc module_desc{.size = sizeof module_desc,
                           .kernel_count = 1,
                           .format = "spirv",
                           .bytes = words.data(),
                           .byte_count = words.size() * 4,
                           .kernels = &kernel};
  HyModule* module = nullptr;
  HALYARD_TRY(check(backend_->module_create(device_, &module_desc, &module, &error), error));

  std::vector<HyBuffer*> buffers;
  std::vector<HySlice> slices;
  for (const auto& bytes : sample.buffers) {
    HALYARD_ASSIGN(HyBuffer * buffer, buffer_with(bytes));
    buffers.push_back(buffer);
    slices.push_back({buffer, 0, bytes.size(), 0, 0});
  }
  HyDispatch dispatch{.size = sizeof dispatch, .module = module};
  std::copy_n(sample.grid.begin(), 3, dispatch.grid);
  dispatch.buffers = slices.data();
  dispatch.buffer_count = static_cast<std::uint32_t>(slices.size());
  dispatch.scalars = sample.scalars.data();
  dispatch.scalar_bytes = static_cast<std::uint32_t>(sample.scalars.size());
  dispatch.scalar_slot = HY_NO_SLOT;
  HyCommand command{.size = sizeof command, .kind = HY_COMMAND_DISPATCH, .dispatch = &dispatch};
  HySubmission submission{.size = sizeof submission, .command_count = 1, .commands = &command};
  std::uint64_t value = 0;
  Status ran = check(backend_->queue_submit(queue_, &submission, &value, &error), error);
  if (ran)
    ran = check(backend_->timeline_wait(backend_->queue_timeline(queue_), value, 60'000'000'000u, &error),
                error);

  std::vector<std::vector<std::byte>> results;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    void* pointer = nullptr;
    backend_->buffer_map(buffers[i], &pointer, nullptr);
    const auto* bytes = static_cast<const std::byte*>(pointer);
    results.emplace_back(bytes, bytes + sample.buffers[i].size());
    backend_->buffer_destroy(buffers[i]);
  }
  backend_->module_destroy(module);
  if (!ran) return tl::unexpected(ran.error());
  return results;
}

}  // namespace halyard::fusion::testing
