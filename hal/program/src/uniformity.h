#pragma once

#include <halyard/base/result.h>
#include <halyard/program/program.h>

namespace halyard::program {

/// Whether barriers and subgroup operations stand only where all lanes of their scope come together. For a
/// program that is well formed otherwise.
Status check_uniformity(const Program& program);

}  // namespace halyard::program
