#include "interpret_plan.h"

#include <halyard/program/interpret.h>
#include <map>
#include "weight_store.h"

namespace halyard::fusion {

Result<std::vector<ops::HostTensor>> interpret(const Plan& plan, std::span<const ops::HostTensor> inputs) {
  std::map<ops::NodeId, ops::HostTensor> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) values.emplace(plan.graph.inputs()[i], inputs[i]);
  std::map<ops::NodeId, ops::HostTensor> written;
  for (const Cluster& cluster : plan.clusters) {
    const LoweredKernel& kernel = cluster.kernel;
    HALYARD_ASSIGN(auto interpreter,
                   program::Interpreter::prepare(kernel.program, {.report_shared_races = true}));
    std::vector<ops::HostTensor> held;
    for (std::uint32_t operand : kernel.buffers) {
      ops::NodeId node = cluster.tile.operands[operand];
      const ops::Node& source = plan.graph.node(node);
      if (cluster.tile.program.operands[operand].written) {
        HALYARD_ASSIGN(ops::HostTensor made, ops::HostTensor::allocate(source.element, source.shape));
        held.push_back(made);
        written.insert_or_assign(node, made);
      } else if (cluster.packed && cluster.packed->operand == operand) {
        HALYARD_ASSIGN(ops::HostTensor made, pack(*source.value, *cluster.packed));
        held.push_back(made);
      } else if (source.value) {
        held.push_back(*source.value);
      } else if (auto found = values.find(node); found != values.end()) {
        held.push_back(found->second);
      } else {
        held.push_back(written.at(node));
      }
    }
    std::vector<program::BufferView> views;
    for (ops::HostTensor& tensor : held) views.push_back({tensor.mutable_data(), tensor.byte_count()});
    HALYARD_TRY(interpreter.run(kernel.grid, views, kernel.scalars));
  }
  std::vector<ops::HostTensor> outputs;
  for (const ops::GraphOutput& output : plan.graph.outputs()) outputs.push_back(written.at(output.node));
  return outputs;
}

}  // namespace halyard::fusion
