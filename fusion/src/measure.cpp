#include <halyard/fusion/probe.h>

#include <halyard/fusion/kernel_source.h>
#include <halyard/fusion/lower.h>
#include <halyard/fusion/tile_program.h>
#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <vector>

namespace halyard::fusion {
namespace {

/// A kernel on tensors of its own, ready to be dispatched.
struct Prepared {
  hal::Dispatch dispatch;
  std::shared_ptr<hal::Queue> queue;

  /// The shortest of several runs of `count` dispatches in one submission, in seconds. Slow devices run less
  /// often.
  Result<double> best(std::size_t count, int runs) const {
    constexpr double enough_seconds = 0.4;
    std::vector<hal::Command> commands(count, hal::Command(dispatch));
    double least = std::numeric_limits<double>::infinity(), spent = 0;
    for (int i = 0; i <= runs && spent < enough_seconds; ++i) {
      auto begin = std::chrono::steady_clock::now();
      HALYARD_ASSIGN(hal::SyncPoint done, queue->submit(commands));
      HALYARD_TRY(done.wait(std::chrono::seconds(60)));
      std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      if (i == 0) continue;  // the first run may compile
      least = std::min(least, took.count());
      spent += took.count();
    }
    return least;
  }
};

Result<Prepared> prepare(const std::shared_ptr<hal::Device>& device, const DeviceProfile& profile,
                         TileBuilder builder) {
  HALYARD_ASSIGN(TileBuilder::Finished kernel, std::move(builder).finish());
  HALYARD_ASSIGN(auto schedules, candidate_schedules(kernel.program, kernel.binding, profile));
  HALYARD_ASSIGN(LoweredKernel lowered, lower(kernel.program, kernel.binding, schedules.front(), profile));
  HALYARD_ASSIGN(KernelSource source, print_kernel(lowered.program, profile.module_format, device->info()));
  HALYARD_ASSIGN(auto module, device->load_module(source.module));
  Prepared prepared;
  HALYARD_ASSIGN(prepared.queue, device->default_queue());
  prepared.dispatch = {.kernel = hal::Kernel(module, 0), .grid = lowered.grid, .scalars = lowered.scalars};
  for (std::uint32_t operand : lowered.buffers) {
    std::uint64_t bytes = static_cast<std::uint64_t>(kernel.binding.operand_elements[operand]) *
                          byte_size(kernel.program.operands[operand].type);
    HALYARD_ASSIGN(auto buffer, device->allocate(hal::BufferDesc{.bytes = bytes}));
    hal::BufferSlice slice(buffer);
    // Ordinary numbers: subnormals would be slow.
    auto filled = prepared.queue->submit(hal::Command(hal::Fill{slice, 0x3f800000u, 4}));
    if (!filled) return tl::unexpected<Error>(filled.error());
    prepared.dispatch.buffers.push_back(std::move(slice));
  }
  return prepared;
}

TileBuilder copy_kernel(std::int64_t count) {
  TileBuilder k("measure_copy");
  Axis i = k.axis("i", count);
  k.output("y", k.input("x", ElementType::f32, {i}));
  return k;
}

TileBuilder triad_kernel(std::int64_t count) {
  TileBuilder k("measure_triad");
  Axis i = k.axis("i", count);
  k.output("a", k.input("b", ElementType::f32, {i}) * k.input("c", ElementType::f32, {i}) +
                    k.input("d", ElementType::f32, {i}));
  return k;
}

/// A product large enough to show the rate that products reach.
TileBuilder product_kernel(std::int64_t extent) {
  TileBuilder k("measure_product");
  Axis m = k.axis("m", extent), n = k.axis("n", extent), depth = k.axis("k", extent);
  k.output("c", k.dot(k.input("a", ElementType::f32, {m, depth}), k.input("b", ElementType::f32, {depth, n}),
                      {depth}));
  return k;
}

/// Seconds of the largest of these sizes that a device of this speed runs in reasonable time; `size` becomes
/// it.
Result<double> best_of_sizes(const std::shared_ptr<hal::Device>& device, const DeviceProfile& profile,
                             TileBuilder (*kernel)(std::int64_t), std::initializer_list<std::int64_t> sizes,
                             std::int64_t& size) {
  constexpr double long_enough = 5e-3;
  double seconds = 0;
  for (std::int64_t candidate : sizes) {
    HALYARD_ASSIGN(Prepared prepared, prepare(device, profile, kernel(candidate)));
    HALYARD_ASSIGN(seconds, prepared.best(1, 3));
    size = candidate;
    if (seconds < long_enough && candidate != std::data(sizes)[sizes.size() - 1]) continue;
    HALYARD_ASSIGN(double more, prepared.best(1, 16));
    return std::min(seconds, more);
  }
  return seconds;
}

/// The dispatches of one submission against one alone.
Result<double> cost_of_one_more(const Prepared& kernel, std::size_t count) {
  HALYARD_ASSIGN(double one, kernel.best(1, 10));
  HALYARD_ASSIGN(double many, kernel.best(count, 5));
  return std::max(many - one, 1e-9) / static_cast<double>(count - 1);
}

}  // namespace

Result<hal::Measurements> measure_device(const std::shared_ptr<hal::Device>& device) {
  hal::Measurements result;
  DeviceProfile profile = make_profile(device->info());
  // Well beyond the last cache, yet short (a run that is not interrupted tells the rate), and no more than
  // one binding may span.
  const std::int64_t cache = static_cast<std::int64_t>(device->info().l3_bytes);
  const auto bindable = static_cast<std::int64_t>(
      std::min<std::uint64_t>(profile.max_buffer_range, std::uint64_t{1} << 40) / sizeof(float));
  const std::int64_t count = std::min(
      bindable, std::clamp<std::int64_t>(4 * cache / 16, std::int64_t{4} << 20, std::int64_t{64} << 20));
  std::int64_t size = 0;
  HALYARD_ASSIGN(double copied, best_of_sizes(device, profile, copy_kernel, {1 << 16, 1 << 20, count}, size));
  result.copy_bytes_per_second = static_cast<double>(size) * 8 / copied;
  HALYARD_ASSIGN(double added, best_of_sizes(device, profile, triad_kernel, {1 << 16, 1 << 20, count}, size));
  result.triad_bytes_per_second = static_cast<double>(size) * 16 / added;
  // Four streams that stay in half of the last-level cache, or of what a device without one is assumed to
  // have.
  constexpr std::int64_t assumed_cache = std::int64_t{4} << 20;
  const std::int64_t in_cache =
      std::clamp<std::int64_t>((cache > 0 ? cache : assumed_cache) / 32, 1 << 14, count);
  HALYARD_ASSIGN(Prepared near, prepare(device, profile, triad_kernel(in_cache)));
  constexpr std::size_t rounds = 8;
  HALYARD_ASSIGN(double again, near.best(rounds, 12));
  result.cached_bytes_per_second = static_cast<double>(in_cache) * 16 * rounds / again;
  HALYARD_ASSIGN(double multiplied, best_of_sizes(device, profile, product_kernel, {64, 192, 512}, size));
  auto n = static_cast<double>(size);
  result.flops_per_second[static_cast<std::size_t>(ElementType::f32)] = 2 * n * n * n / multiplied;
  HALYARD_ASSIGN(Prepared small, prepare(device, profile, copy_kernel(64)));
  HALYARD_ASSIGN(result.launch_seconds, cost_of_one_more(small, 65));
  HALYARD_ASSIGN(result.submit_seconds, small.best(1, 20));
  HALYARD_ASSIGN(double tiny, small.best(1, 10));
  HALYARD_ASSIGN(Prepared wide, prepare(device, profile, copy_kernel(1 << 18)));
  HALYARD_ASSIGN(double wide_seconds, wide.best(1, 10));
  double groups = static_cast<double>(wide.dispatch.grid[0]) * wide.dispatch.grid[1] * wide.dispatch.grid[2];
  if (groups > 1) result.workgroup_seconds = std::max(0.0, wide_seconds - tiny) / (groups - 1);
  return result;
}

}  // namespace halyard::fusion
