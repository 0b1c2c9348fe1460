#include <fmt/format.h>

#include <map>

#include "importer.h"

/// Images read at computed places.
namespace halyard::onnx {
namespace {

/// x [n, c, spatial…] to be read at places that are computed: a row per element, so one `take` reads a place
/// of all channels.
class Pixels {
 public:
  Pixels(ImportContext& c, std::size_t number) : builder_(c.builder), shape_(c.shape(number)) {
    // [n · spatial…, c]
    std::vector<std::int64_t> there{0};
    for (std::size_t axis = 2; axis < shape_.rank(); ++axis) there.push_back(static_cast<std::int64_t>(axis));
    there.push_back(1);
    const std::int64_t channels = shape_[1];
    rows_ = c.term(number)
                .then([&](NodeId id) { return builder_.permute(id, there); })
                .then([&](NodeId id) {
                  return builder_.reshape(id, {channels == 0 ? 0 : shape_.count() / channels, channels});
                })
                .node();
  }
  std::int64_t extent(std::size_t axis) const { return shape_[axis + 2]; }
  std::size_t axes() const { return shape_.rank() - 2; }
  /// [places…, c] at `image` (an index along n) and a place along each spatial axis, all i64.
  Term at(const Term& image, const std::vector<Term>& place) const {
    Term row = image;
    for (std::size_t axis = 0; axis < axes(); ++axis)
      row = row * static_cast<double>(extent(axis)) + place[axis];
    return row.then([&](NodeId id) { return rows_ ? builder_.take(*rows_, id, 0) : rows_; });
  }

 private:
  ops::GraphBuilder& builder_;
  ops::Shape shape_;
  Result<NodeId> rows_ = NodeId{};
};

/// x between two numbers.
Term between(const Term& x, double low, double high) {
  return x.binary(Primitive::max, low).binary(Primitive::min, high);
}
/// Whether x lies outside.
Term outside(const Term& x, double low, double high) {
  return x.binary(Primitive::lt, low).binary(Primitive::bit_or, x.binary(Primitive::gt, high));
}
/// One more axis behind, so that a number per place meets all channels.
Term per_channel(const Term& x) {
  return x.then([&](NodeId id) {
    return x.builder().unsqueeze(id, {static_cast<std::int64_t>(x.builder().shape(id).rank())});
  });
}

// ---- GridSample

enum class Padding : std::uint8_t { zeros, border, reflection };

/// One of the elements that an axis is interpolated from.
struct Tap {
  Term place;   ///< i64, within the axis
  Term weight;  ///< of the type that is computed in
  Term inside;  ///< whether the axis has it; else it is padding
};

struct GridSampler {
  ElementType computed;
  int taps = 2;  ///< per axis: 1 nearest, 2 linear, 4 cubic
  Padding padding = Padding::zeros;
  bool aligns_corners = false;

