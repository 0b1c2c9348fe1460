#pragma once

#include <halyard/ops/primitive.h>

namespace halyard::fusion {

/// Slots of a lane that one element of an elementwise primitive takes, counted off its expansion in the
/// table. Any thread.
double element_slots(ops::Primitive primitive, ElementType operand, ElementType result);

}  // namespace halyard::fusion
