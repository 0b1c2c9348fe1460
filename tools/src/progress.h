#pragma once

#include <halyard/fusion/executable.h>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace halyard::tools {

/// A line on stderr that follows a compilation and is erased at its end; nothing if stderr is no terminal.
std::function<void(const fusion::CompileProgress&)> compile_progress(std::string title);
/// The same line for any count of things, the last of which is `latest`.
void show_count(std::size_t done, std::size_t total, std::string_view latest);
void finish_progress();

}  // namespace halyard::tools
