#pragma once

#include <halyard/base/result.h>
#include <halyard/program/program.h>
#include <cstdint>

namespace halyard::program {

/// What a program may hold at most. Generous for generated kernels; they keep hostile input from costing more
/// than its reader can bear.
struct Limits {
  static constexpr std::uint32_t block_depth = 64;         ///< nested blocks
  static constexpr std::uint32_t instructions = 1u << 20;  ///< in all blocks together
  static constexpr std::uint32_t values = 1u << 20;
  static constexpr std::uint32_t vector_lanes = 1u << 15;  ///< of one value
  static constexpr std::uint32_t workgroup_lanes = 1024;   ///< product of the three sizes
  static constexpr std::uint32_t subgroup_lanes = 128;
  static constexpr std::uint32_t buffers = 64;  ///< HyKernelDesc names written ones by a bit each
  static constexpr std::uint32_t scalars = 4096;
  static constexpr std::uint32_t shared_arrays = 256;
  static constexpr std::uint64_t shared_bytes = 1u << 30;
  static constexpr std::uint32_t alignment = 4096;
};

/// Whether `program` keeps every rule of program.h: types, operand counts, dominance through nested blocks,
/// matching yields, memory objects and access modes, constant lanes in range, names, sizes, and, as far as it
/// can be decided, barriers and subgroup operations in uniform control flow only. A value counts as uniform
/// if it derives from nothing that differs between lanes; what is loaded at a uniform index counts as
/// uniform.
///
/// Fails with invalid_argument; the message quotes the instruction. Safe for hostile input: depth and counts
/// are bounded by `Limits`, nothing is indexed before it is checked. Thread-safe.
Status verify(const Program& program);

}  // namespace halyard::program
