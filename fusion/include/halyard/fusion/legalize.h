#pragma once

#include <halyard/base/element_type.h>
#include <halyard/base/result.h>
#include <halyard/program/program.h>
#include <cstdint>

namespace halyard::fusion {

/// A set of element types: bit `1u << ElementType`, as in the C ABI's `HyElementTypes`.
using ElementTypes = std::uint32_t;
constexpr ElementTypes element_bit(ElementType type) {
  return ElementTypes{1} << static_cast<unsigned>(type);
}
constexpr bool contains(ElementTypes set, ElementType type) {
  return (set & element_bit(type)) != 0;
}

/// What of a device decides how element types are represented in generated code.
struct DeviceFacts {
  /// May be loaded from and stored to buffers. i32, u32, f32 always; of the 8- and 16-bit types only `u8` and
  /// `u16` are asked about, since the others travel as those.
  ElementTypes storage_types = 0;
  /// May be computed in: asked for i64/u64, f64 and f16.
  ElementTypes arithmetic_types = 0;
  /// Conversions between f16 and f32 round to nearest even and are never elided, so that f16 may stay a type
  /// of its own. False by default: Mesa removes `float(float16_t(x))` even where marked precise.
  bool trusted_f16 = false;
  /// f32 division and square root round correctly. Where a probe finds that they do not (Vulkan allows 2.5
  /// ULP), they are mended by an exact remainder in integers.
  bool exact_division = true;
  bool exact_sqrt = true;
  /// fma rounds once, in f32 and in f64. Where it does not, it is computed in integers.
  bool fused_fma = true;
  bool fused_fma_f64 = true;
};

/// Rewrites a program so that it computes only in bool, i32, u32, f32 and those of i64, u64, f64, f16 that
/// the device has; results keep their bits.
///
/// - 8- and 16-bit values live in 32-bit ones: integers sign- or zero-extended, f16 and bf16 as their bits.
///   Arithmetic on f16 and bf16 goes through f32 and is rounded once; conversions round in integer
///   arithmetic.
/// - Buffers of bool, i8 become u8; of i16, f16, bf16 become u16; such elements are only loaded, stored and
///   cast from and to u32, which the emitter does through 32-bit words where a device lacks the storage
///   types.
/// - i64 and u64 without Int64 become pairs of u32; their buffers become u32 with twice the elements, and
///   memory indices are narrowed to i32.
/// - Shared arrays of narrow types take one 32-bit word per element.
/// - f32 division and square root, and fma of f32 and f64, are made exact where the device's are not.
/// - The scalar block keeps its layout; where a member has no 32- or 64-bit type of its own the block is read
///   as u32 words.
///
/// A program that needs nothing of this comes back as it is. Fails with `unsupported` for f64 on a device
/// without it, and for an fma of f64 where it would round twice and there are no 64-bit integers.
/// Thread-safe.
Result<program::Program> legalize(const program::Program& program, const DeviceFacts& facts);

}  // namespace halyard::fusion
