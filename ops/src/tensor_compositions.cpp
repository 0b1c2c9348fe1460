#include <halyard/ops/compositions.h>
#include <halyard/ops/tensor.h>
#include "tensor_node.h"

/// The compositions on tensors: each records what the function of that name builds.
namespace halyard::ops {

using detail::record;
using Ids = std::span<const NodeId>;

namespace {

/// Optional operands follow the required ones; gives each its id or nothing.
class OptionalOperands {
 public:
  explicit OptionalOperands(std::vector<Tensor> required) : tensors_(std::move(required)) {}
  /// The position at which the operand will be, or nothing.
  std::optional<std::size_t> add(const std::optional<Tensor>& tensor) {
    if (!tensor) return std::nullopt;
    tensors_.push_back(*tensor);
    return tensors_.size() - 1;
  }
  const std::vector<Tensor>& tensors() const { return tensors_; }

 private:
  std::vector<Tensor> tensors_;
};

std::optional<NodeId> pick(Ids ids, std::optional<std::size_t> position) {
  return position ? std::optional<NodeId>(ids[*position]) : std::nullopt;
}

}  // namespace

Tensor logsumexp(const Tensor& x, const std::vector<std::int64_t>& axes, bool keep_dims) {
  return record({x},
                [&](GraphBuilder& builder, Ids ids) { return logsumexp(builder, ids[0], axes, keep_dims); });
}
Tensor norm(const Tensor& x, const std::vector<std::int64_t>& axes, bool keep_dims) {
  return record({x}, [&](GraphBuilder& builder, Ids ids) { return norm(builder, ids[0], axes, keep_dims); });
}
Tensor one_hot(const Tensor& indices, std::int64_t count, ElementType element) {
  return record({indices},
                [&](GraphBuilder& builder, Ids ids) { return one_hot(builder, ids[0], count, element); });
}
Tensor lower_triangle(std::int64_t rows, std::int64_t columns, std::int64_t diagonal) {
  return record({},
                [&](GraphBuilder& builder, Ids) { return lower_triangle(builder, rows, columns, diagonal); });
}

namespace {

/// A value given at run time, so that another seed needs no other kernel.
Tensor key_of(std::uint64_t seed) {
  return {HostTensor::scalar_bits(ElementType::u64, seed)};
}

}  // namespace

Tensor random_uniform(const Shape& shape, std::uint64_t seed) {
  return record({key_of(seed)},
                [&](GraphBuilder& builder, Ids ids) { return random_uniform(builder, ids[0], shape); });
}
Tensor random_normal(const Shape& shape, std::uint64_t seed) {
  return record({key_of(seed)},
                [&](GraphBuilder& builder, Ids ids) { return random_normal(builder, ids[0], shape); });
}
Tensor random_bernoulli(const Shape& shape, double probability, std::uint64_t seed) {
  return record({key_of(seed)}, [&](GraphBuilder& builder, Ids ids) {
    return random_bernoulli(builder, ids[0], shape, probability);
  });
}

Tensor softmax(const Tensor& x, std::int64_t axis) {
  return record({x}, [&](GraphBuilder& builder, Ids ids) { return softmax(builder, ids[0], axis); });
}
Tensor log_softmax(const Tensor& x, std::int64_t axis) {
  return record({x}, [&](GraphBuilder& builder, Ids ids) { return log_softmax(builder, ids[0], axis); });
}
Tensor layer_norm(const Tensor& x, const std::optional<Tensor>& scale, const std::optional<Tensor>& bias,
                  double epsilon) {
  OptionalOperands operands({x});
  auto scale_at = operands.add(scale);
  auto bias_at = operands.add(bias);
  return record(operands.tensors(), [&](GraphBuilder& builder, Ids ids) {
    return layer_norm(builder, ids[0], pick(ids, scale_at), pick(ids, bias_at), epsilon);
  });
}
Tensor rms_norm(const Tensor& x, const std::optional<Tensor>& scale, double epsilon) {
  OptionalOperands operands({x});
  auto scale_at = operands.add(scale);
  return record(operands.tensors(), [&](GraphBuilder& builder, Ids ids) {
    return rms_norm(builder, ids[0], pick(ids, scale_at), epsilon);
  });
}
Tensor l2_normalize(const Tensor& x, std::int64_t axis) {
  return record({x}, [&](GraphBuilder& builder, Ids ids) { return l2_normalize(builder, ids[0], axis); });
}
Tensor gelu(const Tensor& x) {
  return record({x}, [&](GraphBuilder& builder, Ids ids) { return gelu(builder, ids[0]); });
}
Tensor gelu_tanh(const Tensor& x) {
  return record({x}, [&](GraphBuilder& builder, Ids ids) { return gelu_tanh(builder, ids[0]); });
}
Tensor silu(const Tensor& x) {
  return record({x}, [&](GraphBuilder& builder, Ids ids) { return silu(builder, ids[0]); });
}
Tensor embedding(const Tensor& table, const Tensor& indices) {
  return record({table, indices},
                [&](GraphBuilder& builder, Ids ids) { return embedding(builder, ids[0], ids[1]); });
}
Tensor linear(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias) {
  OptionalOperands operands({x, weight});
  auto bias_at = operands.add(bias);
  return record(operands.tensors(), [&](GraphBuilder& builder, Ids ids) {
    return linear(builder, ids[0], ids[1], pick(ids, bias_at));
  });
}
Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value,
                 const std::optional<Tensor>& mask, bool causal) {
  OptionalOperands operands({query, key, value});
  auto mask_at = operands.add(mask);
  return record(operands.tensors(), [&](GraphBuilder& builder, Ids ids) {
    return attention(builder, ids[0], ids[1], ids[2],
                     {.mask = pick(ids, mask_at), .scale = std::nullopt, .causal = causal});
  });
}
Tensor masked_mean(const Tensor& x, const Tensor& mask) {
  return record({x, mask},
                [&](GraphBuilder& builder, Ids ids) { return masked_mean(builder, ids[0], ids[1]); });
}

