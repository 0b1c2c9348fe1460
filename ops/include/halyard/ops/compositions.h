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
/// softmax(query · keyᵀ · scale + mask) · value. query [..., q, d], key [..., k, d], value [..., k, e];
/// `mask` is added and broadcast to [..., q, k]; scale defaults to 1/√d.
Result<NodeId> attention(GraphBuilder&, NodeId query, NodeId key, NodeId value,
                         std::optional<NodeId> mask = std::nullopt,
                         std::optional<double> scale = std::nullopt);
/// Mean over `axis` 1 of x [batch, tokens, width] where mask [batch, tokens] is not 0; the divisor is at
/// least 1e-9.
Result<NodeId> masked_mean(GraphBuilder&, NodeId x, NodeId mask);

}  // namespace halyard::ops
