#include <cmath>

#include "importer.h"

/// Activation functions, as the formulas of the operators' definitions.
namespace halyard::onnx {
namespace {

Term exp(const Term& x) {
  return x.unary(Primitive::exp);
}

/// alpha · (e^x − 1) below 0.
Results elu(ImportContext& c) {
  const Term x = c.term(0);
  HALYARD_ASSIGN(double alpha, c.attributes.number("alpha", 1));
  return one(select(x.binary(Primitive::lt, 0), (exp(x) - 1) * alpha, x));
}

/// alpha · elu(x / alpha).
Results celu(ImportContext& c) {
  const Term x = c.term(0);
  HALYARD_ASSIGN(double alpha, c.attributes.number("alpha", 1));
  const Term scaled = x / alpha;
  return one(select(scaled.binary(Primitive::lt, 0), exp(scaled) - 1, scaled) * alpha);
}

Results selu(ImportContext& c) {
  const Term x = c.term(0);
  HALYARD_ASSIGN(double alpha, c.attributes.number("alpha", 1.67326319217681884765625));
  HALYARD_ASSIGN(double gamma, c.attributes.number("gamma", 1.05070102214813232421875));
  return one(select(x.binary(Primitive::gt, 0), x, exp(x) * alpha - alpha) * gamma);
}

Results leaky_relu(ImportContext& c) {
  const Term x = c.term(0);
  HALYARD_ASSIGN(double alpha, c.attributes.number("alpha", 0.01));
  return one(select(x.binary(Primitive::lt, 0), x * alpha, x));
}

Results prelu(ImportContext& c) {
  const Term x = c.term(0);
  const Term sloped = x * c.term(1);
  return one(select(x.binary(Primitive::lt, 0), sloped, x));
}

Term hard_sigmoid_of(const Term& x, double alpha, double beta) {
  return (x * alpha + beta).binary(Primitive::min, 1).binary(Primitive::max, 0);
}

Results hard_sigmoid(ImportContext& c) {
  HALYARD_ASSIGN(double alpha, c.attributes.number("alpha", 0.2));
  HALYARD_ASSIGN(double beta, c.attributes.number("beta", 0.5));
  return one(hard_sigmoid_of(c.term(0), alpha, beta));
}

Results hard_swish(ImportContext& c) {
  return one(c.term(0) * hard_sigmoid_of(c.term(0), 1.0f / 6.0f, 0.5));
}

/// log(1 + e^x) without overflow.
Term softplus_of(const Term& x) {
  return x.binary(Primitive::max, 0) + exp(-x.unary(Primitive::abs)).unary(Primitive::log1p);
}

Results softplus(ImportContext& c) {
  return one(softplus_of(c.term(0)));
}

Results softsign(ImportContext& c) {
  return one(c.term(0) / (c.term(0).unary(Primitive::abs) + 1));
}

Results mish(ImportContext& c) {
  return one(c.term(0) * softplus_of(c.term(0)).unary(Primitive::tanh));
}

Results thresholded_relu(ImportContext& c) {
  HALYARD_ASSIGN(double alpha, c.attributes.number("alpha", 1));
  return one(select(c.term(0).binary(Primitive::gt, alpha), c.term(0), 0));
}

/// Toward 0 by `bias`, and to 0 where |x| ≤ lambd.
Results shrink(ImportContext& c) {
  const Term x = c.term(0);
  HALYARD_ASSIGN(double limit, c.attributes.number("lambd", 0.5));
  HALYARD_ASSIGN(double bias, c.attributes.number("bias", 0));
  const Term inner = select(x.binary(Primitive::gt, limit), x - bias, 0);
  return one(select(x.binary(Primitive::lt, -limit), x + bias, inner));
}

/// With t = x − 1, which loses nothing near 1: log1p(t + √(2t + t²)).
Results acosh(ImportContext& c) {
  const Term t = c.term(0) - 1;
  return one((t + (t * 2 + t * t).unary(Primitive::sqrt)).unary(Primitive::log1p));
}

/// ±log1p(|x| + x² / (1 + √(x² + 1))).
Results asinh(ImportContext& c) {
  const Term x = c.term(0), magnitude = x.unary(Primitive::abs), square = x * x;
  const Term root = (square + 1).unary(Primitive::sqrt) + 1;
  return one((magnitude + square / root).unary(Primitive::log1p) * x.unary(Primitive::sign));
}

/// log1p(2x / (1 − x)) / 2.
Results atanh(ImportContext& c) {
  const Term x = c.term(0);
  return one(((x * 2) / (-x + 1)).unary(Primitive::log1p) * 0.5);
}

}  // namespace

std::vector<OperatorRow> activation_operators() {
  return {
      {"Acosh", acosh},
      {"Asinh", asinh},
      {"Atanh", atanh},
      {"Celu", celu},
      {"Elu", elu},
      {"HardSigmoid", hard_sigmoid},
      {"HardSwish", hard_swish},
      {"LeakyRelu", leaky_relu},
      {"Mish", mish},
      {"PRelu", prelu, 2},
      {"Selu", selu},
      {"Shrink", shrink},
      {"Softplus", softplus},
      {"Softsign", softsign},
      {"ThresholdedRelu", thresholded_relu},
  };
}

}  // namespace halyard::onnx
