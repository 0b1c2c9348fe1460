#include "command_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "halyard/hal/device.h"

namespace halyard::hal {

Result<HySlice> resolve_slice(const Device& device, const BufferSlice& slice, const std::string& subject) {
  if (!slice.buffer) return fail(ErrorCode::invalid_argument, subject + " has no buffer");
  const Buffer& buffer = *slice.buffer;
  if (slice.offset > buffer.size() || slice.bytes > buffer.size() - slice.offset)
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} spans bytes {} to {} of a buffer of {} bytes", subject, slice.offset,
                            slice.offset + slice.bytes, buffer.size()));
  if (buffer.device().get() != &device && !device.reaches(*buffer.device()))
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} lies on another device ({}): copy it over, or enable peer access", subject,
                            buffer.device()->info().uri));
  HySlice result{};
  result.buffer = buffer.backend_buffer();
  result.offset = buffer.backend_offset() + (slice.bytes == 0 ? 0 : slice.offset);
  result.bytes = slice.bytes;
  result.slot = HY_NO_SLOT;
  return result;
}

Error CommandList::error_of(std::string text) const {
  return Error{ErrorCode::invalid_argument,
               fmt::format("{}: submit: command {}: {}", device_.info().uri, commands_.size(), text)};
}

HyCommand& CommandList::add_command(std::uint32_t kind) {
  HyCommand& command = commands_.emplace_back();
  command.size = sizeof command;
  command.kind = kind;
  return command;
}

HyDispatch& CommandList::add_dispatch(const Kernel& kernel) {
  HyDispatch& dispatch = dispatches_.emplace_back();
  dispatch.size = sizeof dispatch;
  dispatch.kernel = kernel.index();
  dispatch.module = kernel.module()->handle();
  dispatch.scalar_slot = HY_NO_SLOT;
  if (modules_.empty() || modules_.back() != kernel.module()) modules_.push_back(kernel.module());
  return dispatch;
}

std::vector<HySlice>& CommandList::new_slices(std::size_t count) {
  auto& slices = slices_.emplace_back();
  slices.reserve(count);
  return slices;
}

Status CommandList::check_dispatch(const Kernel& kernel, std::size_t buffers,
                                   std::size_t scalar_bytes) const {
  if (!kernel) return tl::unexpected<Error>(error_of("the dispatch has no kernel"));
  const KernelDesc& desc = kernel.desc();
  if (kernel.module()->device().get() != &device_)
    return tl::unexpected<Error>(error_of(fmt::format("kernel '{}' was loaded on another device ({})",
                                                      desc.entry, kernel.module()->device()->info().uri)));
  if (buffers != desc.buffer_count)
    return tl::unexpected<Error>(error_of(
        fmt::format("kernel '{}' takes {} buffers and got {}", desc.entry, desc.buffer_count, buffers)));
  if (scalar_bytes != desc.scalar_bytes)
    return tl::unexpected<Error>(error_of(fmt::format("kernel '{}' takes {} bytes of scalars and got {}",
                                                      desc.entry, desc.scalar_bytes, scalar_bytes)));
  return {};
}

Result<HySlice> CommandList::resolve(const BufferSlice& slice, const char* role) {
  auto result = resolve_slice(device_, slice, role);
  if (!result) return tl::unexpected<Error>(error_of(std::move(result.error().message)));
  buffers_.push_back(slice.buffer.get());
  return result;
}

Result<HySlice> CommandList::resolve(const SlotSlice& slice, std::span<const BufferSlice> buffers,
                                     const char* role) {
  const BufferSlice& given = buffers[slice.slot];
  if (slice.offset > given.bytes || slice.bytes > given.bytes - slice.offset)
    return tl::unexpected<Error>(
        error_of(fmt::format("{}: slot {} needs bytes {} to {} and was given {} bytes", role, slice.slot,
                             slice.offset, slice.offset + slice.bytes, given.bytes)));
  return resolve(BufferSlice(given.buffer, given.offset + slice.offset, slice.bytes), role);
}

namespace {

template <class AnyDispatch>
void set_sizes(HyDispatch& target, const AnyDispatch& source) {
  for (std::size_t i = 0; i < 3; ++i) {
    target.grid[i] = source.grid[i];
    target.block[i] = source.block[i];
    target.cluster[i] = source.cluster[i];
  }
  target.dynamic_shared_bytes = source.dynamic_shared_bytes;
  target.opaque = source.opaque.data();
  target.opaque_count = static_cast<std::uint32_t>(source.opaque.size());
}

void set_scalars(HyDispatch& target, std::span<const std::byte> scalars) {
  target.scalars = scalars.data();
  target.scalar_bytes = static_cast<std::uint32_t>(scalars.size());
}

HySlice slot_slice(const SlotSlice& slice) {
  return HySlice{nullptr, slice.offset, slice.bytes, slice.slot, 0};
}

}  // namespace

