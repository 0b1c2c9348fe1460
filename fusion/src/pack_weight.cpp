#include "pack_weight.h"

#include <algorithm>

namespace halyard::fusion {
namespace {

/// The part of the address that these axes give, for every linear (row-major) position on them.
std::vector<std::int64_t> addresses(const std::vector<Axis>& axes, const Access& access,
                                    const AccessBinding& numbers, const std::vector<std::int64_t>& extents) {
  std::vector<std::int64_t> result{0};
  for (Axis axis : axes) {
    std::vector<std::int64_t> wider;
    wider.reserve(result.size() * static_cast<std::size_t>(extents[index(axis)]));
    for (std::int64_t base : result)
      for (std::int64_t at = 0; at < extents[index(axis)]; ++at) {
        std::int64_t address = base;
        for (std::size_t i = 0; i < access.terms.size(); ++i) {
          if (access.terms[i].axis != axis) continue;
          std::int64_t quotient = at / numbers.divisors[i];
          if (numbers.moduli[i] != 0) quotient %= numbers.moduli[i];
          address += numbers.strides[i] * quotient;
        }
        wider.push_back(address);
      }
    result = std::move(wider);
  }
  return result;
}

}  // namespace

namespace {

struct ConstantOperand {
  std::size_t load = 0;  ///< index of the load's value
  std::vector<Axis> batch, k;
  Axis n{};
};

std::optional<ConstantOperand> constant_operand(const TileProgram& program) {
  auto dot = std::find_if(program.values.begin(), program.values.end(),
                          [](const TileValue& value) { return value.op == TileOp::dot; });
  ConstantOperand found{.load = index(dot->operands[1]), .k = dot->axes_list};
  const TileValue& load = program.values[found.load];
  if (load.op != TileOp::load || !load.operands.empty() || !program.operands[load.number].constant)
    return std::nullopt;
  auto loads = std::count_if(program.values.begin(), program.values.end(), [&](const TileValue& value) {
    return value.op == TileOp::load && value.number == load.number;
  });
  bool plain = std::all_of(load.access.terms.begin(), load.access.terms.end(),
                           [](const IndexTerm& term) { return term.axis.has_value(); });
  if (loads != 1 || !plain) return std::nullopt;
  AxisSet a = program.values[index(dot->operands[0])].axes, k;
  for (Axis axis : found.k) k = k | AxisSet{axis};
  int columns = 0;
  for (std::uint32_t i = 0; i < program.axes.size(); ++i) {
    Axis axis{i};
    if (!load.axes.contains(axis) || k.contains(axis)) continue;
    if (a.contains(axis)) {
      found.batch.push_back(axis);
    } else {
      found.n = axis;
      ++columns;
    }
  }
  if (columns != 1) return std::nullopt;
  return found;
}

/// The index map into the packed copy.
void read_packed(TileProgram& program, Binding& binding, const ConstantOperand& operand,
                 const PackedWeight& packed) {
  Access access;
  AccessBinding numbers;
  auto term = [&](Axis axis, std::int64_t stride, std::int64_t divisor, std::int64_t modulus) {
    access.terms.push_back({.axis = axis, .divided = divisor != 1, .wrapped = modulus != 0});
    numbers.strides.push_back(stride);
    numbers.divisors.push_back(divisor);
    numbers.moduli.push_back(modulus);
  };
  std::int64_t tile = packed.tile_n, depth = static_cast<std::int64_t>(packed.k.size());
  std::int64_t tiles = (static_cast<std::int64_t>(packed.n.size()) + tile - 1) / tile;
  auto row_major = [&](const std::vector<Axis>& axes, std::int64_t stride) {
    for (std::size_t i = axes.size(); i-- > 0;) {
      term(axes[i], stride, 1, 0);
      stride *= binding.extents[index(axes[i])];
    }
  };
  row_major(operand.batch, tiles * depth * tile);
  term(operand.n, depth * tile, tile, 0);
  row_major(operand.k, tile);
  term(operand.n, 1, 1, tile);
  program.values[operand.load].access = std::move(access);
  binding.accesses[operand.load] = std::move(numbers);
  binding.operand_elements[packed.operand] = packed.elements();
}

}  // namespace

void pack_constant_operand(Cluster& cluster, const DeviceProfile& profile) {
  if (cluster.pattern != Pattern::contraction || profile.model != ExecutionModel::tasks) return;
  auto operand = constant_operand(cluster.tile.program);
  if (!operand) return;
  const TileValue& load = cluster.tile.program.values[operand->load];
  const Binding& binding = cluster.tile.binding;
  const AccessBinding& numbers = binding.accesses[operand->load];
  // Two vector registers of columns: with as many rows as registers allow, the product's register tile.
  std::uint32_t tile =
      2 *
      std::max(1u, profile.vector_bytes / static_cast<std::uint32_t>(byte_size(ops::accumulator(load.type))));
  if (binding.extents[index(operand->n)] < tile) return;
  PackedWeight packed{.operand = load.number, .tile_n = tile, .offset = numbers.offset};
  packed.batch = addresses(operand->batch, load.access, numbers, binding.extents);
  packed.k = addresses(operand->k, load.access, numbers, binding.extents);
  packed.n = addresses({operand->n}, load.access, numbers, binding.extents);
  ClusterTile tried = cluster.tile;
  read_packed(tried.program, tried.binding, *operand, packed);
  auto schedules = candidate_schedules(tried.program, tried.binding, profile);
  if (!schedules || schedules->empty() || !schedules->front().packed_b) return;
  cluster.tile = std::move(tried);
  cluster.schedule = schedules->front();
  cluster.packed = std::move(packed);
}

}  // namespace halyard::fusion
