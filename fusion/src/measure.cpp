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

TileBuilder copy_kernel(std::int64_t count, ElementType element = ElementType::f32) {
  TileBuilder k("measure_copy");
  Axis i = k.axis("i", count);
  k.output("y", k.input("x", element, {i}));
  return k;
}

TileBuilder triad_kernel(std::int64_t count, ElementType element = ElementType::f32) {
  TileBuilder k("measure_triad");
  Axis i = k.axis("i", count);
  k.output("a", k.input("b", element, {i}) * k.input("c", element, {i}) + k.input("d", element, {i}));
  return k;
}

/// A product large enough to show the rate that products reach.
TileBuilder product_kernel(std::int64_t extent, ElementType element) {
  TileBuilder k("measure_product");
  Axis m = k.axis("m", extent), n = k.axis("n", extent), depth = k.axis("k", extent);
  k.output("c", k.dot(k.input("a", element, {m, depth}), k.input("b", element, {depth, n}), {depth},
                      element == ElementType::f64 ? ElementType::f64 : ElementType::f32));
  return k;
}

/// Multiply-adds in registers alone: eight chains side by side for every element.
constexpr int chains = 8, chain_steps = 96;
TileBuilder multiply_add_kernel(std::int64_t count, ElementType element) {
  TileBuilder k("measure_multiply_add");
  Axis i = k.axis("i", count);
  Tile x = k.input("x", element, {i});
  std::vector<Tile> sums(chains, x);
  for (int step = 0; step < chain_steps; ++step)
    for (int chain = 0; chain < chains; ++chain)
      sums[static_cast<std::size_t>(chain)] =
          k.elementwise(ops::Primitive::fma,
                        {sums[static_cast<std::size_t>(chain)], k.constant(element, 0.5 + chain / 32.0), x});
  Tile total = sums[0];
  for (int chain = 1; chain < chains; ++chain) total = total + sums[static_cast<std::size_t>(chain)];
  k.output("y", total);
  return k;
}

