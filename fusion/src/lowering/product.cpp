#include "lowering/product.h"

#include <algorithm>

namespace halyard::fusion::lowering {

std::vector<std::int64_t> strides_by_axis(const TileProgram& tiles, const Binding& binding, TileId tile) {
  std::vector<std::int64_t> strides(tiles.axes.size(), 0);
  const TileValue& value = tiles.values[fusion::index(tile)];
  const AccessBinding& numbers = binding.accesses[fusion::index(tile)];
  for (std::size_t t = 0; t < value.access.terms.size(); ++t) {
    const IndexTerm& term = value.access.terms[t];
    if (!term.axis) continue;
    // A quasi-affine term moves by its stride once per divisor; a packed axis has its unit part in a wrapped
    // term.
    std::int64_t& stride = strides[fusion::index(*term.axis)];
    if (!term.divided || stride == 0)
      stride = term.divided ? numbers.strides[t] / std::max<std::int64_t>(numbers.divisors[t], 1)
                            : numbers.strides[t];
  }
  return strides;
}

ProductAxes product_axes(const TileProgram& tiles, TileId dot, bool exchange,
                         const std::vector<std::int64_t>& strides) {
  const TileValue& value = tiles.values[fusion::index(dot)];
  ProductAxes parts;
  parts.a = value.operands[exchange ? 1 : 0];
  parts.b = value.operands[exchange ? 0 : 1];
  parts.k = value.axes_list;
  AxisSet contracted;
  for (Axis axis : parts.k) contracted = contracted | AxisSet{axis};
  const AxisSet a = tiles.values[fusion::index(parts.a)].axes - contracted;
  const AxisSet b = tiles.values[fusion::index(parts.b)].axes - contracted;
  for (std::uint32_t i = 0; i < tiles.axes.size(); ++i) {
    const auto axis = static_cast<Axis>(i);
    if (a.contains(axis) && b.contains(axis))
      parts.batch.push_back(axis);
    else if (a.contains(axis))
      parts.m.push_back(axis);
    else if (b.contains(axis))
      parts.n.push_back(axis);
  }
  auto outer_first = [&](Axis x, Axis y) {
    return std::abs(strides[fusion::index(x)]) > std::abs(strides[fusion::index(y)]);
  };
  for (auto* part : {&parts.batch, &parts.m, &parts.n})
    std::stable_sort(part->begin(), part->end(), outer_first);
  return parts;
}

OperandFacts operand_facts(const TileProgram& tiles, const Binding& binding, TileId operand, Axis along) {
  OperandFacts facts;
  const TileValue* value = &tiles.values[fusion::index(operand)];
  if (value->op == TileOp::elementwise && value->primitive == ops::Primitive::cast) {
    operand = value->operands[0];
    value = &tiles.values[fusion::index(operand)];
  }
  if (value->op != TileOp::load) return facts;
  facts.is_load = value->operands.empty();
  facts.constant = tiles.operands[value->number].constant;
  const AccessBinding& numbers = binding.accesses[fusion::index(operand)];
  for (std::size_t t = 0; t < value->access.terms.size(); ++t) {
    const IndexTerm& term = value->access.terms[t];
    if (term.axis == along && !term.divided && numbers.strides[t] == 1) facts.contiguous = true;
  }
  return facts;
}

bool is_worth_transposing(const TileProgram& tiles, const Binding& binding, const ProductAxes& axes,
                          std::uint32_t lanes) {
  if (lanes < 2 || axes.k.size() != 1 || axes.n.empty() ||
      binding.extents[fusion::index(axes.k[0])] < std::int64_t{lanes})
    return false;
  return operand_facts(tiles, binding, axes.b, axes.k[0]).contiguous &&
         !operand_facts(tiles, binding, axes.b, axes.n.back()).contiguous;
}

ValueId multiply_add(Lowering& lowering, ValueId a, ValueId b, ValueId accumulated) {
  Builder& build = lowering.builder;
  if (is_float(build.type(accumulated).element) && lowering.numeric.fused_fma)
    return build.fma(a, b, accumulated);
  return build.add(accumulated, build.mul(a, b));
}

ValueId divide_up(Lowering& lowering, ValueId count, std::int64_t by) {
  if (by == 1) return count;
  return lowering.div(lowering.add(count, by - 1), lowering.literal(by));
}

}  // namespace halyard::fusion::lowering
