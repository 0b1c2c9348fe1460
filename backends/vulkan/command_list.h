#pragma once

#include <halyard/base/result.h>
#include <halyard/hal/plugin.h>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>
#include "module.h"
#include "vulkan_functions.h"

namespace halyard::vulkan {

/// A VkCommandPool. Its mutex is held whenever one of its command buffers is recorded, made or freed.
struct CommandPool {
  static Result<std::shared_ptr<CommandPool>> create(HyDevice& device);
  explicit CommandPool(HyDevice& the_device) : device(the_device) {}
  ~CommandPool();
  CommandPool(const CommandPool&) = delete;
  CommandPool& operator=(const CommandPool&) = delete;

  HyDevice& device;
  VkCommandPool handle = VK_NULL_HANDLE;
  std::mutex mutex;
};

/// What a replay gives for the slots of a graph's commands.
struct SlotValues {
  std::span<const HySlice> buffers;
  std::span<const HyBytes> scalars;
};

/// A recorded VkCommandBuffer with the descriptor sets and scalar blocks that it refers to.
class CommandList {
 public:
  static Result<std::shared_ptr<CommandList>> create(std::shared_ptr<CommandPool> pool);
  ~CommandList();
  CommandList(const CommandList&) = delete;
  CommandList& operator=(const CommandList&) = delete;

  /// Records all commands anew; each sees the writes of those before it and of earlier submissions, and the
  /// host sees all of them; barriers stand where ranges collide and where dependencies ask for them. `failed`
  /// names the command at fault.
  Status record(std::span<const HyCommand> commands, const SlotValues& slots, HyTimeStamps* stamps,
                bool reusable, std::uint32_t* failed);
  VkCommandBuffer handle() const { return handle_; }
  bool is_empty() const { return is_empty_; }
  bool is_from(const std::shared_ptr<CommandPool>& pool) const { return pool_ == pool; }

 private:
  /// A range that a command since the last barrier touched.
  struct Access {
    std::uint64_t buffer;
    std::uint64_t begin, end;
    bool writes;
  };
  /// A piece of upload memory for scalar blocks and odd bytes.
  struct Arena {
    HyBuffer* buffer = nullptr;
    std::uint64_t used = 0;
  };
  struct Upload {
    HyBuffer* buffer;
    std::uint64_t offset;
  };

  explicit CommandList(std::shared_ptr<CommandPool> pool) : pool_(std::move(pool)) {}
  HyDevice& device() const { return pool_->device; }
  Status begin(bool reusable);
  void reset();
  Status record_all(std::span<const HyCommand> commands, const SlotValues& slots, HyTimeStamps* stamps,
                    std::uint32_t* failed);
  Status command(const HyCommand& command, std::uint32_t number, const SlotValues& slots);
  Status dispatch(const HyDispatch& dispatch, const SlotValues& slots);
  Status bind(const Kernel& kernel, std::span<const HySlice> slices, std::span<const std::byte> scalars);
  Status copy(const HyCopy& copy, const SlotValues& slots);
  Status fill(const HyFill& fill, const SlotValues& slots);
  Result<HySlice> resolved(const HySlice& slice, const SlotValues& slots) const;
  Result<Upload> upload(const void* bytes, std::uint64_t count);
  Result<VkDescriptorSet> descriptor_set(VkDescriptorSetLayout layout);
  /// Notes what the next command touches; puts a barrier before it if that collides with what ran since the
  /// last.
  void touch(std::span<const Access> accesses, const HyCommand& command, std::uint32_t number);
  void barrier(VkPipelineStageFlags to_stages, VkAccessFlags to_accesses);
  static Access access(const HySlice& slice, bool writes);

  std::shared_ptr<CommandPool> pool_;
  VkCommandBuffer handle_ = VK_NULL_HANDLE;
  bool is_empty_ = true;
  std::vector<Access> since_barrier_;
  std::uint32_t barrier_before_ = 0;  ///< the first command after the last barrier
  VkPipeline bound_ = VK_NULL_HANDLE;
  std::vector<Arena> arenas_;
  std::vector<VkDescriptorPool> descriptor_pools_;
  std::size_t current_pool_ = 0;
};

}  // namespace halyard::vulkan