/// Seconds of the largest of these sizes that a device of this speed runs in reasonable time; `size` becomes
/// it.
Result<double> best_of_sizes(const std::shared_ptr<hal::Device>& device, const DeviceProfile& profile,
                             TileBuilder (*kernel)(std::int64_t, ElementType), ElementType element,
                             std::initializer_list<std::int64_t> sizes, std::int64_t& size) {
  constexpr double long_enough = 5e-3;
  double seconds = 0;
  for (std::int64_t candidate : sizes) {
    HALYARD_ASSIGN(Prepared prepared, prepare(device, profile, kernel(candidate, element)));
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

/// Bytes per second of a kernel that moves `bytes`, repeated until a run is long against the clock; what
/// launching takes is subtracted.
Result<double> bandwidth(const Prepared& kernel, double bytes, double launch_seconds) {
  constexpr double assumed_rate = 50e9, long_enough = 1e-3;
  const auto rounds = static_cast<std::size_t>(std::clamp(long_enough * assumed_rate / bytes, 1.0, 64.0));
  HALYARD_ASSIGN(double seconds, kernel.best(rounds, 10));
  const double one = seconds / static_cast<double>(rounds);
  return bytes / std::max(one - launch_seconds, one / 2);
}

/// The levels of memory, up to `count` elements in each of a triad's four streams.
Status measure_bandwidth(const std::shared_ptr<hal::Device>& device, const DeviceProfile& profile,
                         std::int64_t count, hal::Measurements& result) {
  constexpr std::int64_t least_count = 1 << 13, step = 4;
  for (std::int64_t size = least_count;; size = std::min(count, size * step)) {
    // Of a copy's two streams each is twice as long: the same bytes.
    hal::Measurements::Bandwidth level{.bytes = static_cast<double>(size) * 16};
    HALYARD_ASSIGN(Prepared copy, prepare(device, profile, copy_kernel(size * 2)));
    HALYARD_ASSIGN(level.copy_bytes_per_second, bandwidth(copy, level.bytes, result.launch_seconds));
    HALYARD_ASSIGN(Prepared triad, prepare(device, profile, triad_kernel(size)));
    HALYARD_ASSIGN(level.triad_bytes_per_second, bandwidth(triad, level.bytes, result.launch_seconds));
    result.bandwidth.push_back(level);
    constexpr double slow_seconds = 0.05;
    if (size >= count || level.bytes / level.triad_bytes_per_second > slow_seconds) return {};
  }
}

/// The rates of multiply-adds, of products and in registers, in the types that the device computes in.
Status measure_flops(const std::shared_ptr<hal::Device>& device, const DeviceProfile& profile,
                     hal::Measurements& result) {
  for (ElementType element : {ElementType::f32, ElementType::f64, ElementType::f16, ElementType::bf16}) {
    if (element == ElementType::f64 && !profile.has_f64) continue;
    const auto index = static_cast<std::size_t>(element);
    std::int64_t size = 0;
    HALYARD_ASSIGN(double seconds,
                   best_of_sizes(device, profile, product_kernel, element, {64, 192, 512}, size));
    const auto n = static_cast<double>(size);
    result.flops_per_second[index] = 2 * n * n * n / seconds;
    if (byte_size(element) < 4) continue;
    HALYARD_ASSIGN(seconds, best_of_sizes(device, profile, multiply_add_kernel, element,
                                          {1 << 12, 1 << 15, 1 << 19}, size));
    result.peak_flops_per_second[index] = 2.0 * chains * chain_steps * static_cast<double>(size) / seconds;
  }
  return {};
}

}  // namespace

Result<hal::Measurements> measure_device(const std::shared_ptr<hal::Device>& device) {
  hal::Measurements result;
  DeviceProfile profile = make_profile(device->info());
  HALYARD_ASSIGN(Prepared small, prepare(device, profile, copy_kernel(64)));
  HALYARD_ASSIGN(result.launch_seconds, cost_of_one_more(small, 65));
  HALYARD_ASSIGN(result.submit_seconds, small.best(1, 20));
  // Well beyond the last cache, yet short (a run that is not interrupted tells the rate), and no more than
  // one binding may span.
  const std::int64_t cache = static_cast<std::int64_t>(device->info().l3_bytes);
  const auto bindable = static_cast<std::int64_t>(
      std::min<std::uint64_t>(profile.max_buffer_range, std::uint64_t{1} << 40) / sizeof(float) / 2);
  const std::int64_t count = std::min(
      bindable, std::clamp<std::int64_t>(4 * cache / 16, std::int64_t{4} << 20, std::int64_t{64} << 20));
  HALYARD_TRY(measure_bandwidth(device, profile, count, result));
  result.copy_bytes_per_second = result.bandwidth.back().copy_bytes_per_second;
  result.triad_bytes_per_second = result.bandwidth.back().triad_bytes_per_second;
  // Four streams that stay in half of the last-level cache, or of what a device without one is assumed to
  // have.
  constexpr std::int64_t assumed_cache = std::int64_t{4} << 20;
  const std::int64_t in_cache =
      std::clamp<std::int64_t>((cache > 0 ? cache : assumed_cache) / 32, 1 << 14, count);
  HALYARD_ASSIGN(Prepared near, prepare(device, profile, triad_kernel(in_cache)));
  HALYARD_ASSIGN(result.cached_bytes_per_second,
                 bandwidth(near, static_cast<double>(in_cache) * 16, result.launch_seconds));
  HALYARD_TRY(measure_flops(device, profile, result));
  HALYARD_ASSIGN(double tiny, small.best(1, 10));
  HALYARD_ASSIGN(Prepared wide, prepare(device, profile, copy_kernel(1 << 18)));
  HALYARD_ASSIGN(double wide_seconds, wide.best(1, 10));
  double groups = static_cast<double>(wide.dispatch.grid[0]) * wide.dispatch.grid[1] * wide.dispatch.grid[2];
  if (groups > 1) result.workgroup_seconds = std::max(0.0, wide_seconds - tiny) / (groups - 1);
  return result;
}

}  // namespace halyard::fusion
