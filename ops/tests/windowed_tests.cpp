#include <halyard/ops/windowed.h>
#include <cmath>
#include <functional>
#include "test_tensors.h"

namespace halyard::ops::testing {
namespace {

using Ids = std::span<const NodeId>;
using Extents = std::vector<std::int64_t>;

std::string message_of(const Shape& shape, const std::function<Result<NodeId>(GraphBuilder&, NodeId)>& make) {
  Graph graph;
  GraphBuilder builder(graph);
  auto result = make(builder, builder.input("x", ElementType::f32, shape).value());
  return result ? "" : result.error().message;
}

struct Plane {
  std::int64_t kernel[2], strides[2], dilations[2], before[2], after[2], groups;
  WindowOptions options() const {
    return {
        {strides[0], strides[1]}, {dilations[0], dilations[1]}, {before[0], before[1]}, {after[0], after[1]}};
  }
};

/// A two-dimensional convolution by its definition.
std::vector<double> convolved(const HostTensor& x, const HostTensor& w, const Plane& p) {
  const Shape &a = x.shape(), &k = w.shape();
  std::int64_t result[2];
  for (int i = 0; i < 2; ++i)
    result[i] = (a[static_cast<std::size_t>(2 + i)] + p.before[i] + p.after[i] -
                 (p.kernel[i] - 1) * p.dilations[i] - 1) /
                    p.strides[i] +
                1;
  std::vector<double> values;
  for (std::int64_t n = 0; n < a[0]; ++n)
    for (std::int64_t m = 0; m < k[0]; ++m)
      for (std::int64_t i = 0; i < result[0]; ++i)
        for (std::int64_t j = 0; j < result[1]; ++j) {
          double sum = 0;
          for (std::int64_t c = 0; c < k[1]; ++c)
            for (std::int64_t u = 0; u < p.kernel[0]; ++u)
              for (std::int64_t v = 0; v < p.kernel[1]; ++v) {
                const std::int64_t row = i * p.strides[0] + u * p.dilations[0] - p.before[0];
                const std::int64_t column = j * p.strides[1] + v * p.dilations[1] - p.before[1];
                if (row < 0 || row >= a[2] || column < 0 || column >= a[3]) continue;
                const std::int64_t channel = m / (k[0] / p.groups) * k[1] + c;
                sum += x.at(((n * a[1] + channel) * a[2] + row) * a[3] + column) *
                       w.at(((m * k[1] + c) * k[2] + u) * k[3] + v);
              }
          values.push_back(sum);
        }
  return values;
}

void check_close(const HostTensor& tensor, const std::vector<double>& expected, double tolerance = 1e-5) {
  REQUIRE(tensor.count() == static_cast<std::int64_t>(expected.size()));
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    INFO("element " << i);
    CHECK(std::fabs(tensor.at(i) - expected[static_cast<std::size_t>(i)]) <= tolerance);
  }
}

/// Σ a · b.
double inner_product(const HostTensor& a, const HostTensor& b) {
  double sum = 0;
  for (std::int64_t i = 0; i < a.count(); ++i) sum += a.at(i) * b.at(i);
  return sum;
}

}  // namespace

