#include "guarded_run.h"

#include <fmt/format.h>
#include <halyard/hal/queue.h>
#include <algorithm>
#include <chrono>
#include <cstring>

namespace halyard::conformance {
namespace {

/// At least this many bytes before and after each tensor: a kernel's widest access runs past its end by less.
constexpr std::uint64_t least_guard = 256;
/// Beyond this a run counts as a hang. Software drivers take seconds to compile a kernel.
constexpr std::chrono::seconds patience{300};

/// A byte that differs from place to place, so that a copy of the guard itself shows too.
std::byte pattern(std::uint64_t place) {
  return static_cast<std::byte>(0xa5 ^ (place * 31));
}

class GuardedTensor {
 public:
  static Result<GuardedTensor> create(hal::Device& device, hal::Queue& queue, ElementType element,
                                      const ops::Shape& shape, const ops::HostTensor* value) {
    GuardedTensor tensor;
    const std::uint64_t alignment = std::max<std::uint64_t>(1, device.info().storage_alignment);
    tensor.guard_ = (least_guard + alignment - 1) / alignment * alignment;
    tensor.bytes_ = static_cast<std::uint64_t>(shape.count()) * byte_size(element);
    tensor.before_.resize(2 * tensor.guard_ + tensor.bytes_);
    for (std::uint64_t i = 0; i < tensor.before_.size(); ++i) tensor.before_[i] = pattern(i);
    if (value && tensor.bytes_ > 0)
      std::memcpy(tensor.before_.data() + tensor.guard_, value->data(), tensor.bytes_);
    HALYARD_ASSIGN(tensor.buffer_, device.allocate(tensor.before_.size()));
    HALYARD_ASSIGN(hal::SyncPoint written, queue.upload(tensor.before_, hal::BufferSlice(tensor.buffer_)));
    HALYARD_TRY(written.wait(patience));
    tensor.tensor_ = {element, shape, hal::BufferSlice(tensor.buffer_, tensor.guard_, tensor.bytes_)};
    return tensor;
  }

  const fusion::DeviceTensor& tensor() const { return tensor_; }

  Status read(hal::Queue& queue) {
    after_.resize(before_.size());
    return queue.download(hal::BufferSlice(buffer_), after_, patience);
  }
  /// What was written beside the tensor, or into it if it is an input.
  std::string violation(std::string_view name, bool is_input) const {
    for (std::uint64_t i = 0; i < before_.size(); ++i) {
      const bool inside = i >= guard_ && i < guard_ + bytes_;
      if (before_[i] == after_[i] || (inside && !is_input)) continue;
      if (inside) return fmt::format("input '{}' was written to, at byte {}", name, i - guard_);
      return i < guard_
                 ? fmt::format("'{}' was written to {} bytes before its first", name, guard_ - i)
                 : fmt::format("'{}' was written to {} bytes past its end", name, i - guard_ - bytes_ + 1);
    }
    return {};
  }
  Result<ops::HostTensor> value() const {
    HALYARD_ASSIGN(ops::HostTensor host, ops::HostTensor::allocate(tensor_.element, tensor_.shape));
    if (bytes_ > 0) std::memcpy(host.mutable_data(), after_.data() + guard_, bytes_);
    return host;
  }

 private:
  std::uint64_t guard_ = 0;
  std::uint64_t bytes_ = 0;
  std::vector<std::byte> before_, after_;
  std::shared_ptr<hal::Buffer> buffer_;
  fusion::DeviceTensor tensor_;
};

}  // namespace

Result<GuardedRun> run_guarded(fusion::Executable& executable, std::span<const ops::HostTensor> inputs) {
  hal::Device& device = *executable.device();
  HALYARD_ASSIGN(std::shared_ptr<hal::Queue> queue, device.default_queue());
  const ops::Graph& graph = executable.plan().graph;
  std::vector<GuardedTensor> given, made;
  std::vector<fusion::DeviceTensor> from, to;
  for (const ops::HostTensor& input : inputs) {
    HALYARD_ASSIGN(GuardedTensor tensor,
                   GuardedTensor::create(device, *queue, input.element(), input.shape(), &input));
    given.push_back(std::move(tensor));
    from.push_back(given.back().tensor());
  }
  for (const ops::GraphOutput& output : graph.outputs()) {
    const ops::Node& node = graph.node(output.node);
    HALYARD_ASSIGN(GuardedTensor tensor,
                   GuardedTensor::create(device, *queue, node.element, node.shape, nullptr));
    made.push_back(std::move(tensor));
    to.push_back(made.back().tensor());
  }
  HALYARD_ASSIGN(hal::SyncPoint done, executable.run(from, to));
  HALYARD_TRY(done.wait(patience));
  GuardedRun result;
  const auto look = [&](GuardedTensor& tensor, std::string_view name, bool is_input) -> Status {
    HALYARD_TRY(tensor.read(*queue));
    if (result.violation.empty()) result.violation = tensor.violation(name, is_input);
    return {};
  };
  for (std::size_t i = 0; i < given.size(); ++i)
    HALYARD_TRY(look(given[i], graph.node(graph.inputs()[i]).name, true));
  for (std::size_t i = 0; i < made.size(); ++i) {
    HALYARD_TRY(look(made[i], graph.outputs()[i].name, false));
    HALYARD_ASSIGN(ops::HostTensor value, made[i].value());
    result.outputs.push_back(std::move(value));
  }
  return result;
}

}  // namespace halyard::conformance
