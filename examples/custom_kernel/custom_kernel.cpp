// A kernel written once and run on every device: y = rms_norm(x + residual) * weight, in one pass over
// memory.
#include <fmt/format.h>
#include <halyard/fusion/custom_kernel.h>
#include <halyard/hal/registry.h>

#include <cmath>

using namespace halyard;
using namespace halyard::fusion;

namespace {

// ---- the kernel. Axes have no sizes yet, and nothing says how many lanes or which memory: that is the
// schedule's, which Halyard finds for each device. Nor can anything here change the order in which the sum is
// taken.
Result<CustomKernel> residual_rms_norm() {
  TileBuilder k("residual_rms_norm");
  Axis row = k.axis("row");
  Axis col = k.axis("col");
  Tile x = k.input("x", ElementType::f32, {row, col});
  Tile residual = k.input("residual", ElementType::f32, {row, col});
  Tile weight = k.input("weight", ElementType::f32, {col});
  Tile h = x + residual;
  Tile mean_square = k.sum(h * h, {col}) / k.extent({col}, ElementType::f32);
  k.output("y", h / sqrt(mean_square + 1e-6) * weight);
  return CustomKernel::create(std::move(k));
}
// ---- end of the kernel

ops::HostTensor wave(ops::Shape shape, float step) {
  auto tensor = ops::HostTensor::allocate(ElementType::f32, std::move(shape));
  float phase = 0;
  for (float& value : tensor->mutable_values<float>()) value = std::sin(phase += step);
  return *tensor;
}

/// The same in double precision.
double largest_error(const std::vector<ops::HostTensor>& in, const ops::HostTensor& y) {
  const std::int64_t rows = in[0].shape()[0];
  const std::int64_t columns = in[0].shape()[1];
  double largest = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    auto h = [&](std::int64_t c) { return in[0].at(r * columns + c) + in[1].at(r * columns + c); };
    for (std::int64_t c = 0; c < columns; ++c) sum += h(c) * h(c);
    const double scale = 1 / std::sqrt(sum / static_cast<double>(columns) + 1e-6);
    for (std::int64_t c = 0; c < columns; ++c)
      largest = std::max(largest, std::fabs(h(c) * scale * in[2].at(c) - y.at(r * columns + c)));
  }
  return largest;
}

Status run() {
  HALYARD_ASSIGN(CustomKernel kernel, residual_rms_norm());
  const std::vector<ops::HostTensor> inputs{wave({64, 1000}, 0.37f), wave({64, 1000}, 0.11f),
                                            wave({1000}, 0.05f)};
  std::optional<ops::HostTensor> first;
  for (const hal::DeviceSummary& summary : hal::Registry::shared().devices()) {
    HALYARD_ASSIGN(auto device, hal::Registry::shared().open(summary.uri));
    HALYARD_ASSIGN(auto compiler, Compiler::create(device));
    HALYARD_ASSIGN(std::vector<ops::HostTensor> results,
                   kernel.run(*compiler, std::span<const ops::HostTensor>(inputs)));
    if (!first) first = results[0];
    const bool same = ops::same_bits(*first, results[0]);
    fmt::print("{:<12} largest error {:.1e}, {} as the first device\n", summary.uri,
               largest_error(inputs, results[0]), same ? "same bits" : "OTHER BITS");
    if (!same || largest_error(inputs, results[0]) > 1e-5)
      return fail(ErrorCode::internal, fmt::format("{} disagrees", summary.uri));
  }
  return {};
}

}  // namespace

int main() {
  if (Status status = run(); !status) {
    fmt::print(stderr, "custom_kernel: {}\n", status.error().message);
    return 1;
  }
  return 0;
}
