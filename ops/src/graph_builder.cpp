#include <fmt/format.h>
#include <fmt/ranges.h>
#include <halyard/ops/graph_builder.h>
#include <algorithm>
#include <array>
#include <numeric>

namespace halyard::ops {
namespace {

using Axes = std::vector<std::int64_t>;

/// Puts the operation's name before an error of the shape arithmetic.
template <class T>
Result<T> named(std::string_view operation, Result<T> result) {
  if (result) return result;
  return fail(result.error().code, fmt::format("{}: {}", operation, result.error().message));
}

std::size_t at(std::int64_t axis) {
  return static_cast<std::size_t>(axis);
}

}  // namespace

NodeId GraphBuilder::scalar(ElementType element, double value) {
  return graph_.constant(HostTensor::scalar(element, value));
}

Result<NodeId> GraphBuilder::full(ElementType element, const Shape& shape, double value) {
  // The shape given may be a node's, which the constant moves.
  const std::vector<std::int64_t> extents(shape.extents().begin(), shape.extents().end());
  return broadcast(scalar(element, value), Shape(extents));
}

Result<NodeId> GraphBuilder::iota(ElementType element, const Shape& shape, std::int64_t axis) {
  Attributes attributes;
  HALYARD_ASSIGN(axis, named("iota", normalize_axis(axis, shape.rank())));
  attributes.axes = {axis};
  attributes.shape = shape.vector();
  attributes.element = element;
  return graph_.append(Primitive::iota, {}, std::move(attributes));
}

Result<NodeId> GraphBuilder::elementwise(Primitive primitive, std::span<const NodeId> operands,
                                         Attributes attributes) {
  if (row(primitive).kind != Kind::elementwise)
    return fail(ErrorCode::invalid_argument, fmt::format("{}: is not elementwise", name(primitive)));
  Shape common;
  for (NodeId operand : operands) {
    HALYARD_ASSIGN(common, named(name(primitive), broadcast_shapes(common, shape(operand))));
  }
  // Checked before anything is appended, so that a refusal leaves the graph as it was.
  std::vector<ElementType> types;
  for (NodeId operand : operands) types.push_back(element(operand));
  HALYARD_TRY(infer_element(primitive, types, attributes));
  std::vector<NodeId> full;
  for (NodeId operand : operands) {
    HALYARD_ASSIGN(NodeId stretched, broadcast(operand, common));
    full.push_back(stretched);
  }
  return graph_.append(primitive, std::move(full), std::move(attributes));
}

Result<NodeId> GraphBuilder::unary(Primitive primitive, NodeId a) {
  return elementwise(primitive, std::array{a});
}

Result<NodeId> GraphBuilder::binary(Primitive primitive, NodeId a, NodeId b) {
  return elementwise(primitive, std::array{a, b});
}

Result<NodeId> GraphBuilder::binary(Primitive primitive, NodeId a, double b) {
  return binary(primitive, a, scalar(element(a), b));
}

Result<NodeId> GraphBuilder::select(NodeId condition, NodeId a, NodeId b) {
  return elementwise(Primitive::select, std::array{condition, a, b});
}

Result<NodeId> GraphBuilder::clamp(NodeId a, NodeId low, NodeId high) {
  return elementwise(Primitive::clamp, std::array{a, low, high});
}

Result<NodeId> GraphBuilder::cast(NodeId a, ElementType to) {
  if (element(a) == to) return a;
  Attributes attributes;
  attributes.element = to;
  return graph_.append(Primitive::cast, {a}, std::move(attributes));
}

Result<NodeId> GraphBuilder::bitcast(NodeId a, ElementType to) {
  if (element(a) == to) return a;
  Attributes attributes;
  attributes.element = to;
  return graph_.append(Primitive::bitcast, {a}, std::move(attributes));
}

Result<NodeId> GraphBuilder::reshape(NodeId a, std::vector<std::int64_t> extents) {
  auto wildcard = std::find(extents.begin(), extents.end(), -1);
  if (wildcard != extents.end()) {
    Axes known = extents;
    known.erase(known.begin() + (wildcard - extents.begin()));
    HALYARD_ASSIGN(std::int64_t count, named("reshape", checked_count(known)));
    std::int64_t total = shape(a).count();
    if (count == 0 || total % count != 0)
      return fail(ErrorCode::invalid_argument,
                  fmt::format("reshape: no extent in place of -1 makes [{}] hold the {} elements of {}",
                              fmt::join(extents, ", "), total, shape(a).text()));
    *wildcard = total / count;
  }
  if (extents == shape(a).vector()) return a;
  Attributes attributes;
  attributes.shape = std::move(extents);
  return graph_.append(Primitive::reshape, {a}, std::move(attributes));
}

Result<NodeId> GraphBuilder::permute(NodeId a, std::vector<std::int64_t> axes) {
  for (std::int64_t& axis : axes) {
    HALYARD_ASSIGN(axis, named("permute", normalize_axis(axis, shape(a).rank())));
  }
  if (axes.size() == shape(a).rank() && std::is_sorted(axes.begin(), axes.end(), std::less_equal<>()))
    return a;
  Attributes attributes;
  attributes.axes = std::move(axes);
  return graph_.append(Primitive::permute, {a}, std::move(attributes));
}

Result<NodeId> GraphBuilder::transpose(NodeId a, std::int64_t axis_a, std::int64_t axis_b) {
  std::size_t rank = shape(a).rank();
  HALYARD_ASSIGN(axis_a, named("transpose", normalize_axis(axis_a, rank)));
  HALYARD_ASSIGN(axis_b, named("transpose", normalize_axis(axis_b, rank)));
  Axes axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[at(axis_a)], axes[at(axis_b)]);
  return permute(a, std::move(axes));
}

