#pragma once

#include <halyard/hal/plugin.h>
#include <halyard/program/interpret.h>
#include <memory>

/// One thread program, ready to run. Shared, so that submissions need not outlive the handle.
struct HyModule {
  std::shared_ptr<const halyard::program::Interpreter> interpreter;
};

namespace halyard::interpreter {

HyStatus module_create(HyDevice* device, const HyModuleDesc* desc, HyModule** module, HyError* error);
void module_destroy(HyModule* module);

}  // namespace halyard::interpreter
