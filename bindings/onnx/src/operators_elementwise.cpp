#include <fmt/format.h>
#include <halyard/ops/compositions.h>

#include <cmath>
#include <optional>

#include "importer.h"

namespace halyard::onnx {
namespace {

template <Primitive primitive>
Results unary(ImportContext& c) {
  return one(c.builder.unary(primitive, *c.operands[0]));
}

template <Primitive primitive>
Results binary(ImportContext& c) {
  return one(c.builder.binary(primitive, *c.operands[0], *c.operands[1]));
}

/// Sum, Max, Min take any number of operands and combine them from the left.
template <Primitive primitive>
Results variadic(ImportContext& c) {
  NodeId result = *c.operands[0];
  for (std::size_t i = 1; i < c.operands.size(); ++i) {
    HALYARD_ASSIGN(NodeId next, c.operand(i));
    HALYARD_ASSIGN(result, c.builder.binary(primitive, result, next));
  }
  return std::vector{result};
}

/// The product of `exponent` factors x by repeated squaring; integers wrap, so it is exact as any order is.
Result<NodeId> whole_power(ops::GraphBuilder& builder, NodeId x, std::uint32_t exponent) {
  if (exponent == 0) return builder.broadcast(builder.scalar(builder.element(x), 1), builder.shape(x));
  std::optional<NodeId> result;
  for (NodeId square = x;;) {
    if (exponent & 1) {
      HALYARD_ASSIGN(result, result ? builder.binary(Primitive::mul, *result, square) : square);
    }
    exponent >>= 1;
    if (exponent == 0) return *result;
    HALYARD_ASSIGN(square, builder.binary(Primitive::mul, square, square));
  }
}

/// Each element to its own exponent of at least 0, modulo 2^32: a square per binary digit.
Term integer_power(const ops::Term& base, const ops::Term& exponent) {
  constexpr int digits = 32;
  Term square = base, result = base * 0 + 1;
  for (int i = 0; i < digits; ++i) {
    const Term digit = exponent.binary(Primitive::shr, i).binary(Primitive::bit_and, 1);
    const Term more = result * square;
    result = select(digit.binary(Primitive::ne, 0), more, result);
    square = square * square;
  }
  return result;
}

/// A constant exponent of 2 is a product and 1/2 a square root: exact where `pow` is only close.
Results power(ImportContext& c) {
  NodeId x = *c.operands[0];
  NodeId exponent = *c.operands[1];
  const ElementType element = c.builder.element(x);
  const ops::Node& node = c.builder.node(exponent);
  if (node.value && node.value->count() == 1 && node.shape.rank() <= c.rank(0)) {
    const double value = node.value->at(0);
    if (value == 1) return std::vector{x};
    if (value == 2) return one(c.builder.binary(Primitive::mul, x, x));
    if (value == 0.5 && is_float(element)) return one(c.builder.unary(Primitive::sqrt, x));
    if (is_integer(element) && value >= 0 && value < 0x1p31 && value == std::trunc(value))
      return one(whole_power(c.builder, x, static_cast<std::uint32_t>(value)));
  }
  if (is_integer(element) && is_integer(c.element(1))) {
    for (std::int64_t i = 0; node.value && i < node.value->count(); ++i)
      if (node.value->at(i) < 0)
        return fail(ErrorCode::unsupported,
                    fmt::format("a base of {} takes exponents of at least 0; cast the base to f32 for others",
                                halyard::name(element)));
    return one(integer_power(c.term(0), c.term(1)));
  }
  if (is_integer(element)) {
    const Term wide = c.term(0).cast(c.element(1));
    return one(wide.binary(Primitive::pow, c.term(1)).cast(element));
  }
  HALYARD_ASSIGN(exponent, c.builder.cast(exponent, element));
  return one(c.builder.binary(Primitive::pow, x, exponent));
}

Results cast(ImportContext& c) {
  HALYARD_ASSIGN(std::int64_t to, c.attributes.integer("to", 0));
  HALYARD_ASSIGN(ElementType element, element_type(static_cast<std::int32_t>(to)));
  return one(c.builder.cast(*c.operands[0], element));
}

Results cast_like(ImportContext& c) {
  return one(c.builder.cast(*c.operands[0], c.element(1)));
}

Results mean(ImportContext& c) {
  HALYARD_ASSIGN(std::vector<NodeId> sum, variadic<Primitive::add>(c));
  return one(c.builder.binary(Primitive::div, sum[0], static_cast<double>(c.operands.size())));
}

/// With the sign of the divisor, or with `fmod` of the dividend.
Results mod(ImportContext& c) {
  HALYARD_ASSIGN(std::int64_t truncates, c.attributes.integer("fmod", 0));
  return one(c.builder.binary(truncates ? Primitive::rem : Primitive::mod, *c.operands[0], *c.operands[1]));
}

Results shift(ImportContext& c) {
  HALYARD_ASSIGN(std::string direction, c.attributes.text("direction", ""));
  if (direction != "LEFT" && direction != "RIGHT")
    return fail(ErrorCode::corrupt_data, fmt::format("direction '{}' is neither LEFT nor RIGHT", direction));
  return one(c.builder.binary(direction == "LEFT" ? Primitive::shl : Primitive::shr, *c.operands[0],
                              *c.operands[1]));
}

Results is_infinite(ImportContext& c) {
  HALYARD_ASSIGN(std::int64_t negative, c.attributes.integer("detect_negative", 1));
  HALYARD_ASSIGN(std::int64_t positive, c.attributes.integer("detect_positive", 1));
  const Term is_any = c.term(0).unary(Primitive::is_inf);
  if (negative && positive) return one(is_any);
  const Term sign = c.term(0).binary(negative ? Primitive::lt : Primitive::gt, 0);
  const Term neither = c.term(0).binary(Primitive::ne, c.term(0)).binary(Primitive::bit_and, sign);
  return one(negative || positive ? is_any.binary(Primitive::bit_and, sign) : neither);
}

Results where(ImportContext& c) {
  return one(c.builder.select(*c.operands[0], *c.operands[1], *c.operands[2]));
}

Results identity(ImportContext& c) {
  return std::vector{*c.operands[0]};
}

/// In inference, and with a ratio of 0, dropout passes its operand through, and the mask is true.
Results dropout(ImportContext& c) {
  HALYARD_ASSIGN(double training, c.known_number(2, 0));
  HALYARD_ASSIGN(double ratio, c.known_number(1, 0.5));
  if (training != 0 && ratio != 0)
    return fail(
        ErrorCode::unsupported,
        fmt::format("training_mode ('{}') is true: what is dropped is not defined; export the model for "
                    "inference",
                    c.node.input(2)));
  if (c.node.output_size() < 2) return std::vector{*c.operands[0]};
  const bool is_float = c.opset < 10;  // then the mask was of the operand's type
  HALYARD_ASSIGN(NodeId mask, c.builder.full(is_float ? c.element(0) : ElementType::boolean, c.shape(0), 1));
  return std::vector{*c.operands[0], mask};
}

Results clip(ImportContext& c) {
  NodeId x = *c.operands[0];
  const ElementType element = c.builder.element(x);
  auto bound = [&](std::size_t number, const char* attribute) -> Result<std::optional<NodeId>> {
    if (c.has(number)) return c.operands[number];
    if (!c.attributes.has(attribute)) return std::optional<NodeId>{};
    HALYARD_ASSIGN(double value, c.attributes.number(attribute, 0));
    return std::optional(c.builder.scalar(element, value));
  };
  HALYARD_ASSIGN(std::optional<NodeId> low, bound(1, "min"));
  HALYARD_ASSIGN(std::optional<NodeId> high, bound(2, "max"));
  if (low) {
    HALYARD_ASSIGN(x, c.builder.binary(Primitive::max, x, *low));
  }
  if (high) {
    HALYARD_ASSIGN(x, c.builder.binary(Primitive::min, x, *high));
  }
  return std::vector{x};
}

Results gelu(ImportContext& c) {
  HALYARD_ASSIGN(std::string approximate, c.attributes.text("approximate", "none"));
  return one(approximate == "tanh" ? ops::gelu_tanh(c.builder, *c.operands[0])
                                   : ops::gelu(c.builder, *c.operands[0]));
}

}  // namespace

std::vector<OperatorRow> elementwise_operators() {
  return {
      {"Abs", unary<Primitive::abs>},
      {"Acos", unary<Primitive::acos>},
      {"Add", binary<Primitive::add>, 2},
      {"And", binary<Primitive::bit_and>, 2},
      {"Asin", unary<Primitive::asin>},
      {"Atan", unary<Primitive::atan>},
      {"BitShift", shift, 2},
      {"BitwiseAnd", binary<Primitive::bit_and>, 2},
      {"BitwiseNot", unary<Primitive::bit_not>},
      {"BitwiseOr", binary<Primitive::bit_or>, 2},
      {"BitwiseXor", binary<Primitive::bit_xor>, 2},
      {"Cast", cast},
      {"CastLike", cast_like, 2},
      {"Ceil", unary<Primitive::ceil>},
      {"Clip", clip},
      {"Cos", unary<Primitive::cos>},
      {"Cosh", unary<Primitive::cosh>},
      {"Div", binary<Primitive::div>, 2},
      {"Dropout", dropout},
      {"Equal", binary<Primitive::eq>, 2},
      {"Erf", unary<Primitive::erf>},
      {"Exp", unary<Primitive::exp>},
      {"Floor", unary<Primitive::floor>},
      {"Gelu", gelu},
      {"Greater", binary<Primitive::gt>, 2},
      {"GreaterOrEqual", binary<Primitive::ge>, 2},
      {"Identity", identity},
      {"IsInf", is_infinite},
      {"IsNaN", unary<Primitive::is_nan>},
      {"Less", binary<Primitive::lt>, 2},
      {"LessOrEqual", binary<Primitive::le>, 2},
      {"Log", unary<Primitive::log>},
      {"Max", variadic<Primitive::max>},
      {"Mean", mean},
      {"Min", variadic<Primitive::min>},
      {"Mod", mod, 2},
      {"Mul", binary<Primitive::mul>, 2},
      {"Neg", unary<Primitive::neg>},
      {"Not", unary<Primitive::logical_not>},
      {"Or", binary<Primitive::bit_or>, 2},
      {"Pow", power, 2},
      {"Reciprocal", unary<Primitive::reciprocal>},
      {"Relu", unary<Primitive::relu>},
      {"Round", unary<Primitive::round>},
      {"Sigmoid", unary<Primitive::sigmoid>},
      {"Sign", unary<Primitive::sign>},
      {"Sin", unary<Primitive::sin>},
      {"Sinh", unary<Primitive::sinh>},
      {"Sqrt", unary<Primitive::sqrt>},
      {"Sub", binary<Primitive::sub>, 2},
      {"Sum", variadic<Primitive::add>},
      {"Tan", unary<Primitive::tan>},
      {"Tanh", unary<Primitive::tanh>},
      {"Where", where, 3},
      {"Xor", binary<Primitive::bit_xor>, 2},
  };
}

}  // namespace halyard::onnx