Result<NodeId> GraphBuilder::broadcast(NodeId a, const Shape& to) {
  if (to == shape(a)) return a;
  Attributes attributes;
  attributes.shape = to.vector();
  return graph_.append(Primitive::broadcast, {a}, std::move(attributes));
}

Result<NodeId> GraphBuilder::unsqueeze(NodeId a, std::vector<std::int64_t> axes) {
  std::size_t rank = shape(a).rank() + axes.size();
  HALYARD_ASSIGN(axes, named("unsqueeze", normalize_axes(axes, rank)));
  Axes extents = shape(a).vector();
  for (std::int64_t axis : axes) extents.insert(extents.begin() + axis, 1);
  return reshape(a, std::move(extents));
}

Result<NodeId> GraphBuilder::squeeze(NodeId a, std::vector<std::int64_t> axes) {
  const Shape& from = shape(a);
  HALYARD_ASSIGN(axes, named("squeeze", normalize_axes(axes, from.rank())));
  Axes extents;
  for (std::size_t axis = 0; axis < from.rank(); ++axis) {
    bool chosen = std::binary_search(axes.begin(), axes.end(), static_cast<std::int64_t>(axis));
    if (chosen && from[axis] != 1)
      return fail(ErrorCode::invalid_argument,
                  fmt::format("squeeze: axis {} of {} has extent {}, not 1", axis, from.text(), from[axis]));
    bool removed = axes.empty() ? from[axis] == 1 : chosen;
    if (!removed) extents.push_back(from[axis]);
  }
  return reshape(a, std::move(extents));
}

Result<NodeId> GraphBuilder::slice_axis(NodeId a, std::int64_t axis, std::optional<std::int64_t> start,
                                        std::optional<std::int64_t> stop, std::int64_t step) {
  HALYARD_ASSIGN(axis, named("slice", normalize_axis(axis, shape(a).rank())));
  if (step == 0) return fail(ErrorCode::invalid_argument, "slice: a step of 0 goes nowhere");
  std::int64_t extent = shape(a)[at(axis)];
  // Python's slice.indices: bounds are clamped to [0, extent], or to [−1, extent − 1] for negative steps.
  std::int64_t lowest = step > 0 ? 0 : -1;
  std::int64_t highest = step > 0 ? extent : extent - 1;
  auto clamped = [&](std::optional<std::int64_t> bound, std::int64_t otherwise) {
    if (!bound) return otherwise;
    std::int64_t value = *bound < 0 ? std::max(*bound, -extent - 1) + extent : *bound;
    return std::clamp(value, lowest, highest);
  };
  std::int64_t first = clamped(start, step > 0 ? lowest : highest);
  std::int64_t last = clamped(stop, step > 0 ? highest : lowest);
  std::int64_t span = step > 0 ? last - first : first - last;
  std::int64_t stride = step > 0 ? step : step < -extent ? std::max<std::int64_t>(extent, 1) : -step;
  std::int64_t count = span <= 0 ? 0 : (span - 1) / stride + 1;
  if (step > 0 && first == 0 && count == extent) return a;

  Attributes attributes;
  attributes.starts.assign(shape(a).rank(), 0);
  attributes.steps.assign(shape(a).rank(), 1);
  attributes.shape = shape(a).vector();
  attributes.starts[at(axis)] = count == 0 ? 0 : step > 0 ? first : first - (count - 1) * stride;
  attributes.steps[at(axis)] = count <= 1 ? 1 : stride;
  attributes.shape[at(axis)] = count;
  NodeId result = a;
  if (count != extent || attributes.starts[at(axis)] != 0) {
    HALYARD_ASSIGN(result, graph_.append(Primitive::slice, {a}, std::move(attributes)));
  }
  if (step > 0 || count <= 1) return result;
  return reverse(result, {axis});
}

