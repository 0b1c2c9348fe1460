#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "halyard/hal/plugin.h"

/// The objects behind the handles of the fake backend: memory, timelines, and queues that run recorded
/// commands on threads of their own. The functions of its table are in fake_backend.cpp.
namespace fake {

/// What `live_objects` counts.
struct Counted {
  Counted();
  ~Counted();
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
};

/// Adds one to `compilations`.
void count_compilation();
HyStatus report(HyError* error, HyStatus status, const std::string& message);

/// A command with copies of all it points to.
struct Recorded {
  uint32_t kind = 0;
  std::string entry;
  std::vector<HySlice> slices;  // copy: source, destination; fill: destination
  std::vector<unsigned char> scalars;
  uint32_t scalar_slot = HY_NO_SLOT;
  uint32_t grid[3] = {0, 0, 0};
  uint32_t pattern = 0, pattern_bytes = 0;
};

Recorded record(const HyCommand& command);

struct Work {
  std::vector<HySyncPoint> waits, signals;
  std::vector<Recorded> commands;
  HyTimeStamps* stamps = nullptr;
  std::uint64_t value = 0;
  bool fails = false;
};

}  // namespace fake

struct HyDevice : fake::Counted {
  uint32_t ordinal = 0;
  bool bare = false;
  std::mutex mutex;
  std::condition_variable changed;  // of all timelines of the device
  std::uint64_t held = 0;
  bool lost = false;
  std::map<uint32_t, uint32_t> faults;  // fault -> calls until it strikes

  bool strikes(uint32_t fault);
  void lose();
};

struct HyBuffer : fake::Counted {
  HyDevice* device = nullptr;
  std::vector<unsigned char> own;
  unsigned char* data = nullptr;
  std::uint64_t bytes = 0;
  uint32_t memory = HY_MEMORY_DEVICE;
  bool imported = false;
};

struct HyTimeline : fake::Counted {
  HyDevice* device = nullptr;
  std::uint64_t reached = 0;
  std::map<std::uint64_t, std::pair<HyStatus, std::string>> failures;

  void raise(std::uint64_t value, HyStatus status, const std::string& message);
  // The device's mutex is held.
  HyStatus outcome(std::uint64_t value, HyError* error) const;
  HyStatus wait(std::uint64_t value, std::uint64_t timeout_ns, HyError* error);
};

struct HyModule : fake::Counted {
  struct KernelOf {
    std::string entry;
  };
  std::vector<KernelOf> kernels;
  std::string native;
};

struct HyTimeStamps : fake::Counted {
  std::vector<HyTimeSpan> spans;
};

struct HyQueue : fake::Counted {
  HyDevice* device = nullptr;
  HyTimeline timeline;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<fake::Work> work;
  std::uint64_t submitted = 0;
  bool ending = false;
  std::thread thread;

  HyStatus perform(fake::Work& item, std::string& message);
  void loop();
  std::uint64_t push(fake::Work item);
};

struct HyGraph : fake::Counted {
  std::vector<fake::Recorded> nodes;
};
