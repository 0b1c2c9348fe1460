#pragma once

#include <halyard/fusion/executable.h>
#include <halyard/fusion/kernel_source.h>
#include <halyard/hal/device.h>
#include <halyard/program/program.h>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace halyard::fusion {

/// The kernels of one device, shared by all its executables: equal thread programs are one kernel, compiled
/// once per process and, through hal's disk cache, once per machine. Thread-safe.
class KernelCache {
 public:
  KernelCache(std::shared_ptr<hal::Device> device, std::string format)
      : device_(std::move(device)), format_(std::move(format)) {}

  /// What `compile` reports after each kernel; called from one thread at a time.
  using Progress = std::function<void(const CompileProgress&)>;

  /// One kernel per program, in order. Distinct ones compile in parallel on `threads` threads.
  Result<std::vector<hal::Kernel>> get(std::span<const program::Program* const> programs,
                                       std::uint32_t threads, const Progress& progress,
                                       CompileCounters& counters);
  CompileCounters totals() const;
  std::size_t size() const;

 private:
  struct Entry {
    Result<hal::Kernel> kernel = fail(ErrorCode::internal, "not compiled");
    hal::ModuleOrigin origin = hal::ModuleOrigin::compiled;
  };
  Entry build(const program::Program& program) const;

  std::shared_ptr<hal::Device> device_;
  std::string format_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::shared_future<Entry>> entries_;
  CompileCounters totals_;
};

}  // namespace halyard::fusion
