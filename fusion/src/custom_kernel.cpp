#include <halyard/fusion/custom_kernel.h>

#include <fmt/format.h>
#include "host_memory.h"

namespace halyard::fusion {

Result<CustomKernel> CustomKernel::create(TileBuilder builder) {
  HALYARD_ASSIGN(TileBuilder::Finished finished, std::move(builder).finish());
  return CustomKernel(std::move(finished));
}

Result<std::vector<std::int64_t>> CustomKernel::extents_from(std::span<const ops::TensorType> inputs) const {
  const TileProgram& program = kernel_.program;
  std::vector<std::int64_t> extents = kernel_.binding.extents;
  std::size_t given = 0;
  for (std::size_t i = 0; i < program.operands.size(); ++i) {
    const TileOperand& operand = program.operands[i];
    if (operand.written) continue;
    if (given == inputs.size())
      return fail(ErrorCode::invalid_argument,
                  fmt::format("kernel {}: no tensor was given for input '{}'", program.name, operand.name));
    const ops::TensorType& type = inputs[given++];
    const std::vector<Axis>& dimensions = kernel_.dimensions[i];
    if (type.element != operand.type || type.shape.rank() != dimensions.size())
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("kernel {}: input '{}' is {} of {} dimensions, but a tensor {} was given", program.name,
                      operand.name, name(operand.type), dimensions.size(), type.text()));
    for (std::size_t d = 0; d < dimensions.size(); ++d) {
      std::int64_t& extent = extents[index(dimensions[d])];
      if (extent >= 0 && extent != type.shape[d])
        return fail(ErrorCode::invalid_argument,
                    fmt::format("kernel {}: input '{}' has extent {} along axis '{}', which has {} elsewhere",
                                program.name, operand.name, type.shape[d], program.axes[index(dimensions[d])],
                                extent));
      extent = type.shape[d];
    }
  }
  if (given != inputs.size())
    return fail(ErrorCode::invalid_argument,
                fmt::format("kernel {}: it has {} inputs, but {} tensors were given", program.name, given,
                            inputs.size()));
  return extents;
}

Result<std::vector<DeviceTensor>> CustomKernel::run(Compiler& compiler,
                                                    std::span<const DeviceTensor> inputs) const {
  std::vector<ops::TensorType> types;
  for (const DeviceTensor& input : inputs) types.push_back({input.element, input.shape});
  HALYARD_ASSIGN(std::vector<std::int64_t> extents, extents_from(types));
  HALYARD_ASSIGN(Binding binding, contiguous_binding(kernel_, extents));
  const TileProgram& program = kernel_.program;
  HALYARD_ASSIGN(auto schedules, candidate_schedules(program, binding, compiler.profile()));
  HALYARD_ASSIGN(LoweredKernel lowered, lower(program, binding, schedules.front(), compiler.profile()));
  HALYARD_ASSIGN(auto queue, compiler.device()->default_queue());
  std::vector<hal::BufferSlice> slices(program.operands.size());
  std::vector<DeviceTensor> outputs;
  std::size_t given = 0;
  bool empty = false;
  for (std::size_t i = 0; i < program.operands.size(); ++i) {
    const TileOperand& operand = program.operands[i];
    if (!operand.written) {
      slices[i] = inputs[given++].slice;
      continue;
    }
    std::vector<std::int64_t> shape;
    for (Axis axis : kernel_.dimensions[i]) shape.push_back(extents[index(axis)]);
    HALYARD_ASSIGN(ops::Shape checked, ops::Shape::create(std::move(shape)));
    std::uint64_t bytes = static_cast<std::uint64_t>(checked.count()) * byte_size(operand.type);
    empty = empty || bytes == 0;
    HALYARD_ASSIGN(auto buffer, compiler.device()->allocate(hal::BufferDesc{.bytes = bytes}));
    slices[i] = hal::BufferSlice(std::move(buffer));
    outputs.push_back({operand.type, std::move(checked), slices[i]});
  }
  if (empty) return outputs;
  HALYARD_ASSIGN(hal::Kernel kernel, compiler.kernel(lowered.program));
  hal::Dispatch dispatch{.kernel = std::move(kernel), .grid = lowered.grid, .scalars = lowered.scalars};
  for (std::uint32_t operand : lowered.buffers) dispatch.buffers.push_back(slices[operand]);
  auto point = queue->submit(hal::Command(std::move(dispatch)));
  if (!point) return tl::unexpected<Error>(point.error());
  return outputs;
}

Result<std::vector<ops::HostTensor>> CustomKernel::run(Compiler& compiler,
                                                       std::span<const ops::HostTensor> inputs) const {
  HALYARD_ASSIGN(auto queue, compiler.device()->default_queue());
  std::vector<DeviceTensor> uploaded;
  for (const ops::HostTensor& input : inputs) {
    HALYARD_ASSIGN(DeviceTensor tensor, to_device(input, *queue));
    uploaded.push_back(std::move(tensor));
  }
  HALYARD_ASSIGN(std::vector<DeviceTensor> outputs, run(compiler, uploaded));
  HALYARD_TRY(queue->wait_idle());
  std::vector<ops::HostTensor> results;
  for (const DeviceTensor& output : outputs) {
    HALYARD_ASSIGN(ops::HostTensor host, to_host(output, *queue));
    results.push_back(std::move(host));
  }
  return results;
}

std::vector<ops::Tensor> CustomKernel::operator()(std::span<const ops::Tensor> inputs) const {
  auto compiler = shared_compiler(ops::current_device());
  if (!compiler) throw ops::TensorError(compiler.error());
  std::vector<ops::HostTensor> host;
  for (const ops::Tensor& input : inputs) host.push_back(input.host());
  auto outputs = run(**compiler, std::span<const ops::HostTensor>(host));
  if (!outputs) throw ops::TensorError(outputs.error());
  return {outputs->begin(), outputs->end()};
}

}  // namespace halyard::fusion
