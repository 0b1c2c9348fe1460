#include <halyard/fusion/executable.h>

#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <limits>
#include "host_memory.h"

namespace halyard::fusion {

std::string_view name(Numerics numerics) {
  switch (numerics) {
    case Numerics::standard:
      return "standard";
    case Numerics::reproducible:
      return "reproducible";
    case Numerics::fast:
      return "fast";
  }
  return "standard";
}

std::optional<Numerics> parse_numerics(std::string_view text) {
  for (Numerics numerics : {Numerics::standard, Numerics::reproducible, Numerics::fast})
    if (name(numerics) == text) return numerics;
  return std::nullopt;
}

Executable::~Executable() = default;

Status Executable::check_inputs(std::span<const ops::TensorType> types) const {
  const auto& inputs = plan_.graph.inputs();
  if (types.size() != inputs.size())
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("run: the graph has {} inputs, but {} tensors were given", inputs.size(), types.size()));
  for (std::size_t i = 0; i < types.size(); ++i) {
    const ops::Node& input = plan_.graph.node(inputs[i]);
    if (types[i] != input.type())
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("run: input '{}' is {}, but a tensor {} was given; compile the graph for that shape",
                      input.name, input.type().text(), types[i].text()));
  }
  return {};
}

Result<std::vector<DeviceTensor>> Executable::upload(hal::Queue& queue,
                                                     std::span<const ops::HostTensor> inputs) {
  std::vector<DeviceTensor> result;
  for (const ops::HostTensor& input : inputs) {
    HALYARD_ASSIGN(DeviceTensor tensor, to_device(input, queue));
    result.push_back(std::move(tensor));
  }
  return result;
}

Result<std::vector<DeviceTensor>> Executable::allocate_outputs() const {
  std::vector<DeviceTensor> outputs;
  for (const ops::GraphOutput& output : plan_.graph.outputs()) {
    const ops::Node& node = plan_.graph.node(output.node);
    std::uint64_t bytes = static_cast<std::uint64_t>(node.shape.count()) * byte_size(node.element);
    HALYARD_ASSIGN(auto buffer,
                   device_->allocate(hal::BufferDesc{.bytes = bytes, .first_queue = queue_.get()}));
    outputs.push_back({node.element, node.shape, hal::BufferSlice(std::move(buffer))});
  }
  return outputs;
}

Status Executable::check_outputs(std::span<const DeviceTensor> outputs) const {
  const auto& wanted = plan_.graph.outputs();
  if (outputs.size() != wanted.size())
    return fail(ErrorCode::invalid_argument,
                fmt::format("run: the graph has {} outputs, but memory for {} was given", wanted.size(),
                            outputs.size()));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const ops::TensorType type = plan_.graph.node(wanted[i].node).type();
    const std::uint64_t bytes = static_cast<std::uint64_t>(type.shape.count()) * byte_size(type.element);
    if (outputs[i].element != type.element || outputs[i].shape != type.shape ||
        outputs[i].slice.bytes != bytes)
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("run: output '{}' is {} of {} bytes, but {} of {} bytes was given for it",
                      wanted[i].name, type.text(), bytes,
                      ops::TensorType{outputs[i].element, outputs[i].shape}.text(), outputs[i].slice.bytes));
  }
  return {};
}

Result<hal::SyncPoint> Executable::enqueue(std::span<const DeviceTensor> inputs,
                                           std::span<const DeviceTensor> outputs,
                                           hal::TimeStamps* time_stamps) {
  std::vector<ops::TensorType> types;
  for (const DeviceTensor& input : inputs) types.push_back({input.element, input.shape});
  HALYARD_TRY(check_inputs(types));
  HALYARD_TRY(check_outputs(outputs));
  std::vector<hal::BufferSlice> slots{arena_};
  for (const DeviceTensor& input : inputs) slots.push_back(input.slice);
  for (const DeviceTensor& output : outputs) slots.push_back(output.slice);
  slots.insert(slots.end(), weights_.begin(), weights_.end());
  // The arena is one for all runs: they follow one another on the queue.
  std::lock_guard lock(mutex_);
  HALYARD_ASSIGN(hal::SyncPoint point,
                 commands_->replay(*queue_, slots, {}, hal::SubmitOptions{.time_stamps = time_stamps}));
  has_run_ = true;
  return point;
}

