#pragma once

#include <halyard/base/result.h>
#include <halyard/hal/cpu_kernel_abi.h>
#include <halyard/hal/plugin.h>
#include <atomic>
#include <cstddef>
#include <deque>
#include <string>
#include <vector>
#include "object_loader.h"

namespace halyard::cpu {

struct Kernel {
  HyCpuKernel function = nullptr;
  std::string entry;
  std::uint32_t buffer_count = 0;
  std::uint32_t scalar_bytes = 0;
  std::uint64_t scratch_bytes = 0;
  /// A running estimate of one workgroup's time on one thread, 0 until known. It decides how many threads a
  /// dispatch wakes, and so never what it computes.
  mutable std::atomic<float> workgroup_ns{0};
};

HyStatus module_create(HyDevice* device, const HyModuleDesc* desc, HyModule** module, HyError* error);
void module_destroy(HyModule* module);
HyStatus module_get_native(HyModule* module, const char** format, const void** bytes, std::size_t* byte_count,
                           HyError* error);

}  // namespace halyard::cpu

/// Loaded code. Immutable.
struct HyModule {
  std::vector<std::byte> object_bytes;
  halyard::cpu::LoadedObject object;
  std::deque<halyard::cpu::Kernel> kernels;  // by number; a deque, for kernels do not move
};
