#include <fmt/format.h>
#include <halyard/ops/indexing.h>

#include <algorithm>
#include <limits>
#include <map>

#include "importer.h"

namespace halyard::onnx {
namespace {

Results reshape(ImportContext& c) {
  std::vector<std::int64_t> shape;
  if (c.has(1)) {
    HALYARD_ASSIGN(shape, c.known_integers(1));
  } else {
    HALYARD_ASSIGN(shape, c.attributes.integers("shape"));
  }
  HALYARD_ASSIGN(std::int64_t zero_is_zero, c.attributes.integer("allowzero", 0));
  for (std::size_t i = 0; !zero_is_zero && i < shape.size(); ++i) {
    if (shape[i] != 0) continue;
    if (i >= c.rank(0))
      return fail(ErrorCode::corrupt_data,
                  fmt::format("a 0 at position {} copies an axis that {} lacks", i, c.shape(0).text()));
    shape[i] = c.shape(0)[i];
  }
  return one(c.builder.reshape(*c.operands[0], shape));
}

Results flatten(ImportContext& c) {
  HALYARD_ASSIGN(std::int64_t axis, c.attributes.integer("axis", 1));
  const auto rank = static_cast<std::int64_t>(c.rank(0));
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank)
    return fail(ErrorCode::corrupt_data, fmt::format("axis {} of rank {}", axis, rank));
  std::int64_t rows = 1;
  for (std::int64_t i = 0; i < axis; ++i) rows *= c.shape(0)[static_cast<std::size_t>(i)];
  const std::int64_t columns = rows == 0 ? 0 : c.shape(0).count() / rows;
  return one(c.builder.reshape(*c.operands[0], {rows, columns}));
}

Results transpose(ImportContext& c) {
  std::vector<std::int64_t> reversed;
  for (std::size_t i = c.rank(0); i-- > 0;) reversed.push_back(static_cast<std::int64_t>(i));
  HALYARD_ASSIGN(std::vector<std::int64_t> axes, c.attributes.integers("perm", reversed));
  return one(c.builder.permute(*c.operands[0], axes));
}

Results unsqueeze(ImportContext& c) {
  HALYARD_ASSIGN(std::vector<std::int64_t> axes, c.axes(1));
  return one(c.builder.unsqueeze(*c.operands[0], axes));
}

Results squeeze(ImportContext& c) {
  HALYARD_ASSIGN(std::vector<std::int64_t> axes, c.axes(1));
  return one(c.builder.squeeze(*c.operands[0], axes));
}

Results concat(ImportContext& c) {
  HALYARD_ASSIGN(std::int64_t axis, c.attributes.integer("axis", 0));
  std::vector<NodeId> parts;
  for (std::size_t i = 0; i < c.operands.size(); ++i) {
    HALYARD_ASSIGN(NodeId part, c.operand(i));
    parts.push_back(part);
  }
  return one(c.builder.concat(parts, axis));
}

Results expand(ImportContext& c) {
  HALYARD_ASSIGN(std::vector<std::int64_t> extents, c.known_integers(1));
  HALYARD_ASSIGN(ops::Shape wanted, ops::Shape::create(extents));
  HALYARD_ASSIGN(ops::Shape shape, ops::broadcast_shapes(c.shape(0), wanted));
  return one(c.builder.broadcast(*c.operands[0], shape));
}

struct SliceRange {
  std::vector<std::int64_t> starts, ends, axes, steps;
};

Result<SliceRange> slice_range(ImportContext& c) {
  SliceRange range;
  if (!c.has(1)) {  // before version 10
    HALYARD_ASSIGN(range.starts, c.attributes.integers("starts"));
    HALYARD_ASSIGN(range.ends, c.attributes.integers("ends"));
    HALYARD_ASSIGN(range.axes, c.attributes.integers("axes"));
  } else {
    HALYARD_ASSIGN(range.starts, c.known_integers(1));
    HALYARD_ASSIGN(range.ends, c.known_integers(2));
    if (c.has(3)) {
      HALYARD_ASSIGN(range.axes, c.known_integers(3));
    }
    if (c.has(4)) {
      HALYARD_ASSIGN(range.steps, c.known_integers(4));
    }
  }
  const std::size_t count = range.starts.size();
  for (std::size_t i = 0; range.axes.size() < count && i < count; ++i)
    range.axes.push_back(static_cast<std::int64_t>(i));
  range.steps.resize(std::max(range.steps.size(), count), 1);
  if (range.ends.size() != count || range.axes.size() != count || range.steps.size() != count)
    return fail(ErrorCode::corrupt_data,
                fmt::format("{} starts, {} ends, {} axes, {} steps", count, range.ends.size(),
                            range.axes.size(), range.steps.size()));
  return range;
}

Results slice(ImportContext& c) {
  HALYARD_ASSIGN(SliceRange range, slice_range(c));
  NodeId x = *c.operands[0];
  for (std::size_t i = 0; i < range.starts.size(); ++i) {
    HALYARD_ASSIGN(std::int64_t axis, ops::normalize_axis(range.axes[i], c.rank(0)));
    if (range.steps[i] == 0) return fail(ErrorCode::corrupt_data, "a step of 0");
    // The most negative end means "down to and with the first element"; Python writes that as an absent stop.
    std::optional<std::int64_t> end = range.ends[i];
    if (range.steps[i] < 0 && range.ends[i] < -c.shape(0)[static_cast<std::size_t>(axis)]) end.reset();
    HALYARD_ASSIGN(x, c.builder.slice_axis(x, axis, range.starts[i], end, range.steps[i]));
  }
  return std::vector{x};
}

Results split(ImportContext& c) {
  HALYARD_ASSIGN(std::int64_t axis, c.attributes.integer("axis", 0));
  HALYARD_ASSIGN(axis, ops::normalize_axis(axis, c.rank(0)));
  const std::int64_t extent = c.shape(0)[static_cast<std::size_t>(axis)];
  std::vector<std::int64_t> sizes;
  if (c.has(1)) {
    HALYARD_ASSIGN(sizes, c.known_integers(1));
  } else {
    HALYARD_ASSIGN(sizes, c.attributes.integers("split"));
  }
  if (sizes.empty()) {
    const std::int64_t parts = std::max(c.node.output_size(), 1);
    const std::int64_t each = (extent + parts - 1) / parts;
    for (std::int64_t begin = 0, i = 0; i < parts; ++i, begin += each)
      sizes.push_back(std::clamp<std::int64_t>(extent - begin, 0, each));
  }
  std::vector<NodeId> results;
  std::int64_t begin = 0;
  for (std::int64_t size : sizes) {
    if (size < 0 || size > extent - begin)
      return fail(ErrorCode::corrupt_data, fmt::format("the parts do not fit extent {}", extent));
    HALYARD_ASSIGN(NodeId part, c.builder.slice_axis(*c.operands[0], axis, begin, begin + size));
    results.push_back(part);
    begin += size;
  }
  return results;
}

Results constant_of_shape(ImportContext& c) {
  HALYARD_ASSIGN(std::vector<std::int64_t> extents, c.known_integers(0));
  HALYARD_ASSIGN(ops::Shape shape, ops::Shape::create(extents));
  HALYARD_ASSIGN(const ::onnx::TensorProto* tensor, c.attributes.tensor("value"));
  NodeId value = c.builder.scalar(ElementType::f32, 0);
  if (tensor) {
    HALYARD_ASSIGN(ops::HostTensor given, read_tensor(*tensor, {}));
    if (given.count() != 1) return fail(ErrorCode::corrupt_data, "the value must be one element");
    HALYARD_ASSIGN(given, given.reshaped({}));
    value = c.builder.constant(std::move(given));
  }
  return one(c.builder.broadcast(value, shape));
}

Results range(ImportContext& c) {
  std::vector<ops::HostTensor> bounds;
  for (std::size_t i = 0; i < 3; ++i) {
    HALYARD_ASSIGN(ops::HostTensor bound, c.known(i));
    if (bound.count() != 1) return fail(ErrorCode::corrupt_data, "start, limit and delta must be scalars");
    bounds.push_back(std::move(bound));
  }
  const double start = bounds[0].at(0);
  const double limit = bounds[1].at(0);
  const double delta = bounds[2].at(0);
  const double steps = std::max(0.0, (limit - start) / delta);
  if (delta == 0 || !(steps < 1e9))
    return fail(ErrorCode::corrupt_data,
                fmt::format("range({}, {}, {}) has no sensible length", start, limit, delta));
  auto count = static_cast<std::int64_t>(steps);
  if (static_cast<double>(count) < steps) ++count;
  const ElementType element = bounds[0].element();
  HALYARD_ASSIGN(NodeId x, c.builder.iota(element, {count}, 0));
  HALYARD_ASSIGN(x, c.builder.binary(Primitive::mul, x, delta));
  return one(c.builder.binary(Primitive::add, x, start));
}

struct Padding {
  std::vector<std::int64_t> before, after;
  std::uint64_t bits = 0;
};

/// From attributes (before version 11) or operands: pads, value, axes.
Result<Padding> padding_of(ImportContext& c) {
  std::vector<std::int64_t> pads, axes;
  const ElementType element = c.element(0);
  Padding padding;
  if (c.has(1)) {
    HALYARD_ASSIGN(pads, c.known_integers(1));
    if (c.has(2)) {
      HALYARD_ASSIGN(ops::HostTensor fill, c.known(2));
      if (fill.count() != 1 || fill.element() != element)
        return fail(ErrorCode::corrupt_data, "the fill value must be one element of the operand's type");
      padding.bits = fill.bits_at(0);
    }
    if (c.has(3)) {
      HALYARD_ASSIGN(axes, c.known_integers(3));
    }
  } else {
    HALYARD_ASSIGN(pads, c.attributes.integers("pads"));
    HALYARD_ASSIGN(double value, c.attributes.number("value", 0));
    padding.bits = ops::HostTensor::scalar(element, value).bits_at(0);
  }
  for (std::size_t i = 0; !c.has(3) && i < c.rank(0); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (pads.size() != 2 * axes.size())
    return fail(ErrorCode::corrupt_data, fmt::format("{} pads for {} axes", pads.size(), axes.size()));
  padding.before.assign(c.rank(0), 0);
  padding.after = padding.before;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    HALYARD_ASSIGN(std::int64_t axis, ops::normalize_axis(axes[i], c.rank(0)));
    padding.before[static_cast<std::size_t>(axis)] = pads[i];
    padding.after[static_cast<std::size_t>(axis)] = pads[axes.size() + i];
  }
  return padding;
}

/// Negative pads take elements away.
Result<NodeId> cropped(ImportContext& c, Padding& padding) {
  NodeId x = *c.operands[0];
  for (std::size_t i = 0; i < padding.before.size(); ++i) {
    std::int64_t &before = padding.before[i], &after = padding.after[i];
    if (before >= 0 && after >= 0) continue;
    const std::int64_t extent = c.shape(0)[i];
    const std::int64_t first = std::min(std::max<std::int64_t>(-before, 0), extent);
    const std::int64_t end = std::max(extent - std::min(std::max<std::int64_t>(-after, 0), extent), first);
    HALYARD_ASSIGN(x, c.builder.slice_axis(x, static_cast<std::int64_t>(i), first, end));
    before = std::max<std::int64_t>(before, 0);
    after = std::max<std::int64_t>(after, 0);
  }
  return x;
}

Results pad(ImportContext& c) {
  HALYARD_ASSIGN(std::string mode, c.attributes.text("mode", "constant"));
  HALYARD_ASSIGN(Padding padding, padding_of(c));
  HALYARD_ASSIGN(NodeId x, cropped(c, padding));
  if (mode == "constant") {
    ops::Attributes attributes;
    attributes.starts = padding.before;
    attributes.ends = padding.after;
    attributes.value_bits = padding.bits;
    return one(c.builder.graph().append(Primitive::pad, {x}, std::move(attributes)));
  }
  const std::map<std::string, ops::PadMode> modes{
      {"edge", ops::PadMode::edge}, {"reflect", ops::PadMode::reflect}, {"wrap", ops::PadMode::wrap}};
  const auto found = modes.find(mode);
  if (found == modes.end()) return fail(ErrorCode::corrupt_data, fmt::format("mode '{}' is unknown", mode));
  return one(ops::pad_from(c.builder, x, padding.before, padding.after, found->second));
}

/// The operand repeated along each axis.
Results tile(ImportContext& c) {
  HALYARD_ASSIGN(std::vector<std::int64_t> repeats, c.known_integers(1));
  if (repeats.size() != c.rank(0))
    return fail(ErrorCode::corrupt_data, fmt::format("{} repeats for rank {}", repeats.size(), c.rank(0)));
  std::vector<std::int64_t> apart, repeated, joined;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    const std::int64_t extent = c.shape(0)[i];
    if (repeats[i] < 0 || repeats[i] > std::numeric_limits<std::int32_t>::max())
      return fail(ErrorCode::corrupt_data, fmt::format("{} repeats", repeats[i]));
    apart.insert(apart.end(), {1, extent});
    repeated.insert(repeated.end(), {repeats[i], extent});
  }
  HALYARD_ASSIGN(ops::Shape shape, ops::Shape::create(repeated));
  for (std::size_t i = 0; i < repeats.size(); ++i) joined.push_back(repeats[i] * apart[2 * i + 1]);
  HALYARD_ASSIGN(NodeId x, c.builder.reshape(*c.operands[0], apart));
  HALYARD_ASSIGN(x, c.builder.broadcast(x, shape));
  return one(c.builder.reshape(x, joined));
}

