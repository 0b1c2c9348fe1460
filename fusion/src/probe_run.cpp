#include "probe_run.h"

#include <halyard/fusion/device_profile.h>
#include <halyard/fusion/kernel_source.h>

namespace halyard::fusion {

Status run_probe(const std::shared_ptr<hal::Device>& device, const program::Program& program,
                 std::span<const std::byte> input, std::span<std::byte> output, std::int32_t count,
                 bool trust_f16) {
  std::string format = make_profile(device->info()).module_format;
  HALYARD_ASSIGN(KernelSource source,
                 print_kernel(program, format, device->info(), {.trust_f16 = trust_f16}));
  HALYARD_ASSIGN(auto module, device->load_module(source.module));
  HALYARD_ASSIGN(auto queue, device->default_queue());
  HALYARD_ASSIGN(auto given, device->allocate(hal::BufferDesc{.bytes = input.size()}));
  HALYARD_ASSIGN(auto made, device->allocate(hal::BufferDesc{.bytes = output.size()}));
  auto uploaded = queue->upload(input, hal::BufferSlice(given));
  if (!uploaded) return tl::unexpected<Error>(uploaded.error());
  hal::Dispatch dispatch{.kernel = hal::Kernel(module, 0),
                         .buffers = {hal::BufferSlice(given), hal::BufferSlice(made)},
                         .scalars = hal::ScalarBlock().add(count).bytes()};
  HALYARD_ASSIGN(hal::SyncPoint done, queue->submit(hal::Command(std::move(dispatch))));
  HALYARD_TRY(done.wait(std::chrono::seconds(30)));
  return queue->download(hal::BufferSlice(made), output);
}

}  // namespace halyard::fusion
