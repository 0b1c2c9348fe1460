#include <halyard/fusion/planner.h>
#include <algorithm>
#include <cmath>
#include <set>
#include "element_cost.h"

namespace halyard::fusion {

std::string_view name(Bound bound) {
  switch (bound) {
    case Bound::launch:
      return "launch";
    case Bound::memory:
      return "memory";
    case Bound::compute:
      return "compute";
  }
  return "launch";
}

namespace {

double positions(AxisSet axes, const Binding& binding) {
  double count = 1;
  for (std::uint32_t i = 0; i < binding.extents.size(); ++i)
    if (axes.contains(Axis{i})) count *= static_cast<double>(binding.extents[i]);
  return count;
}

/// Axes along which a load touches new elements.
AxisSet moving_axes(const TileProgram& program, const TileValue& value, const AccessBinding& numbers) {
  AxisSet axes;
  for (std::size_t i = 0; i < value.access.terms.size(); ++i) {
    const IndexTerm& term = value.access.terms[i];
    if (numbers.strides[i] == 0) continue;
    axes = axes | (term.axis ? AxisSet{*term.axis} : program.values[index(term.value)].axes);
  }
  return axes;
}

class Estimator {
 public:
  Estimator(const TileProgram& program, const Binding& binding, Pattern pattern, const Schedule& schedule,
            const DeviceProfile& profile)
      : program_(program), binding_(binding), pattern_(pattern), schedule_(schedule), profile_(profile) {}

  ClusterCost run();

 private:
  void memory();
  void compute();
  void prologue(TileId root, double repeats);
  void dot(const TileValue& value);
  void operand_side(TileId operand, double repeats);
  bool reaches_sum(TileId root) const;
  double grain() const;

