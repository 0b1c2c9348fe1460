#pragma once

#include <vector>

#include "lowering/lowering.h"

namespace halyard::fusion::lowering {

/// A running argmax or argmin: the best element so far and its linear index; the number `none` where there
/// was no element yet.
struct Argument {
  ValueId value;
  ValueId index;
};

/// The better of two by the rule of docs/numerics.md: the first NaN, else the greatest (least), else the
/// lower index. Associative and commutative, so any order gives the same.
Argument better(Lowering& lowering, Reduction reduction, Argument a, Argument b);

/// The start of a running argument, `lanes` wide.
Argument no_argument(Lowering& lowering, Reduction reduction, ElementType accumulator, std::uint16_t lanes);

/// As `Lowering::fold`, the index alone, as i64; 0 if there was no element.
ValueId fold_argument(Lowering& lowering, Reduction reduction, std::vector<Argument> vectors,
                      std::uint32_t team);

}  // namespace halyard::fusion::lowering
