#include <fmt/format.h>
#include <halyard/ops/compositions.h>
#include <halyard/ops/indexing.h>

#include "importer.h"

/// Losses over classes: x [n, classes, d…], target [n, d…], perhaps a weight per class.
namespace halyard::onnx {
namespace {

/// −weight[target] · log_probability[target], reduced as the attributes say; targets to ignore count nothing.
Term negative_log_likelihood(ImportContext& c, const Term& log_probability, const std::string& reduction,
                             std::optional<std::int64_t> ignored) {
  const ElementType element = c.element(0);
  const Term target = c.term(1);
  const Term counts = ignored ? target.binary(Primitive::ne, static_cast<double>(*ignored))
                              : target.binary(Primitive::eq, target);
  const Term at = select(counts, target, 0);
  const Term picked =
      at.then([&](NodeId id) { return c.builder.unsqueeze(id, {1}); })
          .then([&](NodeId id) {
            return log_probability.then([&](NodeId x) { return ops::take_along(c.builder, x, id, 1); })
                .node();
          })
          .then([&](NodeId id) { return c.builder.squeeze(id, {1}); });
  const Term own = c.has(2) ? at.then([&](NodeId id) { return c.builder.take(*c.operands[2], id, 0); })
                            : counts.cast(element);
  const Term weight = select(counts, own, 0);
  Term losses = -select(counts, picked, 0) * weight;
  if (reduction == "none") return losses;
  const Term sum = losses.reduce(Primitive::reduce_sum, {}, false);
  return reduction == "sum" ? sum : sum / weight.reduce(Primitive::reduce_sum, {}, false);
}

Result<Term> loss(ImportContext& c, const Term& log_probability) {
  HALYARD_ASSIGN(std::string reduction, c.attributes.text("reduction", "mean"));
  HALYARD_ASSIGN(std::int64_t ignored, c.attributes.integer("ignore_index", 0));
  const bool ignores = c.attributes.has("ignore_index");
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    return fail(ErrorCode::corrupt_data, fmt::format("reduction '{}' is unknown", reduction));
  if (c.rank(0) < 2 || c.rank(1) + 1 != c.rank(0))
    return fail(ErrorCode::corrupt_data,
                fmt::format("target {} does not fit {}", c.shape(1).text(), c.shape(0).text()));
  return negative_log_likelihood(c, log_probability, reduction,
                                 ignores ? std::optional(ignored) : std::nullopt);
}

Results negative_log_likelihood_loss(ImportContext& c) {
  HALYARD_ASSIGN(Term result, loss(c, c.term(0)));
  return one(result);
}

Results softmax_cross_entropy_loss(ImportContext& c) {
  // With the classes as the last axis, as the operator's definition has it: that decides the order of the
  // sum.
  const auto last = static_cast<std::int64_t>(c.rank(0)) - 1;
  std::vector<std::int64_t> there{0}, back{0, last};
  for (std::int64_t axis = 2; axis <= last; ++axis) {
    there.push_back(axis);
    back.push_back(axis - 1);
  }
  there.push_back(1);
  if (last < 1) return fail(ErrorCode::corrupt_data, "the operand needs a batch and a class axis");
  const Term log_probability = c.term(0)
                                   .then([&](NodeId id) { return c.builder.permute(id, there); })
                                   .then([&](NodeId id) { return ops::log_softmax(c.builder, id, last); })
                                   .then([&](NodeId id) { return c.builder.permute(id, back); });
  HALYARD_ASSIGN(Term result, loss(c, log_probability));
  HALYARD_ASSIGN(NodeId id, result.node());
  HALYARD_ASSIGN(NodeId probability, log_probability.node());
  return std::vector{id, probability};
}

}  // namespace

std::vector<OperatorRow> loss_operators() {
  return {{"NegativeLogLikelihoodLoss", negative_log_likelihood_loss, 2},
          {"SoftmaxCrossEntropyLoss", softmax_cross_entropy_loss, 2}};
}

}  // namespace halyard::onnx
