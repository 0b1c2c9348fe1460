#include "cpu_fixture.h"
#include <dlfcn.h>
#include <algorithm>

namespace halyard::cpu::tests {

const HyBackend& backend() {
  static const HyBackend* table = [] {
    void* library = dlopen(HALYARD_CPU_MODULE, RTLD_NOW | RTLD_LOCAL);
    REQUIRE_MESSAGE(library != nullptr, dlerror());
    auto entry = reinterpret_cast<HyBackendEntry>(dlsym(library, "halyard_backend_entry"));
    REQUIRE((entry != nullptr) == true);
    return entry(HY_ABI_VERSION, nullptr);
  }();
  return *table;
}

Device::Device(std::uint32_t threads) {
  HyDeviceDesc desc{};
  desc.size = sizeof desc;
  desc.worker_threads = threads;
  REQUIRE_OK(backend().device_open(&desc, &handle, &error));
  queue = make_queue();
}

Device::~Device() {
  backend().queue_destroy(queue);
  backend().device_close(handle);
}

HyQueue* Device::make_queue() const {
  HyQueueDesc desc{};
  desc.size = sizeof desc;
  HyQueue* made = nullptr;
  REQUIRE_OK(backend().queue_create(handle, &desc, &made, &error));
  return made;
}

HyBuffer* Device::make_buffer(std::uint64_t bytes) const {
  HyBufferDesc desc{sizeof(HyBufferDesc), HY_MEMORY_DEVICE, bytes};
  HyBuffer* buffer = nullptr;
  REQUIRE_OK(backend().buffer_create(handle, &desc, &buffer, &error));
  return buffer;
}

void* Device::pointer(HyBuffer* buffer) {
  void* address = nullptr;
  REQUIRE_OK(backend().buffer_map(buffer, &address, &error));
  return address;
}

HyKernelDesc kernel_desc(const char* entry, std::uint32_t buffers, std::uint32_t scalar_bytes,
                         std::uint64_t scratch) {
  HyKernelDesc desc{};
  desc.size = sizeof desc;
  desc.entry = entry;
  std::fill_n(desc.workgroup_size, 3, 1u);
  desc.buffer_count = buffers;
  desc.scalar_bytes = scalar_bytes;
  desc.scratch_bytes = scratch;
  return desc;
}

HyStatus create_module(const Device& device, const char* format, std::string_view bytes,
                       const std::vector<HyKernelDesc>& kernels, HyModule** module, HyError* error) {
  HyModuleDesc desc{};
  desc.size = sizeof desc;
  desc.format = format;
  desc.bytes = bytes.data();
  desc.byte_count = bytes.size();
  desc.kernels = kernels.data();
  desc.kernel_count = static_cast<std::uint32_t>(kernels.size());
  return backend().module_create(device.handle, &desc, module, error);
}

HyModule* make_module(const Device& device, const char* format, std::string_view bytes,
                      const std::vector<HyKernelDesc>& kernels) {
  HyModule* module = nullptr;
  REQUIRE_OK(create_module(device, format, bytes, kernels, &module, &error));
  return module;
}

HySlice slice(HyBuffer* buffer, std::uint64_t bytes, std::uint64_t offset) {
  return {buffer, offset, bytes, HY_NO_SLOT, 0};
}

HySlice slot(std::uint32_t number, std::uint64_t bytes, std::uint64_t offset) {
  return {nullptr, offset, bytes, number, 0};
}

Commands& Commands::dispatch(HyModule* module, std::uint32_t kernel, std::uint32_t workgroups,
                             std::vector<HySlice> buffers, std::vector<std::uint32_t> scalars,
                             std::uint32_t scalar_slot) {
  Item item{HY_COMMAND_DISPATCH, {}, {}, {}, std::move(buffers), std::move(scalars)};
  item.dispatch.size = sizeof(HyDispatch);
  item.dispatch.kernel = kernel;
  item.dispatch.module = module;
  item.dispatch.grid[0] = workgroups;
  item.dispatch.grid[1] = item.dispatch.grid[2] = 1;
  item.dispatch.scalar_slot = scalar_slot;
  items_.push_back(std::move(item));
  return *this;
}

Commands& Commands::copy(HySlice source, HySlice destination) {
  items_.push_back({HY_COMMAND_COPY, {}, {source, destination}, {}, {}, {}});
  return *this;
}

Commands& Commands::fill(HySlice destination, std::uint32_t pattern, std::uint32_t pattern_bytes) {
  items_.push_back({HY_COMMAND_FILL, {}, {}, {destination, pattern, pattern_bytes}, {}, {}});
  return *this;
}

const std::vector<HyCommand>& Commands::list() {
  list_.clear();
  for (Item& item : items_) {
    item.dispatch.buffers = item.buffers.data();
    item.dispatch.buffer_count = static_cast<std::uint32_t>(item.buffers.size());
    item.dispatch.scalars = item.scalars.data();
    item.dispatch.scalar_bytes = static_cast<std::uint32_t>(item.scalars.size() * 4);
    HyCommand command{};
    command.size = sizeof command;
    command.kind = item.kind;
    command.dispatch = &item.dispatch;
    command.copy = &item.copy;
    command.fill = &item.fill;
    list_.push_back(command);
  }
  return list_;
}

HyStatus submit(HyQueue* queue, Commands& commands, std::uint64_t* value, HyError* error,
                const SubmitOptions& options) {
  const std::vector<HyCommand>& list = commands.list();
  HySubmission submission{};
  submission.size = sizeof submission;
  submission.commands = list.data();
  submission.command_count = static_cast<std::uint32_t>(list.size());
  submission.waits = options.waits.data();
  submission.wait_count = static_cast<std::uint32_t>(options.waits.size());
  submission.signals = options.signals.data();
  submission.signal_count = static_cast<std::uint32_t>(options.signals.size());
  submission.time_stamps = options.time_stamps;
  return backend().queue_submit(queue, &submission, value, error);
}

std::uint64_t submit(HyQueue* queue, Commands& commands, const SubmitOptions& options) {
  std::uint64_t value = 0;
  REQUIRE_OK(submit(queue, commands, &value, &error, options));
  return value;
}

HyStatus wait(HyQueue* queue, std::uint64_t value, HyError* error, std::uint64_t timeout_ns) {
  return backend().timeline_wait(backend().queue_timeline(queue), value, timeout_ns, error);
}

void run(HyQueue* queue, Commands commands) {
  std::uint64_t value = submit(queue, commands);
  REQUIRE_OK(wait(queue, value, &error));
}

const char* const example_text = R"(
; adds one to element i of buffer 0, for i = workgroup
define void @add_one(ptr noalias nocapture readonly %args) #0 {
  %buffers = load ptr, ptr %args, align 8
  %data = load ptr, ptr %buffers, align 8
  %begin.field = getelementptr i8, ptr %args, i64 24
  %begin = load i64, ptr %begin.field, align 8
  %end.field = getelementptr i8, ptr %args, i64 32
  %end = load i64, ptr %end.field, align 8
  br label %loop
loop:
  %i = phi i64 [ %begin, %0 ], [ %next, %loop ]
  %address = getelementptr i32, ptr %data, i64 %i
  %old = load i32, ptr %address, align 4
  %new = add i32 %old, 1
  store i32 %new, ptr %address, align 4
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}

