// Opens Halyard on a Vulkan instance, device, queue and buffers that this program made itself, runs a kernel
// on its buffers, and goes on using its queue. Nothing of Vulkan belongs to Halyard here: it waits for its
// own work when it is closed, and destroys nothing.
#include <halyard/fusion/emit_spirv.h>
#include <halyard/hal/device.h>
#include <halyard/hal/registry.h>
#include <halyard/program/builder.h>
#include <cstdio>
#include <cstring>
#include "host_vulkan.h"

namespace {

using namespace halyard;

constexpr std::uint32_t count = 1024;
constexpr std::uint32_t lanes = 32;

/// y = y + a * x, one element per lane.
program::Program axpy() {
  using program::Access;
  program::Builder b("axpy");
  b.program().workgroup_size[0] = lanes;
  program::MemoryRef x = b.buffer("x", ElementType::f32, Access::read);
  program::MemoryRef y = b.buffer("y", ElementType::f32, Access::read_write);
  program::ValueId a = b.parameter("a", ElementType::f32);
  program::ValueId first = b.mul(b.builtin(program::Builtin::workgroup_x), b.i32(lanes));
  program::ValueId i = b.add(first, b.builtin(program::Builtin::lane));
  b.store(y, i, b.add(b.load(y, i), b.mul(a, b.load(x, i))));
  return std::move(b).finish();
}

Result<hal::Kernel> load_axpy(hal::Device& device) {
  program::Program program = axpy();
  HyDeviceInfo info{};
  info.size = sizeof info;
  if (device.backend().device_info(device.handle(), &info, nullptr) != HY_OK)
    return fail(ErrorCode::internal, "the device tells nothing of itself");
  HALYARD_ASSIGN(auto words, fusion::emit_spirv(program, fusion::spirv_options(info)));
  hal::ModuleDesc desc{.format = "spirv", .label = program.name};
  desc.bytes.resize(words.size() * sizeof(std::uint32_t));
  std::memcpy(desc.bytes.data(), words.data(), desc.bytes.size());
  desc.kernels.push_back({.entry = program.name,
                          .workgroup_size = {lanes, 1, 1},
                          .buffer_count = 2,
                          .scalar_bytes = 8,
                          .read_buffers = 0b11,
                          .written_buffers = 0b10});
  HALYARD_ASSIGN(auto module, device.load_module(desc));
  return hal::Kernel(module, 0);
}

Result<std::shared_ptr<hal::Buffer>> borrow(hal::Device& device, VkBuffer buffer) {
  HyHandle handle{};
  handle.size = sizeof handle;
  handle.kind = HY_HANDLE_VENDOR_OBJECT;
  handle.value = reinterpret_cast<std::uint64_t>(buffer);
  handle.bytes = count * sizeof(float);
  return device.import_memory(handle);
}

Status run(HostVulkan& host, VkBuffer x, VkBuffer y) {
  HyForeignContext context{};
  context.size = sizeof context;
  context.kind = HY_FOREIGN_VULKAN;
  context.context = host.device;
  context.instance = host.instance;
  context.physical_device = host.physical;
  context.queue_family = host.family;
  context.api_version = VK_API_VERSION_1_2;
  context.features = &host.features;
  // No pool and no probe: Halyard is to touch nothing but what it is given.
  hal::DeviceOptions options{.foreign = &context, .probe = false, .pool = false};
  HALYARD_ASSIGN(auto device, hal::Registry::shared().open("vulkan", options));

  hal::QueueDesc queue_desc;
  queue_desc.foreign_queue = host.queue;
  queue_desc.foreign_queue_family = host.family;
  queue_desc.lock = [](void* mutex) { static_cast<std::mutex*>(mutex)->lock(); };
  queue_desc.unlock = [](void* mutex) { static_cast<std::mutex*>(mutex)->unlock(); };
  queue_desc.user_data = &host.queue_mutex;
  HALYARD_ASSIGN(auto queue, device->create_queue(queue_desc));

  HALYARD_ASSIGN(auto kernel, load_axpy(*device));
  HALYARD_ASSIGN(auto x_buffer, borrow(*device, x));
  HALYARD_ASSIGN(auto y_buffer, borrow(*device, y));
  hal::Dispatch dispatch{.kernel = kernel, .grid = {count / lanes, 1, 1}};
  dispatch.buffers = {hal::BufferSlice(x_buffer), hal::BufferSlice(y_buffer)};
  dispatch.scalars = hal::ScalarBlock().add(2.0f).bytes();
  HALYARD_ASSIGN(auto done, queue->submit(hal::Command(dispatch)));
  std::printf("Halyard runs on the host's own %s\n", device->info().name.c_str());
  return done.wait();
}

}  // namespace

int main() {
  HostVulkan host;
  std::string why;
  if (!host.start(why)) {
    std::printf("skipped: %s\n", why.c_str());
    return 0;
  }
  HostVulkan::MappedBuffer x = host.make_buffer(count * sizeof(float));
  HostVulkan::MappedBuffer y = host.make_buffer(count * sizeof(float));
  HostVulkan::MappedBuffer z = host.make_buffer(count * sizeof(float));
  for (std::uint32_t i = 0; i < count; ++i) {
    x.values[i] = static_cast<float>(i);
    y.values[i] = 1.0f;
  }
  halyard::Status ran = run(host, x.buffer, y.buffer);
  if (!ran) std::fprintf(stderr, "embed: %s\n", ran.error().message.c_str());

  host.copy(y.buffer, z.buffer, count * sizeof(float));  // the host's own work, on the same queue
  bool right = ran.has_value();
  for (std::uint32_t i = 0; i < count; ++i)
    right = right && z.values[i] == 2.0f * static_cast<float>(i) + 1.0f;
  std::printf("%s\n",
              right ? "the host copied Halyard's results on its own queue: all right" : "wrong results");
  for (const auto& buffer : {x, y, z}) host.destroy(buffer);
  return right ? 0 : 1;
}
