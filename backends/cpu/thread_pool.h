#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace halyard::cpu {

/// The threads of one device. Work is cut into one contiguous range per thread, so that thread i finds in its
/// cache what it wrote in the kernel before; a thread that is done takes from the others' ranges.
class ThreadPool {
 public:
  /// With at most `threads` threads, and no more than oneTBB runs in this process (its hardware threads,
  /// unless the host program says otherwise).
  explicit ThreadPool(unsigned threads);
  ~ThreadPool();
  unsigned threads() const { return threads_; }

  /// Calls `work` on this thread as a member of the pool: `for_range` calls inside share the woken threads.
  void enter(const std::function<void()>& work);

  /// Calls `body(begin, end)` on disjoint ranges that cover [0, total), on at most `participants` threads at
  /// once, and returns when all are done. Order and sizes of ranges are not determined. `body` must not
  /// throw.
  using RangeBody = std::function<void(std::uint64_t begin, std::uint64_t end)>;
  void for_range(std::uint64_t total, unsigned participants, const RangeBody& body);

 private:
  struct Arena;
  unsigned threads_;
  std::unique_ptr<Arena> arena_;
};

/// Blocks of per-task scratch, reused. Thread-safe.
class ScratchPool {
 public:
  /// A 64-byte aligned block of at least the bytes asked for; goes back when it is destroyed. May throw
  /// std::bad_alloc.
  class Block {
   public:
    Block(ScratchPool& pool, std::uint64_t bytes);
    ~Block();
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
    void* data() const { return memory_; }

   private:
    ScratchPool& pool_;
    void* memory_ = nullptr;
    std::uint64_t bytes_ = 0;
  };
  ~ScratchPool();

 private:
  struct Entry {
    void* memory;
    std::uint64_t bytes;
  };
  std::mutex mutex_;
  std::vector<Entry> free_;
};

/// How many threads a device gets if its description does not say: HALYARD_CPU_THREADS, else the processors
/// that this process may run on.
unsigned default_thread_count();

}  // namespace halyard::cpu