Result<NodeId> GraphBuilder::pad(NodeId a, std::vector<std::int64_t> before, std::vector<std::int64_t> after,
                                 double value) {
  Attributes attributes;
  attributes.starts = std::move(before);
  attributes.ends = std::move(after);
  attributes.value_bits = HostTensor::scalar(element(a), value).bits_at(0);
  return graph_.append(Primitive::pad, {a}, std::move(attributes));
}

Result<NodeId> GraphBuilder::concat(std::span<const NodeId> parts, std::int64_t axis) {
  if (parts.empty()) return fail(ErrorCode::invalid_argument, "concat: takes one or more operands, not 0");
  HALYARD_ASSIGN(axis, named("concat", normalize_axis(axis, shape(parts[0]).rank())));
  if (parts.size() == 1) return parts[0];
  Attributes attributes;
  attributes.axes = {axis};
  return graph_.append(Primitive::concat, {parts.begin(), parts.end()}, std::move(attributes));
}

Result<NodeId> GraphBuilder::reverse(NodeId a, std::vector<std::int64_t> axes) {
  Attributes attributes;
  HALYARD_ASSIGN(attributes.axes, named("reverse", normalize_axes(axes, shape(a).rank())));
  if (attributes.axes.empty()) return a;
  return graph_.append(Primitive::reverse, {a}, std::move(attributes));
}

Result<NodeId> GraphBuilder::windows(NodeId a, Axes axes, Axes extents, Axes steps, Axes dilations) {
  Attributes attributes;
  HALYARD_ASSIGN(attributes.axes, named("windows", normalize_axes(axes, shape(a).rank())));
  if (attributes.axes.empty()) return a;
  attributes.shape = std::move(extents);
  attributes.steps = steps.empty() ? Axes(axes.size(), 1) : std::move(steps);
  attributes.dilations = dilations.empty() ? Axes(axes.size(), 1) : std::move(dilations);
  return graph_.append(Primitive::windows, {a}, std::move(attributes));
}

Result<NodeId> GraphBuilder::scatter(Primitive primitive, NodeId base, NodeId indices, NodeId updates,
                                     std::int64_t axis) {
  Attributes attributes;
  HALYARD_ASSIGN(axis, named(name(primitive), normalize_axis(axis, shape(base).rank())));
  attributes.axes = {axis};
  return graph_.append(primitive, {base, indices, updates}, std::move(attributes));
}

Result<NodeId> GraphBuilder::argsort(NodeId a, std::int64_t axis, bool descending, ElementType index) {
  Attributes attributes;
  HALYARD_ASSIGN(axis, named("argsort", normalize_axis(axis, shape(a).rank())));
  attributes.axes = {axis};
  attributes.descending = descending;
  attributes.element = index;
  return graph_.append(Primitive::argsort, {a}, std::move(attributes));
}

Result<NodeId> GraphBuilder::take(NodeId a, NodeId indices, std::int64_t axis) {
  Attributes attributes;
  HALYARD_ASSIGN(axis, named("take", normalize_axis(axis, shape(a).rank())));
  attributes.axes = {axis};
  return graph_.append(Primitive::take, {a, indices}, std::move(attributes));
}

