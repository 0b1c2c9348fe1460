#include "module.h"

#include <halyard/program/serialize.h>
#include <cstdlib>
#include <string_view>

#include "device.h"
#include "error.h"

namespace halyard::interpreter {
namespace {

using program::Program;

/// HALYARD_INTERPRETER_CHECKS: "races" (also if not set) tells missing barriers; "all" also tells reads of
/// shared memory that nobody wrote, which are harmless where the value is discarded, as in padding; "off" is
/// fastest.
program::InterpreterOptions options() {
  const char* checks = std::getenv("HALYARD_INTERPRETER_CHECKS");
  std::string_view which = checks ? checks : "races";
  return {.report_uninitialized_shared = which == "all", .report_shared_races = which != "off"};
}

/// Whether the program fits the device, and its description fits the program.
Status check(const Program& program, const HyKernelDesc& desc) {
  auto refuse = [&](ErrorCode code, const std::string& what) {
    return fail(code, "interpreter: module_create: kernel " + program.name + " " + what);
  };
  if (!desc.entry || program.name != desc.entry)
    return refuse(ErrorCode::not_found, "is not the one described");
  std::uint64_t lanes = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    lanes *= program.workgroup_size[axis];
    if (desc.workgroup_size[axis] != program.workgroup_size[axis])
      return refuse(ErrorCode::invalid_argument, "has another workgroup size than its description");
  }
  if (lanes > Model::workgroup_lanes)
    return refuse(ErrorCode::unsupported, "has " + std::to_string(lanes) +
                                              " lanes a workgroup; the device has " +
                                              std::to_string(Model::workgroup_lanes));
  if (program.subgroup_size != 0 && lanes > 1 && program.subgroup_size != Model::subgroup_size)
    return refuse(ErrorCode::unsupported, "relies on subgroups of " + std::to_string(program.subgroup_size) +
                                              " lanes; the device has " +
                                              std::to_string(Model::subgroup_size));
  if (program::shared_bytes(program) > Model::shared_bytes)
    return refuse(ErrorCode::unsupported, "takes " + std::to_string(program::shared_bytes(program)) +
                                              " bytes of shared memory; the device has " +
                                              std::to_string(Model::shared_bytes));
  if (desc.buffer_count != program.buffers.size() || desc.opaque_count != 0 ||
      desc.scalar_bytes < program::scalar_offsets(program).back())
    return refuse(ErrorCode::invalid_argument, "takes other parameters than its description says");
  return {};
}

}  // namespace

HyStatus module_create(HyDevice* device, const HyModuleDesc* desc, HyModule** module, HyError* error) {
  return at_border(error, [&]() -> Status {
    HALYARD_TRY(device->status());
    const HyModuleDesc known = read_sized(desc);
    std::string format = known.format ? known.format : "";
    if (format != "thread-program")
      return fail(ErrorCode::unsupported, "interpreter: module_create: the format \"" + format +
                                              "\" is not taken; give thread-program");
    if (known.kernel_count != 1)
      return fail(ErrorCode::invalid_argument,
                  "interpreter: module_create: a thread program is one kernel, not " +
                      std::to_string(known.kernel_count));
    HALYARD_ASSIGN(Program program,
                   program::deserialize({static_cast<const std::byte*>(known.bytes), known.byte_count}));
    HALYARD_TRY(check(program, read_sized(known.kernels)));
    HALYARD_ASSIGN(auto prepared, program::Interpreter::prepare(std::move(program), options()));
    *module = new HyModule{std::make_shared<const program::Interpreter>(std::move(prepared))};
    return {};
  });
}

void module_destroy(HyModule* module) {
  delete module;
}

}  // namespace halyard::interpreter
