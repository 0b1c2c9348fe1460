#include <fmt/format.h>
#include <halyard/ops/reduction_order.h>

#include <algorithm>
#include <limits>

#include "lowering/patterns.h"
#include "lowering/product.h"

namespace halyard::fusion::lowering {
namespace {

TileId only_dot(const TileProgram& tiles) {
  for (std::size_t i = 0; i < tiles.values.size(); ++i)
    if (tiles.values[i].op == TileOp::dot) return static_cast<TileId>(i);
  return no_tile;
}

TileId first_store(const TileProgram& tiles) {
  for (std::size_t i = 0; i < tiles.values.size(); ++i)
    if (tiles.values[i].op == TileOp::store) return static_cast<TileId>(i);
  return no_tile;
}

std::int64_t extent_of(const Binding& binding, const std::vector<Axis>& axes) {
  std::int64_t product = 1;
  for (Axis axis : axes) product *= binding.extents[fusion::index(axis)];
  return product;
}

/// Whether b is a constant that can be laid out for the product when the graph is compiled, which is worth
/// stores that scatter: there is one for many steps of k.
bool has_weights(const TileProgram& tiles, const Binding& binding, const ProductAxes& axes,
                 const DeviceProfile& profile) {
  constexpr std::int64_t least_depth = 64;
  const TileValue& b = tiles.values[fusion::index(axes.b)];
  return profile.model == ExecutionModel::tasks && b.op == TileOp::load && b.operands.empty() &&
         tiles.operands[b.number].constant && axes.n.size() == 1 &&
         binding.extents[fusion::index(axes.n[0])] >= 2 * std::int64_t{profile.vector_bytes / 4} &&
         extent_of(binding, axes.k) >= least_depth;
}

/// The side whose free axis moves the store by one element becomes the vectorized one, or that of the
/// weights.
ProductAxes axes_for_store(const TileProgram& tiles, const Binding& binding, const DeviceProfile& profile) {
  const TileId dot = only_dot(tiles);
  const auto strides = strides_by_axis(tiles, binding, first_store(tiles));
  ProductAxes parts = product_axes(tiles, dot, false, strides);
  if (has_weights(tiles, binding, parts, profile)) return parts;
  auto unit = [&](const std::vector<Axis>& axes) {
    return std::any_of(axes.begin(), axes.end(), [&](Axis axis) {
      return strides[fusion::index(axis)] == 1 && binding.extents[fusion::index(axis)] > 1;
    });
  };
  const bool exchange = !unit(parts.n) && (unit(parts.m) || parts.n.empty()) && !parts.m.empty();
  return exchange ? product_axes(tiles, dot, true, strides) : parts;
}

/// The divisor under which operand b is stored in slivers, or 0: ((n / d) * K + k) * d + n mod d.
std::uint32_t sliver_width(const TileProgram& tiles, const Binding& binding, TileId b) {
  const TileValue& value = tiles.values[fusion::index(b)];
  if (value.op != TileOp::load) return 0;
  const AccessBinding& numbers = binding.accesses[fusion::index(b)];
  for (std::size_t t = 0; t < value.access.terms.size(); ++t)
    if (value.access.terms[t].wrapped && numbers.strides[t] == 1)
      return static_cast<std::uint32_t>(numbers.moduli[t]);
  return 0;
}

std::vector<Schedule> task_schedules(const TileProgram& tiles, const Binding& binding,
                                     const DeviceProfile& profile) {
  const ProductAxes axes = axes_for_store(tiles, binding, profile);
  const std::int64_t m = extent_of(binding, axes.m);
  const std::int64_t n = extent_of(binding, axes.n);
  const std::int64_t batch = extent_of(binding, axes.batch);
  const auto element = ops::accumulator(tiles.values[fusion::index(axes.a)].type);
  const auto lanes =
      std::max<std::uint32_t>(1, profile.vector_bytes / static_cast<std::uint32_t>(byte_size(element)));

  Schedule schedule{.pattern = Pattern::contraction};
  schedule.vector =
      n == 1 ? 1 : static_cast<std::uint32_t>(std::min<std::int64_t>(lanes, Lowering::bucket(n)));
  // Two vectors of columns and as many rows as leave registers for one vector of each operand.
  // One row that reads a matrix along k: as few streams of memory side by side as fill a vector.
  const bool is_matrix_vector = m == 1 && is_worth_transposing(tiles, binding, axes, schedule.vector);
  const std::uint32_t columns = n > schedule.vector && !is_matrix_vector ? 2 : 1;
  schedule.tile_n = schedule.vector * columns;
  const std::uint32_t sliver = sliver_width(tiles, binding, axes.b);
  if (sliver != 0 && sliver % schedule.vector == 0) {
    schedule.tile_n = sliver;
    schedule.packed_b = true;
  }
  const std::uint32_t vectors = schedule.tile_n / schedule.vector;
  std::uint32_t most_rows = std::max<std::uint32_t>(1, (profile.vector_registers - vectors - 1) / vectors);
  most_rows = std::min<std::uint32_t>(most_rows, 8);
  schedule.tile_m = m < most_rows ? static_cast<std::uint32_t>(std::max<std::int64_t>(m, 1)) : most_rows;
  schedule.unroll_k = 4;
  // Blocks: enough tasks for the threads, else as large as keeps a block of b in the middle cache. Only the
  // power-of-two bucket of m counts, so that kernels are shared between sizes.
  const std::int64_t m_bucket = m <= literal_extent ? m : Lowering::bucket(m);
  std::int64_t block_m = std::min<std::int64_t>(m_bucket, 16 * schedule.tile_m);
  std::int64_t block_n = std::min<std::int64_t>((n + schedule.tile_n - 1) / schedule.tile_n,
                                                std::max(1u, 64u / schedule.tile_n)) *
                         schedule.tile_n;
  auto tasks = [&] { return batch * ((m_bucket + block_m - 1) / block_m) * ((n + block_n - 1) / block_n); };
  while (tasks() < 4 * std::int64_t{profile.threads} && block_m > schedule.tile_m)
    block_m = std::max<std::int64_t>(block_m / 2, schedule.tile_m);
  schedule.block_m =
      static_cast<std::uint32_t>((block_m + schedule.tile_m - 1) / schedule.tile_m * schedule.tile_m);
  schedule.block_n = static_cast<std::uint32_t>(std::max<std::int64_t>(block_n, schedule.tile_n));

  std::vector<Schedule> candidates{schedule};
  if (schedule.tile_m > 4) {
    Schedule fewer = schedule;
    fewer.tile_m = 4;
    fewer.block_m = (schedule.block_m + 3) / 4 * 4;
    candidates.push_back(fewer);
  }
  Schedule wider = schedule;
  wider.block_n *= 2;
  candidates.push_back(wider);
  return candidates;
}

std::vector<Schedule> lane_schedules(const TileProgram& tiles, const Binding& binding,
                                     const DeviceProfile& profile) {
  const ProductAxes axes = axes_for_store(tiles, binding, profile);
  const std::int64_t m = extent_of(binding, axes.m);
  const std::int64_t n = extent_of(binding, axes.n);
  const std::uint32_t team = profile.subgroup_size;
  Schedule schedule{.pattern = Pattern::contraction};
  const bool quads = !axes.n.empty() && binding.extents[fusion::index(axes.n.back())] % 4 == 0 &&
                     operand_facts(tiles, binding, axes.b, axes.n.back()).contiguous;
  schedule.vector = quads ? 4 : 1;
  // Broadcasting a lane's own row needs `a` contiguous along k and its steps to divide k.
  const bool own_rows = profile.subgroup_shuffle && !axes.k.empty() &&
                        binding.extents[fusion::index(axes.k.back())] % 4 == 0 &&
                        operand_facts(tiles, binding, axes.a, axes.k.back()).contiguous;
  schedule.unroll_k = own_rows && !profile.fma_in_integers ? 4 : 1;
  // At least 32 columns a tile: fewer would load `a` too often.
  std::uint32_t groups = std::max(1u, 32 / (team * schedule.vector));
  while (groups > 1 && n <= std::int64_t{team} * schedule.vector * (groups / 2)) groups /= 2;
  // An fma of hundreds of instructions makes code of which few may stand side by side (SwiftShader's compiler
  // crashed on sixteen rows).
  if (profile.fma_in_integers) groups = 1;
  const std::int64_t most_rows = profile.fma_in_integers ? 2 : own_rows ? 16 : 8;
  schedule.tile_m = static_cast<std::uint32_t>(
      std::min<std::int64_t>(most_rows, Lowering::bucket(std::max<std::int64_t>(m, 1))));
  schedule.tile_n = team * schedule.vector * groups;
  std::uint32_t teams =
      profile.cheap_barriers ? std::min<std::uint32_t>(4, profile.max_workgroup_lanes / team) : 1;
  while (teams > 1 && m <= std::int64_t{schedule.tile_m} * (teams / 2)) teams /= 2;
  schedule.lanes = team * teams;
  schedule.block_m = schedule.tile_m * teams;
  schedule.block_n = schedule.tile_n;
  std::vector<Schedule> candidates{schedule};
  if (quads && n > std::int64_t{schedule.tile_n}) {
    Schedule wider = schedule;
    wider.tile_n *= 2;
    wider.block_n *= 2;
    candidates.push_back(wider);
  }
  return candidates;
}

/// Iterations that one lane runs over all loops, for drivers that limit them.
std::int64_t loop_trips(std::int64_t depth, std::uint32_t step) {
  return depth / step + depth % step + 2 + depth / 8;
}

struct Grid {
  std::array<std::uint32_t, 3> counts{1, 1, 1};
  bool fits = true;
};

Grid grid_of(std::int64_t n_blocks, std::int64_t m_blocks, std::int64_t batch, const DeviceProfile& profile) {
  Grid grid;
  const std::array<std::int64_t, 3> wanted{n_blocks, m_blocks, batch};
  const std::int64_t limit = profile.model == ExecutionModel::tasks ? std::numeric_limits<std::int32_t>::max()
                                                                    : std::int64_t{profile.max_grid};
  for (std::size_t i = 0; i < 3; ++i) {
    grid.fits = grid.fits && wanted[i] <= limit;
    grid.counts[i] = static_cast<std::uint32_t>(std::clamp<std::int64_t>(wanted[i], 0, limit));
  }
  return grid;
}

}  // namespace

std::vector<Schedule> contraction_schedules(const TileProgram& tiles, const Binding& binding,
                                            const DeviceProfile& profile) {
  return profile.model == ExecutionModel::tasks ? task_schedules(tiles, binding, profile)
                                                : lane_schedules(tiles, binding, profile);
}

Result<LoweredKernel> lower_contraction(const TileProgram& tiles, const Binding& binding,
                                        const Schedule& schedule, const DeviceProfile& profile) {
  Lowering l(tiles, binding, profile);
  const TileId dot = only_dot(tiles);
  Product product;
  product.axes = axes_for_store(tiles, binding, profile);
  product.accumulator = ops::accumulator(l.value(product.axes.a).type);
  product.a = [&](Frame& frame, const ProductPlace&) { return l.evaluate(product.axes.a, frame); };
  product.b = [&](Frame& frame, const ProductPlace&) { return l.evaluate(product.axes.b, frame); };
  std::vector<TileId> stored;
  for (TileId store : l.stores()) stored.push_back(l.value(store).operands[0]);
  product.before_rows = [&](Frame& frame) { l.evaluate_available(stored, frame); };
  product.prepare = [&](Frame& frame, ValueId accumulated) {
    frame.know(dot, l.convert(accumulated, l.value(dot).type));
    for (TileId value : stored) l.evaluate(value, frame);
  };
  product.consume = [&](Frame& frame, const ProductPlace&, ValueId) {
    for (TileId store : l.stores()) l.store(store, frame);
  };

  const std::int64_t m = l.extent_of(product.axes.m);
  const std::int64_t n = l.extent_of(product.axes.n);
  const std::int64_t k = l.extent_of(product.axes.k);
  const Grid grid =
      grid_of((n + schedule.block_n - 1) / schedule.block_n, (m + schedule.block_m - 1) / schedule.block_m,
              l.extent_of(product.axes.batch), profile);
  if (!grid.fits)
    return fail(ErrorCode::unsupported,
                fmt::format("kernel {}: a grid of {} x {} x {} workgroups exceeds the device's {} per "
                            "dimension",
                            tiles.name, n, m, l.extent_of(product.axes.batch), profile.max_grid));

  ProductBlock block{.block_m = schedule.block_m,
                     .block_n = schedule.block_n,
                     .tile_m = schedule.tile_m,
                     .tile_n = schedule.tile_n,
                     .vector = schedule.vector,
                     .unroll_k = schedule.unroll_k};
  Frame outer = l.root();
  l.decompose(outer, product.axes.batch, l.builtin(program::Builtin::workgroup_z));
  block.n_first = l.mul(l.builtin(program::Builtin::workgroup_x), schedule.block_n);
  block.m_first = l.mul(l.builtin(program::Builtin::workgroup_y), schedule.block_m);
  std::string note =
      fmt::format("{}: m = {} axes, n = {} axes, k = {} axes\nschedule: {}", tiles.name,
                  product.axes.m.size(), product.axes.n.size(), product.axes.k.size(), to_text(schedule));
  if (profile.model == ExecutionModel::tasks) {
    const Axis along = product.axes.n.empty() ? Axis{0} : product.axes.n.back();
    const OperandFacts a = operand_facts(tiles, binding, product.axes.a, along);
    const OperandFacts b = operand_facts(tiles, binding, product.axes.b, along);
    block.pack_a = !a.is_load;
    block.padded_b = schedule.packed_b;
    block.pack_b = !schedule.packed_b && !product.axes.n.empty() &&
                   !(b.is_load && b.contiguous && n % schedule.tile_n == 0);
    block.transpose_b = block.pack_b && is_worth_transposing(tiles, binding, product.axes, schedule.vector);
    task_product(l, outer, product, block);
    return l.finish(grid.counts, 1, 0, std::move(note));
  }
  block.team = profile.subgroup_size;
  if (schedule.lanes > block.team)
    block.m_first = l.add(block.m_first, l.mul(l.builtin(program::Builtin::subgroup), schedule.tile_m));
  if (profile.max_loop_trips != 0 &&
      loop_trips(k, block.unroll_k > 1 ? block.unroll_k : block.team) > profile.max_loop_trips)
    return fail(ErrorCode::unsupported,
                fmt::format("kernel {}: {} steps of k exceed the {} loop iterations that this driver "
                            "runs per lane; use a newer driver",
                            tiles.name, k, profile.max_loop_trips));
  lane_product(l, outer, product, block);
  return l.finish(grid.counts, schedule.lanes, block.team, std::move(note));
}

}  // namespace halyard::fusion::lowering
