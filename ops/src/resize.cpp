#include <halyard/ops/windowed.h>

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

/// Resampling of one axis: a sum of a few taps, each a `take` at constant places times constant weights.
namespace halyard::ops {
namespace {

/// Of the result: its places and weights are constants of the graph.
constexpr std::int64_t largest_extent = std::int64_t{1} << 24;

/// For each element of the result, the operand's elements it is made of, in ascending order, and their
/// weights.
struct Taps {
  std::int64_t count = 1;
  std::vector<std::int64_t> places;  ///< [result][tap]
  std::vector<double> weights;       ///< parallel
};

std::int64_t nearest_place(double at, Nearest rule) {
  switch (rule) {
    case Nearest::round_prefer_floor:
      return static_cast<std::int64_t>(std::ceil(at - 0.5));
    case Nearest::round_prefer_ceil:
      return static_cast<std::int64_t>(std::floor(at + 0.5));
    case Nearest::floor:
      return static_cast<std::int64_t>(std::floor(at));
    case Nearest::ceil:
      break;
  }
  return static_cast<std::int64_t>(std::ceil(at));
}

/// Whether a part of an axis can be a crop's end: finite, and no place on an axis leaves 64 bits.
bool is_place(double part) {
  return std::fabs(part) <= 0x1p20;
}

/// Keys' cubic kernel at a distance.
double cubic_weight(double distance, double a) {
  const double x = std::fabs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

void append(Taps& taps, double at, std::int64_t from, const ResizeOptions& options) {
  if (options.interpolation == Interpolation::nearest) {
    taps.places.push_back(std::clamp<std::int64_t>(nearest_place(at, options.nearest), 0, from - 1));
    taps.weights.push_back(1);
    return;
  }
  const bool linear = options.interpolation == Interpolation::linear;
  const auto floor = static_cast<std::int64_t>(std::floor(at));
  double total = 0;
  const std::size_t first = taps.weights.size();
  for (std::int64_t tap = 0; tap < taps.count; ++tap) {
    const std::int64_t place = floor + tap - (linear ? 0 : 1);
    const double distance = at - static_cast<double>(place);
    double weight = linear ? 1 - std::fabs(distance) : cubic_weight(distance, options.cubic);
    if (options.excludes_outside && (place < 0 || place >= from)) weight = 0;
    taps.places.push_back(std::clamp<std::int64_t>(place, 0, from - 1));
    taps.weights.push_back(weight);
    total += weight;
  }
  if (!options.excludes_outside || total == 0) return;
  for (std::size_t i = first; i < taps.weights.size(); ++i) taps.weights[i] /= total;
}

Taps taps_of(std::int64_t from, std::int64_t to, const ResizeOptions& options) {
  Taps taps;
  if (options.interpolation == Interpolation::linear) taps.count = 2;
  if (options.interpolation == Interpolation::cubic) taps.count = 4;
  for (std::int64_t i = 0; i < to; ++i) append(taps, resized_coordinate(i, from, to, options), from, options);
  return taps;
}

/// Column `tap` of the taps' values, as a constant of `element` with the given shape.
template <class Value>
Result<NodeId> column(GraphBuilder& b, const std::vector<Value>& values, const Taps& taps, std::int64_t tap,
                      ElementType element, const Shape& shape) {
  HALYARD_ASSIGN(HostTensor tensor, HostTensor::allocate(element, shape));
  for (std::int64_t i = 0; i < tensor.count(); ++i)
    tensor.set_bits_at(
        i, HostTensor::scalar(element,
                              static_cast<double>(values[static_cast<std::size_t>(i * taps.count + tap)]))
               .bits_at(0));
  return b.constant(std::move(tensor));
}

}  // namespace

double resized_coordinate(std::int64_t i, std::int64_t from, std::int64_t to, const ResizeOptions& options) {
  const auto at = static_cast<double>(i), source = static_cast<double>(from),
             target = static_cast<double>(to);
  const double scale = options.scale > 0 ? options.scale : target / source;
  switch (options.coordinates) {
    case Coordinates::half_pixel:
      return (at + 0.5) / scale - 0.5;
    case Coordinates::pytorch_half_pixel:
      return to > 1 ? (at + 0.5) / scale - 0.5 : 0;
    case Coordinates::half_pixel_symmetric:
      return source / 2 * (1 - target / (scale * source)) + (at + 0.5) / scale - 0.5;
    case Coordinates::align_corners:
      return to > 1 ? at * (source - 1) / (source * scale - 1) : 0;
    case Coordinates::half_pixel_floor:
      return (at + 0.5) / scale;
    case Coordinates::cropped:
      return (source - 1) * (to > 1 ? options.start + at * (options.end - options.start) / (target - 1)
                                    : (options.start + options.end) / 2);
    case Coordinates::asymmetric:
      break;
  }
  return at / scale;
}

Result<NodeId> resize(GraphBuilder& b, NodeId x, std::int64_t axis, std::int64_t extent,
                      const ResizeOptions& options) {
  const Shape from = b.shape(x);
  HALYARD_ASSIGN(axis, normalize_axis(axis, from.rank()));
  const std::int64_t old = from[static_cast<std::size_t>(axis)];
  const ElementType element = b.element(x), wide = accumulator(element);
  const bool moves_only = options.interpolation == Interpolation::nearest;
  if (extent < 0 || extent > largest_extent || (old == 0 && extent > 0) ||
      (!moves_only && !is_float(element)) || !(options.scale >= 0) || !is_place(options.start) ||
      !is_place(options.end))
    return fail(ErrorCode::invalid_argument,
                fmt::format("resize: axis {} of {} to {} elements, scale {}, from {} to {} of it", axis,
                            b.node(x).type().text(), extent, options.scale, options.start, options.end));
  const Taps taps = taps_of(old, extent, options);
  std::vector<std::int64_t> line(from.rank(), 1);
  line[static_cast<std::size_t>(axis)] = extent;
  std::optional<NodeId> sum;
  HALYARD_ASSIGN(NodeId source, b.cast(x, moves_only ? element : wide));
  for (std::int64_t tap = 0; tap < taps.count; ++tap) {
    HALYARD_ASSIGN(NodeId places, column(b, taps.places, taps, tap, ElementType::i64, Shape{extent}));
    HALYARD_ASSIGN(NodeId values, b.take(source, places, axis));
    if (moves_only) return values;
    HALYARD_ASSIGN(NodeId weights, column(b, taps.weights, taps, tap, wide, Shape(line)));
    HALYARD_ASSIGN(NodeId term, b.binary(Primitive::mul, values, weights));
    if (!sum)
      sum = term;
    else {
      HALYARD_ASSIGN(sum, b.binary(Primitive::add, *sum, term));
    }
  }
  return b.cast(*sum, element);
}

}  // namespace halyard::ops