// ---- indexing
Tensor take_along(const Tensor& x, const Tensor& indices, std::int64_t axis) {
  return record({x, indices},
                [&](GraphBuilder& builder, Ids ids) { return take_along(builder, ids[0], ids[1], axis); });
}
Tensor gather_nd(const Tensor& x, const Tensor& indices, std::int64_t batch_axes) {
  return record({x, indices}, [&](GraphBuilder& builder, Ids ids) {
    return gather_nd(builder, ids[0], ids[1], batch_axes);
  });
}
Tensor scatter_along(Primitive scatter, const Tensor& base, const Tensor& indices, const Tensor& updates,
                     std::int64_t axis) {
  return record({base, indices, updates}, [&](GraphBuilder& builder, Ids ids) {
    return scatter_along(builder, scatter, ids[0], ids[1], ids[2], axis);
  });
}
Tensor scatter_nd(Primitive scatter, const Tensor& base, const Tensor& indices, const Tensor& updates) {
  return record({base, indices, updates}, [&](GraphBuilder& builder, Ids ids) {
    return scatter_nd(builder, scatter, ids[0], ids[1], ids[2]);
  });
}
Tensor argsort(const Tensor& x, std::int64_t axis, bool descending) {
  return record({x},
                [&](GraphBuilder& builder, Ids ids) { return builder.argsort(ids[0], axis, descending); });
}
Tensor sort(const Tensor& x, std::int64_t axis, bool descending) {
  return record({x}, [&](GraphBuilder& builder, Ids ids) { return sort(builder, ids[0], axis, descending); });
}
std::pair<Tensor, Tensor> top_k(const Tensor& x, std::int64_t k, std::int64_t axis, bool greatest) {
  const Tensor indices = record({x}, [&](GraphBuilder& builder, Ids ids) -> Result<NodeId> {
    HALYARD_ASSIGN(TopK top, top_k(builder, ids[0], k, axis, greatest));
    return top.indices;
  });
  return {take_along(x, indices, axis), indices};
}
Tensor pad_from(const Tensor& x, const std::vector<std::int64_t>& before,
                const std::vector<std::int64_t>& after, PadMode mode) {
  return record(
      {x}, [&](GraphBuilder& builder, Ids ids) { return pad_from(builder, ids[0], before, after, mode); });
}

// ---- windows
Tensor convolution(const Tensor& x, const Tensor& weight, const WindowOptions& options, std::int64_t groups) {
  return record({x, weight}, [&](GraphBuilder& builder, Ids ids) {
    return convolution(builder, ids[0], ids[1], options, groups);
  });
}
Tensor transposed_convolution(const Tensor& x, const Tensor& weight, const WindowOptions& options,
                              std::int64_t groups, const std::vector<std::int64_t>& more) {
  return record({x, weight}, [&](GraphBuilder& builder, Ids ids) {
    return transposed_convolution(builder, ids[0], ids[1], options, groups, more);
  });
}
Tensor max_pool(const Tensor& x, const std::vector<std::int64_t>& kernel, const WindowOptions& options) {
  return record({x},
                [&](GraphBuilder& builder, Ids ids) { return max_pool(builder, ids[0], kernel, options); });
}
Tensor average_pool(const Tensor& x, const std::vector<std::int64_t>& kernel, const WindowOptions& options,
                    bool counts_padding) {
  return record({x}, [&](GraphBuilder& builder, Ids ids) {
    return average_pool(builder, ids[0], kernel, options, counts_padding);
  });
}
Tensor resize(const Tensor& x, std::int64_t axis, std::int64_t extent, const ResizeOptions& options) {
  return record(
      {x}, [&](GraphBuilder& builder, Ids ids) { return resize(builder, ids[0], axis, extent, options); });
}

}  // namespace halyard::ops
