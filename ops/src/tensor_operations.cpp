#include <fmt/format.h>
#include <halyard/ops/compositions.h>
#include <halyard/ops/tensor.h>
#include "tensor_node.h"

/// The operations on tensors: each records what GraphBuilder builds.
namespace halyard::ops {
namespace {

using detail::record;
using Ids = std::span<const NodeId>;
using Axes = std::vector<std::int64_t>;

Tensor unary(Primitive primitive, const Tensor& a) {
  return record({a}, [&](GraphBuilder& builder, Ids ids) { return builder.unary(primitive, ids[0]); });
}

Tensor binary(Primitive primitive, const Tensor& a, const Tensor& b) {
  return record({a, b},
                [&](GraphBuilder& builder, Ids ids) { return builder.binary(primitive, ids[0], ids[1]); });
}

/// A number beside a tensor takes its type, and must have a value there.
Tensor number_like(const Tensor& tensor, double number) {
  if (!is_float(tensor.element()) && HostTensor::scalar(tensor.element(), number).at(0) != number)
    throw TensorError({ErrorCode::invalid_argument, fmt::format("{} is no {}: cast the tensor to f32 first",
                                                                number, name(tensor.element()))});
  return record({}, [&](GraphBuilder& builder, Ids) -> Result<NodeId> {
    return builder.scalar(tensor.element(), number);
  });
}

Tensor reduced(Primitive primitive, const Tensor& x, const Axes& axes, bool keep_dims) {
  return record({x}, [&](GraphBuilder& builder, Ids ids) {
    return builder.reduce(primitive, ids[0], axes, keep_dims);
  });
}

/// Applies the entries between brackets from the left, keeping count of the axis each one speaks of.
Result<NodeId> indexed(GraphBuilder& builder, NodeId x, std::span<const Index> indices) {
  auto rank = static_cast<std::int64_t>(builder.shape(x).rank());
  std::int64_t named = 0;
  int ellipses = 0;
  for (const Index& index : indices) {
    if (index.kind == Index::Kind::number || index.kind == Index::Kind::slice) ++named;
    if (index.kind == Index::Kind::ellipsis) ++ellipses;
  }
  if (named > rank || ellipses > 1)
    return fail(ErrorCode::invalid_argument,
                fmt::format("index: {} axes and {} ellipses for a tensor of shape {}", named, ellipses,
                            builder.shape(x).text()));
  std::int64_t axis = 0;
  Axes extents;  // of the result, with indexed axes dropped and new ones added
  NodeId result = x;
  auto keep = [&](std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
      extents.push_back(builder.shape(result)[static_cast<std::size_t>(axis++)]);
  };
  for (const Index& index : indices) {
    if (index.kind == Index::Kind::new_axis) extents.push_back(1);
    if (index.kind == Index::Kind::ellipsis) keep(rank - named);
    if (index.kind == Index::Kind::slice) {
      HALYARD_ASSIGN(result,
                     builder.slice_axis(result, axis, index.slice.start, index.slice.stop, index.slice.step));
      keep(1);
    }
    if (index.kind == Index::Kind::number) {
      std::int64_t extent = builder.shape(result)[static_cast<std::size_t>(axis)];
      if (index.number < -extent || index.number >= extent)
        return fail(ErrorCode::invalid_argument, fmt::format("index: {} is outside axis {} of shape {}",
                                                             index.number, axis, builder.shape(x).text()));
      std::int64_t position = index.number < 0 ? index.number + extent : index.number;
      HALYARD_ASSIGN(result, builder.slice_axis(result, axis, position, position + 1));
      ++axis;
    }
  }
  keep(rank - axis);
  return builder.reshape(result, std::move(extents));
}

}  // namespace

Tensor apply(Primitive primitive, std::vector<Tensor> operands, Attributes attributes) {
  return record(operands, [&](GraphBuilder& builder, Ids ids) {
    if (row(primitive).kind == Kind::elementwise) return builder.elementwise(primitive, ids, attributes);
    return builder.graph().append(primitive, {ids.begin(), ids.end()}, attributes);
  });
}

// ---- views
Tensor Tensor::operator[](std::initializer_list<Index> indices) const {
  return record({*this}, [&](GraphBuilder& builder, Ids ids) {
    return indexed(builder, ids[0], std::span<const Index>(indices.begin(), indices.size()));
  });
}
Tensor Tensor::operator[](std::int64_t first) const {
  return (*this)[{Index(first)}];
}
Tensor Tensor::reshape(std::vector<std::int64_t> extents) const {
  return record({*this}, [&](GraphBuilder& builder, Ids ids) { return builder.reshape(ids[0], extents); });
}
Tensor Tensor::permute(std::vector<std::int64_t> axes) const {
  return record({*this}, [&](GraphBuilder& builder, Ids ids) { return builder.permute(ids[0], axes); });
}
Tensor Tensor::transpose(std::int64_t a, std::int64_t b) const {
  return record({*this}, [&](GraphBuilder& builder, Ids ids) { return builder.transpose(ids[0], a, b); });
}
Tensor Tensor::broadcast_to(Shape shape) const {
  return record({*this}, [&](GraphBuilder& builder, Ids ids) { return builder.broadcast(ids[0], shape); });
}
Tensor Tensor::unsqueeze(std::int64_t axis) const {
  return record({*this}, [&](GraphBuilder& builder, Ids ids) { return builder.unsqueeze(ids[0], {axis}); });
}
Tensor Tensor::squeeze(std::vector<std::int64_t> axes) const {
  return record({*this}, [&](GraphBuilder& builder, Ids ids) { return builder.squeeze(ids[0], axes); });
}
Tensor Tensor::cast(ElementType to) const {
  return record({*this}, [&](GraphBuilder& builder, Ids ids) { return builder.cast(ids[0], to); });
}
Tensor Tensor::bitcast(ElementType to) const {
  return record({*this}, [&](GraphBuilder& builder, Ids ids) { return builder.bitcast(ids[0], to); });
}

// ---- reductions
Tensor Tensor::sum(const Axes& axes, bool keep_dims) const {
  return reduced(Primitive::reduce_sum, *this, axes, keep_dims);
}
Tensor Tensor::prod(const Axes& axes, bool keep_dims) const {
  return reduced(Primitive::reduce_prod, *this, axes, keep_dims);
}
Tensor Tensor::min(const Axes& axes, bool keep_dims) const {
  return reduced(Primitive::reduce_min, *this, axes, keep_dims);
}
Tensor Tensor::max(const Axes& axes, bool keep_dims) const {
  return reduced(Primitive::reduce_max, *this, axes, keep_dims);
}
Tensor Tensor::any(const Axes& axes, bool keep_dims) const {
  return reduced(Primitive::reduce_any, *this, axes, keep_dims);
}
Tensor Tensor::all(const Axes& axes, bool keep_dims) const {
  return reduced(Primitive::reduce_all, *this, axes, keep_dims);
}
Tensor Tensor::mean(Axes axes, bool keep_dims) const {
  return record({*this},
                [&](GraphBuilder& builder, Ids ids) { return ops::mean(builder, ids[0], axes, keep_dims); });
}
Tensor Tensor::argmax(std::int64_t axis, bool keep_dims) const {
  return record({*this}, [&](GraphBuilder& builder, Ids ids) {
    return builder.argument(Primitive::argmax, ids[0], axis, keep_dims);
  });
}
Tensor Tensor::argmin(std::int64_t axis, bool keep_dims) const {
  return record({*this}, [&](GraphBuilder& builder, Ids ids) {
    return builder.argument(Primitive::argmin, ids[0], axis, keep_dims);
  });
}

// ---- operators
#define HALYARD_TENSOR_OPERATOR(symbol, primitive)             \
  Tensor operator symbol(const Tensor& a, const Tensor& b) {   \
    return binary(Primitive::primitive, a, b);                 \
  }                                                            \
  Tensor operator symbol(const Tensor& a, double b) {          \
    return binary(Primitive::primitive, a, number_like(a, b)); \
  }                                                            \
  Tensor operator symbol(double a, const Tensor& b) {          \
    return binary(Primitive::primitive, number_like(b, a), b); \
  }
HALYARD_TENSOR_OPERATOR(+, add)
HALYARD_TENSOR_OPERATOR(-, sub)
HALYARD_TENSOR_OPERATOR(*, mul)
HALYARD_TENSOR_OPERATOR(/, div)
HALYARD_TENSOR_OPERATOR(%, rem)
HALYARD_TENSOR_OPERATOR(&, bit_and)
HALYARD_TENSOR_OPERATOR(|, bit_or)
HALYARD_TENSOR_OPERATOR(^, bit_xor)
HALYARD_TENSOR_OPERATOR(<<, shl)
HALYARD_TENSOR_OPERATOR(>>, shr)
HALYARD_TENSOR_OPERATOR(==, eq)
HALYARD_TENSOR_OPERATOR(!=, ne)
HALYARD_TENSOR_OPERATOR(<, lt)
HALYARD_TENSOR_OPERATOR(<=, le)
HALYARD_TENSOR_OPERATOR(>, gt)
HALYARD_TENSOR_OPERATOR(>=, ge)
#undef HALYARD_TENSOR_OPERATOR
Tensor operator-(const Tensor& a) {
  return unary(Primitive::neg, a);
}
Tensor operator!(const Tensor& a) {
  return unary(Primitive::logical_not, a);
}
Tensor operator~(const Tensor& a) {
  return unary(Primitive::bit_not, a);
}

#define HALYARD_TENSOR_FUNCTION(name) \
  Tensor name(const Tensor& x) {      \
    return unary(Primitive::name, x); \
  }
HALYARD_TENSOR_FUNCTION(abs)
HALYARD_TENSOR_FUNCTION(sign)
HALYARD_TENSOR_FUNCTION(floor)
HALYARD_TENSOR_FUNCTION(ceil)
HALYARD_TENSOR_FUNCTION(round)
HALYARD_TENSOR_FUNCTION(trunc)
HALYARD_TENSOR_FUNCTION(sqrt)
HALYARD_TENSOR_FUNCTION(rsqrt)
HALYARD_TENSOR_FUNCTION(reciprocal)
HALYARD_TENSOR_FUNCTION(exp)
HALYARD_TENSOR_FUNCTION(exp2)
HALYARD_TENSOR_FUNCTION(expm1)
HALYARD_TENSOR_FUNCTION(log)
HALYARD_TENSOR_FUNCTION(log2)
HALYARD_TENSOR_FUNCTION(log1p)
HALYARD_TENSOR_FUNCTION(sin)
HALYARD_TENSOR_FUNCTION(cos)
HALYARD_TENSOR_FUNCTION(tan)
HALYARD_TENSOR_FUNCTION(asin)
HALYARD_TENSOR_FUNCTION(acos)
HALYARD_TENSOR_FUNCTION(atan)
HALYARD_TENSOR_FUNCTION(sinh)
HALYARD_TENSOR_FUNCTION(cosh)
HALYARD_TENSOR_FUNCTION(tanh)
HALYARD_TENSOR_FUNCTION(erf)
HALYARD_TENSOR_FUNCTION(sigmoid)
HALYARD_TENSOR_FUNCTION(relu)
HALYARD_TENSOR_FUNCTION(is_nan)
HALYARD_TENSOR_FUNCTION(is_inf)
HALYARD_TENSOR_FUNCTION(is_finite)
#undef HALYARD_TENSOR_FUNCTION

Tensor pow(const Tensor& a, const Tensor& b) {
  return binary(Primitive::pow, a, b);
}
Tensor atan2(const Tensor& y, const Tensor& x) {
  return binary(Primitive::atan2, y, x);
}
Tensor floor_divide(const Tensor& a, const Tensor& b) {
  return binary(Primitive::floor_div, a, b);
}
Tensor mod(const Tensor& a, const Tensor& b) {
  return binary(Primitive::mod, a, b);
}
Tensor minimum(const Tensor& a, const Tensor& b) {
  return binary(Primitive::min, a, b);
}
Tensor maximum(const Tensor& a, const Tensor& b) {
  return binary(Primitive::max, a, b);
}
Tensor fma(const Tensor& a, const Tensor& b, const Tensor& c) {
  return apply(Primitive::fma, {a, b, c});
}
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  return apply(Primitive::select, {condition, a, b});
}
Tensor clamp(const Tensor& x, double low, double high) {
  return apply(Primitive::clamp, {x, number_like(x, low), number_like(x, high)});
}

