#pragma once

#include <halyard/program/program.h>
#include <vector>

namespace halyard::fusion {

/// Per value: whether it is used to name elements of memory, and for nothing that would notice wrapping.
std::vector<bool> index_arithmetic(const program::Program& program);

}  // namespace halyard::fusion