/// [n, c, h, w] and the side of the blocks, or what is wrong with them.
Result<std::int64_t> block_of(ImportContext& c, bool splits_channels) {
  HALYARD_ASSIGN(std::int64_t block, c.attributes.integer("blocksize", 0));
  const bool fits = c.rank(0) == 4 && block >= 1 && block < 1 << 15 &&
                    c.shape(0)[2] < std::int64_t{1} << 32 && c.shape(0)[3] < std::int64_t{1} << 32 &&
                    (splits_channels ? c.shape(0)[1] % (block * block) == 0
                                     : c.shape(0)[2] % block == 0 && c.shape(0)[3] % block == 0);
  if (fits) return block;
  return fail(ErrorCode::corrupt_data, fmt::format("blocks of {} do not fit {}", block, c.shape(0).text()));
}

Results depth_to_space(ImportContext& c) {
  HALYARD_ASSIGN(std::string mode, c.attributes.text("mode", "DCR"));
  HALYARD_ASSIGN(std::int64_t b, block_of(c, true));
  const ops::Shape s = c.shape(0);
  const std::int64_t depth = s[1] / (b * b);
  const bool depth_last = mode == "DCR";
  HALYARD_ASSIGN(NodeId x, depth_last ? c.builder.reshape(*c.operands[0], {s[0], b, b, depth, s[2], s[3]})
                                      : c.builder.reshape(*c.operands[0], {s[0], depth, b, b, s[2], s[3]}));
  HALYARD_ASSIGN(
      x, depth_last ? c.builder.permute(x, {0, 3, 4, 1, 5, 2}) : c.builder.permute(x, {0, 1, 4, 2, 5, 3}));
  return one(c.builder.reshape(x, {s[0], depth, s[2] * b, s[3] * b}));
}

Results space_to_depth(ImportContext& c) {
  HALYARD_ASSIGN(std::int64_t b, block_of(c, false));
  const ops::Shape s = c.shape(0);
  HALYARD_ASSIGN(NodeId x, c.builder.reshape(*c.operands[0], {s[0], s[1], s[2] / b, b, s[3] / b, b}));
  HALYARD_ASSIGN(x, c.builder.permute(x, {0, 3, 5, 1, 2, 4}));
  return one(c.builder.reshape(x, {s[0], s[1] * b * b, s[2] / b, s[3] / b}));
}

}  // namespace

std::vector<OperatorRow> movement_operators() {
  return {
      {"Concat", concat},
      {"ConstantOfShape", constant_of_shape},
      {"DepthToSpace", depth_to_space},
      {"Expand", expand, 2},
      {"Flatten", flatten},
      {"Pad", pad},
      {"Range", range, 3},
      {"Reshape", reshape},
      {"Slice", slice},
      {"SpaceToDepth", space_to_depth},
      {"Split", split},
      {"Squeeze", squeeze},
      {"Tile", tile, 2},
      {"Transpose", transpose},
      {"Unsqueeze", unsqueeze},
  };
}

}  // namespace halyard::onnx
