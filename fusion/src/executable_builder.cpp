#include "executable_builder.h"

#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <thread>
#include "memory_plan.h"

namespace halyard::fusion {

using ops::NodeId;

std::uint64_t ExecutableBuilder::bytes_of(NodeId node) const {
  const ops::Node& source = made_->plan_.graph.node(node);
  return static_cast<std::uint64_t>(source.shape.count()) * byte_size(source.element);
}

/// One step per cluster that has something to compute.
void ExecutableBuilder::make_steps() {
  for (std::uint32_t i = 0; i < made_->plan_.clusters.size(); ++i) {
    const auto& stores = made_->plan_.clusters[i].spec.stores;
    bool empty =
        std::all_of(stores.begin(), stores.end(), [this](NodeId store) { return bytes_of(store) == 0; });
    if (!empty) made_->steps_.push_back({i});
  }
}

std::uint32_t ExecutableBuilder::add_weight(const hal::BufferSlice& slice) {
  auto& weights = made_->weights_;
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (weights[i].buffer == slice.buffer && weights[i].offset == slice.offset)
      return first_weight_slot_ + static_cast<std::uint32_t>(i);
  weights.push_back(slice);
  made_->memory_.weight_bytes += slice.bytes;
  return first_weight_slot_ + static_cast<std::uint32_t>(weights.size() - 1);
}

/// Slot 0 is the arena, then come inputs, outputs, weights.
Status ExecutableBuilder::place_tensors() {
  const ops::Graph& graph = made_->plan_.graph;
  std::uint32_t slot = 1;
  for (NodeId input : graph.inputs()) inputs_[ops::index(input)] = {slot++, 0, bytes_of(input)};
  for (const ops::GraphOutput& output : graph.outputs()) {
    written_.try_emplace(ops::index(output.node), Place{slot, 0, bytes_of(output.node)});
    ++slot;
  }
  first_weight_slot_ = slot;
  std::map<NodeId, Lifetime> lives;
  for (std::uint32_t i = 0; i < made_->steps_.size(); ++i) {
    const Cluster& cluster = made_->plan_.clusters[made_->steps_[i].cluster];
    for (std::size_t k = 0; k < cluster.tile.operands.size(); ++k) {
      NodeId node = cluster.tile.operands[k];
      if (cluster.tile.program.operands[k].written) {
        if (!written_.contains(ops::index(node))) lives[node] = {bytes_of(node), i, i};
      } else if (auto life = lives.find(node); life != lives.end()) {
        life->second.last = i;
      }
    }
  }
  std::vector<Lifetime> values;
  for (const auto& [node, life] : lives) values.push_back(life);
  MemoryPlan memory = plan_memory(values, std::max<std::uint64_t>(256, device_->info().storage_alignment));
  std::size_t next = 0;
  for (const auto& [node, life] : lives) written_[ops::index(node)] = {0, memory.offsets[next++], life.bytes};
  made_->memory_.arena_bytes = memory.arena_bytes;
  made_->memory_.unshared_bytes = memory.unshared_bytes;
  return {};
}

Result<std::vector<ExecutableBuilder::Argument>> ExecutableBuilder::arguments(const Step& step) {
  const Cluster& cluster = made_->plan_.clusters[step.cluster];
  std::vector<Argument> result;
  for (std::uint32_t operand : cluster.kernel.buffers) {
    NodeId node = cluster.tile.operands[operand];
    const ops::Node& source = made_->plan_.graph.node(node);
    bool written = cluster.tile.program.operands[operand].written;
    if (!written && source.primitive == ops::Primitive::input) {
      result.push_back({inputs_.at(ops::index(node)), false});
      continue;
    }
    if (!written && source.primitive == ops::Primitive::constant) {
      bool is_packed = cluster.packed && cluster.packed->operand == operand;
      HALYARD_ASSIGN(hal::BufferSlice slice,
                     is_packed ? weights_.get_packed(*source.value, *cluster.packed, *made_->queue_)
                               : weights_.get(*source.value, *made_->queue_));
      result.push_back({{add_weight(slice), 0, slice.bytes}, false});
      continue;
    }
    auto place = written_.find(ops::index(node));
    if (place == written_.end())
      return fail(ErrorCode::internal,
                  fmt::format("compile: no kernel writes node %{} ({}), which cluster {} reads",
                              ops::index(node), ops::name(source.primitive), step.cluster));
    result.push_back({place->second, written});
  }
  return result;
}

/// The earlier nodes that the last one must follow: those that touch its bytes, one of the two writing, and
/// that no other of them follows already.
std::vector<std::uint32_t> ExecutableBuilder::dependencies(const std::vector<std::vector<Argument>>& nodes,
                                                           std::vector<std::vector<bool>>& before) const {
  auto meet = [](const Argument& a, const Argument& b) {
    return (a.written || b.written) && a.place.slot == b.place.slot &&
           a.place.offset < b.place.offset + b.place.bytes && b.place.offset < a.place.offset + a.place.bytes;
  };
  std::size_t last = nodes.size() - 1;
  std::vector<bool> reached(last, false);
  std::vector<std::uint32_t> result;
  for (std::size_t i = last; i-- > 0;) {
    if (reached[i]) continue;
    bool conflict = std::any_of(nodes[i].begin(), nodes[i].end(), [&](const Argument& a) {
      return std::any_of(nodes[last].begin(), nodes[last].end(),
                         [&](const Argument& b) { return meet(a, b); });
    });
    if (!conflict) continue;
    result.push_back(static_cast<std::uint32_t>(i));
    reached[i] = true;
    for (std::size_t j = 0; j < before[i].size(); ++j) reached[j] = reached[j] || before[i][j];
  }
  before.push_back(std::move(reached));
  std::reverse(result.begin(), result.end());
  return result;
}

Status ExecutableBuilder::record() {
  std::vector<const program::Program*> programs;
  for (const Step& step : made_->steps_) programs.push_back(&made_->cluster(step).kernel.program);
  std::uint32_t threads = made_->options_.threads != 0 ? made_->options_.threads
                                                       : std::max(1u, std::thread::hardware_concurrency());
  HALYARD_ASSIGN(std::vector<hal::Kernel> kernels,
                 kernels_.get(programs, threads, made_->options_.progress, made_->counters_));
  hal::CommandGraphDesc desc;
  std::vector<std::vector<Argument>> touched;
  std::vector<std::vector<bool>> before;
  for (std::size_t i = 0; i < made_->steps_.size(); ++i) {
    const Step& step = made_->steps_[i];
    const LoweredKernel& kernel = made_->cluster(step).kernel;
    HALYARD_ASSIGN(std::vector<Argument> given, arguments(step));
    hal::GraphDispatch dispatch{.kernel = kernels[i], .grid = kernel.grid, .scalars = kernel.scalars};
    for (const Argument& argument : given)
      dispatch.buffers.push_back({argument.place.slot, argument.place.offset, argument.place.bytes});
    touched.push_back(std::move(given));
    made_->step_nodes_.push_back(static_cast<std::uint32_t>(desc.nodes.size()));
    desc.nodes.push_back({std::move(dispatch), dependencies(touched, before)});
  }
  // An output that repeats another one's node is a copy of it.
  const auto& outputs = made_->plan_.graph.outputs();
  auto first_output = static_cast<std::uint32_t>(1 + made_->plan_.graph.inputs().size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Place& place = written_.at(ops::index(outputs[i].node));
    std::uint32_t slot = first_output + static_cast<std::uint32_t>(i);
    if (place.slot == slot || place.bytes == 0) continue;
    touched.push_back({{place, false}, {{slot, 0, place.bytes}, true}});
    desc.nodes.push_back({hal::GraphCopy{{place.slot, 0, place.bytes}, {slot, 0, place.bytes}},
                          dependencies(touched, before)});
  }
  desc.buffer_slots = first_weight_slot_ + static_cast<std::uint32_t>(made_->weights_.size());
  HALYARD_ASSIGN(made_->commands_, hal::CommandGraph::create(device_, std::move(desc)));
  return {};
}

Result<std::shared_ptr<Executable>> ExecutableBuilder::build(Plan plan, DeviceProfile profile,
                                                             CompileOptions options) {
  made_ = std::shared_ptr<Executable>(new Executable());
  made_->plan_ = std::move(plan);
  made_->profile_ = std::move(profile);
  made_->options_ = std::move(options);
  made_->device_ = device_;
  HALYARD_ASSIGN(made_->queue_, device_->default_queue());
  make_steps();
  HALYARD_TRY(place_tensors());
  HALYARD_TRY(record());
  HALYARD_ASSIGN(auto arena, device_->allocate(hal::BufferDesc{.bytes = made_->memory_.arena_bytes}));
  made_->arena_ = hal::BufferSlice(std::move(arena));
  made_->options_.progress = nullptr;  // a caller's callback is not kept beyond the call
  return std::move(made_);
}

}  // namespace halyard::fusion
