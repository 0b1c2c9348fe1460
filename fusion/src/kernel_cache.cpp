#include "kernel_cache.h"

#include <fmt/format.h>
#include <halyard/program/serialize.h>
#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <thread>

namespace halyard::fusion {

KernelCache::Entry KernelCache::build(const program::Program& program) const {
  Entry entry;
  auto attempt = [&]() -> Result<hal::Kernel> {
    HALYARD_ASSIGN(KernelSource source, print_kernel(program, format_, device_->info()));
    auto module = device_->load_module(source.module);
    if (!module)
      return fail(module.error().code, fmt::format("kernel {} on {}: {}", program.name, device_->info().uri,
                                                   module.error().message));
    entry.origin = (*module)->origin();
    return hal::Kernel(*module, 0);
  };
  entry.kernel = attempt();
  return entry;
}

Result<std::vector<hal::Kernel>> KernelCache::get(std::span<const program::Program* const> programs,
                                                  std::uint32_t threads, const Progress& progress,
                                                  CompileCounters& counters) {
  struct Job {
    const program::Program* program;
    std::promise<Entry> promise;
  };
  std::vector<std::shared_future<Entry>> wanted;
  std::vector<Job> jobs;
  std::map<std::string, bool> distinct;
  {
    std::lock_guard lock(mutex_);
    for (const program::Program* program : programs) {
      std::vector<std::byte> bytes = program::serialize(*program);
      std::string key(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      auto found = entries_.find(key);
      if (found == entries_.end()) {
        jobs.push_back({program, {}});
        found = entries_.emplace(key, jobs.back().promise.get_future().share()).first;
        distinct.emplace(key, true);
      } else if (distinct.emplace(key, false).second) {
        ++counters.reused;
      }
      wanted.push_back(found->second);
    }
  }
  counters.kernels += static_cast<std::uint32_t>(distinct.size());
  std::atomic<std::size_t> next{0};
  std::mutex report_mutex;
  std::uint32_t done = 0;
  auto work = [&] {
    for (std::size_t i = next++; i < jobs.size(); i = next++) {
      Entry entry = build(*jobs[i].program);
      {
        std::lock_guard lock(report_mutex);
        if (entry.kernel)
          ++(entry.origin == hal::ModuleOrigin::compiled ? counters.compiled : counters.loaded);
        ++done;
        if (progress)
          progress({.done = done,
                    .total = static_cast<std::uint32_t>(jobs.size()),
                    .kernel = jobs[i].program->name});
      }
      jobs[i].promise.set_value(std::move(entry));
    }
  };
  {
    std::vector<std::jthread> workers;
    std::size_t count = std::min<std::size_t>(std::max(threads, 1u), jobs.size());
    for (std::size_t i = 1; i < count; ++i) workers.emplace_back(work);
    work();
  }
  std::vector<hal::Kernel> kernels;
  for (const auto& future : wanted) {
    const Entry& entry = future.get();
    if (!entry.kernel) return tl::unexpected<Error>(entry.kernel.error());
    kernels.push_back(*entry.kernel);
  }
  std::lock_guard lock(mutex_);
  totals_.kernels = static_cast<std::uint32_t>(entries_.size());
  totals_.compiled += counters.compiled;
  totals_.loaded += counters.loaded;
  totals_.reused += counters.reused;
  return kernels;
}

CompileCounters KernelCache::totals() const {
  std::lock_guard lock(mutex_);
  return totals_;
}

std::size_t KernelCache::size() const {
  std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace halyard::fusion
