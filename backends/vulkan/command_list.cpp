#include "command_list.h"
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cstring>
#include "buffer.h"
#include "device.h"
#include "error.h"
#include "time_stamps.h"

namespace halyard::vulkan {
namespace {

constexpr VkPipelineStageFlags work_stages =
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
constexpr VkAccessFlags all_writes = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
constexpr VkAccessFlags all_accesses = all_writes | VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT;
constexpr std::size_t most_accesses = 128;  ///< kept between barriers; more would make `touch` slow
constexpr std::uint64_t arena_bytes = 64 * 1024;
constexpr std::uint32_t sets_per_pool = 64;

}  // namespace

Result<std::shared_ptr<CommandPool>> CommandPool::create(HyDevice& device) {
  auto pool = std::make_shared<CommandPool>(device);
  VkCommandPoolCreateInfo info{.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                               .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                               .queueFamilyIndex = device.facts.compute_family};
  HALYARD_TRY(device.check("vkCreateCommandPool",
                           device.vk.CreateCommandPool(device.handle, &info, nullptr, &pool->handle)));
  return pool;
}

CommandPool::~CommandPool() {
  if (handle) device.vk.DestroyCommandPool(device.handle, handle, nullptr);
}

Result<std::shared_ptr<CommandList>> CommandList::create(std::shared_ptr<CommandPool> pool) {
  auto list = std::shared_ptr<CommandList>(new CommandList(std::move(pool)));
  HyDevice& device = list->device();
  std::lock_guard lock(list->pool_->mutex);
  VkCommandBufferAllocateInfo info{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                   .commandPool = list->pool_->handle,
                                   .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                   .commandBufferCount = 1};
  HALYARD_TRY(device.check("vkAllocateCommandBuffers",
                           device.vk.AllocateCommandBuffers(device.handle, &info, &list->handle_)));
  return list;
}

CommandList::~CommandList() {
  HyDevice& owner = device();
  if (handle_) {
    std::lock_guard lock(pool_->mutex);
    owner.vk.FreeCommandBuffers(owner.handle, pool_->handle, 1, &handle_);
  }
  for (VkDescriptorPool pool : descriptor_pools_) owner.vk.DestroyDescriptorPool(owner.handle, pool, nullptr);
  for (const Arena& arena : arenas_) buffer_destroy(arena.buffer);
}

Status CommandList::begin(bool reusable) {
  VkCommandBufferBeginInfo info{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                .flags = reusable ? VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT
                                                  : VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  return device().check("vkBeginCommandBuffer", device().vk.BeginCommandBuffer(handle_, &info));
}

void CommandList::reset() {
  for (Arena& arena : arenas_) arena.used = 0;
  for (VkDescriptorPool pool : descriptor_pools_) device().vk.ResetDescriptorPool(device().handle, pool, 0);
  current_pool_ = 0;
  since_barrier_.clear();
  barrier_before_ = 0;
  bound_ = VK_NULL_HANDLE;
}

Status CommandList::record(std::span<const HyCommand> commands, const SlotValues& slots, HyTimeStamps* stamps,
                           bool reusable, std::uint32_t* failed) {
  *failed = UINT32_MAX;
  is_empty_ = commands.empty();
  if (is_empty_) return {};
  if (stamps && stamps->capacity < commands.size())
    return fail(ErrorCode::invalid_argument,
                fmt::format("vulkan: time stamps for {} of {} commands", stamps->capacity, commands.size()));
  std::lock_guard lock(pool_->mutex);
  reset();
  HALYARD_TRY(begin(reusable));
  return record_all(commands, slots, stamps, failed);
}

Status CommandList::record_all(std::span<const HyCommand> commands, const SlotValues& slots,
                               HyTimeStamps* stamps, std::uint32_t* failed) {
  const DeviceFunctions& vk = device().vk;
  auto count = static_cast<std::uint32_t>(commands.size());
  if (stamps) vk.CmdResetQueryPool(handle_, stamps->pool, 0, 2 * count);
  // Earlier submissions of this queue, and the host's writes (made visible by the submission itself).
  barrier(work_stages, all_accesses);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (stamps) {
      barrier(work_stages, all_accesses);  // each command alone, so that its span is its own
      vk.CmdWriteTimestamp(handle_, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, stamps->pool, 2 * i);
    }
    if (Status recorded = command(commands[i], i, slots); !recorded) {
      *failed = i;
      (void)vk.EndCommandBuffer(handle_);
      recorded.error().message += fmt::format(" (command {})", i);
      return recorded;
    }
    if (stamps) vk.CmdWriteTimestamp(handle_, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, stamps->pool, 2 * i + 1);
  }
  barrier(VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT);
  return device().check("vkEndCommandBuffer", vk.EndCommandBuffer(handle_));
}

Status CommandList::command(const HyCommand& command, std::uint32_t number, const SlotValues& slots) {
  const HyDispatch* run = command.dispatch;
  switch (command.kind) {
    case HY_COMMAND_DISPATCH: {
      if (!run->module || run->kernel >= run->module->kernels.size() ||
          !run->module->kernels[run->kernel].pipeline)
        return fail(ErrorCode::invalid_argument,
                    "vulkan: dispatch of a kernel that its module does not have");
      const Kernel& kernel = run->module->kernels[run->kernel];
      if (run->buffer_count != kernel.buffer_count)
        return fail(ErrorCode::invalid_argument,
                    fmt::format("vulkan: dispatch of {} with {} buffers; it takes {}", kernel.entry,
                                run->buffer_count, kernel.buffer_count));
      std::vector<Access> accesses;
      for (std::uint32_t i = 0; i < run->buffer_count; ++i) {
        HALYARD_ASSIGN(HySlice slice, resolved(run->buffers[i], slots));
        if (slice.bytes > 0) accesses.push_back(access(slice, kernel.writes(i)));
      }
      touch(accesses, command, number);
      return dispatch(*run, slots);
    }
    case HY_COMMAND_COPY: {
      HALYARD_ASSIGN(HySlice from, resolved(command.copy->source, slots));
      HALYARD_ASSIGN(HySlice to, resolved(command.copy->destination, slots));
      std::array accesses{access(from, false), access(to, true)};
      touch(accesses, command, number);
      return copy(*command.copy, slots);
    }
    case HY_COMMAND_FILL: {
      HALYARD_ASSIGN(HySlice to, resolved(command.fill->destination, slots));
      std::array accesses{access(to, true)};
      touch(accesses, command, number);
      return fill(*command.fill, slots);
    }
    default:
      return fail(ErrorCode::invalid_argument,
                  fmt::format("vulkan: a command of unknown kind {}", command.kind));
  }
}

CommandList::Access CommandList::access(const HySlice& slice, bool writes) {
  std::uint64_t begin = slice.buffer->base + slice.offset;
  return {slice.buffer->id, begin, begin + slice.bytes, writes};
}

void CommandList::touch(std::span<const Access> accesses, const HyCommand& command, std::uint32_t number) {
  bool collides = since_barrier_.size() + accesses.size() > most_accesses;
  for (std::uint32_t i = 0; i < command.dependency_count && !collides; ++i)
    collides = command.dependencies[i] >= barrier_before_;
  for (const Access& now : accesses) {
    if (collides) break;
    collides = std::any_of(since_barrier_.begin(), since_barrier_.end(), [&](const Access& earlier) {
      return earlier.buffer == now.buffer && (earlier.writes || now.writes) && earlier.begin < now.end &&
             now.begin < earlier.end;
    });
  }
  if (collides && number > 0) {
    barrier(work_stages, all_accesses);
    since_barrier_.clear();
    barrier_before_ = number;
  }
  since_barrier_.insert(since_barrier_.end(), accesses.begin(), accesses.end());
}

void CommandList::barrier(VkPipelineStageFlags to_stages, VkAccessFlags to_accesses) {
  VkMemoryBarrier memory{
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = all_writes, .dstAccessMask = to_accesses};
  device().vk.CmdPipelineBarrier(handle_, work_stages, to_stages, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

Result<HySlice> CommandList::resolved(const HySlice& slice, const SlotValues& slots) const {
  HySlice result = slice;
  if (!slice.buffer) {
    if (slice.slot >= slots.buffers.size() || !slots.buffers[slice.slot].buffer)
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("vulkan: nothing is given for buffer slot {} of {}", slice.slot, slots.buffers.size()));
    const HySlice& given = slots.buffers[slice.slot];
    if (slice.offset > given.bytes || slice.bytes > given.bytes - slice.offset)
      return fail(ErrorCode::invalid_argument,
                  fmt::format("vulkan: bytes {} to {} of slot {}, for which {} are given", slice.offset,
                              slice.offset + slice.bytes, slice.slot, given.bytes));
    result.buffer = given.buffer;
    result.offset = given.offset + slice.offset;
  }
  if (result.buffer->device != &device())
    return fail(ErrorCode::invalid_argument, "vulkan: a buffer of another device; copy it over first");
  if (result.offset > result.buffer->bytes || result.bytes > result.buffer->bytes - result.offset)
    return fail(ErrorCode::invalid_argument,
                fmt::format("vulkan: bytes {} to {} of a buffer of {}", result.offset,
                            result.offset + result.bytes, result.buffer->bytes));
  return result;
}

Status CommandList::dispatch(const HyDispatch& run, const SlotValues& slots) {
  const Kernel& kernel = run.module->kernels[run.kernel];
  const HyDeviceInfo& info = device().facts.info;
  std::span<const std::byte> scalars(static_cast<const std::byte*>(run.scalars), run.scalar_bytes);
  if (run.scalar_slot != HY_NO_SLOT && !slots.scalars.empty()) {
    if (run.scalar_slot >= slots.scalars.size())
      return fail(ErrorCode::invalid_argument,
                  fmt::format("vulkan: nothing is given for scalar slot {} of {}", run.scalar_slot,
                              slots.scalars.size()));
    const HyBytes& given = slots.scalars[run.scalar_slot];
    scalars = {static_cast<const std::byte*>(given.data), given.bytes};
  }
  if (scalars.size() != kernel.scalar_bytes)
    return fail(ErrorCode::invalid_argument,
                fmt::format("vulkan: dispatch of {} with {} scalar bytes; it takes {}", kernel.entry,
                            scalars.size(), kernel.scalar_bytes));
  for (int axis = 0; axis < 3; ++axis) {
    if (run.grid[axis] == 0) return {};
    if (run.grid[axis] > info.max_grid[axis])
      return fail(ErrorCode::invalid_argument,
                  fmt::format("vulkan: dispatch of {} with {} workgroups along axis {}; the device takes {}",
                              kernel.entry, run.grid[axis], axis, info.max_grid[axis]));
    if (run.block[axis] != 0 && run.block[axis] != kernel.workgroup_size[axis])
      return fail(
          ErrorCode::unsupported,
          fmt::format("vulkan: dispatch of {}: its workgroup size is fixed in its code", kernel.entry));
  }
  if (run.dynamic_shared_bytes || run.opaque_count)
    return fail(ErrorCode::unsupported,
                "vulkan: SPIR-V kernels take no dynamic shared memory and no opaque parameters");
  std::vector<HySlice> slices;
  for (std::uint32_t i = 0; i < run.buffer_count; ++i) {
    HALYARD_ASSIGN(HySlice slice, resolved(run.buffers[i], slots));
    if ((slice.buffer->base + slice.offset) % info.storage_alignment != 0 && slice.bytes > 0)
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("vulkan: dispatch of {}: buffer {} begins at byte {}, which is no multiple of {}",
                      kernel.entry, i, slice.offset, info.storage_alignment));
    if (slice.bytes > info.max_storage_range && !kernel.by_address)
      return fail(ErrorCode::invalid_argument,
                  fmt::format("vulkan: dispatch of {}: buffer {} spans {} bytes; the device binds at most {}",
                              kernel.entry, i, slice.bytes, info.max_storage_range));
    if (kernel.by_address && slice.bytes > 0 && slice.buffer->address == 0)
      return fail(ErrorCode::unsupported,
                  fmt::format("vulkan: dispatch of {}: buffer {} was imported and has no device address",
                              kernel.entry, i));
    if (slice.bytes == 0) slice = {device().empty_buffer, 0, device().empty_buffer->bytes, 0, 0};
    slices.push_back(slice);
  }
  HALYARD_TRY(bind(kernel, slices, scalars));
  device().vk.CmdDispatch(handle_, run.grid[0], run.grid[1], run.grid[2]);
  return {};
}

Status CommandList::bind(const Kernel& kernel, std::span<const HySlice> slices,
                         std::span<const std::byte> scalars) {
  const DeviceFunctions& vk = device().vk;
  if (bound_ != kernel.pipeline) {
    vk.CmdBindPipeline(handle_, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.pipeline);
    bound_ = kernel.pipeline;
  }
  std::vector<std::byte> pushed;
  if (kernel.by_address) {
    pushed.resize(8 * slices.size());
    for (std::size_t i = 0; i < slices.size(); ++i) {
      std::uint64_t address = slices[i].buffer->address + slices[i].offset;
      std::memcpy(pushed.data() + 8 * i, &address, 8);
    }
  }
  if (!kernel.scalars_by_buffer) pushed.insert(pushed.end(), scalars.begin(), scalars.end());
  if (!pushed.empty())
    vk.CmdPushConstants(handle_, kernel.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                        static_cast<std::uint32_t>(pushed.size()), pushed.data());
  if (kernel.descriptor_count == 0) return {};

  std::vector<VkDescriptorBufferInfo> ranges;
  if (!kernel.by_address) {
    for (const HySlice& slice : slices) {
      // Narrow elements are reached by whole words, so the last word must lie within.
      std::uint64_t most = slice.buffer->usable_bytes - slice.offset;
      ranges.push_back({slice.buffer->handle, slice.buffer->base + slice.offset,
                        std::min<std::uint64_t>((slice.bytes + 3) / 4 * 4, most)});
    }
  }
  if (kernel.scalars_by_buffer) {
    HALYARD_ASSIGN(Upload place, upload(scalars.data(), scalars.size()));
    ranges.push_back({place.buffer->handle, place.offset, scalars.size()});
  }
  VkDescriptorSet set = VK_NULL_HANDLE;
  if (!kernel.push_descriptors) {
    HALYARD_ASSIGN(set, descriptor_set(kernel.set_layout));
  }
  std::vector<VkWriteDescriptorSet> writes;
  for (std::uint32_t i = 0; i < ranges.size(); ++i)
    writes.push_back({.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                      .dstSet = set,
                      .dstBinding = kernel.by_address ? kernel.buffer_count : i,
                      .descriptorCount = 1,
                      .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                      .pBufferInfo = &ranges[i]});
  auto count = static_cast<std::uint32_t>(writes.size());
  if (kernel.push_descriptors) {
    vk.CmdPushDescriptorSetKHR(handle_, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.layout, 0, count,
                               writes.data());
  } else {
    vk.UpdateDescriptorSets(device().handle, count, writes.data(), 0, nullptr);
    vk.CmdBindDescriptorSets(handle_, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.layout, 0, 1, &set, 0, nullptr);
  }
  return {};
}

Status CommandList::copy(const HyCopy& what, const SlotValues& slots) {
  HALYARD_ASSIGN(HySlice from, resolved(what.source, slots));
  HALYARD_ASSIGN(HySlice to, resolved(what.destination, slots));
  if (from.bytes != to.bytes)
    return fail(ErrorCode::invalid_argument,
                fmt::format("vulkan: a copy of {} bytes to {} bytes", from.bytes, to.bytes));
  if (from.bytes == 0) return {};
  VkBufferCopy region{from.buffer->base + from.offset, to.buffer->base + to.offset, from.bytes};
  device().vk.CmdCopyBuffer(handle_, from.buffer->handle, to.buffer->handle, 1, &region);
  return {};
}

/// Vulkan fills whole words at multiples of four; what is left at both ends is copied.
Status CommandList::fill(const HyFill& what, const SlotValues& slots) {
  HALYARD_ASSIGN(HySlice to, resolved(what.destination, slots));
  std::uint32_t width = what.pattern_bytes;
  if ((width != 1 && width != 2 && width != 4) || to.offset % width || to.bytes % width)
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("vulkan: a fill of {} bytes at {} by a pattern of {} bytes", to.bytes, to.offset, width));
  if (to.bytes == 0) return {};
  std::uint64_t first = to.buffer->base + to.offset;
  std::uint64_t last = first + to.bytes;
  std::uint64_t first_word = std::min(last, (first + 3) / 4 * 4);
  std::uint64_t last_word = std::max(first_word, last / 4 * 4);
  std::byte pattern[16];
  for (std::size_t i = 0; i < sizeof pattern; ++i)
    pattern[i] = static_cast<std::byte>(what.pattern >> (8 * (i % width)));
  const DeviceFunctions& vk = device().vk;
  if (last_word > first_word) {
    std::uint32_t word = 0;
    std::memcpy(&word, pattern + (first_word - first), 4);
    vk.CmdFillBuffer(handle_, to.buffer->handle, first_word, last_word - first_word, word);
  }
  auto copy_end = [&](std::uint64_t begin, std::uint64_t end) -> Status {
    if (begin == end) return {};
    HALYARD_ASSIGN(Upload place, upload(pattern + (begin - first) % width, end - begin));
    VkBufferCopy region{place.offset, begin, end - begin};
    vk.CmdCopyBuffer(handle_, place.buffer->handle, to.buffer->handle, 1, &region);
    return {};
  };
  HALYARD_TRY(copy_end(first, first_word));
  return copy_end(last_word, last);
}

