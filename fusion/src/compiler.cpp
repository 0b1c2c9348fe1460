#include <fmt/format.h>
#include <halyard/fusion/executable.h>
#include <halyard/fusion/probe.h>
#include <unordered_map>
#include "executable_builder.h"
#include "graph_key.h"
#include "kernel_cache.h"
#include "weight_store.h"

namespace halyard::fusion {
namespace {

// A device that is opened without probes has no numeric class: its products would silently be of the unfused
// one. So whoever links the compiler has the probes registered before anything can be opened.
[[maybe_unused]] const bool probes_registered = (register_probes(), true);

}  // namespace

struct Compiler::State {
  State(const std::shared_ptr<hal::Device>& device, const DeviceProfile& profile)
      : kernels(device, profile.module_format) {}
  KernelCache kernels;
  WeightStore weights;
  std::mutex mutex;
  std::unordered_map<std::string, std::shared_ptr<Executable>> executables;
};

Compiler::Compiler(std::shared_ptr<hal::Device> device, DeviceProfile profile)
    : device_(std::move(device)),
      profile_(std::move(profile)),
      state_(std::make_unique<State>(device_, profile_)) {}

Compiler::~Compiler() = default;

Result<std::shared_ptr<Compiler>> Compiler::create(std::shared_ptr<hal::Device> device) {
  hal::DeviceInfo info = device->info();
  // Measured once per device and driver, then read from the disk cache. Without them plans use the profile's
  // defaults, which changes their speed and nothing else.
  if (auto measured = device->measurements()) info.measurements = *measured;
  DeviceProfile profile = make_profile(info);
  if (!has_emitter(profile.module_format))
    return fail(
        ErrorCode::unsupported,
        fmt::format("compile: device {} takes no module format that an emitter here writes (llvm-ir, spirv, "
                    "cuda-c++, hip-c++, thread-program)",
                    info.uri));
  return std::shared_ptr<Compiler>(new Compiler(std::move(device), std::move(profile)));
}

Result<std::shared_ptr<Executable>> Compiler::compile(const ops::Graph& graph,
                                                      const CompileOptions& options) {
  DeviceProfile profile = profile_;
  if (options.numeric_class) profile.fused_fma = options.numeric_class->fused_fma;
  // An fma that rounds once is computed in integers where the device has none: slow, and meant for small
  // shapes.
  if (options.numerics == Numerics::reproducible) profile.fused_fma = true;
  profile.fma_in_integers = profile.fused_fma && !profile_.fused_fma;
  PlanOptions planning{
      .fusion = options.fusion, .simplify = options.simplify, .candidate = options.candidate};
  HALYARD_ASSIGN(Plan plan, make_plan(graph, profile, planning));
  return ExecutableBuilder(device_, state_->kernels, state_->weights)
      .build(std::move(plan), std::move(profile), options);
}

Result<std::shared_ptr<Executable>> Compiler::compile_cached(const ops::Graph& graph,
                                                             const CompileOptions& options) {
  std::string key = graph_key(graph);
  fmt::format_to(std::back_inserter(key), " {} {} {} {} {}", static_cast<int>(options.fusion),
                 static_cast<int>(options.numerics), options.simplify, options.candidate,
                 options.numeric_class ? static_cast<int>(options.numeric_class->fused_fma) : -1);
  {
    std::lock_guard lock(state_->mutex);
    if (auto found = state_->executables.find(key); found != state_->executables.end()) return found->second;
  }
  HALYARD_ASSIGN(std::shared_ptr<Executable> made, compile(graph, options));
  std::lock_guard lock(state_->mutex);
  // Each holds an arena; kernels and weights stay cached, so that making one again is cheap.
  constexpr std::size_t most_executables = 256;
  if (state_->executables.size() >= most_executables) state_->executables.clear();
  return state_->executables.emplace(std::move(key), std::move(made)).first->second;
}

CompileCounters Compiler::counters() const {
  return state_->kernels.totals();
}

Result<hal::Kernel> Compiler::kernel(const program::Program& program) {
  const program::Program* one = &program;
  CompileCounters counters;
  HALYARD_ASSIGN(std::vector<hal::Kernel> kernels, state_->kernels.get({&one, 1}, 1, {}, counters));
  return kernels.front();
}

}  // namespace halyard::fusion
