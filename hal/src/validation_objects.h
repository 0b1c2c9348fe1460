#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "halyard/hal/device_info.h"
#include "halyard/hal/plugin.h"

/// What the validating device knows of every object that it gave out. Handles are numbers that are never used
/// twice, so that a destroyed one is told from all others.
namespace halyard::hal::validation {

struct Device {
  std::shared_ptr<const HyBackend> backend;
  HyDevice* inner = nullptr;
  DeviceInfo info;
  std::mutex mutex;
  std::vector<std::weak_ptr<Device>> peers;
  void add_peer(const std::shared_ptr<Device>& peer);
  bool reaches(const std::shared_ptr<Device>& other);
};

struct Timeline {
  std::shared_ptr<Device> device;
  HyTimeline* inner = nullptr;
  bool of_queue = false;
};

/// Work that may still use an object.
struct Uses {
  struct Use {
    std::weak_ptr<Timeline> timeline;
    std::uint64_t value;
  };
  std::mutex mutex;
  std::vector<Use> uses;
  void add(const std::shared_ptr<Timeline>& timeline, std::uint64_t value);
  bool pending();
  void wait();
};

struct Buffer {
  std::shared_ptr<Device> device;
  HyBuffer* inner = nullptr;
  std::uint64_t bytes = 0;
  Uses uses;
};

struct Queue {
  std::shared_ptr<Device> device;
  HyQueue* inner = nullptr;
  HyTimeline* timeline_handle = nullptr;
  std::shared_ptr<Timeline> timeline;
};

struct KernelFacts {
  std::string entry;
  std::uint32_t workgroup_size[3];
  std::uint32_t buffer_count, scalar_bytes, opaque_count;
  std::uint64_t read, written;
};

struct Module {
  std::shared_ptr<Device> device;
  HyModule* inner = nullptr;
  std::vector<KernelFacts> kernels;
  Uses uses;
};

/// A command with all it points to.
struct OwnedCommand {
  HyCommand command{};
  HyDispatch dispatch{};
  HyCopy copy{};
  HyFill fill{};
  std::vector<HySlice> slices;
  std::vector<std::uint32_t> dependencies;
  explicit OwnedCommand(const HyCommand& source);
  OwnedCommand(const OwnedCommand&) = delete;
  OwnedCommand& operator=(const OwnedCommand&) = delete;
};

struct Graph {
  std::shared_ptr<Device> device;
  HyGraph* inner = nullptr;
  bool sequential = false;
  std::uint32_t buffer_slots = 0, scalar_slots = 0;
  std::vector<std::unique_ptr<OwnedCommand>> nodes;
  std::vector<std::vector<bool>> before;  // before[j][i]: node i is complete when node j begins
  Uses uses;
};

struct TimeStamps {
  std::shared_ptr<Device> device;
  HyTimeStamps* inner = nullptr;
  std::uint32_t capacity = 0;
  Uses uses;
};

template <class Handle, class Object>
class HandleTable {
 public:
  Handle* add(std::shared_ptr<Object> object) {
    std::lock_guard lock(mutex_);
    const std::uintptr_t number = ++last_;
    objects_.emplace(number, std::move(object));
    return reinterpret_cast<Handle*>(number);
  }
  std::shared_ptr<Object> find(const Handle* handle) const {
    std::lock_guard lock(mutex_);
    const auto it = objects_.find(reinterpret_cast<std::uintptr_t>(handle));
    return it == objects_.end() ? nullptr : it->second;
  }
  std::shared_ptr<Object> remove(const Handle* handle) {
    std::lock_guard lock(mutex_);
    auto node = objects_.extract(reinterpret_cast<std::uintptr_t>(handle));
    return node.empty() ? nullptr : std::move(node.mapped());
  }
  template <class Predicate>
  std::size_t count(Predicate predicate) const {
    std::lock_guard lock(mutex_);
    std::size_t result = 0;
    for (const auto& [number, object] : objects_) result += predicate(*object) ? 1 : 0;
    return result;
  }

 private:
  mutable std::mutex mutex_;
  std::uintptr_t last_ = 0;
  std::unordered_map<std::uintptr_t, std::shared_ptr<Object>> objects_;
};

struct Tables {
  HandleTable<HyDevice, Device> devices;
  HandleTable<HyBuffer, Buffer> buffers;
  HandleTable<HyQueue, Queue> queues;
  HandleTable<HyTimeline, Timeline> timelines;
  HandleTable<HyModule, Module> modules;
  HandleTable<HyGraph, Graph> graphs;
  HandleTable<HyTimeStamps, TimeStamps> time_stamps;
};
Tables& tables();

/// A submission with the backend's own handles, made from one with ours; or the message of what is wrong with
/// it.
class CheckedSubmission {
 public:
  CheckedSubmission(const std::shared_ptr<Device>& device, const HySubmission& submission);
  /// Empty if all is well.
  const std::string& problem() const { return problem_; }
  /// Commands of a graph: slots are allowed, if there are so many.
  void allow_slots(std::uint32_t buffers, std::uint32_t scalars);
  void add_commands(const HyCommand* commands, std::uint32_t count);
  HySubmission form() const;
  const std::vector<HyCommand>& commands() const { return commands_; }
  void used_until(const std::shared_ptr<Timeline>& timeline, std::uint64_t value) const;

  bool translate(const HySlice& slice, HySlice& inner, const std::string& role);

 private:
  bool reject(const std::string& text);
  void add_dispatch(const HyDispatch& dispatch, HyCommand& command);
  bool check_dispatch(const HyDispatch& dispatch, const KernelFacts& kernel);
  bool check_overlaps(const HyDispatch& dispatch, const KernelFacts& kernel);
  void add_copy(const HyCopy& copy, HyCommand& command);
  void add_fill(const HyFill& fill, HyCommand& command);

  std::shared_ptr<Device> device_;
  HySubmission submission_;
  std::string problem_;
  std::uint32_t buffer_slots_ = 0, scalar_slots_ = 0;
  bool slots_allowed_ = false;
  std::vector<HySyncPoint> waits_, signals_;
  std::vector<HyCommand> commands_;
  std::deque<HyDispatch> dispatches_;
  std::deque<HyCopy> copies_;
  std::deque<HyFill> fills_;
  std::deque<std::vector<HySlice>> slices_;
  std::vector<std::shared_ptr<Buffer>> buffers_;
  std::vector<std::shared_ptr<Module>> modules_;
  std::shared_ptr<TimeStamps> time_stamps_;
};

/// Fills `before`; the message if a dependency is not earlier.
std::string order_nodes(Graph& graph);
/// Two nodes that may run at once though one writes what the other touches; an empty message if there are
/// none. With `replay` NULL only slices of the same slot are compared.
std::string find_race(const Graph& graph, const HyReplay* replay);

}  // namespace halyard::hal::validation
