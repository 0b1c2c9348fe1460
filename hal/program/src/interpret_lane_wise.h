#pragma once

#include <halyard/program/program.h>
#include <cstddef>

namespace halyard::program {

/// One operation over `count` elements that lie one after another. Arrays do not overlap; booleans are bytes
/// 0 or 1, f16 and bf16 are their bits. Integer divisions that are undefined give 0.
using LaneWise = void (*)(std::byte* result, const std::byte* a, const std::byte* b, const std::byte* c,
                          std::size_t count);

/// For lane-wise operations, comparisons (`element` is the operands') and select. nullptr if the operation
/// does not take this element.
LaneWise find_lane_wise(Op op, ElementType element);

/// Conversion between any two element types.
LaneWise find_cast(ElementType from, ElementType to);

/// The first element in [0, count) at which `div` or `rem` is undefined, or `count`.
std::size_t find_undefined_division(ElementType element, const std::byte* dividend, const std::byte* divisor,
                                    std::size_t count);

}  // namespace halyard::program
