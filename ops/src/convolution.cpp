#include <halyard/ops/term.h>
#include <halyard/ops/windowed.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <numeric>

/// Convolutions and pooling: padding, then windows, then a product or a reduction.
namespace halyard::ops {
namespace {

using Extents = std::vector<std::int64_t>;
constexpr std::size_t spatial = 2;  ///< the first spatial axis

template <class... Arguments>
tl::unexpected<Error> invalid(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  return fail(ErrorCode::invalid_argument, fmt::format(format, std::forward<Arguments>(arguments)...));
}

/// The options with every list at its full length, or what is wrong with them.
Result<WindowOptions> completed(std::string_view operation, const Shape& x, WindowOptions options) {
  if (x.rank() <= spatial)
    return invalid("{}: the operand is {}, not [batch, channels, spatial…]", operation, x.text());
  const std::size_t count = x.rank() - spatial;
  const auto complete = [&](Extents& list, std::int64_t otherwise) {
    if (list.empty()) list.assign(count, otherwise);
    return list.size() == count &&
           std::all_of(list.begin(), list.end(), [&](std::int64_t each) { return each >= otherwise; });
  };
  bool fits = complete(options.strides, 1);
  fits = complete(options.dilations, 1) && fits;
  fits = complete(options.before, 0) && fits;
  fits = complete(options.after, 0) && fits;
  if (fits) return options;
  return invalid("{}: strides [{}], dilations [{}], padding [{}] and [{}] do not fit {} spatial axes",
                 operation, fmt::join(options.strides, ", "), fmt::join(options.dilations, ", "),
                 fmt::join(options.before, ", "), fmt::join(options.after, ", "), count);
}

Extents spatial_axes(std::size_t rank) {
  Extents axes(rank - spatial);
  std::iota(axes.begin(), axes.end(), static_cast<std::int64_t>(spatial));
  return axes;
}

/// Padded with elements of these bits along the spatial axes.
Result<NodeId> padded(GraphBuilder& b, NodeId x, const Extents& before, const Extents& after,
                      std::uint64_t bits) {
  const auto is_none = [](const Extents& list) {
    return std::all_of(list.begin(), list.end(), [](std::int64_t each) { return each == 0; });
  };
  if (is_none(before) && is_none(after)) return x;
  Attributes attributes;
  attributes.starts.assign(spatial, 0);
  attributes.ends.assign(spatial, 0);
  attributes.starts.insert(attributes.starts.end(), before.begin(), before.end());
  attributes.ends.insert(attributes.ends.end(), after.begin(), after.end());
  attributes.value_bits = bits;
  return b.graph().append(Primitive::pad, {x}, std::move(attributes));
}

/// [n, c, spatial…, kernel…].
Result<NodeId> windowed(GraphBuilder& b, NodeId x, const Extents& kernel, const WindowOptions& options,
                        std::uint64_t padding) {
  HALYARD_ASSIGN(x, padded(b, x, options.before, options.after, padding));
  return b.windows(x, spatial_axes(b.shape(x).rank()), kernel, options.strides, options.dilations);
}

/// The contracted product of windows [n, g, c, spatial…, kernel…] and weight [g, m, c, kernel…]:
/// [g, n, spatial…, m].
Result<NodeId> product_of(GraphBuilder& b, NodeId windows, NodeId weight, std::size_t axes) {
  DotDimensions dot{.lhs_contracting = {}, .rhs_contracting = {}, .lhs_batch = {1}, .rhs_batch = {0}};
  for (std::size_t i = 0; i < axes; ++i) {
    dot.lhs_contracting.push_back(static_cast<std::int64_t>(3 + axes + i));
    dot.rhs_contracting.push_back(static_cast<std::int64_t>(3 + i));
  }
  dot.lhs_contracting.push_back(2);
  dot.rhs_contracting.push_back(2);
  return b.dot_general(windows, weight, std::move(dot));
}

/// The first `count` elements of each spatial axis, from `from` on.
Result<NodeId> cropped(GraphBuilder& b, NodeId x, std::size_t axis, std::int64_t from, std::int64_t to) {
  return b.slice_axis(x, static_cast<std::int64_t>(axis), from, to);
}

/// With stride − 1 zeros between the elements along an axis.
Result<NodeId> stretched(GraphBuilder& b, NodeId x, std::size_t axis, std::int64_t stride) {
  const Shape shape = b.shape(x);
  if (stride == 1 || shape[axis] == 0) return x;
  Extents apart = shape.vector();
  apart.insert(apart.begin() + static_cast<std::ptrdiff_t>(axis) + 1, 1);
  HALYARD_ASSIGN(x, b.reshape(x, apart));
  Extents none(apart.size(), 0), zeros = none;
  zeros[axis + 1] = stride - 1;
  HALYARD_ASSIGN(x, b.pad(x, none, zeros, 0));
  Extents joined = shape.vector();
  joined[axis] *= stride;
  HALYARD_ASSIGN(x, b.reshape(x, joined));
  return cropped(b, x, axis, 0, joined[axis] - (stride - 1));
}

/// weight [c, m / groups, kernel…] as a convolution takes it, [m, c / groups, kernel…], its kernel turned.
Result<NodeId> turned_weight(GraphBuilder& b, NodeId weight, std::int64_t groups) {
  const Extents shape = b.shape(weight).vector();
  Extents split{groups, shape[0] / groups, shape[1]}, exchanged{0, 2, 1};
  split.insert(split.end(), shape.begin() + spatial, shape.end());
  for (std::size_t i = 3; i < split.size(); ++i) exchanged.push_back(static_cast<std::int64_t>(i));
  HALYARD_ASSIGN(weight, b.reshape(weight, split));
  HALYARD_ASSIGN(weight, b.permute(weight, exchanged));
  Extents joined = shape;
  joined[0] = groups * shape[1];
  joined[1] = shape[0] / groups;
  HALYARD_ASSIGN(weight, b.reshape(weight, joined));
  return b.reverse(weight, spatial_axes(joined.size()));
}

}  // namespace

Result<NodeId> convolution(GraphBuilder& b, NodeId x, NodeId weight, const WindowOptions& options,
                           std::int64_t groups) {
  const Shape from = b.shape(x), kernel = b.shape(weight);
  HALYARD_ASSIGN(WindowOptions complete, completed("convolution", from, options));
  if (kernel.rank() != from.rank() || groups < 1 || from[1] != kernel[1] * groups || kernel[0] % groups != 0)
    return invalid("convolution: weight {} does not fit {} in {} groups", kernel.text(), from.text(), groups);
  const std::size_t axes = from.rank() - spatial;
  const Extents taps(kernel.vector().begin() + spatial, kernel.vector().end());
  HALYARD_ASSIGN(NodeId windows, windowed(b, x, taps, complete, 0));
  Extents split = b.shape(windows).vector();
  const Extents result(split.begin() + spatial, split.begin() + static_cast<std::ptrdiff_t>(spatial + axes));
  split[1] = kernel[1];
  split.insert(split.begin() + 1, groups);
  HALYARD_ASSIGN(windows, b.reshape(windows, split));
  Extents filters = kernel.vector();
  filters[0] /= groups;
  filters.insert(filters.begin(), groups);
  HALYARD_ASSIGN(weight, b.reshape(weight, filters));
  HALYARD_ASSIGN(NodeId product, product_of(b, windows, weight, axes));
  // [g, n, spatial…, m] to [n, g, m, spatial…].
  Extents order{1, 0, static_cast<std::int64_t>(spatial + axes)};
  for (std::size_t i = 0; i < axes; ++i) order.push_back(static_cast<std::int64_t>(spatial + i));
  HALYARD_ASSIGN(product, b.permute(product, order));
  Extents joined{from[0], kernel[0]};
  joined.insert(joined.end(), result.begin(), result.end());
  return b.reshape(product, joined);
}

Result<NodeId> transposed_convolution(GraphBuilder& b, NodeId x, NodeId weight, const WindowOptions& options,
                                      std::int64_t groups, Extents more) {
  const Shape from = b.shape(x), kernel = b.shape(weight);
  HALYARD_ASSIGN(WindowOptions complete, completed("transposed_convolution", from, options));
  const std::size_t axes = from.rank() - spatial;
  if (more.empty()) more.assign(axes, 0);
  if (kernel.rank() != from.rank() || groups < 1 || from[1] != kernel[0] || kernel[0] % groups != 0 ||
      more.size() != axes)
    return invalid("transposed_convolution: weight {} and [{}] more elements do not fit {} in {} groups",
                   kernel.text(), fmt::join(more, ", "), from.text(), groups);
  HALYARD_ASSIGN(weight, turned_weight(b, weight, groups));
  WindowOptions plain{.strides = {}, .dilations = complete.dilations, .before = {}, .after = {}};
  for (std::size_t i = 0; i < axes; ++i) {
    HALYARD_ASSIGN(x, stretched(b, x, spatial + i, complete.strides[i]));
    const std::int64_t reach = (kernel[spatial + i] - 1) * complete.dilations[i];
    const std::int64_t before = reach - complete.before[i], after = reach - complete.after[i] + more[i];
    // What the padding takes away beyond the kernel's reach is cut off.
    const std::int64_t extent = b.shape(x)[spatial + i];
    if (before < 0 || after < 0) {
      HALYARD_ASSIGN(x, cropped(b, x, spatial + i, std::max<std::int64_t>(-before, 0),
                                std::max<std::int64_t>(extent + std::min<std::int64_t>(after, 0), 0)));
    }
    plain.before.push_back(std::max<std::int64_t>(before, 0));
    plain.after.push_back(std::max<std::int64_t>(after, 0));
  }
  return convolution(b, x, weight, plain, groups);
}

Result<NodeId> max_pool(GraphBuilder& b, NodeId x, Extents kernel, const WindowOptions& options) {
  const Shape from = b.shape(x);
  HALYARD_ASSIGN(WindowOptions complete, completed("max_pool", from, options));
  if (kernel.size() + spatial != from.rank())
    return invalid("max_pool: kernel [{}] does not fit {}", fmt::join(kernel, ", "), from.text());
  const std::uint64_t least = reduction_identity(Primitive::reduce_max, b.element(x));
  HALYARD_ASSIGN(NodeId windows, windowed(b, x, kernel, complete, least));
  Extents axes(kernel.size());
  std::iota(axes.begin(), axes.end(), static_cast<std::int64_t>(from.rank()));
  return b.reduce(Primitive::reduce_max, windows, axes);
}

namespace {

/// i64 [results]: of each window along an axis, the elements that count: those at 0 … extent − 1, where the
/// first window begins at −before. They are the taps from ⌈(before − start) / dilation⌉ to ⌊(extent − 1 +
/// before − start) / dilation⌋.
Result<NodeId> counts_along(GraphBuilder& b, std::int64_t results, std::int64_t kernel, std::int64_t stride,
                            std::int64_t dilation, std::int64_t before, std::int64_t extent) {
  const auto step = static_cast<double>(dilation);
  const Term start = Term(b, b.iota(ElementType::i64, {results}, 0)) * static_cast<double>(stride);
  const Term from_first = start * -1 + static_cast<double>(before);
  const Term first = (from_first + (step - 1)).binary(Primitive::floor_div, step).binary(Primitive::max, 0);
  const Term last = (from_first + static_cast<double>(extent - 1))
                        .binary(Primitive::floor_div, step)
                        .binary(Primitive::min, static_cast<double>(kernel - 1));
  return (last - first + 1).binary(Primitive::max, 0).node();
}

/// [spatial…], of the given type: of each window, the elements that count.
Result<NodeId> counts(GraphBuilder& b, const Extents& results, const Extents& kernel,
                      const WindowOptions& options, const Extents& before, const Extents& extents,
                      ElementType element) {
  NodeId total = b.scalar(ElementType::i64, 1);
  for (std::size_t i = 0; i < results.size(); ++i) {
    HALYARD_ASSIGN(NodeId along, counts_along(b, results[i], kernel[i], options.strides[i],
                                              options.dilations[i], before[i], extents[i]));
    Extents line(results.size(), 1);
    line[i] = results[i];
    HALYARD_ASSIGN(along, b.reshape(along, line));
    HALYARD_ASSIGN(total, b.binary(Primitive::mul, total, along));
  }
  return b.cast(total, element);
}

}  // namespace

Result<NodeId> average_pool(GraphBuilder& b, NodeId x, Extents kernel, const WindowOptions& options,
                            bool counts_padding, Extents beyond) {
  const Shape from = b.shape(x);
  const ElementType element = b.element(x), wide = accumulator(element);
  HALYARD_ASSIGN(WindowOptions complete, completed("average_pool", from, options));
  if (beyond.empty()) beyond.assign(from.rank() - spatial, 0);
  if (kernel.size() + spatial != from.rank() || beyond.size() != kernel.size() || !is_float(element))
    return invalid("average_pool: kernel [{}] does not fit {}", fmt::join(kernel, ", "),
                   b.node(x).type().text());
  WindowOptions extended = complete;
  Extents counted(from.vector().begin() + spatial, from.vector().end()), first = complete.before;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    extended.after[i] += beyond[i];
    if (!counts_padding) continue;
    counted[i] += complete.before[i] + complete.after[i];
    first[i] = 0;
  }
  HALYARD_ASSIGN(NodeId widened, b.cast(x, wide));
  HALYARD_ASSIGN(NodeId windows, windowed(b, widened, kernel, extended, 0));
  const Extents all = b.shape(windows).vector();
  const Extents results(all.begin() + spatial, all.begin() + static_cast<std::ptrdiff_t>(from.rank()));
  Extents axes(kernel.size());
  std::iota(axes.begin(), axes.end(), static_cast<std::int64_t>(from.rank()));
  HALYARD_ASSIGN(NodeId sum, b.reduce(Primitive::reduce_sum, windows, axes));
  HALYARD_ASSIGN(NodeId divisor, counts(b, results, kernel, complete, first, counted, wide));
  HALYARD_ASSIGN(NodeId mean, b.binary(Primitive::div, sum, divisor));
  return b.cast(mean, element);
}

}  // namespace halyard::ops
