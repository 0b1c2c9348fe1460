#include "command_list.h"

#include "buffer.h"
#include "error.h"
#include "module.h"

namespace halyard::interpreter {
namespace {

Result<program::BufferView> resolve(const HySlice& slice) {
  if (!slice.buffer && slice.bytes == 0) return program::BufferView{};  // of an empty tensor
  if (!slice.buffer)
    return fail(ErrorCode::invalid_argument, "a slice without a buffer, outside a command graph");
  if (slice.offset > slice.buffer->bytes || slice.bytes > slice.buffer->bytes - slice.offset)
    return fail(ErrorCode::invalid_argument, std::to_string(slice.bytes) + " bytes at " +
                                                 std::to_string(slice.offset) + " of a buffer of " +
                                                 std::to_string(slice.buffer->bytes) + " bytes");
  return program::BufferView{slice.buffer->memory + slice.offset, static_cast<std::size_t>(slice.bytes)};
}

Status record_dispatch(const HyDispatch& dispatch, RecordedCommand& out) {
  if (!dispatch.module || dispatch.kernel != 0)
    return fail(ErrorCode::invalid_argument, "a dispatch of a kernel that its module does not have");
  out.kernel = dispatch.module->interpreter;
  const program::Program& program = out.kernel->program();
  std::copy_n(dispatch.grid, 3, out.grid.begin());
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (dispatch.block[axis] != 0 && dispatch.block[axis] != program.workgroup_size[axis])
      return fail(ErrorCode::invalid_argument,
                  "kernel " + program.name + " is dispatched with another workgroup size");
  if (dispatch.dynamic_shared_bytes || dispatch.opaque_count || dispatch.cluster[0] > 1 ||
      dispatch.cluster[1] > 1 || dispatch.cluster[2] > 1)
    return fail(ErrorCode::unsupported,
                "dynamic shared memory, clusters and opaque parameters do not exist here");
  for (std::uint32_t i = 0; i < dispatch.buffer_count; ++i) {
    HALYARD_ASSIGN(program::BufferView view, resolve(dispatch.buffers[i]));
    out.slices.push_back(view);
  }
  const auto* scalars = static_cast<const std::byte*>(dispatch.scalars);
  if (dispatch.scalar_bytes) out.scalars.assign(scalars, scalars + dispatch.scalar_bytes);
  return {};
}

Status record_copy(const HyCopy& copy, RecordedCommand& out) {
  if (copy.source.bytes != copy.destination.bytes)
    return fail(ErrorCode::invalid_argument, "a copy between slices of different sizes");
  for (const HySlice* slice : {&copy.source, &copy.destination}) {
    HALYARD_ASSIGN(program::BufferView view, resolve(*slice));
    out.slices.push_back(view);
  }
  return {};
}

Status record_fill(const HyFill& fill, RecordedCommand& out) {
  const std::uint32_t size = fill.pattern_bytes;
  if ((size != 1 && size != 2 && size != 4) || fill.destination.bytes % size != 0)
    return fail(ErrorCode::invalid_argument,
                "a fill whose length is no multiple of its pattern of 1, 2 or 4 bytes");
  HALYARD_ASSIGN(program::BufferView view, resolve(fill.destination));
  out.slices.push_back(view);
  out.pattern = fill.pattern;
  out.pattern_bytes = size;
  return {};
}

Status record(const HyCommand& command, RecordedCommand& out) {
  out.kind = command.kind;
  if (command.kind == HY_COMMAND_DISPATCH && command.dispatch)
    return record_dispatch(read_sized(command.dispatch), out);
  if (command.kind == HY_COMMAND_COPY && command.copy) return record_copy(*command.copy, out);
  if (command.kind == HY_COMMAND_FILL && command.fill) return record_fill(*command.fill, out);
  return fail(ErrorCode::unsupported, "a command of unknown kind " + std::to_string(command.kind));
}

}  // namespace

Result<std::vector<RecordedCommand>> record_all(const HyCommand* commands, std::uint32_t count) {
  std::vector<RecordedCommand> list(count);
  for (std::uint32_t i = 0; i < count; ++i)
    if (Status status = record(element_of(commands, i), list[i]); !status)
      return fail(status.error().code,
                  "interpreter: command " + std::to_string(i) + ": " + status.error().message);
  return list;
}

Status execute(const RecordedCommand& command) {
  if (command.kind == HY_COMMAND_DISPATCH)
    return command.kernel->run(command.grid, command.slices, command.scalars);
  if (command.kind == HY_COMMAND_COPY) {
    std::memcpy(command.slices[1].data, command.slices[0].data, command.slices[0].bytes);
    return {};
  }
  auto* destination = static_cast<std::byte*>(command.slices[0].data);
  for (std::size_t at = 0; at < command.slices[0].bytes; at += command.pattern_bytes)
    std::memcpy(destination + at, &command.pattern, command.pattern_bytes);
  return {};
}

}  // namespace halyard::interpreter