Result<NodeId> GraphBuilder::reduce(Primitive primitive, NodeId a, std::vector<std::int64_t> axes,
                                    bool keep_dims) {
  if (!row(primitive).combiner)
    return fail(ErrorCode::invalid_argument, fmt::format("{}: is no reduction over axes", name(primitive)));
  Attributes attributes;
  if (axes.empty()) {
    axes.resize(shape(a).rank());
    std::iota(axes.begin(), axes.end(), 0);
  }
  HALYARD_ASSIGN(attributes.axes, named(name(primitive), normalize_axes(axes, shape(a).rank())));
  if (attributes.axes.empty()) {
    HALYARD_TRY(infer_element(primitive, std::array{element(a)}, attributes));
    return a;
  }
  attributes.keep_dims = keep_dims;
  return graph_.append(primitive, {a}, std::move(attributes));
}

Result<NodeId> GraphBuilder::argument(Primitive primitive, NodeId a, std::int64_t axis, bool keep_dims,
                                      ElementType index) {
  Attributes attributes;
  HALYARD_ASSIGN(axis, named(name(primitive), normalize_axis(axis, shape(a).rank())));
  attributes.axes = {axis};
  attributes.keep_dims = keep_dims;
  attributes.element = index;
  return graph_.append(primitive, {a}, std::move(attributes));
}

Result<NodeId> GraphBuilder::cumulative(Primitive primitive, NodeId a, std::int64_t axis, bool exclusive) {
  Attributes attributes;
  HALYARD_ASSIGN(axis, named(name(primitive), normalize_axis(axis, shape(a).rank())));
  attributes.axes = {axis};
  attributes.exclusive = exclusive;
  return graph_.append(primitive, {a}, std::move(attributes));
}

Result<NodeId> GraphBuilder::dot_general(NodeId a, NodeId b, DotDimensions dimensions,
                                         std::optional<ElementType> result) {
  Attributes attributes;
  attributes.dot = std::move(dimensions);
  if (result && *result != element(a)) attributes.element = result;
  return graph_.append(Primitive::dot_general, {a, b}, std::move(attributes));
}

Result<NodeId> GraphBuilder::matmul(NodeId a, NodeId b) {
  std::size_t rank_a = shape(a).rank();
  std::size_t rank_b = shape(b).rank();
  auto refuse = [&] {
    return fail(ErrorCode::invalid_argument,
                fmt::format("matmul: {} and {} do not multiply", shape(a).text(), shape(b).text()));
  };
  if (rank_a == 0 || rank_b == 0) return refuse();
  if (shape(a)[rank_a - 1] != shape(b)[rank_b == 1 ? 0 : rank_b - 2]) return refuse();
  auto last = [](std::size_t rank) { return static_cast<std::int64_t>(rank) - 1; };
  // Without batch axes on the right, all of the left's axes but the last are rows of one product.
  if (rank_b <= 2) return dot_general(a, b, {{last(rank_a)}, {rank_b == 1 ? 0 : last(rank_b) - 1}, {}, {}});
  if (rank_a == 1) return dot_general(a, b, {{0}, {last(rank_b) - 1}, {}, {}});

  Shape batch_a(Axes(shape(a).vector().begin(), shape(a).vector().end() - 2));
  Shape batch_b(Axes(shape(b).vector().begin(), shape(b).vector().end() - 2));
  HALYARD_ASSIGN(Shape batch, named("matmul", broadcast_shapes(batch_a, batch_b)));
  auto stretched = [&](NodeId operand, std::size_t rank) {
    Axes extents = batch.vector();
    extents.push_back(shape(operand)[rank - 2]);
    extents.push_back(shape(operand)[rank - 1]);
    return broadcast(operand, Shape(std::move(extents)));
  };
  HALYARD_ASSIGN(NodeId full_a, stretched(a, rank_a));
  HALYARD_ASSIGN(NodeId full_b, stretched(b, rank_b));
  Axes batch_axes(batch.rank());
  std::iota(batch_axes.begin(), batch_axes.end(), 0);
  auto depth = static_cast<std::int64_t>(batch.rank());
  return dot_general(full_a, full_b, {{depth + 1}, {depth}, batch_axes, batch_axes});
}

}  // namespace halyard::ops
