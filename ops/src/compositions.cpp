#include <fmt/format.h>
#include <halyard/ops/compositions.h>
#include <halyard/ops/term.h>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

namespace halyard::ops {
namespace {

/// Runs `formula` on x widened to f32 if it is a 16-bit float, and rounds the result back.
template <class Formula>
Result<NodeId> in_accumulator(GraphBuilder& builder, NodeId x, const Formula& formula) {
  ElementType entry = builder.element(x);
  return formula(Term(builder, x).cast(accumulator(entry))).cast(entry).node();
}

Term widened(GraphBuilder& builder, NodeId x) {
  return Term(builder, x).cast(accumulator(builder.element(x)));
}

Status require_float(std::string_view operation, const GraphBuilder& builder, NodeId x) {
  ElementType element = builder.element(x);
  if (is_float(element)) return {};
  return fail(ErrorCode::unsupported,
              fmt::format("{}: takes floats, not {}: cast first", operation, name(element)));
}

std::int64_t count_over(const Shape& shape, const std::vector<std::int64_t>& axes) {
  if (axes.empty()) return shape.count();
  std::int64_t count = 1;
  for (std::int64_t axis : axes) count *= shape[static_cast<std::size_t>(axis)];
  return count;
}

std::vector<std::int64_t> all_axes(std::size_t rank) {
  std::vector<std::int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Term mean_of(const Term& x, const std::vector<std::int64_t>& axes, double count, bool keep_dims = true) {
  return x.reduce(Primitive::reduce_sum, axes, keep_dims) / count;
}

}  // namespace

Result<NodeId> mean(GraphBuilder& builder, NodeId x, std::vector<std::int64_t> axes, bool keep_dims) {
  HALYARD_TRY(require_float("mean", builder, x));
  HALYARD_ASSIGN(axes, normalize_axes(axes, builder.shape(x).rank()));
  auto count = static_cast<double>(count_over(builder.shape(x), axes));
  return in_accumulator(builder, x, [&](const Term& wide) { return mean_of(wide, axes, count, keep_dims); });
}

Result<NodeId> variance(GraphBuilder& builder, NodeId x, std::vector<std::int64_t> axes, bool keep_dims,
                        double correction) {
  HALYARD_TRY(require_float("variance", builder, x));
  HALYARD_ASSIGN(axes, normalize_axes(axes, builder.shape(x).rank()));
  auto count = static_cast<double>(count_over(builder.shape(x), axes));
  return in_accumulator(builder, x, [&](const Term& wide) {
    Term centred = wide - mean_of(wide, axes, count);
    return mean_of(centred * centred, axes, count - correction, keep_dims);
  });
}

Result<NodeId> softmax(GraphBuilder& builder, NodeId x, std::int64_t axis) {
  HALYARD_TRY(require_float("softmax", builder, x));
  HALYARD_ASSIGN(axis, normalize_axis(axis, builder.shape(x).rank()));
  return in_accumulator(builder, x, [&](const Term& wide) {
    Term exponentials = (wide - wide.reduce(Primitive::reduce_max, {axis})).unary(Primitive::exp);
    return exponentials / exponentials.reduce(Primitive::reduce_sum, {axis});
  });
}

Result<NodeId> log_softmax(GraphBuilder& builder, NodeId x, std::int64_t axis) {
  HALYARD_TRY(require_float("log_softmax", builder, x));
  HALYARD_ASSIGN(axis, normalize_axis(axis, builder.shape(x).rank()));
  return in_accumulator(builder, x, [&](const Term& wide) {
    Term shifted = wide - wide.reduce(Primitive::reduce_max, {axis});
    Term total = shifted.unary(Primitive::exp).reduce(Primitive::reduce_sum, {axis});
    return shifted - total.unary(Primitive::log);
  });
}

Result<NodeId> layer_norm(GraphBuilder& builder, NodeId x, std::optional<NodeId> scale,
                          std::optional<NodeId> bias, double epsilon, int axes) {
  HALYARD_TRY(require_float("layer_norm", builder, x));
  const Shape& shape = builder.shape(x);
  if (axes < 1 || static_cast<std::size_t>(axes) > shape.rank())
    return fail(ErrorCode::invalid_argument,
                fmt::format("layer_norm: {} has no {} last axes to normalize", shape.text(), axes));
  std::vector<std::int64_t> last(static_cast<std::size_t>(axes));
  std::iota(last.begin(), last.end(), static_cast<std::int64_t>(shape.rank()) - axes);
  auto count = static_cast<double>(count_over(shape, last));
  return in_accumulator(builder, x, [&](const Term& wide) {
    Term centred = wide - mean_of(wide, last, count);
    Term deviation = (mean_of(centred * centred, last, count) + epsilon).unary(Primitive::sqrt);
    Term result = centred / deviation;
    if (scale) result = result * widened(builder, *scale);
    if (bias) result = result + widened(builder, *bias);
    return result;
  });
}

Result<NodeId> rms_norm(GraphBuilder& builder, NodeId x, std::optional<NodeId> scale, double epsilon) {
  HALYARD_TRY(require_float("rms_norm", builder, x));
  HALYARD_ASSIGN(std::int64_t axis, normalize_axis(-1, builder.shape(x).rank()));
  auto count = static_cast<double>(count_over(builder.shape(x), {axis}));
  return in_accumulator(builder, x, [&](const Term& wide) {
    Term result = wide / (mean_of(wide * wide, {axis}, count) + epsilon).unary(Primitive::sqrt);
    return scale ? result * widened(builder, *scale) : result;
  });
}

Result<NodeId> l2_normalize(GraphBuilder& builder, NodeId x, std::int64_t axis, double epsilon) {
  HALYARD_TRY(require_float("l2_normalize", builder, x));
  HALYARD_ASSIGN(axis, normalize_axis(axis, builder.shape(x).rank()));
  return in_accumulator(builder, x, [&](const Term& wide) {
    Term length = (wide * wide).reduce(Primitive::reduce_sum, {axis}).unary(Primitive::sqrt);
    return wide / length.binary(Primitive::max, epsilon);
  });
}

Result<NodeId> gelu(GraphBuilder& builder, NodeId x) {
  HALYARD_TRY(require_float("gelu", builder, x));
  return in_accumulator(builder, x, [&](const Term& wide) {
    return (wide * 0.5) * ((wide * (1 / std::numbers::sqrt2)).unary(Primitive::erf) + 1);
  });
}

Result<NodeId> gelu_tanh(GraphBuilder& builder, NodeId x) {
  HALYARD_TRY(require_float("gelu_tanh", builder, x));
  double factor = std::sqrt(2 / std::numbers::pi);
  return in_accumulator(builder, x, [&](const Term& wide) {
    Term inner = (wide + (wide * wide * wide) * 0.044715) * factor;
    return (wide * 0.5) * (inner.unary(Primitive::tanh) + 1);
  });
}

Result<NodeId> silu(GraphBuilder& builder, NodeId x) {
  HALYARD_TRY(require_float("silu", builder, x));
  return in_accumulator(builder, x, [&](const Term& wide) { return wide * wide.unary(Primitive::sigmoid); });
}

Result<NodeId> embedding(GraphBuilder& builder, NodeId table, NodeId indices) {
  if (builder.shape(table).rank() != 2)
    return fail(ErrorCode::invalid_argument,
                fmt::format("embedding: the table is {}, not [rows, width]", builder.shape(table).text()));
  return builder.take(table, indices, 0);
}

Result<NodeId> linear(GraphBuilder& builder, NodeId x, NodeId weight, std::optional<NodeId> bias) {
  std::size_t rank = builder.shape(x).rank();
  if (rank == 0 || builder.shape(weight).rank() != 2)
    return fail(ErrorCode::invalid_argument,
                fmt::format("linear: x is {} and the weight {}, not [..., in] and [out, in]",
                            builder.shape(x).text(), builder.shape(weight).text()));
  Term result(builder, builder.dot_general(x, weight, {{static_cast<std::int64_t>(rank) - 1}, {1}, {}, {}}));
  if (bias) result = result + Term(builder, *bias);
  return result.node();
}

namespace {

/// Heads of the query for each head of keys and values: 1 where they have as many, or where theirs broadcast.
std::int64_t heads_per_group(const Shape& query, const Shape& key) {
  if (query.rank() < 3 || key.rank() != query.rank()) return 1;
  const std::int64_t heads = query[query.rank() - 3], groups = key[key.rank() - 3];
  return groups > 1 && heads > groups && heads % groups == 0 ? heads / groups : 1;
}

/// [..., h, q, d] as [..., h / g, g, q, d].
Result<NodeId> split_heads(GraphBuilder& builder, NodeId x, std::int64_t group) {
  std::vector<std::int64_t> extents = builder.shape(x).vector();
  const auto heads = extents.end() - 3;
  *heads /= group;
  extents.insert(heads + 1, group);
  return builder.reshape(x, extents);
}

/// The scores of keys behind each query's place become −inf.
Term causal_scores(const Term& scores, std::int64_t queries, std::int64_t keys) {
  return scores.then([&](NodeId id) -> Result<NodeId> {
    GraphBuilder& builder = scores.builder();
    HALYARD_ASSIGN(NodeId seen, lower_triangle(builder, queries, keys, keys - queries));
    return builder.select(seen, id,
                          builder.scalar(builder.element(id), -std::numeric_limits<double>::infinity()));
  });
}

}  // namespace

Result<NodeId> attention(GraphBuilder& builder, NodeId query, NodeId key, NodeId value,
                         const AttentionOptions& options) {
  HALYARD_TRY(require_float("attention", builder, query));
  const Shape of_query = builder.shape(query), of_key = builder.shape(key);
  const std::size_t rank = of_query.rank();
  if (rank < 2 || of_key.rank() < 2 || builder.shape(value).rank() < 2)
    return fail(ErrorCode::invalid_argument,
                fmt::format("attention: query {}, key {} and value {} need two axes or more", of_query.text(),
                            of_key.text(), builder.shape(value).text()));
  if (const std::int64_t group = heads_per_group(of_query, of_key); group > 1) {
    HALYARD_ASSIGN(query, split_heads(builder, query, group));
    HALYARD_ASSIGN(key, split_heads(builder, key, 1));
    HALYARD_ASSIGN(value, split_heads(builder, value, 1));
    AttentionOptions split = options;
    if (options.mask && builder.shape(*options.mask).rank() >= 3) {
      const Shape& mask = builder.shape(*options.mask);
      HALYARD_ASSIGN(split.mask, split_heads(builder, *options.mask, mask[mask.rank() - 3] == 1 ? 1 : group));
    }
    HALYARD_ASSIGN(NodeId result, attention(builder, query, key, value, split));
    std::vector<std::int64_t> extents = of_query.vector();
    extents.back() = builder.shape(result).vector().back();
    return builder.reshape(result, extents);
  }
  const double factor = options.scale.value_or(1 / std::sqrt(static_cast<double>(of_query[rank - 1])));
  HALYARD_ASSIGN(NodeId keys, builder.transpose(key, -2, -1));
  Term scores(builder, builder.matmul(query, keys));
  scores = scores.cast(accumulator(builder.element(query))) * factor;
  if (options.mask) scores = scores + widened(builder, *options.mask);
  if (options.causal) scores = causal_scores(scores, of_query[rank - 2], of_key[of_key.rank() - 2]);
  Term weights =
      scores.then([&](NodeId id) { return softmax(builder, id, -1); }).cast(builder.element(query));
  return weights.then([&](NodeId id) { return builder.matmul(id, value); }).node();
}

Result<NodeId> masked_mean(GraphBuilder& builder, NodeId x, NodeId mask) {
  HALYARD_TRY(require_float("masked_mean", builder, x));
  if (builder.shape(x).rank() != 3 || builder.shape(mask).rank() != 2)
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("masked_mean: x is {} and the mask {}, not [batch, tokens, width] and [batch, tokens]",
                    builder.shape(x).text(), builder.shape(mask).text()));
  return in_accumulator(builder, x, [&](const Term& wide) {
    ElementType element = accumulator(builder.element(x));
    Term flags(builder, builder.unsqueeze(mask, {2}));
    Term weights = flags.cast(ElementType::boolean).cast(element);
    Term total = (wide * weights).reduce(Primitive::reduce_sum, {1}, false);
    Term count = weights.reduce(Primitive::reduce_sum, {1}, false);
    return total / count.binary(Primitive::max, 1e-9);
  });
}

namespace {

/// The two words of each element's random bits, as u32 tensors.
struct RandomWords {
  Term low, high;
};
Result<RandomWords> random_words(GraphBuilder& builder, NodeId key, const Shape& shape) {
  if (builder.element(key) != ElementType::u64 || builder.shape(key).rank() != 0)
    return fail(ErrorCode::invalid_argument,
                fmt::format("random: the key is {}, not a u64 scalar", builder.node(key).type().text()));
  HALYARD_ASSIGN(NodeId counter, builder.iota(ElementType::u64, Shape{shape.count()}, 0));
  HALYARD_ASSIGN(counter, builder.reshape(counter, shape.vector()));
  const Term bits(builder, builder.binary(Primitive::philox, counter, key));
  return RandomWords{bits.cast(ElementType::u32), bits.binary(Primitive::shr, 32).cast(ElementType::u32)};
}

/// The upper 24 bits of a word, which f32 holds exactly; `offset` is added before the scaling.
Term fraction(const Term& word, double offset) {
  return (word.binary(Primitive::shr, 8).cast(ElementType::f32) + offset) * 0x1p-24;
}

}  // namespace

Result<NodeId> random_uniform(GraphBuilder& builder, NodeId key, const Shape& shape) {
  HALYARD_ASSIGN(RandomWords words, random_words(builder, key, shape));
  return fraction(words.low, 0).node();
}

Result<NodeId> random_normal(GraphBuilder& builder, NodeId key, const Shape& shape) {
  HALYARD_ASSIGN(RandomWords words, random_words(builder, key, shape));
  Term radius = (fraction(words.low, 1).unary(Primitive::log) * -2.0).unary(Primitive::sqrt);
  Term angle = fraction(words.high, 0) * (2 * std::numbers::pi);
  return (radius * angle.unary(Primitive::cos)).node();
}

Result<NodeId> random_bernoulli(GraphBuilder& builder, NodeId key, const Shape& shape, double probability) {
  HALYARD_ASSIGN(RandomWords words, random_words(builder, key, shape));
  return fraction(words.low, 0).binary(Primitive::lt, probability).node();
}

Result<NodeId> logsumexp(GraphBuilder& builder, NodeId x, std::vector<std::int64_t> axes, bool keep_dims) {
  HALYARD_TRY(require_float("logsumexp", builder, x));
  HALYARD_ASSIGN(axes, normalize_axes(axes, builder.shape(x).rank()));
  return in_accumulator(builder, x, [&](const Term& wide) {
    // An infinite greatest element is not subtracted: −inf − −inf would be NaN.
    Term shift = wide.reduce(Primitive::reduce_max, axes).then([&](NodeId greatest) -> Result<NodeId> {
      HALYARD_ASSIGN(NodeId finite, builder.unary(Primitive::is_finite, greatest));
      return builder.select(finite, greatest, builder.scalar(builder.element(greatest), 0));
    });
    Term total = (wide - shift).unary(Primitive::exp).reduce(Primitive::reduce_sum, axes);
    Term result = shift + total.unary(Primitive::log);
    const std::vector<std::int64_t> dropped = axes.empty() ? all_axes(builder.shape(x).rank()) : axes;
    return keep_dims ? result : result.then([&](NodeId id) { return builder.squeeze(id, dropped); });
  });
}

Result<NodeId> norm(GraphBuilder& builder, NodeId x, std::vector<std::int64_t> axes, bool keep_dims) {
  HALYARD_TRY(require_float("norm", builder, x));
  HALYARD_ASSIGN(axes, normalize_axes(axes, builder.shape(x).rank()));
  return in_accumulator(builder, x, [&](const Term& wide) {
    return (wide * wide).reduce(Primitive::reduce_sum, axes, keep_dims).unary(Primitive::sqrt);
  });
}

Result<NodeId> one_hot(GraphBuilder& builder, NodeId indices, std::int64_t count, ElementType element) {
  std::vector<std::int64_t> shape = builder.shape(indices).vector();
  shape.push_back(count);
  HALYARD_ASSIGN(NodeId positions, builder.iota(builder.element(indices), Shape(shape),
                                                static_cast<std::int64_t>(shape.size()) - 1));
  HALYARD_ASSIGN(NodeId wanted, builder.unsqueeze(indices, {-1}));
  return Term(builder, builder.binary(Primitive::eq, wanted, positions)).cast(element).node();
}

Result<NodeId> lower_triangle(GraphBuilder& builder, std::int64_t rows, std::int64_t columns,
                              std::int64_t diagonal) {
  const Shape shape{rows, columns};
  HALYARD_ASSIGN(NodeId row, builder.iota(ElementType::i64, shape, 0));
  HALYARD_ASSIGN(NodeId column, builder.iota(ElementType::i64, shape, 1));
  HALYARD_ASSIGN(NodeId last, builder.binary(Primitive::add, row, static_cast<double>(diagonal)));
  return builder.binary(Primitive::le, column, last);
}

}  // namespace halyard::ops
