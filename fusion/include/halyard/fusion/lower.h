#pragma once

#include <halyard/fusion/device_profile.h>
#include <halyard/fusion/tile_program.h>
#include <halyard/program/program.h>
#include <array>
#include <cstddef>
#include <vector>

namespace halyard::fusion {

/// How a tile program's structure can be carried out; found by `classify` from the program alone.
enum class Pattern : std::uint8_t {
  map,          ///< no reduction: every element on its own
  rows,         ///< reductions over the last logical axes, with anything before, between and after them
  columns,      ///< reductions that keep the last logical axis (or reduce over a strided one)
  contraction,  ///< a dot with element-wise prologues on its operands and an epilogue on its result
  attention,    ///< dot, row-wise normalization, dot, with the rows held on chip
};

/// How a tile program meets a device. A small value of its own: tuning searches over it, explain prints it.
/// Nothing in it can change a result's bits.
struct Schedule {
  Pattern pattern = Pattern::map;
  std::uint32_t vector = 1;      ///< elements per lane and access along the fastest axis
  std::uint32_t lanes = 1;       ///< lanes per workgroup (tasks: 1)
  std::uint32_t unroll = 1;      ///< vectors in flight per lane
  std::uint32_t block_rows = 1;  ///< rows (or elements outside the vectorized axis) per workgroup
  std::uint32_t tile_m = 1;      ///< contraction: register tile
  std::uint32_t tile_n = 1;
  std::uint32_t block_m = 1;  ///< contraction: tile of a workgroup
  std::uint32_t block_n = 1;
  /// contraction: tasks: steps of k unrolled; lanes: values of k that a lane loads of a row of its own in one
  /// access (1: of each row one, where operand a is not contiguous along k)
  std::uint32_t unroll_k = 1;
  bool stage_rows = false;  ///< rows: hold the row on chip between passes (else read it again)
  bool packed_b = false;    ///< contraction: operand b comes packed in slivers of tile_n

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

std::string to_text(const Schedule& schedule);

/// A kernel ready to be printed by an emitter and launched.
struct LoweredKernel {
  program::Program program;        ///< depends on the shape class only, not on the other numbers
  std::vector<std::byte> scalars;  ///< the scalar block for this binding
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  /// Which tile operand each buffer parameter is, in order.
  std::vector<std::uint32_t> buffers;
};

/// Which pattern carries out `program`, or `unsupported` with the reason in words a planner can pass on.
Result<Pattern> classify(const TileProgram& program);

/// The schedules worth trying for this program, sizes and device, best guess first; never empty if `classify`
/// succeeds and the device can run it at all.
Result<std::vector<Schedule>> candidate_schedules(const TileProgram& program, const Binding& binding,
                                                  const DeviceProfile& profile);

/// Makes the thread program. The result depends on the binding only through the *shape class*: extents up to
/// 32 are literals, strides 0 and 1, divisibility by the vector, 32- or 64-bit indexing, and the power-of-two
/// bucket of what is held on chip are compiled in; every other number is a scalar argument.
Result<LoweredKernel> lower(const TileProgram& program, const Binding& binding, const Schedule& schedule,
                            const DeviceProfile& profile);

}  // namespace halyard::fusion
