#pragma once

#include <halyard/fusion/executable.h>

#include <functional>
#include <string>

namespace halyard::tools {

/// A line on stderr that follows a compilation and is erased at its end; nothing if stderr is no terminal.
std::function<void(const fusion::CompileProgress&)> compile_progress(std::string title);
void finish_progress();

}  // namespace halyard::tools