Result<std::vector<DeviceTensor>> Executable::run(std::span<const DeviceTensor> inputs) {
  HALYARD_ASSIGN(std::vector<DeviceTensor> outputs, allocate_outputs());
  HALYARD_TRY(enqueue(inputs, outputs, nullptr));
  return outputs;
}

Result<hal::SyncPoint> Executable::run(std::span<const DeviceTensor> inputs,
                                       std::span<const DeviceTensor> outputs) {
  return enqueue(inputs, outputs, nullptr);
}

Result<std::vector<ops::HostTensor>> Executable::run(std::span<const ops::HostTensor> inputs) {
  std::vector<ops::TensorType> types;
  for (const ops::HostTensor& input : inputs) types.push_back({input.element(), input.shape()});
  HALYARD_TRY(check_inputs(types));
  HALYARD_ASSIGN(std::vector<DeviceTensor> uploaded, upload(*queue_, inputs));
  HALYARD_ASSIGN(std::vector<DeviceTensor> outputs, allocate_outputs());
  HALYARD_ASSIGN(hal::SyncPoint done, enqueue(uploaded, outputs, nullptr));
  HALYARD_TRY(done.wait());
  std::vector<ops::HostTensor> results;
  for (const DeviceTensor& output : outputs) {
    HALYARD_ASSIGN(ops::HostTensor host, to_host(output, *queue_));
    results.push_back(std::move(host));
  }
  return results;
}

Result<Executable::Timings> Executable::measure(std::span<const ops::HostTensor> inputs, int repeats) {
  std::vector<ops::TensorType> types;
  for (const ops::HostTensor& input : inputs) types.push_back({input.element(), input.shape()});
  HALYARD_TRY(check_inputs(types));
  HALYARD_ASSIGN(std::vector<DeviceTensor> uploaded, upload(*queue_, inputs));
  Timings timings{.total = std::numeric_limits<double>::infinity()};
  auto nodes = static_cast<std::uint32_t>(commands_->desc().nodes.size());
  std::unique_ptr<hal::TimeStamps> stamps;
  if (device_->info().time_stamps && nodes > 0) {
    HALYARD_ASSIGN(stamps, hal::TimeStamps::create(device_, nodes));
    timings.steps.assign(steps_.size(), std::numeric_limits<double>::infinity());
  }
  // Some drivers compile at the first dispatch: that run is not measured.
  for (int i = has_run_.load() ? 0 : -1; i < repeats; ++i) {
    HALYARD_TRY(queue_->wait_idle());
    auto begin = std::chrono::steady_clock::now();
    HALYARD_ASSIGN(std::vector<DeviceTensor> outputs, allocate_outputs());
    HALYARD_ASSIGN(hal::SyncPoint done, enqueue(uploaded, outputs, nullptr));
    HALYARD_TRY(done.wait());
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (i < 0) continue;
    timings.total = std::min(timings.total, took.count());
    timings.replays.push_back(took.count());
    if (!stamps) continue;
    HALYARD_ASSIGN(done, enqueue(uploaded, outputs, stamps.get()));
    HALYARD_TRY(done.wait());
    HALYARD_ASSIGN(std::vector<hal::TimeSpan> spans, stamps->read(nodes));
    for (std::size_t k = 0; k < steps_.size(); ++k) {
      const hal::TimeSpan& span = spans[step_nodes_[k]];
      timings.steps[k] = std::min(timings.steps[k], static_cast<double>(span.end_ns - span.begin_ns) * 1e-9);
    }
  }
  return timings;
}

}  // namespace halyard::fusion
