#pragma once

#include <halyard/fusion/executable.h>

#include <string>
#include <vector>

#include "encoder.h"

/// Whether a sentence's embedding has the same bits alone and in a batch of 32 that is padded alike. Prints a
/// line.
halyard::Result<bool> check_batch_invariance(const Encoder& encoder, halyard::fusion::Compiler& compiler,
                                             const std::vector<std::string>& sentences);

/// Encodes inputs of 20 different lengths and counts kernels: launches of one shape class share one, so that
/// a second round over 20 lengths between the first ones compiles (next to) none. Prints what was compiled.
halyard::Result<bool> check_kernels_over_lengths(const Encoder& encoder, halyard::fusion::Compiler& compiler);