; data[i] = data[i] * 0.5 + scalar, in f32
define void @halve(ptr noalias nocapture readonly %args) #0 {
  %buffers = load ptr, ptr %args, align 8
  %data = load ptr, ptr %buffers, align 8
  %scalars.field = getelementptr i8, ptr %args, i64 8
  %scalars = load ptr, ptr %scalars.field, align 8
  %addend = load float, ptr %scalars, align 4
  %begin.field = getelementptr i8, ptr %args, i64 24
  %begin = load i64, ptr %begin.field, align 8
  %end.field = getelementptr i8, ptr %args, i64 32
  %end = load i64, ptr %end.field, align 8
  br label %loop
loop:
  %i = phi i64 [ %begin, %0 ], [ %next, %loop ]
  %address = getelementptr float, ptr %data, i64 %i
  %old = load float, ptr %address, align 4
  %half = fmul float %old, 5.000000e-01
  %new = fadd float %half, %addend
  store float %new, ptr %address, align 4
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}

; fills the task's scratch with the workgroup's number and sums it into element i of buffer 0
define void @through_scratch(ptr noalias nocapture readonly %args) #0 {
  %buffers = load ptr, ptr %args, align 8
  %data = load ptr, ptr %buffers, align 8
  %scratch.field = getelementptr i8, ptr %args, i64 16
  %scratch = load ptr, ptr %scratch.field, align 8
  %begin.field = getelementptr i8, ptr %args, i64 24
  %begin = load i64, ptr %begin.field, align 8
  %end.field = getelementptr i8, ptr %args, i64 32
  %end = load i64, ptr %end.field, align 8
  br label %groups
groups:
  %i = phi i64 [ %begin, %0 ], [ %next, %after ]
  %small = trunc i64 %i to i32
  br label %write
write:
  %k = phi i64 [ 0, %groups ], [ %k.next, %write ]
  %at = getelementptr i32, ptr %scratch, i64 %k
  store volatile i32 %small, ptr %at, align 4
  %k.next = add i64 %k, 1
  %again = icmp ult i64 %k.next, 256
  br i1 %again, label %write, label %read
read:
  %r = phi i64 [ 0, %write ], [ %r.next, %read ]
  %sum = phi i32 [ 0, %write ], [ %sum.next, %read ]
  %from = getelementptr i32, ptr %scratch, i64 %r
  %value = load volatile i32, ptr %from, align 4
  %sum.next = add i32 %sum, %value
  %r.next = add i64 %r, 1
  %on = icmp ult i64 %r.next, 256
  br i1 %on, label %read, label %after
after:
  %address = getelementptr i32, ptr %data, i64 %i
  store i32 %sum.next, ptr %address, align 4
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %end
  br i1 %more, label %groups, label %done
done:
  ret void
}
attributes #0 = { nounwind }
)";

}  // namespace halyard::cpu::tests