Tensor concat(std::span<const Tensor> parts, std::int64_t axis) {
  return record(parts, [&](GraphBuilder& builder, Ids ids) { return builder.concat(ids, axis); });
}
Tensor pad(const Tensor& x, Axes before, Axes after, double value) {
  return record({x},
                [&](GraphBuilder& builder, Ids ids) { return builder.pad(ids[0], before, after, value); });
}
Tensor reverse(const Tensor& x, Axes axes) {
  return record({x}, [&](GraphBuilder& builder, Ids ids) { return builder.reverse(ids[0], axes); });
}
Tensor take(const Tensor& x, const Tensor& indices, std::int64_t axis) {
  return record({x, indices},
                [&](GraphBuilder& builder, Ids ids) { return builder.take(ids[0], ids[1], axis); });
}
#define HALYARD_TENSOR_SCAN(primitive)                               \
  Tensor primitive(const Tensor& x, std::int64_t axis) {             \
    return record({x}, [&](GraphBuilder& builder, Ids ids) {         \
      return builder.cumulative(Primitive::primitive, ids[0], axis); \
    });                                                              \
  }
HALYARD_TENSOR_SCAN(cumulative_sum)
HALYARD_TENSOR_SCAN(cumulative_prod)
HALYARD_TENSOR_SCAN(cumulative_min)
HALYARD_TENSOR_SCAN(cumulative_max)
#undef HALYARD_TENSOR_SCAN
Tensor matmul(const Tensor& a, const Tensor& b) {
  return record({a, b}, [&](GraphBuilder& builder, Ids ids) { return builder.matmul(ids[0], ids[1]); });
}

}  // namespace halyard::ops
