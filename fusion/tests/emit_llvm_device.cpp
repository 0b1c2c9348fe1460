#include "emit_llvm_device.h"
#include <dlfcn.h>
#include <cstring>
#include <stdexcept>

namespace halyard::fusion::tests {
namespace {

Status outcome(HyStatus status, const HyError& error) {
  if (status == HY_OK) return {};
  return fail(static_cast<ErrorCode>(status), error.message);
}

HyError no_error() {
  HyError error{};
  error.size = sizeof error;
  return error;
}

/// The kernel's description, as fusion derives it from a program.
HyKernelDesc describe(const program::Program& program) {
  HyKernelDesc desc{};
  desc.size = sizeof desc;
  desc.entry = program.name.c_str();
  for (auto& axis : desc.workgroup_size) axis = 1;
  desc.buffer_count = static_cast<std::uint32_t>(program.buffers.size());
  desc.scalar_bytes = program::scalar_offsets(program).back();
  desc.scratch_bytes = program::shared_bytes(program);
  return desc;
}

}  // namespace

CpuDevice::CpuDevice() {
  void* library = dlopen(HALYARD_CPU_MODULE, RTLD_NOW | RTLD_LOCAL);
  if (!library) throw std::runtime_error(dlerror());
  auto entry = reinterpret_cast<HyBackendEntry>(dlsym(library, "halyard_backend_entry"));
  backend_ = entry(HY_ABI_VERSION, nullptr);
  HyError error = no_error();
  HyDeviceDesc desc{};
  desc.size = sizeof desc;
  desc.worker_threads = 2;
  if (backend_->device_open(&desc, &device_, &error) != HY_OK) throw std::runtime_error(error.message);
  HyQueueDesc queue_desc{};
  queue_desc.size = sizeof queue_desc;
  if (backend_->queue_create(device_, &queue_desc, &queue_, &error) != HY_OK)
    throw std::runtime_error(error.message);
  HyDeviceInfo info{};
  info.size = sizeof info;
  backend_->device_info(device_, &info, &error);
  std::vector<std::string> features(info.isa_features, info.isa_features + info.isa_feature_count);
  options_ = llvm_options(features, info.vector_register_bytes);
}

CpuDevice::~CpuDevice() {
  backend_->queue_destroy(queue_);
  backend_->device_close(device_);
}

Status CpuDevice::run(const program::Program& program, const std::string& text,
                      std::array<std::uint32_t, 3> grid, std::span<std::vector<std::byte>> buffers,
                      std::span<const std::byte> scalars) {
  HyError error = no_error();
  HyKernelDesc kernel = describe(program);
  HyModuleDesc module_desc{};
  module_desc.size = sizeof module_desc;
  module_desc.format = "llvm-ir";
  module_desc.bytes = text.data();
  module_desc.byte_count = text.size();
  module_desc.kernel_count = 1;
  module_desc.kernels = &kernel;
  HyModule* module = nullptr;
  HALYARD_TRY(outcome(backend_->module_create(device_, &module_desc, &module, &error), error));

  std::vector<HyBuffer*> memory;
  std::vector<HySlice> slices;
  for (std::vector<std::byte>& bytes : buffers) {
    HyBufferDesc desc{sizeof(HyBufferDesc), HY_MEMORY_DEVICE, bytes.size()};
    HyBuffer* buffer = nullptr;
    HALYARD_TRY(outcome(backend_->buffer_create(device_, &desc, &buffer, &error), error));
    void* pointer = nullptr;
    backend_->buffer_map(buffer, &pointer, &error);
    std::memcpy(pointer, bytes.data(), bytes.size());
    memory.push_back(buffer);
    slices.push_back({buffer, 0, bytes.size(), 0, 0});
  }
  HyDispatch dispatch{};
  dispatch.size = sizeof dispatch;
  dispatch.module = module;
  std::copy(grid.begin(), grid.end(), dispatch.grid);
  dispatch.buffers = slices.data();
  dispatch.buffer_count = static_cast<std::uint32_t>(slices.size());
  dispatch.scalars = scalars.data();
  dispatch.scalar_bytes = static_cast<std::uint32_t>(scalars.size());
  dispatch.scalar_slot = HY_NO_SLOT;
  HyCommand command{};
  command.size = sizeof command;
  command.kind = HY_COMMAND_DISPATCH;
  command.dispatch = &dispatch;
  HySubmission submission{};
  submission.size = sizeof submission;
  submission.commands = &command;
  submission.command_count = 1;
  std::uint64_t value = 0;
  Status status = outcome(backend_->queue_submit(queue_, &submission, &value, &error), error);
  if (status)
    status =
        outcome(backend_->timeline_wait(backend_->queue_timeline(queue_), value, UINT64_MAX, &error), error);
  for (std::size_t i = 0; i < memory.size(); ++i) {
    void* pointer = nullptr;
    backend_->buffer_map(memory[i], &pointer, &error);
    std::memcpy(buffers[i].data(), pointer, buffers[i].size());
    backend_->buffer_destroy(memory[i]);
  }
  backend_->module_destroy(module);
  return status;
}

}  // namespace halyard::fusion::tests
