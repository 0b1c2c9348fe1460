#include <fmt/format.h>
#include <halyard/ops/compositions.h>

#include <numeric>

#include "importer.h"

/// Normalizations and the pooling of whole planes.
namespace halyard::onnx {
namespace {

Axes axes_from(std::size_t first, std::size_t rank) {
  Axes axes(rank > first ? rank - first : 0);
  std::iota(axes.begin(), axes.end(), static_cast<std::int64_t>(first));
  return axes;
}

Status require_planes(const ImportContext& c) {
  if (c.rank(0) >= 3) return {};
  return fail(ErrorCode::corrupt_data, "the operand needs batch, channel and spatial axes");
}

Term mean_of(const Term& x, const Axes& axes) {
  return x.then([&](NodeId id) { return ops::mean(x.builder(), id, axes, true); });
}

/// A vector over axis 1 of a tensor of that rank.
Term along_channels(const Term& vector, std::size_t rank) {
  return vector.then([&](NodeId id) { return vector.builder().unsqueeze(id, axes_from(1, rank - 1)); });
}

Results layer_normalization(ImportContext& c) {
  HALYARD_ASSIGN(std::int64_t axis, c.attributes.integer("axis", -1));
  HALYARD_ASSIGN(axis, ops::normalize_axis(axis, c.rank(0)));
  HALYARD_ASSIGN(double epsilon, c.attributes.number("epsilon", 1e-5));
  std::optional<NodeId> bias;
  if (c.has(2)) bias = c.operands[2];
  HALYARD_ASSIGN(NodeId y, ops::layer_norm(c.builder, *c.operands[0], c.operands[1], bias, epsilon,
                                           static_cast<int>(c.rank(0)) - static_cast<int>(axis)));
  if (c.node.output_size() == 1) return std::vector{y};
  const Axes axes = axes_from(static_cast<std::size_t>(axis), c.rank(0));
  const Term x = c.term(0).cast(ops::accumulator(c.element(0))), mean = mean_of(x, axes);
  const Term centred = x - mean;
  const Term deviation = (mean_of(centred * centred, axes) + epsilon).unary(Primitive::sqrt);
  HALYARD_ASSIGN(NodeId mean_id, mean.node());
  HALYARD_ASSIGN(NodeId inverse, deviation.unary(Primitive::reciprocal).node());
  return std::vector{y, mean_id, inverse};
}

Term normalized(const Term& x, const Term& mean, const Term& variance, double epsilon, const Term& scale,
                const Term& bias) {
  return (x - mean) / (variance + epsilon).unary(Primitive::sqrt) * scale + bias;
}

/// For inference, or with the batch's own statistics (training_mode), of which running ones are kept.
Results batch_normalization(ImportContext& c) {
  HALYARD_ASSIGN(double epsilon, c.attributes.number("epsilon", 1e-5));
  HALYARD_ASSIGN(double momentum, c.attributes.number("momentum", 0.9));
  HALYARD_ASSIGN(std::int64_t training, c.attributes.integer("training_mode", 0));
  if (c.rank(0) < 2) return fail(ErrorCode::corrupt_data, "the operand needs a batch and a channel axis");
  const std::size_t rank = c.rank(0);
  const Term x = c.term(0), scale = along_channels(c.term(1), rank), bias = along_channels(c.term(2), rank);
  if (!training)
    return one(normalized(x, along_channels(c.term(3), rank), along_channels(c.term(4), rank), epsilon, scale,
                          bias));
  Axes axes = axes_from(2, rank);
  axes.insert(axes.begin(), 0);
  const Term mean = mean_of(x, axes), centred = x - mean, variance = mean_of(centred * centred, axes);
  const auto kept = [&](const Term& running, const Term& current) {
    const Term flat = current.then([&](NodeId id) { return c.builder.reshape(id, {c.shape(0)[1]}); });
    return running * momentum + flat * (1 - momentum);
  };
  HALYARD_ASSIGN(NodeId y, normalized(x, mean, variance, epsilon, scale, bias).node());
  HALYARD_ASSIGN(NodeId running_mean, kept(c.term(3), mean).node());
  HALYARD_ASSIGN(NodeId running_variance, kept(c.term(4), variance).node());
  return std::vector{y, running_mean, running_variance};
}

Results instance_normalization(ImportContext& c) {
  HALYARD_ASSIGN(double epsilon, c.attributes.number("epsilon", 1e-5));
  HALYARD_TRY(require_planes(c));
  const std::size_t rank = c.rank(0);
  const Term x = c.term(0), mean = mean_of(x, axes_from(2, rank)), centred = x - mean;
  const Term variance = mean_of(centred * centred, axes_from(2, rank));
  return one(normalized(x, mean, variance, epsilon, along_channels(c.term(1), rank),
                        along_channels(c.term(2), rank)));
}

/// As the operator's definition computes it: the variance is E[x²] − E[x]².
Results mean_variance_normalization(ImportContext& c) {
  HALYARD_ASSIGN(Axes axes, c.attributes.integers("axes", {0, 2, 3}));
  const Term x = c.term(0), mean = mean_of(x, axes);
  const Term deviation = (mean_of(x * x, axes) - mean * mean).unary(Primitive::sqrt);
  return one((x - mean) / (deviation + 1e-9));
}

/// Over `size` neighbouring channels.
Results local_response_normalization(ImportContext& c) {
  HALYARD_ASSIGN(std::int64_t size, c.attributes.integer("size", 0));
  HALYARD_ASSIGN(double alpha, c.attributes.number("alpha", 1e-4));
  HALYARD_ASSIGN(double beta, c.attributes.number("beta", 0.75));
  HALYARD_ASSIGN(double bias, c.attributes.number("bias", 1));
  if (size < 1 || c.rank(0) < 2)
    return fail(ErrorCode::corrupt_data, fmt::format("size {} is no number of channels", size));
  const auto rank = static_cast<std::int64_t>(c.rank(0));
  Axes before(c.rank(0), 0), after = before;
  before[1] = (size - 1) / 2;
  after[1] = size - 1 - before[1];
  const Term squares = c.term(0) * c.term(0);
  const Term sums = squares.then([&](NodeId id) { return c.builder.pad(id, before, after, 0); })
                        .then([&](NodeId id) { return c.builder.windows(id, {1}, {size}); })
                        .reduce(Primitive::reduce_sum, {rank}, false);
  const Term divisor = sums * (alpha / static_cast<double>(size)) + bias;
  return one(c.term(0) / divisor.binary(Primitive::pow, beta));
}

Results global_average_pool(ImportContext& c) {
  HALYARD_TRY(require_planes(c));
  return one(mean_of(c.term(0), axes_from(2, c.rank(0))));
}

Results global_max_pool(ImportContext& c) {
  HALYARD_TRY(require_planes(c));
  return one(c.term(0).reduce(Primitive::reduce_max, axes_from(2, c.rank(0))));
}

}  // namespace

std::vector<OperatorRow> normalization_operators() {
  return {
      {"BatchNormalization", batch_normalization, 5},
      {"GlobalAveragePool", global_average_pool},
      {"GlobalMaxPool", global_max_pool},
      {"InstanceNormalization", instance_normalization, 3},
      {"LRN", local_response_normalization},
      {"LayerNormalization", layer_normalization, 2},
      {"MeanVarianceNormalization", mean_variance_normalization},
  };
}

}  // namespace halyard::onnx
