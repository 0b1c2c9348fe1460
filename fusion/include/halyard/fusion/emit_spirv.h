#pragma once

#include <halyard/base/result.h>
#include <halyard/fusion/legalize.h>
#include <halyard/hal/plugin.h>
#include <halyard/program/program.h>
#include <cstdint>
#include <vector>

namespace halyard::fusion {

/// How a kernel reaches its buffers; see halyard/hal/spirv_kernel_abi.h.
enum class SpirvBinding : std::uint32_t {
  descriptors = HY_BINDING_DEFAULT,
  device_addresses = HY_BINDING_DEVICE_ADDRESS,
};

/// What the emitter must know about the device and the kernel's interface.
struct SpirvOptions {
  SpirvBinding binding = SpirvBinding::descriptors;
  /// Push constant bytes; a larger scalar block is read from a storage buffer.
  std::uint32_t max_scalar_bytes = 128;
  DeviceFacts facts;
  /// Float controls that the device declares, per float type.
  ElementTypes keeps_subnormals = 0;
  ElementTypes rounds_to_even = 0;
  ElementTypes keeps_nan = 0;
  /// Whether vectors of 32-bit elements are read as half as many 64-bit ones: see the quirk
  /// `loads_cost_per_element`. Needs 64-bit integers.
  bool loads_in_pairs = false;
  /// Whether names and notes are kept for readers of a disassembly. They do not change what runs.
  bool names = true;
};

/// The options that fit a device, for descriptors.
SpirvOptions spirv_options(const HyDeviceInfo& info);

/// Writes a program as a SPIR-V 1.5 module with one GLCompute entry point named `program.name`.
///
/// Element types the device lacks are legalized first (see `legalize`), vectors are split into parts of at
/// most four lanes, masked accesses become selections, and loops and branches become structured control flow
/// with phis. Every floating-point operation is decorated NoContraction. The program must be valid
/// (`program::verify`). Fails with `unsupported` when the device lacks a type that cannot be legalized.
/// Thread-safe.
Result<std::vector<std::uint32_t>> emit_spirv(const program::Program& program, const SpirvOptions& options);

}  // namespace halyard::fusion
