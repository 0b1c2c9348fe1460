#include <fmt/format.h>

#include "importer.h"

/// Steps of optimizers (ai.onnx.preview.training, version 1): operands are the rate R, the count of updates
/// T, and groups of tensors, each as many as are trained: X, gradients, then what the optimizer remembers.
namespace halyard::onnx {
namespace {

constexpr std::string_view domain = "ai.onnx.preview.training";

/// The tensors of one update, and what all updates share.
struct Update {
  ImportContext& c;
  std::size_t number, trained;

  Term rate() const { return c.term(0); }
  /// Whether this is no first update, for which T is 0.
  Term is_later() const { return c.term(1).binary(Primitive::gt, 0); }
  Term group(std::size_t i) const { return c.term(2 + i * trained + number); }
  Term x() const { return group(0); }
  /// The gradient with that of norm_coefficient / 2 · |x|².
  Result<Term> gradient() const {
    HALYARD_ASSIGN(double norm, c.attributes.number("norm_coefficient", 0));
    return x() * norm + group(1);
  }
  /// T in the tensors' type.
  Term count() const { return c.term(1).cast(c.element(2)); }
};

using Step = Result<std::vector<Term>> (*)(const Update&);

/// `step` for every trained tensor; the results group by group.
Results updates(ImportContext& c, std::size_t groups, Step step) {
  if ((c.operands.size() - 2) % groups != 0)
    return fail(ErrorCode::corrupt_data,
                fmt::format("{} operands after R and T, not {} per tensor", c.operands.size() - 2, groups));
  const std::size_t trained = (c.operands.size() - 2) / groups;
  std::vector<std::vector<NodeId>> results;  // [trained][group]
  for (std::size_t i = 0; i < trained; ++i) {
    HALYARD_ASSIGN(std::vector<Term> made, step({c, i, trained}));
    results.emplace_back();
    for (const Term& term : made) {
      HALYARD_ASSIGN(NodeId id, term.node());
      results.back().push_back(id);
    }
  }
  std::vector<NodeId> all;
  for (std::size_t group = 0; group + 1 < groups; ++group)
    for (const auto& own : results) all.push_back(own[group]);
  return all;
}

/// X −= R / (1 + T·decay) · G / (√H + ε) with H += G².
Result<std::vector<Term>> adagrad_step(const Update& u) {
  HALYARD_ASSIGN(double decay, u.c.attributes.number("decay_factor", 0));
  HALYARD_ASSIGN(double epsilon, u.c.attributes.number("epsilon", 1e-6));
  HALYARD_ASSIGN(Term g, u.gradient());
  const Term h = u.group(2) + g * g;
  const Term rate = u.rate() / (u.count() * decay + 1);
  return std::vector{u.x() - rate * g / (h.unary(Primitive::sqrt) + epsilon), h};
}

/// V = αV + (1 − α)G, H = βH + (1 − β)G², X −= R' V / (√H + ε), where R' = R √(1 − β^T) / (1 − α^T) for T >
/// 0.
Result<std::vector<Term>> adam_step(const Update& u) {
  HALYARD_ASSIGN(double alpha, u.c.attributes.number("alpha", 0.9));
  HALYARD_ASSIGN(double beta, u.c.attributes.number("beta", 0.999));
  HALYARD_ASSIGN(double epsilon, u.c.attributes.number("epsilon", 1e-6));
  HALYARD_ASSIGN(double norm_post, u.c.attributes.number("norm_coefficient_post", 0));
  HALYARD_ASSIGN(Term g, u.gradient());
  const Term v = u.group(2) * alpha + g * (1 - alpha);
  const Term h = u.group(3) * beta + g * g * (1 - beta);
  const auto remaining = [&](double base) {
    const Term power(u.c.builder, u.c.builder.scalar(u.c.element(2), base));
    return -power.binary(Primitive::pow, u.count()) + 1;
  };
  const Term corrected = u.rate() * remaining(beta).unary(Primitive::sqrt) / remaining(alpha);
  const Term rate = select(u.is_later(), corrected, u.rate());
  const Term x = u.x() - rate * (v / (h.unary(Primitive::sqrt) + epsilon));
  return std::vector{norm_post == 0 ? x : x * (1 - norm_post), v, h};
}

/// V = αV + β'G with β' = 1 in the first update; X −= R·V, or R·(G + αV) in Nesterov's form.
Result<std::vector<Term>> momentum_step(const Update& u) {
  HALYARD_ASSIGN(double alpha, u.c.attributes.number("alpha", 0));
  HALYARD_ASSIGN(double beta, u.c.attributes.number("beta", 0));
  HALYARD_ASSIGN(std::string mode, u.c.attributes.text("mode", "standard"));
  if (mode != "standard" && mode != "nesterov")
    return fail(ErrorCode::corrupt_data, fmt::format("mode '{}' is unknown", mode));
  HALYARD_ASSIGN(Term g, u.gradient());
  const Term v = u.group(2) * alpha + select(u.is_later(), g * beta, g);
  return std::vector{u.x() - u.rate() * (mode == "standard" ? v : g + v * alpha), v};
}

Results adagrad(ImportContext& c) {
  return updates(c, 3, adagrad_step);
}
Results adam(ImportContext& c) {
  return updates(c, 4, adam_step);
}
Results momentum(ImportContext& c) {
  return updates(c, 3, momentum_step);
}

}  // namespace

std::vector<OperatorRow> training_operators() {
  return {{"Adagrad", adagrad, 5, domain}, {"Adam", adam, 6, domain}, {"Momentum", momentum, 5, domain}};
}

}  // namespace halyard::onnx
