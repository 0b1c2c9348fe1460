#pragma once

#include <halyard/fusion/device_profile.h>
#include <halyard/hal/device_info.h>
#include <halyard/hal/module.h>
#include <halyard/program/program.h>
#include <string>
#include <vector>

namespace halyard::fusion {

/// A thread program printed for a device: what `hal::Device::load_module` takes, and as text for readers
/// (empty for binary formats).
struct KernelSource {
  hal::ModuleDesc module;
  std::string text;
};

/// Whether an emitter here writes this module format (HyDeviceInfo's names: "llvm-ir", "spirv", …).
bool has_emitter(std::string_view format);

struct PrintOptions {
  /// Conversions to f16 are the device's own even where it is not known that they round: for the probe that
  /// asks.
  bool trust_f16 = false;
  bool for_readers = false;  ///< binary formats keep names and notes
};

/// Prints `program` in `format` for the device that `info` describes. Errors are the emitter's, and
/// `unsupported` for a format that no emitter writes. Thread-safe.
Result<KernelSource> print_kernel(const program::Program& program, std::string_view format,
                                  const hal::DeviceInfo& info, const PrintOptions& options = {});

}  // namespace halyard::fusion