TEST_CASE("convolution matches its definition: strides, dilations, padding, groups") {
  const Plane planes[] = {{{3, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1},
                          {{3, 2}, {2, 1}, {1, 2}, {1, 0}, {2, 3}, 1},
                          {{1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 2},
                          {{2, 3}, {3, 2}, {2, 1}, {2, 2}, {0, 1}, 2}};
  for (const Plane& p : planes) {
    const HostTensor x = Noise(1).tensor({2, 4, 9, 8});
    const HostTensor w = Noise(2).tensor({6, 4 / p.groups, p.kernel[0], p.kernel[1]});
    check_close(
        made_of({x, w}, [&](GraphBuilder& b,
                            Ids ids) { return convolution(b, ids[0], ids[1], p.options(), p.groups); }),
        convolved(x, w, p));
  }
}

TEST_CASE("convolution works along one axis and along three") {
  const HostTensor ones = numbers_of(ElementType::f32, {1, 1, 4}, {1, 2, 3, 4});
  const HostTensor pair = numbers_of(ElementType::f32, {1, 1, 2}, {1, -1});
  const auto plain = [](GraphBuilder& b, Ids ids) { return convolution(b, ids[0], ids[1]); };
  CHECK(doubles_of(made_of({ones, pair}, plain)) == std::vector<double>{-1, -1, -1});
  const HostTensor cube = Noise(3).tensor({1, 2, 3, 3, 3}), whole = Noise(4).tensor({1, 2, 3, 3, 3});
  check_close(made_of({cube, whole}, plain), {inner_product(cube, whole)});
}

TEST_CASE("a transposed convolution is the adjoint of the convolution") {
  const Plane planes[] = {{{3, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1},
                          {{3, 2}, {2, 3}, {1, 2}, {1, 0}, {1, 1}, 1},
                          {{2, 3}, {2, 1}, {2, 1}, {2, 2}, {0, 1}, 2},
                          {{1, 1}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, 1}};
  for (const Plane& p : planes) {
    const HostTensor x = Noise(1).tensor({2, 4, 9, 8});
    const HostTensor w = Noise(2).tensor({6, 4 / p.groups, p.kernel[0], p.kernel[1]});
    const HostTensor forward = made_of({x, w}, [&](GraphBuilder& b, Ids ids) {
      return convolution(b, ids[0], ids[1], p.options(), p.groups);
    });
    const HostTensor y = Noise(5).tensor(forward.shape());
    Extents more;  // rows and columns that no window reached
    for (int i = 0; i < 2; ++i)
      more.push_back((x.shape()[static_cast<std::size_t>(2 + i)] + p.before[i] + p.after[i] -
                      (p.kernel[i] - 1) * p.dilations[i] - 1) %
                     p.strides[i]);
    const HostTensor back = made_of({y, w}, [&](GraphBuilder& b, Ids ids) {
      return transposed_convolution(b, ids[0], ids[1], p.options(), p.groups, more);
    });
    REQUIRE(back.shape() == x.shape());
    CHECK(inner_product(forward, y) == doctest::Approx(inner_product(x, back)).epsilon(1e-5));
  }
}

TEST_CASE("max_pool never takes padding, average_pool counts it when asked") {
  const HostTensor x = numbers_of(ElementType::f32, {1, 1, 3}, {-1, -2, -6});
  const WindowOptions padded{{2}, {}, {1}, {1}};
  CHECK(doubles_of(made_of({x}, [&](GraphBuilder& b, Ids ids) {
          return max_pool(b, ids[0], {2}, padded);
        })) == std::vector<double>{-1, -2});
  const auto averaged = [&](bool counts, Extents beyond) {
    return doubles_of(made_of(
        {x}, [&](GraphBuilder& b, Ids ids) { return average_pool(b, ids[0], {2}, padded, counts, beyond); }));
  };
  CHECK(averaged(false, {}) == std::vector<double>{-1, -4});
  CHECK(averaged(true, {}) == std::vector<double>{-0.5, -4});
  CHECK(averaged(true, {1}) == std::vector<double>{-0.5, -4, 0});
}

TEST_CASE("resize: places and weights of each coordinate rule") {
  const HostTensor x = vector_of<float>({1, 2, 3, 4});
  const auto resized = [&](std::int64_t extent, const ResizeOptions& options) {
    return made_of({x}, [&](GraphBuilder& b, Ids ids) { return resize(b, ids[0], 0, extent, options); });
  };
  CHECK(doubles_of(resized(8, {.coordinates = Coordinates::asymmetric, .nearest = Nearest::floor})) ==
        std::vector<double>{1, 1, 2, 2, 3, 3, 4, 4});
  check_close(resized(8, {.interpolation = Interpolation::linear}),
              {1, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75, 4});
  check_close(resized(3, {.interpolation = Interpolation::linear, .coordinates = Coordinates::align_corners}),
              {1, 2.5, 4});
  check_close(
      resized(1, {.interpolation = Interpolation::linear, .coordinates = Coordinates::pytorch_half_pixel}),
      {1});
  const auto cropped = [&](std::int64_t extent, double start, double end) {
    return resized(extent, {.interpolation = Interpolation::linear,
                            .coordinates = Coordinates::cropped,
                            .start = start,
                            .end = end});
  };
  check_close(cropped(3, 0.5, 1), {2.5, 3.25, 4});
  check_close(cropped(2, 1, 0), {4, 1});
  check_close(cropped(1, 0, 0.5), {1.75});
  // Keys' kernel reproduces straight lines between the ends only with a = −1/2.
  const HostTensor cubic = resized(
      7, {.interpolation = Interpolation::cubic, .coordinates = Coordinates::align_corners, .cubic = -0.5});
  CHECK(cubic.at(2) == doctest::Approx(2));
  CHECK(cubic.at(3) == doctest::Approx(2.5));
}

TEST_CASE("what does not fit is said with the shapes") {
  CHECK(message_of({2, 3}, [](GraphBuilder& b, NodeId x) { return max_pool(b, x, {2}); }) ==
        "max_pool: the operand is [2, 3], not [batch, channels, spatial…]");
  CHECK(message_of({1, 3, 8}, [](GraphBuilder& b, NodeId x) { return convolution(b, x, x, {}, 2); }) ==
        "convolution: weight [1, 3, 8] does not fit [1, 3, 8] in 2 groups");
  CHECK(message_of({1, 3, 8}, [](GraphBuilder& b, NodeId x) {
          return convolution(b, x, x, {{0}, {}, {}, {}});
        }) == "convolution: strides [0], dilations [1], padding [0] and [0] do not fit 1 spatial axes");
  CHECK(message_of({4}, [](GraphBuilder& b, NodeId x) { return b.windows(x, {0}, {0}, {0}); }) ==
        "windows: a window of 0 elements 1 apart in steps of 0");
}

}  // namespace halyard::ops::testing