Result<CommandList::Upload> CommandList::upload(const void* bytes, std::uint64_t count) {
  std::uint64_t step = device().facts.info.storage_alignment;
  for (Arena& arena : arenas_) {
    std::uint64_t offset = (arena.used + step - 1) / step * step;
    if (offset + count > arena.buffer->bytes) continue;
    std::memcpy(static_cast<char*>(arena.buffer->host) + offset, bytes, count);
    arena.used = offset + count;
    return Upload{arena.buffer, offset};
  }
  HALYARD_ASSIGN(HyBuffer * buffer, create_buffer(device(), std::max(arena_bytes, count), HY_MEMORY_UPLOAD));
  arenas_.push_back({buffer, count});
  std::memcpy(buffer->host, bytes, count);
  return Upload{buffer, 0};
}

Result<VkDescriptorSet> CommandList::descriptor_set(VkDescriptorSetLayout layout) {
  const DeviceFunctions& vk = device().vk;
  for (;; ++current_pool_) {
    bool is_new = current_pool_ == descriptor_pools_.size();
    if (is_new) {
      VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                sets_per_pool * (device().facts.info.max_buffers_per_kernel + 1)};
      VkDescriptorPoolCreateInfo info{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                      .maxSets = sets_per_pool,
                                      .poolSizeCount = 1,
                                      .pPoolSizes = &size};
      VkDescriptorPool pool = VK_NULL_HANDLE;
      HALYARD_TRY(device().check("vkCreateDescriptorPool",
                                 vk.CreateDescriptorPool(device().handle, &info, nullptr, &pool)));
      descriptor_pools_.push_back(pool);
    }
    VkDescriptorSetAllocateInfo info{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                     .descriptorPool = descriptor_pools_[current_pool_],
                                     .descriptorSetCount = 1,
                                     .pSetLayouts = &layout};
    VkDescriptorSet set = VK_NULL_HANDLE;
    VkResult result = vk.AllocateDescriptorSets(device().handle, &info, &set);
    if (result == VK_SUCCESS) return set;
    bool is_full = result == VK_ERROR_OUT_OF_POOL_MEMORY || result == VK_ERROR_FRAGMENTED_POOL;
    if (!is_full || is_new) return device().failure("vkAllocateDescriptorSets", result);
  }
}

}  // namespace halyard::vulkan