  const TileProgram& program_;
  const Binding& binding_;
  Pattern pattern_;
  const Schedule& schedule_;
  const DeviceProfile& profile_;
  ClusterCost cost_;
  double packed_bytes_ = 0;  ///< through the near caches
};

void Estimator::memory() {
  std::vector<double> read(program_.operands.size(), 0);
  int passes = 1;
  for (const TileValue& value : program_.values)
    if (value.op == TileOp::reduce) ++passes;
  bool reread = pattern_ == Pattern::rows && passes > 1 && !schedule_.stage_rows;
  for (std::size_t i = 0; i < program_.values.size(); ++i) {
    const TileValue& value = program_.values[i];
    if (value.op != TileOp::load && value.op != TileOp::store) continue;
    double bytes = static_cast<double>(byte_size(program_.operands[value.number].type));
    double elements = positions(moving_axes(program_, value, binding_.accesses[i]), binding_);
    if (value.op == TileOp::store)
      cost_.bytes_written += static_cast<std::uint64_t>(elements * bytes);
    else
      read[value.number] += elements * bytes;
  }
  for (std::size_t i = 0; i < read.size(); ++i) {
    double whole = static_cast<double>(std::max<std::int64_t>(binding_.operand_elements[i], 0)) *
                   static_cast<double>(byte_size(program_.operands[i].type));
    cost_.bytes_read += static_cast<std::uint64_t>(std::min(read[i], whole));
  }
  double traffic = static_cast<double>(cost_.bytes_written) +
                   static_cast<double>(cost_.bytes_read) * (reread ? passes : 1);
  bool near = traffic <= static_cast<double>(profile_.cache_bytes_far) / 2;
  cost_.bandwidth = near ? profile_.cache_bytes_per_second : profile_.bytes_per_second;
  cost_.memory_seconds = traffic / cost_.bandwidth;
}

/// Elementwise values in front of a product's operand are computed anew for every tile of the other side.
void Estimator::prologue(TileId root, double repeats) {
  std::vector<TileId> open{root};
  std::set<std::uint32_t> seen;
  while (!open.empty()) {
    TileId id = open.back();
    open.pop_back();
    const TileValue& value = program_.values[index(id)];
    if (value.op != TileOp::elementwise || !seen.insert(index(id)).second) continue;
    ElementType operand = program_.values[index(value.operands.back())].type;
    cost_.work_flops += (repeats - 1) * 2 * element_slots(value.primitive, operand, value.type) *
                        positions(value.axes, binding_);
    open.insert(open.end(), value.operands.begin(), value.operands.end());
  }
}

void Estimator::dot(const TileValue& value) {
  AxisSet k = set_of(value.axes_list);
  AxisSet a = program_.values[index(value.operands[0])].axes;
  AxisSet b = program_.values[index(value.operands[1])].axes;
  double flops = 2 * positions(a | b | k, binding_);
  cost_.flops += flops;
  // Several axes of k cost a divided address per step.
  cost_.work_flops += flops * (value.axes_list.size() > 1 ? 1.5 : 1.0);
  double rows = positions(a - b - k, binding_), columns = positions(b - a - k, binding_);
  bool attention = pattern_ == Pattern::attention;
  double block_m = std::max<double>(schedule_.block_m, attention ? 1 : 64);
  double block_n = std::max<double>(schedule_.block_n, 64);
  // Of an attention's products the on-chip side is computed once; keys and values come anew for every block
  // of rows.
  if (!attention) operand_side(value.operands[0], std::max(1.0, columns / block_n));
  if (!attention || !reaches_sum(value.operands[1]))
    operand_side(value.operands[1], std::max(1.0, rows / block_m));
}

/// What it takes to bring a product's operand `repeats` times: one that is computed goes through a packed
/// copy.
void Estimator::operand_side(TileId operand, double repeats) {
  const TileValue& value = program_.values[index(operand)];
  if (value.op != TileOp::elementwise) return;
  prologue(operand, repeats);
  packed_bytes_ += 2 * repeats * positions(value.axes, binding_) * static_cast<double>(byte_size(value.type));
}

/// Whether a reduction or a product stands behind elementwise values in front of `root`.
bool Estimator::reaches_sum(TileId root) const {
  const TileValue& value = program_.values[index(root)];
  if (value.op == TileOp::dot || value.op == TileOp::reduce) return true;
  return value.op == TileOp::elementwise && std::any_of(value.operands.begin(), value.operands.end(),
                                                        [this](TileId id) { return reaches_sum(id); });
}

void Estimator::compute() {
  for (const TileValue& value : program_.values) {
    if (value.op == TileOp::dot) {
      dot(value);
    } else if (value.op == TileOp::reduce) {
      const TileValue& operand = program_.values[index(value.operands[0])];
      double count = positions(operand.axes | set_of(value.axes_list), binding_);
      cost_.flops += count;
      cost_.work_flops += 2 * count * (value.axes_list.size() > 1 ? 1.5 : 1.0);
    } else if (value.op == TileOp::elementwise) {
      double count = positions(value.axes, binding_);
      ElementType operand = program_.values[index(value.operands.back())].type;
      cost_.flops += count;
      cost_.work_flops += 2 * count * element_slots(value.primitive, operand, value.type);
    }
  }
}

/// How many stored elements one independent task makes.
double Estimator::grain() const {
  if (pattern_ == Pattern::contraction)
    return std::max<double>(schedule_.block_m, 8) * std::max<double>(schedule_.block_n, 16);
  AxisSet reduced, stored;
  for (const TileValue& value : program_.values) {
    if (value.op == TileOp::reduce || value.op == TileOp::dot) reduced = reduced | set_of(value.axes_list);
    if (value.op == TileOp::store) stored = stored | value.axes;
  }
  double row = positions(stored & reduced, binding_);
  if (pattern_ == Pattern::map) return 1024;
  return std::max(1.0, row * std::max<double>(schedule_.block_rows, 1));
}

ClusterCost Estimator::run() {
  memory();
  compute();
  cost_.memory_seconds += packed_bytes_ / profile_.cache_bytes_per_second;
  double stored = 1;
  for (const TileValue& value : program_.values)
    if (value.op == TileOp::store) stored = std::max(stored, positions(value.axes, binding_));
  cost_.tasks = std::max(1.0, std::ceil(stored / grain()));
  double busy = std::min(1.0, cost_.tasks / static_cast<double>(std::max(profile_.threads, 1u)));
  cost_.compute_seconds = cost_.work_flops / profile_.flops_f32 / busy;
  cost_.memory_seconds /= std::min(1.0, 2 * busy);  // half of the threads already fill the memory's bandwidth
  double slower = std::max(cost_.compute_seconds, cost_.memory_seconds);
  double faster = std::min(cost_.compute_seconds, cost_.memory_seconds);
  // The two overlap, but never wholly.
  double body = slower + 0.25 * faster;
  cost_.seconds = profile_.launch_seconds + body;
  cost_.bound = body < profile_.launch_seconds                 ? Bound::launch
                : cost_.compute_seconds > cost_.memory_seconds ? Bound::compute
                                                               : Bound::memory;
  return cost_;
}

}  // namespace

ClusterCost estimate(const TileProgram& program, const Binding& binding, Pattern pattern,
                     const Schedule& schedule, const DeviceProfile& profile) {
  return Estimator(program, binding, pattern, schedule, profile).run();
}

}  // namespace halyard::fusion
