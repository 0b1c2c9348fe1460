#include <fmt/format.h>
#include <halyard/ops/windowed.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "importer.h"

/// Resize and Upsample: axis by axis.
namespace halyard::onnx {
namespace {

template <class Value>
Result<Value> one_of(const std::map<std::string, Value>& names, const std::string& text,
                     std::string_view attribute) {
  auto found = names.find(text);
  if (found != names.end()) return found->second;
  return fail(ErrorCode::unsupported, fmt::format("{} '{}' is not supported", attribute, text));
}

Result<ops::ResizeOptions> options_of(const ImportContext& c) {
  using ops::Coordinates;
  using ops::Interpolation;
  using ops::Nearest;
  ops::ResizeOptions options;
  HALYARD_ASSIGN(std::string mode, c.attributes.text("mode", "nearest"));
  HALYARD_ASSIGN(std::string coordinates, c.attributes.text("coordinate_transformation_mode",
                                                            c.opset < 11 ? "asymmetric" : "half_pixel"));
  HALYARD_ASSIGN(std::string nearest,
                 c.attributes.text("nearest_mode", c.opset < 11 ? "floor" : "round_prefer_floor"));
  HALYARD_ASSIGN(options.cubic, c.attributes.number("cubic_coeff_a", -0.75));
  HALYARD_ASSIGN(std::int64_t excludes, c.attributes.integer("exclude_outside", 0));
  HALYARD_ASSIGN(std::int64_t antialias, c.attributes.integer("antialias", 0));
  HALYARD_ASSIGN(std::string policy, c.attributes.text("keep_aspect_ratio_policy", "stretch"));
  if (antialias || policy != "stretch")
    return fail(ErrorCode::unsupported, "antialias and keep_aspect_ratio_policy are not supported");
  options.excludes_outside = excludes != 0;
  HALYARD_ASSIGN(options.interpolation, one_of<Interpolation>({{"nearest", Interpolation::nearest},
                                                               {"linear", Interpolation::linear},
                                                               {"cubic", Interpolation::cubic}},
                                                              mode, "mode"));
  HALYARD_ASSIGN(options.coordinates,
                 one_of<Coordinates>({{"half_pixel", Coordinates::half_pixel},
                                      {"pytorch_half_pixel", Coordinates::pytorch_half_pixel},
                                      {"half_pixel_symmetric", Coordinates::half_pixel_symmetric},
                                      {"align_corners", Coordinates::align_corners},
                                      {"asymmetric", Coordinates::asymmetric},
                                      {"tf_half_pixel_for_nn", Coordinates::half_pixel_floor},
                                      {"tf_crop_and_resize", Coordinates::cropped}},
                                     coordinates, "coordinate_transformation_mode"));
  HALYARD_ASSIGN(options.nearest, one_of<Nearest>({{"round_prefer_floor", Nearest::round_prefer_floor},
                                                   {"round_prefer_ceil", Nearest::round_prefer_ceil},
                                                   {"floor", Nearest::floor},
                                                   {"ceil", Nearest::ceil}},
                                                  nearest, "nearest_mode"));
  return options;
}

Result<std::vector<double>> known_numbers(const ImportContext& c, std::size_t number) {
  HALYARD_ASSIGN(ops::HostTensor tensor, c.known(number));
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.count(); ++i) values.push_back(tensor.at(i));
  return values;
}

/// Where each axis is cropped (operand 1: the starts, then the ends); empty if it is not.
Result<std::vector<double>> crop_of(const ImportContext& c, const ops::ResizeOptions& options,
                                    std::size_t axes) {
  if (options.coordinates != ops::Coordinates::cropped) return std::vector<double>();
  HALYARD_ASSIGN(std::vector<double> crop, known_numbers(c, 1));
  if (crop.size() == 2 * axes) return crop;
  return fail(ErrorCode::corrupt_data, fmt::format("roi has {} numbers for {} axes", crop.size(), axes));
}

/// Which of x's elements along `axis`, resized from `from` elements, lie beyond its ends: bool [1, …, extent,
/// …, 1].
Result<NodeId> beyond_ends(ImportContext& c, NodeId x, std::int64_t axis, std::int64_t from,
                           const ops::ResizeOptions& options) {
  std::vector<std::int64_t> line(c.rank(0), 1);
  const std::int64_t extent = c.builder.shape(x)[static_cast<std::size_t>(axis)];
  line[static_cast<std::size_t>(axis)] = extent;
  HALYARD_ASSIGN(ops::HostTensor mask, ops::HostTensor::allocate(ElementType::boolean, ops::Shape(line)));
  for (std::int64_t i = 0; i < extent; ++i) {
    const double at = ops::resized_coordinate(i, from, extent, options);
    mask.set_bits_at(i, at < 0 || at > static_cast<double>(from - 1));
  }
  return c.builder.constant(std::move(mask));
}

/// `scales` and `sizes` per entry of `axes`; one of the two is empty.
Results resized(ImportContext& c, const std::vector<std::int64_t>& axes, const std::vector<double>& scales,
                const std::vector<std::int64_t>& sizes) {
  HALYARD_ASSIGN(ops::ResizeOptions options, options_of(c));
  HALYARD_ASSIGN(std::vector<double> crop, crop_of(c, options, axes.size()));
  HALYARD_ASSIGN(double extrapolated, c.attributes.number("extrapolation_value", 0));
  std::vector<NodeId> beyond;
  if ((scales.empty() ? sizes.size() : scales.size()) != axes.size())
    return fail(ErrorCode::corrupt_data,
                fmt::format("{} scales and {} sizes for {} axes", scales.size(), sizes.size(), axes.size()));
  NodeId x = *c.operands[0];
  for (std::size_t i = 0; i < axes.size(); ++i) {
    HALYARD_ASSIGN(std::int64_t axis, ops::normalize_axis(axes[i], c.rank(0)));
    const std::int64_t old = c.shape(0)[static_cast<std::size_t>(axis)];
    options.scale = scales.empty() ? 0 : scales[i];
    const double extent =
        scales.empty() ? static_cast<double>(sizes[i]) : std::floor(static_cast<double>(old) * scales[i]);
    if (!(extent >= 0 && extent < 0x1p40))
      return fail(ErrorCode::corrupt_data, fmt::format("axis {} resized to {} elements", axis, extent));
    if (!crop.empty()) {
      options.start = crop[i];
      options.end = crop[axes.size() + i];
    }
    const bool is_whole = options.start == 0 && options.end == 1;
    if (static_cast<std::int64_t>(extent) == old && (scales.empty() || scales[i] == 1) && is_whole) continue;
    HALYARD_ASSIGN(x, ops::resize(c.builder, x, axis, static_cast<std::int64_t>(extent), options));
    if (crop.empty()) continue;
    HALYARD_ASSIGN(NodeId mask, beyond_ends(c, x, axis, old, options));
    beyond.push_back(mask);
  }
  for (NodeId mask : beyond) {
    HALYARD_ASSIGN(x, c.builder.select(mask, c.builder.scalar(c.element(0), extrapolated), x));
  }
  return std::vector{x};
}

std::vector<std::int64_t> all_axes(std::size_t rank) {
  std::vector<std::int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

bool has_elements(const ImportContext& c, std::size_t number) {
  return c.has(number) && c.shape(number).count() > 0;
}

/// Operands: x, scales (version 10); x, roi, scales, sizes (from 11 on).
Results resize(ImportContext& c) {
  HALYARD_ASSIGN(std::vector<std::int64_t> axes, c.attributes.integers("axes", all_axes(c.rank(0))));
  const std::size_t scales_at = c.opset < 11 ? 1 : 2;
  if (has_elements(c, 3)) {
    HALYARD_ASSIGN(std::vector<std::int64_t> sizes, c.known_integers(3));
    return resized(c, axes, {}, sizes);
  }
  if (!has_elements(c, scales_at)) return fail(ErrorCode::corrupt_data, "neither scales nor sizes are given");
  HALYARD_ASSIGN(std::vector<double> scales, known_numbers(c, scales_at));
  return resized(c, axes, scales, {});
}

Results upsample(ImportContext& c) {
  std::vector<double> scales;
  if (c.has(1)) {
    HALYARD_ASSIGN(scales, known_numbers(c, 1));
  } else {
    HALYARD_ASSIGN(scales, c.attributes.numbers("scales"));
  }
  return resized(c, all_axes(c.rank(0)), scales, {});
}

}  // namespace

std::vector<OperatorRow> resize_operators() {
  return {{"Resize", resize}, {"Upsample", upsample}};
}

}  // namespace halyard::onnx
