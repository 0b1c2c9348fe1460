#include <halyard/ops/primitive.h>
#include <utility>

#include "lowering/lowering.h"

namespace halyard::fusion::lowering {

ops::Primitive primitive_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
      return ops::Primitive::reduce_sum;
    case Reduction::prod:
      return ops::Primitive::reduce_prod;
    case Reduction::max:
      return ops::Primitive::reduce_max;
    case Reduction::min:
      return ops::Primitive::reduce_min;
    case Reduction::any:
      return ops::Primitive::reduce_any;
    case Reduction::all:
      return ops::Primitive::reduce_all;
    case Reduction::argmax:
      return ops::Primitive::argmax;
    case Reduction::argmin:
      return ops::Primitive::argmin;
  }
  return ops::Primitive::reduce_sum;
}

ValueId Lowering::identity(Reduction reduction, ElementType accumulator, std::uint16_t lanes) {
  return builder.constant_bits({accumulator, lanes},
                               ops::reduction_identity(primitive_of(reduction), accumulator));
}

ValueId Lowering::combine(Reduction reduction, ValueId accumulated, ValueId element) {
  // Plain sums need no look into the table, and printed kernels stay legible.
  if (reduction == Reduction::sum) return builder.add(accumulated, element);
  return elementwise(*ops::row(primitive_of(reduction)).combiner, {accumulated, element},
                     builder.type(accumulated).element);
}

ValueId Lowering::from_zero(ValueId sum) {
  const program::Type type = builder.type(sum);
  if (!is_float(type.element) || profile.model == ExecutionModel::tasks) return sum;
  const ValueId zero = builder.constant(type, 0.0);
  return builder.select(builder.compare(program::Op::eq, sum, zero), zero, sum);
}

ValueId Lowering::fold(Reduction reduction, std::vector<ValueId> vectors, std::uint32_t team) {
  for (std::size_t half = vectors.size() / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) vectors[i] = combine(reduction, vectors[i], vectors[i + half]);
    vectors.resize(half);
  }
  ValueId folded = vectors[0];
  for (std::uint32_t step = team / 2; step > 0; step /= 2)
    folded = combine(reduction, folded, builder.shuffle_xor(folded, step));
  for (std::uint16_t half = builder.type(folded).lanes / 2; half > 0; half /= 2)
    folded = combine(reduction, builder.slice(folded, 0, half), builder.slice(folded, half, half));
  return folded;
}

}  // namespace halyard::fusion::lowering
