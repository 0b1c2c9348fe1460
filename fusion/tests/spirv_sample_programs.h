#pragma once

#include <halyard/program/program.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace halyard::fusion::testing {

/// A kernel with everything it takes to run it once.
struct Sample {
  program::Program program;
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::vector<std::vector<std::byte>> buffers;  ///< contents before; written ones are compared afterwards
  std::vector<std::byte> scalars;
  bool needs_f64 = false;
};

/// Hand-built kernels that between them use every operation, element type and form of access. Subgroup
/// kernels are built for `subgroup_size` lanes.
std::vector<Sample> sample_programs(std::uint32_t subgroup_size);

}  // namespace halyard::fusion::testing
