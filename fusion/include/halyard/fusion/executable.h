#pragma once

#include <halyard/fusion/device_profile.h>
#include <halyard/fusion/lower.h>
#include <halyard/fusion/planner.h>
#include <halyard/hal/command_graph.h>
#include <halyard/hal/device.h>
#include <halyard/ops/executor.h>
#include <halyard/ops/graph.h>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halyard::fusion {

/// Which promise about numbers kernels keep; docs/numerics.md.
enum class Numerics : std::uint8_t {
  standard,      ///< f32 agrees on all devices of a class; 16-bit products as the device does them
  reproducible,  ///< 16-bit products too, through f32; fma rounds once everywhere, in integers where it must
  fast,          ///< may use whatever the device has; no promise beyond the error bounds
};
std::string_view name(Numerics numerics);
/// The mode named `text`, or nothing.
std::optional<Numerics> parse_numerics(std::string_view text);

/// How far a compilation has come.
struct CompileProgress {
  std::uint32_t done = 0;
  std::uint32_t total = 0;
  std::string_view kernel;  ///< the one that was finished last
};

/// Where kernels came from.
struct CompileCounters {
  std::uint32_t kernels = 0;   ///< distinct ones that were needed
  std::uint32_t compiled = 0;  ///< by the device's compiler
  std::uint32_t loaded = 0;    ///< from the disk cache
  std::uint32_t reused = 0;    ///< this process had them already
};

struct CompileOptions {
  ops::Fusion fusion = ops::Fusion::on;
  Numerics numerics = Numerics::standard;
  bool simplify = true;
  /// Which of each kernel's `candidate_schedules` is taken, counted around; 0 is the best guess. No candidate
  /// changes a bit.
  std::uint32_t candidate = 0;
  /// Compute products as a device of this class does: by default the device's own class.
  std::optional<ops::NumericClass> numeric_class;
  std::function<void(const CompileProgress&)> progress;  ///< called from one thread at a time
  std::uint32_t threads = 0;                             ///< that compile; 0 = one per hardware thread
};

/// A tensor in device memory, row-major without gaps.
struct DeviceTensor {
  ElementType element = ElementType::f32;
  ops::Shape shape;
  hal::BufferSlice slice;
};

/// One kernel launch of an executable.
struct Step {
  std::uint32_t cluster = 0;  ///< index into the plan's clusters
};

/// Which memory a tensor of an executable lives in.
struct MemoryReport {
  std::uint64_t arena_bytes = 0;     ///< intermediates, with reuse
  std::uint64_t unshared_bytes = 0;  ///< intermediates if each had memory of its own
  std::uint64_t weight_bytes = 0;
};

class Compiler;

/// A graph compiled for one device and its concrete shapes: kernels, a memory plan and a recorded command
/// graph. Made by `Compiler::compile`. Shared ownership; keeps its device and kernels alive. Thread-safe:
/// runs from several threads follow one another on the device.
class Executable {
 public:
  ~Executable();
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  const Plan& plan() const { return plan_; }
  const DeviceProfile& profile() const { return profile_; }
  const std::shared_ptr<hal::Device>& device() const { return device_; }
  const std::vector<Step>& steps() const { return steps_; }
  const Cluster& cluster(const Step& step) const { return plan_.clusters[step.cluster]; }
  const MemoryReport& memory() const { return memory_; }
  const CompileCounters& counters() const { return counters_; }
  const CompileOptions& options() const { return options_; }

  /// Inputs in the order of `graph.inputs()`, outputs in that of `graph.outputs()`. Waits for the result.
  /// `invalid_argument` names the input whose type or shape does not fit.
  Result<std::vector<ops::HostTensor>> run(std::span<const ops::HostTensor> inputs);
  /// The same on device memory of this device: enqueued on its default queue and returned at once; whatever
  /// is enqueued there later sees the outputs.
  Result<std::vector<DeviceTensor>> run(std::span<const DeviceTensor> inputs);
  /// The same into memory of the caller's, which no input may overlap: returns the point at which `outputs`
  /// (in the order of `graph.outputs()`) are written. `invalid_argument` names the tensor that does not fit.
  Result<hal::SyncPoint> run(std::span<const DeviceTensor> inputs, std::span<const DeviceTensor> outputs);

  /// How long each step took, in seconds, the shortest of `repeats` replays, and the shortest whole replay.
  struct Timings {
    std::vector<double> steps;    ///< empty where the device has no time stamps
    double total = 0;             ///< submission to completion, as the host sees it
    std::vector<double> replays;  ///< the same of each replay, in their order
  };
  Result<Timings> measure(std::span<const ops::HostTensor> inputs, int repeats = 3);

 private:
  friend class ExecutableBuilder;
  Executable() = default;
  Status check_inputs(std::span<const ops::TensorType> types) const;
  Result<std::vector<DeviceTensor>> upload(hal::Queue& queue, std::span<const ops::HostTensor> inputs);
  Status check_outputs(std::span<const DeviceTensor> outputs) const;
  Result<std::vector<DeviceTensor>> allocate_outputs() const;
  Result<hal::SyncPoint> enqueue(std::span<const DeviceTensor> inputs, std::span<const DeviceTensor> outputs,
                                 hal::TimeStamps* time_stamps);

  Plan plan_;
  DeviceProfile profile_;
  CompileOptions options_;
  std::shared_ptr<hal::Device> device_;
  std::shared_ptr<hal::Queue> queue_;
  std::vector<Step> steps_;
  std::vector<std::uint32_t> step_nodes_;  ///< the command graph's node of each step
  std::unique_ptr<hal::CommandGraph> commands_;
  std::vector<hal::BufferSlice> weights_;  ///< slots after arena, inputs and outputs
  hal::BufferSlice arena_;
  MemoryReport memory_;
  CompileCounters counters_;
  std::atomic<bool> has_run_{false};
  std::mutex mutex_;
};

/// A device with its caches: kernels and weights are shared by all executables it makes. Thread-safe.
class Compiler {
 public:
  static Result<std::shared_ptr<Compiler>> create(std::shared_ptr<hal::Device> device);
  ~Compiler();
  Compiler(const Compiler&) = delete;
  Compiler& operator=(const Compiler&) = delete;

  const std::shared_ptr<hal::Device>& device() const { return device_; }
  const DeviceProfile& profile() const { return profile_; }

  /// Plans, lowers, compiles and records. Errors name the operation or kernel at fault.
  Result<std::shared_ptr<Executable>> compile(const ops::Graph& graph, const CompileOptions& options = {});
  /// The executable of an equal graph compiled before with these options, or a new one.
  Result<std::shared_ptr<Executable>> compile_cached(const ops::Graph& graph,
                                                     const CompileOptions& options = {});

  /// Over everything compiled so far; `kernels` counts the distinct ones held.
  CompileCounters counters() const;

  /// Compiles one thread program, or finds it, for custom kernels and probes.
  Result<hal::Kernel> kernel(const program::Program& program);

 private:
  Compiler(std::shared_ptr<hal::Device> device, DeviceProfile profile);
  struct State;
  std::shared_ptr<hal::Device> device_;
  DeviceProfile profile_;
  std::unique_ptr<State> state_;
};

/// Runs graphs on hal's devices, fused, with executables cached by structure and shapes; one compiler per
/// device, opened when first asked for. `register_executor(make_executor())` makes tensors use it.
std::shared_ptr<ops::Executor> make_executor();

}  // namespace halyard::fusion
