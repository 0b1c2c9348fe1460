#include <fmt/format.h>
#include <fmt/ranges.h>
#include <halyard/ops/indexing.h>
#include <halyard/ops/windowed.h>

#include <algorithm>

#include "importer.h"
#include "window_attributes.h"

/// Convolutions and pooling.
namespace halyard::onnx {
namespace {

/// A bias over axis 1 of a tensor of that rank.
Result<NodeId> with_bias(ImportContext& c, NodeId y, std::size_t number) {
  if (!c.has(number)) return y;
  Extents shape(c.builder.shape(y).rank(), 1);
  shape[1] = c.shape(number).count();
  HALYARD_ASSIGN(NodeId bias, c.builder.reshape(*c.operands[number], shape));
  return c.builder.binary(Primitive::add, y, bias);
}

Extents kernel_of(const ops::Shape& weight) {
  return weight.rank() < 3 ? Extents{} : Extents(weight.vector().begin() + 2, weight.vector().end());
}

Results convolution(ImportContext& c) {
  HALYARD_ASSIGN(WindowAttributes window, WindowAttributes::read(c, kernel_of(c.shape(1))));
  HALYARD_ASSIGN(std::int64_t groups, c.attributes.integer("group", 1));
  HALYARD_ASSIGN(NodeId y,
                 ops::convolution(c.builder, *c.operands[0], *c.operands[1], window.options, groups));
  return one(with_bias(c, y, 2));
}

/// i32, less a zero point (a scalar, or a vector over axis `axis` of the operand).
Term centred(ImportContext& c, std::size_t number, std::size_t zero_point, std::size_t axis) {
  Term x = c.term(number).cast(ElementType::i32);
  if (!c.has(zero_point)) return x;
  const Term zero = c.term(zero_point).cast(ElementType::i32);
  if (c.shape(zero_point).count() == 1)
    return x - zero.then([&](NodeId id) { return c.builder.reshape(id, {}); });
  Extents shape(std::max(c.rank(number), axis + 1), 1);
  shape[axis] = c.shape(zero_point).count();
  return x - zero.then([&](NodeId id) { return c.builder.reshape(id, shape); });
}

Result<NodeId> integer_convolution(ImportContext& c, const Term& x, const Term& weight,
                                   std::size_t weight_at) {
  HALYARD_ASSIGN(WindowAttributes window, WindowAttributes::read(c, kernel_of(c.shape(weight_at))));
  HALYARD_ASSIGN(std::int64_t groups, c.attributes.integer("group", 1));
  HALYARD_ASSIGN(NodeId x_id, x.node());
  HALYARD_ASSIGN(NodeId weight_id, weight.node());
  return ops::convolution(c.builder, x_id, weight_id, window.options, groups);
}

Results convolution_of_integers(ImportContext& c) {
  return one(integer_convolution(c, centred(c, 0, 2, 0), centred(c, 1, 3, 0), 1));
}

/// x, its scale and zero point; the weight's; the result's; a bias of i32.
Results quantized_convolution(ImportContext& c) {
  for (std::size_t i = 3; i < 8; ++i) {
    HALYARD_TRY(c.operand(i));
  }
  HALYARD_ASSIGN(NodeId sum, integer_convolution(c, centred(c, 0, 2, 0), centred(c, 3, 5, 0), 3));
  const Term biased = Term(c.builder, sum).then([&](NodeId id) { return with_bias(c, id, 8); });
  Extents per_channel(c.rank(0), 1);
  per_channel[1] = -1;
  const Term scale = c.shape(4).count() == 1
                         ? c.term(4).then([&](NodeId id) { return c.builder.reshape(id, {}); })
                         : c.term(4).then([&](NodeId id) { return c.builder.reshape(id, per_channel); });
  const Term scaled = biased.cast(ElementType::f32) * (c.term(1) * scale / c.term(6));
  return one((scaled.unary(Primitive::round) + c.term(7).cast(ElementType::f32)).cast(c.element(7)));
}

Results transposed_convolution(ImportContext& c) {
  HALYARD_ASSIGN(WindowAttributes window, WindowAttributes::read(c, kernel_of(c.shape(1))));
  HALYARD_ASSIGN(std::int64_t groups, c.attributes.integer("group", 1));
  HALYARD_ASSIGN(Extents more, c.attributes.integers("output_padding"));
  HALYARD_ASSIGN(Extents wanted, c.attributes.integers("output_shape"));
  if (more.empty()) more.assign(window.kernel.size(), 0);
  if (wanted.size() == window.kernel.size() + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  if (more.size() != window.kernel.size() || (!wanted.empty() && wanted.size() != more.size()))
    return fail(ErrorCode::corrupt_data, "output_padding and output_shape need an entry per spatial axis");
  const bool same = window.automatic == AutoPad::same_upper || window.automatic == AutoPad::same_lower;
  for (std::size_t i = 0; i < more.size(); ++i) {
    if (more[i] < 0 || more[i] > largest_window ||
        (!wanted.empty() && (wanted[i] < 0 || wanted[i] > largest_window)))
      return fail(ErrorCode::corrupt_data, fmt::format("output_padding [{}], output_shape [{}]",
                                                       fmt::join(more, ", "), fmt::join(wanted, ", ")));
    const std::int64_t extent = c.shape(0)[2 + i], stride = window.options.strides[i];
    const std::int64_t reach = (window.kernel[i] - 1) * window.options.dilations[i] + 1;
    if (wanted.empty() && !same) continue;
    const std::int64_t target = wanted.empty() ? extent * stride : wanted[i];
    const std::int64_t surplus = stride * (extent - 1) + more[i] + reach - target;
    const std::int64_t half = surplus / 2;
    window.options.before[i] = window.automatic == AutoPad::same_upper ? half : surplus - half;
    window.options.after[i] = surplus - window.options.before[i];
    if (surplus < 0) {  // more elements than any window reaches: zeros behind
      more[i] -= surplus;
      window.options.before[i] = window.options.after[i] = 0;
    }
  }
  HALYARD_ASSIGN(NodeId y, ops::transposed_convolution(c.builder, *c.operands[0], *c.operands[1],
                                                       window.options, groups, more));
  return one(with_bias(c, y, 2));
}

/// The row-major (or, with `column_major`, column-major) numbers, within each plane and plane after plane, of
/// the elements that `max_pool` takes.
Result<NodeId> places_of_maxima(ImportContext& c, const WindowAttributes& window, bool column_major) {
  const ops::Shape from = c.shape(0);
  const std::size_t axes = window.kernel.size();
  Extents spatial(axes), before(from.rank(), 0), after = before;
  for (std::size_t i = 0; i < axes; ++i) {
    spatial[i] = static_cast<std::int64_t>(2 + i);
    before[2 + i] = window.options.before[i];
    after[2 + i] = window.options.after[i];
  }
  ops::Attributes padding;
  padding.starts = before;
  padding.ends = after;
  padding.value_bits = ops::reduction_identity(Primitive::reduce_max, c.element(0));
  HALYARD_ASSIGN(NodeId x, c.builder.graph().append(Primitive::pad, {*c.operands[0]}, padding));
  HALYARD_ASSIGN(
      x, c.builder.windows(x, spatial, window.kernel, window.options.strides, window.options.dilations));
  Extents shape(c.builder.shape(x).vector().begin(),
                c.builder.shape(x).vector().begin() + static_cast<std::ptrdiff_t>(from.rank()));
  Extents flat = shape;
  flat.push_back(-1);
  HALYARD_ASSIGN(x, c.builder.reshape(x, flat));
  Term tap(c.builder, c.builder.argument(Primitive::argmax, x, -1));
  Term number(c.builder, c.builder.scalar(ElementType::i64, 0));
  // The tap's coordinates, the last axis first; each gives a coordinate of the element.
  std::vector<Term> coordinates(axes, number);
  for (std::size_t i = axes; i-- > 0;) {
    const auto count = static_cast<double>(window.kernel[i]);
    const Term own = tap.binary(Primitive::rem, count) * static_cast<double>(window.options.dilations[i]);
    tap = tap.binary(Primitive::div, count);
    const Term first(c.builder,
                     c.builder.iota(ElementType::i64, ops::Shape(shape), static_cast<std::int64_t>(2 + i)));
    coordinates[i] = first * static_cast<double>(window.options.strides[i]) + own -
                     static_cast<double>(window.options.before[i]);
  }
  for (std::size_t axis : {std::size_t{0}, std::size_t{1}})
    number =
        number * static_cast<double>(from[axis]) +
        Term(c.builder, c.builder.iota(ElementType::i64, ops::Shape(shape), static_cast<std::int64_t>(axis)));
  for (std::size_t i = 0; i < axes; ++i) {
    const std::size_t axis = column_major ? axes - 1 - i : i;
    number = number * static_cast<double>(from[2 + axis]) + coordinates[axis];
  }
  return number.node();
}

Results max_pool(ImportContext& c) {
  HALYARD_ASSIGN(Extents kernel, c.attributes.integers("kernel_shape"));
  HALYARD_ASSIGN(WindowAttributes window, WindowAttributes::read(c, kernel));
  HALYARD_ASSIGN(std::int64_t column_major, c.attributes.integer("storage_order", 0));
  for (std::size_t i = 0; i < window.beyond.size(); ++i) window.options.after[i] += window.beyond[i];
  HALYARD_ASSIGN(NodeId y, ops::max_pool(c.builder, *c.operands[0], window.kernel, window.options));
  if (c.node.output_size() < 2 || c.node.output(1).empty()) return std::vector{y};
  HALYARD_ASSIGN(NodeId places, places_of_maxima(c, window, column_major != 0));
  return std::vector{y, places};
}

Results average_pool(ImportContext& c) {
  HALYARD_ASSIGN(Extents kernel, c.attributes.integers("kernel_shape"));
  HALYARD_ASSIGN(WindowAttributes window, WindowAttributes::read(c, kernel));
  HALYARD_ASSIGN(std::int64_t counts_padding, c.attributes.integer("count_include_pad", 0));
  return one(ops::average_pool(c.builder, *c.operands[0], window.kernel, window.options, counts_padding != 0,
                               window.beyond));
}

/// Zeros but for the operand's elements, at the numbers that MaxPool gave for them.
Results max_unpool(ImportContext& c) {
  HALYARD_ASSIGN(Extents kernel, c.attributes.integers("kernel_shape"));
  HALYARD_ASSIGN(WindowAttributes window, WindowAttributes::read(c, kernel));
  Extents natural = c.shape(0).vector();
  for (std::size_t i = 0; i < window.kernel.size(); ++i)
    natural[2 + i] = (natural[2 + i] - 1) * window.options.strides[i] + window.kernel[i] -
                     window.options.before[i] - window.options.after[i];
  Extents wanted = natural;
  if (c.has(2)) {
    HALYARD_ASSIGN(wanted, c.known_integers(2));
  }
  // The numbers speak of the natural shape; a wanted one has more elements behind it on each axis.
  HALYARD_ASSIGN(ops::Shape shape, ops::Shape::create(natural));
  HALYARD_ASSIGN(NodeId base, c.builder.full(c.element(0), ops::Shape{shape.count()}, 0));
  HALYARD_ASSIGN(NodeId places, c.builder.reshape(*c.operands[1], {-1}));
  HALYARD_ASSIGN(NodeId values, c.builder.reshape(*c.operands[0], {-1}));
  HALYARD_ASSIGN(NodeId flat, c.builder.scatter(Primitive::scatter_set, base, places, values, 0));
  HALYARD_ASSIGN(NodeId y, c.builder.reshape(flat, natural));
  if (wanted == natural) return std::vector{y};
  Extents none(natural.size(), 0), more = none;
  bool fits = wanted.size() == natural.size();
  for (std::size_t i = 0; fits && i < wanted.size(); ++i) {
    more[i] = wanted[i] - natural[i];
    fits = more[i] >= 0;
  }
  if (!fits)
    return fail(ErrorCode::unsupported, fmt::format("output_shape [{}] is less than [{}]",
                                                    fmt::join(wanted, ", "), fmt::join(natural, ", ")));
  return one(c.builder.pad(y, none, more, 0));
}

}  // namespace

std::vector<OperatorRow> window_operators() {
  return {
      {"AveragePool", average_pool},
      {"Conv", convolution, 2},
      {"ConvInteger", convolution_of_integers, 2},
      {"ConvTranspose", transposed_convolution, 2},
      {"MaxPool", max_pool},
      {"MaxUnpool", max_unpool, 2},
      {"QLinearConv", quantized_convolution, 8},
  };
}

}  // namespace halyard::onnx