  /// −1 … 1 is the operand from one end to the other: from its first to its last element's middle if
  /// `aligns_corners`, else from border to border.
  Term place(const Term& grid, std::int64_t extent) const {
    const auto n = static_cast<double>(extent);
    return aligns_corners ? (grid + 1) / 2 * (n - 1) : ((grid + 1) * n - 1) / 2;
  }
  /// The element that stands for a place beyond the ends; any within the axis for padding by zeros.
  Term padded(const Term& place, std::int64_t extent) const {
    const auto n = static_cast<double>(extent);
    if (padding != Padding::reflection || extent < 2) return between(place, 0, n - 1);
    // Mirrored at the ends' middles, or at their borders: periodic.
    const double period = aligns_corners ? 2 * n - 2 : 2 * n;
    const Term phase = place.binary(Primitive::mod, period);
    return select(phase.binary(Primitive::lt, n), phase, -phase + (aligns_corners ? period : period - 1));
  }
  /// Keys' kernel with a = −¾ ("Cubic convolution interpolation", 1981) for taps −1, 0, 1, 2 from a place t
  /// behind tap 0.
  static Term cubic(const Term& t, int tap) {
    constexpr double a = -0.75;
    const Term distance = tap == -1 ? t + 1 : tap == 0 ? t : -t + tap;
    if (tap == 0 || tap == 1) return (distance * (a + 2) - (a + 3)) * distance * distance + 1;
    return ((distance * a - 5 * a) * distance + 8 * a) * distance - 4 * a;
  }
  Term weight(const Term& t, int tap) const {
    if (taps == 4) return cubic(t, tap);
    return tap == 1 ? t : -t + 1;
  }
  std::vector<Tap> along(const Term& coordinate, std::int64_t extent) const {
    const auto last = static_cast<double>(extent) - 1;
    const double low = aligns_corners ? 0 : -0.5;
    Term x = place(coordinate, extent);
    if (taps == 1) x = x.unary(Primitive::round);
    if (padding == Padding::border) x = select(outside(x, low, last - low), between(x, 0, last), x);
    const Term floor = x.unary(Primitive::floor), t = (x - floor).cast(computed);
    std::vector<Tap> made;
    for (int i = 0; i < taps; ++i) {
      const int tap = taps == 4 ? i - 1 : i;
      const Term at = floor.cast(ElementType::i64) + tap;
      made.push_back(
          {padded(at, extent), weight(t, tap), outside(at, 0, last).unary(Primitive::logical_not)});
    }
    return made;
  }
  /// The taps of all axes from `axis` on, weighted; `places` and `inside` are of the axes before.
  Term sum(const Pixels& pixels, const Term& image, const std::vector<std::vector<Tap>>& axes,
           const std::vector<Term>& places, const Term& inside) const {
    if (places.size() == axes.size()) {
      const Term value = pixels.at(image, places).cast(computed);
      return padding == Padding::zeros ? select(per_channel(inside), value, 0) : value;
    }
    const std::vector<Tap>& own = axes[places.size()];
    std::vector<Term> parts;
    for (const Tap& tap : own) {
      std::vector<Term> with = places;
      with.push_back(tap.place);
      const Term both = places.empty() ? tap.inside : inside.binary(Primitive::bit_and, tap.inside);
      const Term part = sum(pixels, image, axes, with, both);
      parts.push_back(own.size() == 1 ? part : part * per_channel(tap.weight));
    }
    Term total = parts[0];
    for (std::size_t i = 1; i < parts.size(); ++i) total = total + parts[i];
    return total;
  }
};

Result<GridSampler> sampler_of(const ImportContext& c) {
  GridSampler sampler;
  HALYARD_ASSIGN(std::string mode, c.attributes.text("mode", "bilinear"));
  HALYARD_ASSIGN(std::string padding, c.attributes.text("padding_mode", "zeros"));
  HALYARD_ASSIGN(std::int64_t aligns, c.attributes.integer("align_corners", 0));
  const std::map<std::string_view, int> taps{
      {"nearest", 1}, {"bilinear", 2}, {"linear", 2}, {"bicubic", 4}, {"cubic", 4}};
  const std::map<std::string_view, Padding> paddings{
      {"zeros", Padding::zeros}, {"border", Padding::border}, {"reflection", Padding::reflection}};
  if (!taps.contains(mode) || !paddings.contains(padding))
    return fail(ErrorCode::corrupt_data,
                fmt::format("mode '{}' or padding_mode '{}' is unknown", mode, padding));
  sampler.taps = taps.at(mode);
  sampler.padding = paddings.at(padding);
  sampler.aligns_corners = aligns != 0;
  const ElementType x = c.element(0);
  if (!is_float(x) && sampler.taps > 1)
    return fail(ErrorCode::unsupported, fmt::format("mode '{}' of {} is not supported", mode, name(x)));
  sampler.computed = byte_size(x) == 2 && is_float(x) ? ElementType::f32 : x;
  return sampler;
}

/// X [n, c, spatial…] at grid [n, out…, d]: coordinate j is of the spatial axis d − 1 − j. → [n, c, out…]
Results grid_sample(ImportContext& c) {
  HALYARD_ASSIGN(GridSampler sampler, sampler_of(c));
  const ops::Shape shape = c.shape(0), grid_shape = c.shape(1);
  const std::size_t axes = shape.rank() < 3 ? 0 : shape.rank() - 2;
  if (axes == 0 || grid_shape.rank() != shape.rank() || grid_shape[0] != shape[0] ||
      grid_shape[axes + 1] != static_cast<std::int64_t>(axes) || !is_float(c.element(1)))
    return fail(ErrorCode::corrupt_data,
                fmt::format("X {} and grid {}{} do not fit: X is [n, c, spatial…] and the grid "
                            "of floats [n, …, {}]",
                            shape.text(), name(c.element(1)), grid_shape.text(), axes));
  for (std::size_t axis = 0; axis < axes; ++axis)
    if (shape[axis + 2] == 0)
      return fail(ErrorCode::corrupt_data, fmt::format("X {} has no elements to sample", shape.text()));
  const Pixels pixels(c, 0);
  const Term grid = byte_size(c.element(1)) == 2 ? c.term(1).cast(ElementType::f32) : c.term(1);
  const auto last = static_cast<std::int64_t>(axes + 1);
  std::vector<std::vector<Tap>> taps;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const auto coordinate = static_cast<std::int64_t>(axes - 1 - axis);
    const Term own =
        grid.then([&](NodeId id) { return c.builder.slice_axis(id, last, coordinate, coordinate + 1); })
            .then([&](NodeId id) { return c.builder.squeeze(id, {last}); });
    taps.push_back(sampler.along(own, shape[axis + 2]));
  }
  std::vector<std::int64_t> images(axes + 1, 1);
  images[0] = shape[0];
  const Term image(c.builder, c.builder.iota(ElementType::i64, ops::Shape(images), 0));
  std::vector<std::int64_t> channels_first{0, last};
  for (std::int64_t axis = 1; axis < last; ++axis) channels_first.push_back(axis);
  return one(sampler.sum(pixels, image, taps, {}, image).cast(c.element(0)).then([&](NodeId id) {
    return c.builder.permute(id, channels_first);
  }));
}

// ---- RoiAlign

/// An axis of the regions: where samples lie, as two elements and the second one's weight.
struct Samples {
  Term low, high;  ///< i64, within the axis
  Term weight;     ///< of `high`
  Term inside;     ///< whether the sample lies in the image, or at most an element beside it
};

struct RegionAxis {
  std::int64_t first;  ///< column of rois where a region starts; its end is two behind
  std::int64_t extent, bins, ratio;
  std::vector<std::int64_t> to;  ///< how [regions, bins, ratio] is seen
};

/// Samples at the middles of `ratio` parts of each of `bins` bins, from Mask R-CNN (He et al., 2017) as
/// ONNX's definition words it.
Samples samples_along(const ImportContext& c, const RegionAxis& axis, double scale, bool half_pixel) {
  const auto column = [&](std::int64_t at) {
    return c.term(1)
        .then([&](NodeId id) { return c.builder.slice_axis(id, 1, at, at + 1); })
        .then([&](NodeId id) { return c.builder.unsqueeze(id, {2}); });
  };
  const Term start = column(axis.first) * scale - (half_pixel ? 0.5 : 0.0);
  Term length = column(axis.first + 2) * scale - (half_pixel ? 0.5 : 0.0) - start;
  if (!half_pixel) length = length.binary(Primitive::max, 1);
  const Term bin = length / static_cast<double>(axis.bins);
  const auto count = [&](std::int64_t extent, std::int64_t at) {
    std::vector<std::int64_t> shape(3, 1);
    shape[static_cast<std::size_t>(at)] = extent;
    return Term(c.builder, c.builder.iota(c.element(1), ops::Shape(shape), at));
  };
  const Term within = (count(axis.ratio, 2) + 0.5) * (bin / static_cast<double>(axis.ratio));
  const Term y = (start + count(axis.bins, 1) * bin + within).then([&](NodeId id) {
    std::vector<std::int64_t> to = axis.to;
    to[0] = c.builder.shape(id)[0];
    return c.builder.reshape(id, to);
  });
  const auto last = static_cast<double>(axis.extent) - 1;
  const Term clamped = between(y, 0, last), floor = clamped.unary(Primitive::floor);
  const Term low = floor.cast(ElementType::i64);
  return {low, between(low + 1, 0, last), clamped - floor,
          outside(y, -1, last + 1).unary(Primitive::logical_not)};
}

/// X [n, c, h, w], rois [r, 4] (x₁, y₁, x₂, y₂), the image of each → [r, c, output_height, output_width].
Results roi_align(ImportContext& c) {
  HALYARD_ASSIGN(std::string mode, c.attributes.text("mode", "avg"));
  HALYARD_ASSIGN(
      std::string coordinates,
      c.attributes.text("coordinate_transformation_mode", c.opset < 16 ? "output_half_pixel" : "half_pixel"));
  HALYARD_ASSIGN(std::int64_t height, c.attributes.integer("output_height", 1));
  HALYARD_ASSIGN(std::int64_t width, c.attributes.integer("output_width", 1));
  HALYARD_ASSIGN(std::int64_t ratio, c.attributes.integer("sampling_ratio", 0));
  HALYARD_ASSIGN(double scale, c.attributes.number("spatial_scale", 1));
  const ops::Shape shape = c.shape(0), rois = c.shape(1);
  if (shape.rank() != 4 || rois.rank() != 2 || rois[1] != 4 || c.rank(2) != 1 || c.shape(2)[0] != rois[0] ||
      !is_float(c.element(0)) || !is_float(c.element(1)))
    return fail(
        ErrorCode::corrupt_data,
        fmt::format("X {}{}, rois {}{} and batch_indices {} are no floats [n, c, h, w], [r, 4] and [r]",
                    name(c.element(0)), shape.text(), name(c.element(1)), rois.text(), c.shape(2).text()));
  if ((mode != "avg" && mode != "max") ||
      (coordinates != "half_pixel" && coordinates != "output_half_pixel") || height < 1 || width < 1 ||
      shape[2] < 1 || shape[3] < 1)
    return fail(ErrorCode::corrupt_data,
                fmt::format("mode '{}', coordinate_transformation_mode '{}', {} x {} results of {}", mode,
                            coordinates, height, width, shape.text()));
  if (ratio < 1)
    return fail(ErrorCode::unsupported,
                "sampling_ratio 0: the number of samples would depend on the values of rois; give a ratio");
  const bool half_pixel = coordinates == "half_pixel";
  // [regions, bins down, bins across, samples down, samples across]
  const Samples y =
      samples_along(c, {1, shape[2], height, ratio, {0, height, 1, ratio, 1}}, scale, half_pixel);
  const Samples x = samples_along(c, {0, shape[3], width, ratio, {0, 1, width, 1, ratio}}, scale, half_pixel);
  const Term image = c.term(2).cast(ElementType::i64).then([&](NodeId id) {
    return c.builder.reshape(id, {rois[0], 1, 1, 1, 1});
  });
  const Pixels pixels(c, 0);
  const auto corner = [&](const Term& row, const Term& column, const Term& weight_y, const Term& weight_x) {
    return pixels.at(image, {row, column}) * per_channel((weight_y * weight_x).cast(c.element(0)));
  };
  const Term top = -y.weight + 1, left = -x.weight + 1;
  const Term corners[] = {corner(y.low, x.low, top, left), corner(y.low, x.high, top, x.weight),
                          corner(y.high, x.low, y.weight, left), corner(y.high, x.high, y.weight, x.weight)};
  const bool averages = mode == "avg";
  Term sample = corners[0];
  for (std::size_t i = 1; i < 4; ++i)
    sample = averages ? sample + corners[i] : sample.binary(Primitive::max, corners[i]);
  sample = select(per_channel(y.inside.binary(Primitive::bit_and, x.inside)), sample, 0);
  const Term pooled =
      averages ? sample.reduce(Primitive::reduce_sum, {3, 4}, false) / static_cast<double>(ratio * ratio)
               : sample.reduce(Primitive::reduce_max, {3, 4}, false);
  return one(pooled.then([&](NodeId id) { return c.builder.permute(id, {0, 3, 1, 2}); }));
}

}  // namespace

std::vector<OperatorRow> sampling_operators() {
  return {{"GridSample", grid_sample, 2}, {"RoiAlign", roi_align, 3}};
}

}  // namespace halyard::onnx
