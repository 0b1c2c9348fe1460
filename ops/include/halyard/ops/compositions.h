#pragma once

#include <halyard/ops/graph_builder.h>
#include <optional>
#include <vector>

/// Operations that are no primitives: graphs of primitives, made fast by fusion. On f16 and bf16 they cast to
/// f32 on entry and back on exit (products keep their 16-bit operands and round once).
namespace halyard::ops {

/// The sum divided by the number of elements; all axes if `axes` is empty. The mean of nothing is NaN.
Result<NodeId> mean(GraphBuilder&, NodeId x, std::vector<std::int64_t> axes, bool keep_dims = false);
/// The mean of squared differences from the mean (two passes, no Welford); divided by count − `correction`.
Result<NodeId> variance(GraphBuilder&, NodeId x, std::vector<std::int64_t> axes, bool keep_dims = false,
                        double correction = 0);
/// exp(x − max) / sum(exp(x − max)) along `axis`. A row of −inf alone is NaN.
Result<NodeId> softmax(GraphBuilder&, NodeId x, std::int64_t axis = -1);
/// x − max − log(sum(exp(x − max))) along `axis`.
Result<NodeId> log_softmax(GraphBuilder&, NodeId x, std::int64_t axis = -1);
/// (x − mean) / sqrt(variance + epsilon) over the last `axes` axes, times scale, plus bias (each optional, of
/// the normalized axes' shape or broadcastable to x).
Result<NodeId> layer_norm(GraphBuilder&, NodeId x, std::optional<NodeId> scale, std::optional<NodeId> bias,
                          double epsilon = 1e-5, int axes = 1);
/// x / sqrt(mean(x²) + epsilon) over the last axis, times scale.
Result<NodeId> rms_norm(GraphBuilder&, NodeId x, std::optional<NodeId> scale, double epsilon = 1e-6);
/// x / max(sqrt(sum(x²)), epsilon) over `axis`.
Result<NodeId> l2_normalize(GraphBuilder&, NodeId x, std::int64_t axis = -1, double epsilon = 1e-12);
/// x/2 · (1 + erf(x / √2)).
Result<NodeId> gelu(GraphBuilder&, NodeId x);
/// x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))).
Result<NodeId> gelu_tanh(GraphBuilder&, NodeId x);
/// x · sigmoid(x).
Result<NodeId> silu(GraphBuilder&, NodeId x);
/// Rows of `table` [rows, width] for integer `indices` [...]: [..., width].
Result<NodeId> embedding(GraphBuilder&, NodeId table, NodeId indices);
/// x [..., in] times `weight` [out, in] transposed (PyTorch's layout), plus `bias` [out]: [..., out].
Result<NodeId> linear(GraphBuilder&, NodeId x, NodeId weight, std::optional<NodeId> bias = std::nullopt);
struct AttentionOptions {
  std::optional<NodeId> mask;   ///< added to the scores, broadcast to [..., q, k]
  std::optional<double> scale;  ///< 1/√d if absent
  /// Each query sees the keys up to its own place; the last of q queries is at the last of k keys.
  bool causal = false;
};
/// softmax(query · keyᵀ · scale + mask) · value. query [..., q, d], key [..., k, d], value [..., k, e].
/// Grouped heads: [..., h, q, d] over keys and values with h / g heads, each for g heads of the query.
Result<NodeId> attention(GraphBuilder&, NodeId query, NodeId key, NodeId value,
                         const AttentionOptions& options = {});
/// Mean over `axis` 1 of x [batch, tokens, width] where mask [batch, tokens] is not 0; the divisor is at
/// least 1e-9.
Result<NodeId> masked_mean(GraphBuilder&, NodeId x, NodeId mask);

// ---- random numbers: element i of the result (row-major) is made of the `philox` of counter i and of `key`,
// a u64 scalar: the same on every device, fused or not.
/// Uniform in [0, 1): multiples of 2^-24, as f32.
Result<NodeId> random_uniform(GraphBuilder&, NodeId key, const Shape& shape);
/// Of mean 0 and deviation 1, as f32: √(−2 log u) · cos(2π v), u in (0, 1] and v in [0, 1) (Box and Muller,
/// 1958).
Result<NodeId> random_normal(GraphBuilder&, NodeId key, const Shape& shape);
/// True with a probability, which is rounded up to a multiple of 2^-24.
Result<NodeId> random_bernoulli(GraphBuilder&, NodeId key, const Shape& shape, double probability);

/// log(sum(exp(x))) over `axes` (all if none), without overflow; −inf for −inf alone.
Result<NodeId> logsumexp(GraphBuilder&, NodeId x, std::vector<std::int64_t> axes, bool keep_dims = false);
/// √(sum(x²)) over `axes` (all if none).
Result<NodeId> norm(GraphBuilder&, NodeId x, std::vector<std::int64_t> axes, bool keep_dims = false);
/// 1 at the index along a new last axis of extent `count`, 0 elsewhere and for indices outside [0, count).
Result<NodeId> one_hot(GraphBuilder&, NodeId indices, std::int64_t count,
                       ElementType element = ElementType::f32);
/// bool [rows, columns]: true where column ≤ row + `diagonal` (a lower triangle).
Result<NodeId> lower_triangle(GraphBuilder&, std::int64_t rows, std::int64_t columns,
                              std::int64_t diagonal = 0);

}  // namespace halyard::ops