Status CommandList::add(const Command& command) {
  if (const auto* dispatch = std::get_if<Dispatch>(&command)) {
    HALYARD_TRY(check_dispatch(dispatch->kernel, dispatch->buffers.size(), dispatch->scalars.size()));
    auto& slices = new_slices(dispatch->buffers.size());
    for (const BufferSlice& slice : dispatch->buffers) {
      HALYARD_ASSIGN(const HySlice resolved, resolve(slice, "a dispatch's buffer"));
      slices.push_back(resolved);
    }
    HyDispatch& target = add_dispatch(dispatch->kernel);
    set_sizes(target, *dispatch);
    set_scalars(target, dispatch->scalars);
    target.buffers = slices.data();
    target.buffer_count = static_cast<std::uint32_t>(slices.size());
    add_command(HY_COMMAND_DISPATCH).dispatch = &target;
  } else if (const auto* copy = std::get_if<Copy>(&command)) {
    if (copy->source.bytes != copy->destination.bytes)
      return tl::unexpected<Error>(error_of(fmt::format("a copy's source has {} bytes, its destination {}",
                                                        copy->source.bytes, copy->destination.bytes)));
    HALYARD_ASSIGN(const HySlice source, resolve(copy->source, "a copy's source"));
    HALYARD_ASSIGN(const HySlice destination, resolve(copy->destination, "a copy's destination"));
    if (copy->source.bytes == 0) return {};
    add_command(HY_COMMAND_COPY).copy = &copies_.emplace_back(HyCopy{source, destination});
  } else {
    const auto& fill = std::get<Fill>(command);
    HALYARD_ASSIGN(const HySlice destination, resolve(fill.destination, "a fill's destination"));
    if (fill.destination.bytes == 0) return {};
    add_command(HY_COMMAND_FILL).fill =
        &fills_.emplace_back(HyFill{destination, fill.pattern, fill.pattern_bytes});
  }
  return {};
}

Status CommandList::add(const GraphCommand& command, std::span<const std::uint32_t> dependencies) {
  HyCommand entry{};
  entry.size = sizeof entry;
  entry.dependencies = dependencies.data();
  entry.dependency_count = static_cast<std::uint32_t>(dependencies.size());
  if (const auto* dispatch = std::get_if<GraphDispatch>(&command)) {
    const std::size_t scalar_bytes = dispatch->scalar_slot == HY_NO_SLOT && dispatch->kernel
                                         ? dispatch->scalars.size()
                                         : (dispatch->kernel ? dispatch->kernel.desc().scalar_bytes : 0);
    HALYARD_TRY(check_dispatch(dispatch->kernel, dispatch->buffers.size(), scalar_bytes));
    auto& slices = new_slices(dispatch->buffers.size());
    for (const SlotSlice& slice : dispatch->buffers) slices.push_back(slot_slice(slice));
    HyDispatch& target = add_dispatch(dispatch->kernel);
    set_sizes(target, *dispatch);
    set_scalars(target, dispatch->scalars);
    target.scalar_bytes = static_cast<std::uint32_t>(scalar_bytes);
    target.scalar_slot = dispatch->scalar_slot;
    target.buffers = slices.data();
    target.buffer_count = static_cast<std::uint32_t>(slices.size());
    entry.kind = HY_COMMAND_DISPATCH;
    entry.dispatch = &target;
  } else if (const auto* copy = std::get_if<GraphCopy>(&command)) {
    entry.kind = HY_COMMAND_COPY;
    entry.copy = &copies_.emplace_back(HyCopy{slot_slice(copy->source), slot_slice(copy->destination)});
  } else {
    const auto& fill = std::get<GraphFill>(command);
    entry.kind = HY_COMMAND_FILL;
    entry.fill = &fills_.emplace_back(HyFill{slot_slice(fill.destination), fill.pattern, fill.pattern_bytes});
  }
  commands_.push_back(entry);
  return {};
}

Status CommandList::add(const GraphCommand& command, std::span<const BufferSlice> buffers,
                        std::span<const std::vector<std::byte>> scalars) {
  if (const auto* dispatch = std::get_if<GraphDispatch>(&command)) {
    const std::span<const std::byte> block = dispatch->scalar_slot == HY_NO_SLOT
                                                 ? std::span<const std::byte>(dispatch->scalars)
                                                 : scalars[dispatch->scalar_slot];
    HALYARD_TRY(check_dispatch(dispatch->kernel, dispatch->buffers.size(), block.size()));
    auto& slices = new_slices(dispatch->buffers.size());
    for (const SlotSlice& slice : dispatch->buffers) {
      HALYARD_ASSIGN(const HySlice resolved, resolve(slice, buffers, "a dispatch's buffer"));
      slices.push_back(resolved);
    }
    HyDispatch& target = add_dispatch(dispatch->kernel);
    set_sizes(target, *dispatch);
    set_scalars(target, block);
    target.buffers = slices.data();
    target.buffer_count = static_cast<std::uint32_t>(slices.size());
    add_command(HY_COMMAND_DISPATCH).dispatch = &target;
  } else if (const auto* copy = std::get_if<GraphCopy>(&command)) {
    HALYARD_ASSIGN(const HySlice source, resolve(copy->source, buffers, "a copy's source"));
    HALYARD_ASSIGN(const HySlice destination, resolve(copy->destination, buffers, "a copy's destination"));
    add_command(HY_COMMAND_COPY).copy = &copies_.emplace_back(HyCopy{source, destination});
  } else {
    const auto& fill = std::get<GraphFill>(command);
    HALYARD_ASSIGN(const HySlice destination, resolve(fill.destination, buffers, "a fill's destination"));
    add_command(HY_COMMAND_FILL).fill =
        &fills_.emplace_back(HyFill{destination, fill.pattern, fill.pattern_bytes});
  }
  return {};
}

void CommandList::used_until(const SyncPoint& point) const {
  for (const Buffer* buffer : buffers_) buffer->used_until(point);
}

}  // namespace halyard::hal
