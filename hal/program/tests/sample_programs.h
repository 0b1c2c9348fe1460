#pragma once

#include <halyard/program/builder.h>
#include <vector>

/// Small programs that between them use every operation, type and form of control flow.
namespace halyard::program::samples {

/// y[i] = a * x[i] + y[i] for i < n: 64 lanes a workgroup, an element each.
Program scaled_sum();

/// One row of `columns` per workgroup of 128 lanes: y = x - (sum of the row), through shared memory, subgroup
/// shuffles and barriers.
Program subtract_row_sum();

/// The cpu form: one lane, vectors of 8 with a masked tail, nested control flow, carried values that swap.
Program vector_chain();

/// One lane; every lane-wise operation on vectors of `lanes` of `element`: x, y, z -> one output each.
Program every_operation(ElementType element, std::uint16_t lanes);

std::vector<Program> all();

}  // namespace halyard::program::samples
