#include <halyard/ops/compositions.h>

#include "importer.h"

/// Linear quantization: x ≈ (q − zero point) · scale.
namespace halyard::onnx {
namespace {

/// A scale or zero point over axis `axis` of a tensor of that rank (a scalar stays one).
Result<Term> along_axis(ImportContext& c, std::size_t number, std::int64_t axis, std::size_t rank) {
  if (c.shape(number).count() == 1)
    return c.term(number).then([&](NodeId id) { return c.builder.reshape(id, {}); });
  HALYARD_ASSIGN(axis, ops::normalize_axis(axis, rank));
  std::vector<std::int64_t> shape(rank, 1);
  shape[static_cast<std::size_t>(axis)] = -1;
  return c.term(number).then([&](NodeId id) { return c.builder.reshape(id, shape); });
}

/// round(x / scale) + zero point, saturated.
Term quantized(const Term& x, const Term& scale, const Term& zero_point, ElementType element) {
  return ((x / scale).unary(Primitive::round) + zero_point).cast(element);
}

Results quantize(ImportContext& c) {
  HALYARD_ASSIGN(std::int64_t axis, c.attributes.integer("axis", 1));
  HALYARD_ASSIGN(Term scale, along_axis(c, 1, axis, c.rank(0)));
  const Term x = c.term(0).cast(ElementType::f32);
  if (!c.has(2)) return one(((x / scale).unary(Primitive::round)).cast(ElementType::u8));
  HALYARD_ASSIGN(Term zero, along_axis(c, 2, axis, c.rank(0)));
  return one(quantized(x, scale, zero.cast(ElementType::f32), c.element(2)));
}

Results dequantize(ImportContext& c) {
  HALYARD_ASSIGN(std::int64_t axis, c.attributes.integer("axis", 1));
  HALYARD_ASSIGN(Term scale, along_axis(c, 1, axis, c.rank(0)));
  Term x = c.term(0).cast(ElementType::i32);
  if (c.has(2)) {
    HALYARD_ASSIGN(Term zero, along_axis(c, 2, axis, c.rank(0)));
    x = x - zero.cast(ElementType::i32);
  }
  return one(x.cast(c.element(1)) * scale);
}

/// To u8, with the scale that the operand's range (0 included) fits.
Results quantize_dynamically(ImportContext& c) {
  const Term x = c.term(0);
  const Term least = x.reduce(Primitive::reduce_min, {}, false).binary(Primitive::min, 0);
  const Term greatest = x.reduce(Primitive::reduce_max, {}, false).binary(Primitive::max, 0);
  const Term scale = (greatest - least) / 255;
  const Term zero =
      (-(least / scale)).binary(Primitive::max, 0).binary(Primitive::min, 255).unary(Primitive::round);
  HALYARD_ASSIGN(NodeId y, quantized(x, scale, zero, ElementType::u8).node());
  HALYARD_ASSIGN(NodeId scale_id, scale.node());
  HALYARD_ASSIGN(NodeId zero_id, zero.cast(ElementType::u8).node());
  return std::vector{y, scale_id, zero_id};
}

/// i32, less the zero point (of rows of the left operand or columns of the right one, if it is a vector).
Result<Term> centred(ImportContext& c, std::size_t number, std::size_t zero_point, std::int64_t axis) {
  Term x = c.term(number).cast(ElementType::i32);
  if (!c.has(zero_point)) return x;
  HALYARD_ASSIGN(Term zero, along_axis(c, zero_point, axis, c.rank(number)));
  return x - zero.cast(ElementType::i32);
}

Result<Term> integer_product(ImportContext& c, const Term& a, const Term& b) {
  HALYARD_ASSIGN(NodeId right, b.node());
  return a.then([&](NodeId left) { return c.builder.matmul(left, right); });
}

Results product_of_integers(ImportContext& c) {
  HALYARD_ASSIGN(Term a, centred(c, 0, 2, -2));
  HALYARD_ASSIGN(Term b, centred(c, 1, 3, -1));
  HALYARD_ASSIGN(Term product, integer_product(c, a, b));
  return one(product);
}

/// a, its scale and zero point; b's; the result's.
Results quantized_product(ImportContext& c) {
  HALYARD_ASSIGN(Term a, centred(c, 0, 2, -2));
  HALYARD_ASSIGN(Term b, centred(c, 3, 5, -1));
  HALYARD_ASSIGN(Term product, integer_product(c, a, b));
  HALYARD_ASSIGN(Term scale_a, along_axis(c, 1, -2, c.rank(0)));
  HALYARD_ASSIGN(Term scale_b, along_axis(c, 4, -1, c.rank(3)));
  HALYARD_ASSIGN(Term scale_y, along_axis(c, 6, -1, c.rank(0)));
  HALYARD_ASSIGN(Term zero_y, along_axis(c, 7, -1, c.rank(0)));
  const Term scaled = product.cast(ElementType::f32) * (scale_a * scale_b / scale_y);
  return one((scaled.unary(Primitive::round) + zero_y.cast(ElementType::f32)).cast(c.element(7)));
}

}  // namespace

std::vector<OperatorRow> quantization_operators() {
  return {
      {"DequantizeLinear", dequantize, 2},       {"DynamicQuantizeLinear", quantize_dynamically},
      {"MatMulInteger", product_of_integers, 2}, {"QLinearMatMul", quantized_product, 8},
      {"QuantizeLinear", quantize, 2},
  };
}

}  // namespace halyard::onnx
