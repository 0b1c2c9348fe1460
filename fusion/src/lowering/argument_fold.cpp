#include "lowering/argument_fold.h"

#include <halyard/ops/primitive.h>
#include <limits>
#include <utility>

namespace halyard::fusion::lowering {

using program::Op;

namespace {

/// Stands for "no element": greater than every index.
ValueId none(Lowering& lowering, std::uint16_t lanes) {
  std::int64_t greatest = lowering.index_type() == ElementType::i32
                              ? std::numeric_limits<std::int32_t>::max()
                              : std::numeric_limits<std::int64_t>::max();
  return lowering.widen(lowering.literal(greatest), lanes);
}

}  // namespace

Argument no_argument(Lowering& lowering, Reduction reduction, ElementType accumulator, std::uint16_t lanes) {
  Reduction like = reduction == Reduction::argmax ? Reduction::max : Reduction::min;
  return {lowering.identity(like, accumulator, lanes), none(lowering, lanes)};
}

Argument better(Lowering& lowering, Reduction reduction, Argument a, Argument b) {
  Builder& builder = lowering.builder;
  Op beats = reduction == Reduction::argmax ? Op::gt : Op::lt;
  ValueId wins = builder.compare(beats, b.value, a.value);
  ValueId ties = builder.compare(Op::eq, b.value, a.value);
  if (is_float(builder.type(a.value).element)) {
    ValueId a_is_nan = builder.compare(Op::ne, a.value, a.value);
    ValueId b_is_nan = builder.compare(Op::ne, b.value, b.value);
    ValueId first_nan = builder.binary(Op::bit_and, b_is_nan, builder.unary(Op::bit_not, a_is_nan));
    wins = builder.binary(Op::bit_or, wins, first_nan);
    ties = builder.binary(Op::bit_or, ties, builder.binary(Op::bit_and, a_is_nan, b_is_nan));
  }
  ValueId earlier = builder.compare(Op::lt, b.index, a.index);
  ValueId take = builder.binary(Op::bit_or, wins, builder.binary(Op::bit_and, ties, earlier));
  return {builder.select(take, b.value, a.value), builder.select(take, b.index, a.index)};
}

ValueId fold_argument(Lowering& lowering, Reduction reduction, std::vector<Argument> vectors,
                      std::uint32_t team) {
  Builder& builder = lowering.builder;
  for (std::size_t half = vectors.size() / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i)
      vectors[i] = better(lowering, reduction, vectors[i], vectors[i + half]);
    vectors.resize(half);
  }
  Argument folded = vectors[0];
  for (std::uint32_t step = team / 2; step > 0; step /= 2)
    folded = better(lowering, reduction, folded,
                    {builder.shuffle_xor(folded.value, step), builder.shuffle_xor(folded.index, step)});
  for (std::uint16_t half = builder.type(folded.value).lanes / 2; half > 0; half /= 2) {
    Argument low{builder.slice(folded.value, 0, half), builder.slice(folded.index, 0, half)};
    Argument high{builder.slice(folded.value, half, half), builder.slice(folded.index, half, half)};
    folded = better(lowering, reduction, low, high);
  }
  ValueId empty = builder.compare(Op::eq, folded.index, none(lowering, 1));
  return builder.cast(ElementType::i64, builder.select(empty, lowering.literal(0), folded.index));
}

}  // namespace halyard::fusion::lowering
