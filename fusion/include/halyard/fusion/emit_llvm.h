#pragma once

#include <halyard/base/result.h>
#include <halyard/program/program.h>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace halyard::fusion {

/// What printed code may rely on. The defaults are baseline x86-64, on which every program but those with an
/// f64 `fma` or a rounding instruction can be printed.
struct LlvmOptions {
  /// Bytes of the widest vector register; LLVM is asked to use that width.
  std::uint32_t vector_register_bytes = 16;
  /// `fma` on f32 and f64 is one instruction. Without it f32 is computed exactly in f64 with round-to-odd
  /// (about ten times slower), and f64 is an error.
  bool has_fma = false;
  /// f16 <-> f32 conversion is one instruction (x86: F16C). Without it conversions use integers.
  bool has_half_conversion = false;
  /// floor, ceil, trunc and round_even are instructions (x86: SSE4.1). Without it they are an error, for LLVM
  /// would call the C library.
  bool has_rounding = false;
};

/// The options for a device with these `DeviceInfo::isa_features` and `vector_register_bytes`.
LlvmOptions llvm_options(std::span<const std::string> isa_features, std::uint32_t vector_register_bytes);

/// Prints a one-lane program (workgroup size 1 x 1 x 1, as the cpu's schedules make) as LLVM IR text: the
/// "llvm-ir" module format of cpu_kernel_abi.h, one function named `program.name`, for LLVM 19 or later.
///
/// A subgroup is one lane, so shuffles and broadcasts among lanes are identities and barriers nothing. Shared
/// arrays lie in the task's scratch (`program::shared_bytes`). The text calls nothing outside itself but
/// LLVM's intrinsics that become instructions, and carries no fast-math flag.
///
/// Expects a program that the verifier accepts. Errors: `unsupported` for a larger workgroup or an operation
/// that the options rule out, `invalid_argument` for what the verifier should have refused. Thread-safe.
Result<std::string> emit_llvm(const program::Program& program, const LlvmOptions& options);

}  // namespace halyard::fusion
