#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "importer.h"

/// Windows, and Fourier transforms as products with constant matrices: exact in their order, and O(n²).
namespace halyard::onnx {
namespace {

/// More would be a larger matrix than anybody means.
constexpr std::int64_t longest = 1 << 11;

Result<NodeId> constant(ImportContext& c, const ops::Shape& shape, const std::vector<double>& values,
                        ElementType element = ElementType::f32) {
  HALYARD_ASSIGN(ops::HostTensor tensor, ops::HostTensor::allocate(element, shape));
  for (std::int64_t i = 0; i < tensor.count(); ++i)
    tensor.set_bits_at(i, ops::HostTensor::scalar(element, values[static_cast<std::size_t>(i)]).bits_at(0));
  return c.builder.constant(std::move(tensor));
}

Result<std::int64_t> length_of(const ImportContext& c, std::size_t number, std::int64_t otherwise) {
  HALYARD_ASSIGN(std::int64_t length, c.known_integer(number, otherwise));
  if (length >= 1 && length <= longest) return length;
  return fail(ErrorCode::unsupported, fmt::format("a length of {}; 1 to {} are read", length, longest));
}

/// a₀ − a₁ cos(τ i / n) + a₂ cos(2 τ i / n).
Results cosine_window(ImportContext& c, double a0, double a1, double a2) {
  HALYARD_ASSIGN(std::int64_t periodic, c.attributes.integer("periodic", 1));
  HALYARD_ASSIGN(std::int64_t type, c.attributes.integer("output_datatype", 1));
  HALYARD_ASSIGN(ElementType element, element_type(static_cast<std::int32_t>(type)));
  HALYARD_ASSIGN(std::int64_t size, length_of(c, 0, 0));
  const auto period = static_cast<double>(periodic ? size : size - 1);
  std::vector<double> values;
  for (std::int64_t i = 0; i < size; ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / period;
    values.push_back(a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle));
  }
  return one(constant(c, ops::Shape{size}, values, element));
}

Results hann_window(ImportContext& c) {
  return cosine_window(c, 0.5, 0.5, 0);
}
Results hamming_window(ImportContext& c) {
  return cosine_window(c, 25.0 / 46, 21.0 / 46, 0);
}
Results blackman_window(ImportContext& c) {
  return cosine_window(c, 0.42, 0.5, 0.08);
}

/// x [..., n, parts] times the matrix of a transform of n elements into `results`: [..., results, 2]; parts
/// are real ones alone or real and imaginary ones.
Result<NodeId> transformed(ImportContext& c, NodeId x, std::int64_t results, bool inverse) {
  const ops::Shape shape = c.builder.shape(x);
  if (!is_float(c.builder.element(x)))
    return fail(ErrorCode::corrupt_data, fmt::format("a transform of {}", c.builder.node(x).type().text()));
  const std::size_t rank = shape.rank();
  const std::int64_t n = shape[rank - 2], parts = shape[rank - 1];
  std::vector<double> matrix;  // [n, parts, results, 2]
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t part = 0; part < parts; ++part)
      for (std::int64_t k = 0; k < results; ++k) {
        const double angle = 2 * std::numbers::pi * static_cast<double>(i * k % n) / static_cast<double>(n);
        const double scale = inverse ? 1 / static_cast<double>(n) : 1;
        const double cosine = scale * std::cos(angle), sine = scale * std::sin(inverse ? angle : -angle);
        matrix.push_back(part == 0 ? cosine : -sine);
        matrix.push_back(part == 0 ? sine : cosine);
      }
  HALYARD_ASSIGN(NodeId factors, constant(c, ops::Shape{n, parts, results, 2}, matrix, c.builder.element(x)));
  const auto last = static_cast<std::int64_t>(rank) - 1;
  return c.builder.dot_general(x, factors, {{last - 1, last}, {0, 1}, {}, {}});
}

Results discrete_fourier_transform(ImportContext& c) {
  HALYARD_ASSIGN(std::int64_t axis, c.attributes.integer("axis", 1));
  HALYARD_ASSIGN(std::int64_t inverse, c.attributes.integer("inverse", 0));
  HALYARD_ASSIGN(std::int64_t one_sided, c.attributes.integer("onesided", 0));
  const auto rank = static_cast<std::int64_t>(c.rank(0));
  HALYARD_ASSIGN(axis, ops::normalize_axis(axis, c.rank(0)));
  if (rank < 2 || axis == rank - 1 || c.shape(0)[c.rank(0) - 1] > 2)
    return fail(
        ErrorCode::corrupt_data,
        fmt::format("axis {} of {}: the last axis holds real and imaginary parts", axis, c.shape(0).text()));
  const std::int64_t own = c.shape(0)[static_cast<std::size_t>(axis)];
  HALYARD_ASSIGN(std::int64_t length, length_of(c, 1, own));
  NodeId x = *c.operands[0];
  if (length < own) {
    HALYARD_ASSIGN(x, c.builder.slice_axis(x, axis, 0, length));
  }
  if (length > own) {
    Extents none(c.rank(0), 0), more = none;
    more[static_cast<std::size_t>(axis)] = length - own;
    HALYARD_ASSIGN(x, c.builder.pad(x, none, more, 0));
  }
  HALYARD_ASSIGN(x, c.builder.transpose(x, axis, rank - 2));
  HALYARD_ASSIGN(NodeId y, transformed(c, x, one_sided ? length / 2 + 1 : length, inverse != 0));
  return one(c.builder.transpose(y, axis, rank - 2));
}

