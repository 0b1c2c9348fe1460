#pragma once

#include <functional>
#include <string_view>

namespace halyard::hal {

enum class LogLevel : int { debug = 0, info = 1, warning = 2, error = 3 };

using LogSink = std::function<void(LogLevel level, std::string_view source, std::string_view message)>;

/// Where messages go; an empty sink restores the default, which writes to stderr what is at least as grave as
/// HALYARD_LOG says (debug, info, warning, error, off; default: warning). The sink may be called from any
/// thread. What fails is returned as an error, not logged; a warning is for what is worked around.
void set_log_sink(LogSink sink);
void log(LogLevel level, std::string_view source, std::string_view message);

}  // namespace halyard::hal
