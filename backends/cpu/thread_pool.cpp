#include "thread_pool.h"
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>
#include <sched.h>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <new>
#include <thread>

namespace halyard::cpu {
namespace {

/// What is left of one participant's range. Owner and thieves take from its front alike.
struct alignas(64) Share {
  std::atomic<std::uint64_t> next{0};
  std::uint64_t end = 0;

  /// Takes a quarter of what is left, at least one; false when nothing is.
  bool take(std::uint64_t* from, std::uint64_t* to) {
    std::uint64_t begin = next.load(std::memory_order_relaxed);
    while (begin < end) {
      std::uint64_t count = std::max<std::uint64_t>(1, (end - begin) / 4);
      if (next.compare_exchange_weak(begin, begin + count, std::memory_order_relaxed)) {
        *from = begin;
        *to = begin + count;
        return true;
      }
    }
    return false;
  }
};

constexpr unsigned most_threads = 1024;

/// As many threads as oneTBB would run in this process; beyond that it complains on stderr.
unsigned allowed_threads() {
  auto limit = tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
  return static_cast<unsigned>(std::clamp<std::size_t>(limit, 1, most_threads));
}

/// The processors' worth of time that the control group allows (cgroup v2, "QUOTA PERIOD" or "max PERIOD"),
/// rounded up.
unsigned granted_processors() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0, period = 0;
  if (!(file >> quota >> period) || quota <= 0 || period <= 0) return most_threads;
  return static_cast<unsigned>(std::clamp(std::ceil(quota / period), 1.0, double(most_threads)));
}

}  // namespace

struct ThreadPool::Arena {
  explicit Arena(unsigned threads) : arena(static_cast<int>(threads), 1) {}
  tbb::task_arena arena;
};

ThreadPool::ThreadPool(unsigned threads)
    : threads_(std::clamp(threads, 1u, allowed_threads())), arena_(std::make_unique<Arena>(threads_)) {}

ThreadPool::~ThreadPool() = default;

void ThreadPool::enter(const std::function<void()>& work) {
  if (threads_ == 1) return work();
  arena_->arena.execute([&] { work(); });
}

void ThreadPool::for_range(std::uint64_t total, unsigned participants, const RangeBody& body) {
  participants = static_cast<unsigned>(std::min<std::uint64_t>(std::min(participants, threads_), total));
  if (participants <= 1) {
    if (total > 0) body(0, total);
    return;
  }
  std::vector<Share> shares(participants);
  for (unsigned i = 0; i < participants; ++i) {
    shares[i].next = total * i / participants;
    shares[i].end = total * (i + 1) / participants;
  }
  auto participate = [&](unsigned self) {
    std::uint64_t begin = 0, end = 0;
    for (unsigned offset = 0; offset < participants; ++offset) {
      Share& share = shares[(self + offset) % participants];
      while (share.take(&begin, &end)) body(begin, end);
    }
  };
  enter([&] { tbb::parallel_for(0u, participants, participate, tbb::static_partitioner()); });
}

ScratchPool::Block::Block(ScratchPool& pool, std::uint64_t bytes) : pool_(pool) {
  if (bytes == 0) return;
  {
    std::lock_guard lock(pool.mutex_);
    for (std::size_t i = 0; i < pool.free_.size(); ++i) {
      if (pool.free_[i].bytes < bytes) continue;
      memory_ = pool.free_[i].memory;
      bytes_ = pool.free_[i].bytes;
      pool.free_[i] = pool.free_.back();
      pool.free_.pop_back();
      return;
    }
  }
  bytes_ = (bytes + 4095) / 4096 * 4096;
  memory_ = ::operator new(bytes_, std::align_val_t{64});
}

ScratchPool::Block::~Block() {
  if (!memory_) return;
  std::lock_guard lock(pool_.mutex_);
  try {
    pool_.free_.push_back({memory_, bytes_});
  } catch (...) {
    ::operator delete(memory_, std::align_val_t{64});
  }
}

ScratchPool::~ScratchPool() {
  for (const Entry& entry : free_) ::operator delete(entry.memory, std::align_val_t{64});
}

unsigned default_thread_count() {
  if (const char* text = std::getenv("HALYARD_CPU_THREADS"); text && *text) {
    char* end = nullptr;
    long threads = std::strtol(text, &end, 10);
    if (*end == 0 && threads >= 1) return static_cast<unsigned>(std::min<long>(threads, most_threads));
  }
  unsigned processors = std::max(1u, std::thread::hardware_concurrency());
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 0)
    processors = static_cast<unsigned>(CPU_COUNT(&allowed));
  return std::min(processors, granted_processors());
}

}  // namespace halyard::cpu
