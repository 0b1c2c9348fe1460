#pragma once

#include <halyard/ops/graph_builder.h>
#include <vector>

/// Convolution, pooling and resampling of tensors [batch, channels, spatial…]: compositions of `windows` with
/// products, reductions and `take`.
namespace halyard::ops {

/// How windows lie along the spatial axes. An empty list means 1 for every axis, of paddings 0.
struct WindowOptions {
  std::vector<std::int64_t> strides;    ///< from a window to the next
  std::vector<std::int64_t> dilations;  ///< from an element of a window to the next
  std::vector<std::int64_t> before;     ///< padding in front of each spatial axis
  std::vector<std::int64_t> after;      ///< and behind
};

/// x [n, c, spatial…] and `weight` [m, c / groups, kernel…]: [n, m, spatial…]. A product in the canonical
/// order of k = (taps row-major, channel); padded taps are zeros that take part. 16-bit floats round once.
Result<NodeId> convolution(GraphBuilder&, NodeId x, NodeId weight, const WindowOptions& options = {},
                           std::int64_t groups = 1);
/// The transposed convolution (the gradient of a convolution in its operand): x [n, c, spatial…] and `weight`
/// [c, m / groups, kernel…]: extents (e − 1) · stride + (k − 1) · dilation + 1 − before − after + `more`. It
/// is the convolution of x with stride − 1 zeros between its elements and the turned kernel.
Result<NodeId> transposed_convolution(GraphBuilder&, NodeId x, NodeId weight,
                                      const WindowOptions& options = {}, std::int64_t groups = 1,
                                      std::vector<std::int64_t> more = {});
/// The greatest element of each window of `kernel` elements; padding never wins.
Result<NodeId> max_pool(GraphBuilder&, NodeId x, std::vector<std::int64_t> kernel,
                        const WindowOptions& options = {});
/// The mean of each window. Elements of the padding are zeros that count if `counts_padding`; `beyond` (per
/// spatial axis) is more padding behind that never counts.
Result<NodeId> average_pool(GraphBuilder&, NodeId x, std::vector<std::int64_t> kernel,
                            const WindowOptions& options = {}, bool counts_padding = false,
                            std::vector<std::int64_t> beyond = {});

enum class Interpolation : std::uint8_t { nearest, linear, cubic };
/// Where element i of an axis resized from `from` to `to` elements lies on the operand's axis; s = to / from.
enum class Coordinates : std::uint8_t {
  half_pixel,            ///< (i + ½) / s − ½
  pytorch_half_pixel,    ///< the same, but 0 where `to` is 1
  half_pixel_symmetric,  ///< the same with both middles on each other, where to is not from · s
  align_corners,         ///< i · (from − 1) / (from · s − 1), 0 where `to` is 1
  asymmetric,            ///< i / s
  half_pixel_floor,      ///< (i + ½) / s (ONNX's tf_half_pixel_for_nn)
  /// From `start` to `end` of the axis, 0 and 1 being the middles of its first and last element:
  /// (from − 1) · (start + i · (end − start) / (to − 1)), the middle of the two where `to` is 1.
  cropped,
};
enum class Nearest : std::uint8_t { round_prefer_floor, round_prefer_ceil, floor, ceil };

/// How an axis is resized. Elements beyond its ends are those at the ends.
struct ResizeOptions {
  Interpolation interpolation = Interpolation::nearest;
  Coordinates coordinates = Coordinates::half_pixel;
  Nearest nearest = Nearest::round_prefer_floor;
  double cubic = -0.75;  ///< the coefficient a of Keys' kernel ("Cubic convolution interpolation", 1981)
  bool excludes_outside = false;  ///< weights beyond the ends are 0 and the others sum to 1
  /// s where it is not to / from exactly; 0: it is.
  double scale = 0;
  double start = 0, end = 1;  ///< of `Coordinates::cropped`
};
/// Where element i of `to` lies on the axis of `from` elements, whose middles are 0, 1, …
double resized_coordinate(std::int64_t i, std::int64_t from, std::int64_t to, const ResizeOptions& options);
/// x with `extent` elements along `axis`. Places and weights are computed in f64 when the graph is made, and
/// rounded once to x's type, so they are the same on every device. At most 2^24 elements.
Result<NodeId> resize(GraphBuilder&, NodeId x, std::int64_t axis, std::int64_t extent,
                      const ResizeOptions& options = {});

}  // namespace halyard::ops
