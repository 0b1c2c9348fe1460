#include "fixture.h"

#include <halyard/fusion/device_profile.h>
#include <halyard/fusion/kernel_source.h>
#include <halyard/program/builder.h>
#include <numeric>

namespace halyard::conformance {
namespace {

/// One element a lane; `lanes` a workgroup.
program::Program add_program(std::uint32_t lanes) {
  program::Builder b("add_words");
  b.program().workgroup_size[0] = lanes;
  auto from = b.buffer("from", ElementType::u32, program::Access::read);
  auto to = b.buffer("to", ElementType::u32, program::Access::write);
  auto addend = b.parameter("addend", ElementType::u32);
  auto count = b.parameter("count", ElementType::i32);
  auto first = b.mul(b.builtin(program::Builtin::workgroup_x), b.i32(static_cast<std::int32_t>(lanes)));
  auto index = lanes == 1 ? first : b.add(first, b.builtin(program::Builtin::lane));
  b.if_then(b.compare(program::Op::lt, index, count),
            [&] { b.store(to, index, b.add(b.load(from, index), addend)); });
  return std::move(b).finish();
}

}  // namespace

void must(const Status& status) {
  if (!status) FAIL(status.error().message);
}

bool mentions(const Error& error, std::string_view part) {
  return error.message.find(part) != std::string::npos;
}

Words counting(std::uint32_t count, std::uint32_t first) {
  Words values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

Rig::Rig(const std::string& uri)
    : device(value_of(hal::Registry::shared().open(uri, {.validate = true, .probe = false}))),
      queue(value_of(device->create_queue())),
      lanes_(device->info().one_lane_per_workgroup ? 1 : 32) {
  kernel_ = value_of(hal::Kernel::find(value_of(device->load_module(add_module())), "add_words"));
}

hal::ModuleDesc Rig::add_module() const {
  const std::string format = fusion::make_profile(device->info()).module_format;
  return value_of(fusion::print_kernel(add_program(lanes_), format, device->info())).module;
}

std::shared_ptr<hal::Buffer> Rig::words(const Words& values) const {
  auto buffer = value_of(device->allocate(values.size() * sizeof(std::uint32_t)));
  must(value_of(queue->upload(std::as_bytes(std::span(values)), hal::BufferSlice(buffer))).wait(patience));
  return buffer;
}

Words Rig::read(const hal::BufferSlice& slice) const {
  Words values(slice.bytes / sizeof(std::uint32_t));
  must(queue->download(slice, std::as_writable_bytes(std::span(values)), patience));
  return values;
}

std::shared_ptr<hal::Timeline> Rig::gate() const {
  return value_of(hal::Timeline::create(device));
}

std::array<std::uint32_t, 3> Rig::grid_for(std::uint64_t words) const {
  return {static_cast<std::uint32_t>((words + lanes_ - 1) / lanes_), 1, 1};
}

std::vector<std::byte> Rig::add_scalars(std::uint64_t words, std::uint32_t addend) const {
  return hal::ScalarBlock().add(addend).add(static_cast<std::int32_t>(words)).bytes();
}

hal::Dispatch Rig::add(const hal::BufferSlice& from, const hal::BufferSlice& to, std::uint32_t addend) const {
  const std::uint64_t words = to.bytes / sizeof(std::uint32_t);
  return hal::Dispatch{.kernel = kernel_,
                       .grid = grid_for(words),
                       .buffers = {from, to},
                       .scalars = add_scalars(words, addend)};
}

hal::GraphDispatch Rig::add_node(hal::SlotSlice from, hal::SlotSlice to) const {
  return hal::GraphDispatch{.kernel = kernel_,
                            .grid = grid_for(to.bytes / sizeof(std::uint32_t)),
                            .buffers = {from, to},
                            .scalar_slot = 0};
}

void on_every_device(const std::function<void(Rig&)>& body) {
  for (const std::string& uri : chosen_devices()) {
    CAPTURE(uri);
    Rig rig(uri);
    body(rig);
  }
}

std::size_t device_count() {
  return chosen_devices().size();
}

}  // namespace halyard::conformance