/// Frames of the signal [batch, n, 1], `frame_step` apart, times the window, transformed.
Results short_time_fourier_transform(ImportContext& c) {
  HALYARD_ASSIGN(std::int64_t one_sided, c.attributes.integer("onesided", 1));
  HALYARD_ASSIGN(std::int64_t step, length_of(c, 1, 1));
  const std::int64_t window_length = c.has(2) ? c.shape(2).count() : 0;
  HALYARD_ASSIGN(std::int64_t length, length_of(c, 3, window_length));
  if (c.rank(0) != 3 || c.shape(0)[2] > 2 || (c.has(2) && window_length != length))
    return fail(ErrorCode::corrupt_data, fmt::format("signal {}, window of {}, frames of {}",
                                                     c.shape(0).text(), window_length, length));
  // [batch, frames, parts, length] to [batch, frames, length, parts].
  HALYARD_ASSIGN(NodeId frames, c.builder.windows(*c.operands[0], {1}, {length}, {step}));
  HALYARD_ASSIGN(frames, c.builder.transpose(frames, 2, 3));
  if (c.has(2)) {
    HALYARD_ASSIGN(NodeId window, c.builder.reshape(*c.operands[2], {length, 1}));
    HALYARD_ASSIGN(frames, c.builder.binary(Primitive::mul, frames, window));
  }
  return one(transformed(c, frames, one_sided ? length / 2 + 1 : length, false));
}

/// Triangles between `num_mel_bins` + 2 equal steps of the mel scale, as the operator's reference computes
/// them.
Results mel_weight_matrix(ImportContext& c) {
  HALYARD_ASSIGN(std::int64_t type, c.attributes.integer("output_datatype", 1));
  HALYARD_ASSIGN(ElementType element, element_type(static_cast<std::int32_t>(type)));
  HALYARD_ASSIGN(std::int64_t bins, length_of(c, 0, 0));
  HALYARD_ASSIGN(std::int64_t length, length_of(c, 1, 0));
  HALYARD_ASSIGN(std::int64_t rate, c.known_integer(2, 0));
  HALYARD_ASSIGN(double lower, c.known_number(3, 0));
  HALYARD_ASSIGN(double upper, c.known_number(4, 0));
  const std::int64_t spectrum = length / 2 + 1;  // both at most `longest`
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel(lower), step = (mel(upper) - low) / static_cast<double>(bins + 2);
  Extents edges;
  for (std::int64_t i = 0; i < bins + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (static_cast<double>(i) * step + low) / 2595) - 1);
    const double place = std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
    if (!(place >= 0 && place < static_cast<double>(spectrum)))
      return fail(ErrorCode::corrupt_data, fmt::format("{} to {} Hz at a rate of {}", lower, upper, rate));
    edges.push_back(static_cast<std::int64_t>(place));
  }
  std::vector<double> matrix(static_cast<std::size_t>(spectrum * bins), 0);
  for (std::int64_t i = 0; i < bins; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t first = edges[at], middle = edges[at + 1], last = edges[at + 2];
    const auto cell = [&](std::int64_t j) -> double& {
      return matrix[static_cast<std::size_t>(j * bins + i)];
    };
    if (middle == first) cell(middle) = 1;
    for (std::int64_t j = first; middle > first && j <= middle; ++j)
      cell(j) = static_cast<double>(j - first) / static_cast<double>(middle - first);
    for (std::int64_t j = middle; last > middle && j < last; ++j)
      cell(j) = static_cast<double>(last - j) / static_cast<double>(last - middle);
  }
  return one(constant(c, ops::Shape{spectrum, bins}, matrix, element));
}

}  // namespace

std::vector<OperatorRow> signal_operators() {
  return {
      {"BlackmanWindow", blackman_window},       {"DFT", discrete_fourier_transform},
      {"HammingWindow", hamming_window},         {"HannWindow", hann_window},
      {"MelWeightMatrix", mel_weight_matrix, 5}, {"STFT", short_time_fourier_transform, 2},
  };
}

}  // namespace halyard::onnx
