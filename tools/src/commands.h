#pragma once

#include <halyard/base/result.h>

namespace CLI {
class App;
}

/// The subcommands of `halyard`. Each adds its options to the application and carries itself out when chosen.
namespace halyard::tools {

/// Exit codes of the command.
inline constexpr int exit_success = 0;
inline constexpr int exit_failure = 1;  ///< the device, the model or a file failed; the message says how
inline constexpr int exit_usage = 2;    ///< the command line does not make sense

void add_devices_command(CLI::App& application);
void add_run_command(CLI::App& application);
void add_explain_command(CLI::App& application);
void add_cache_command(CLI::App& application);
void add_conformance_command(CLI::App& application);
void add_bench_command(CLI::App& application);

/// Thrown out of a subcommand's callback: main prints the message and exits with the code.
struct CommandError {
  int exit_code = exit_failure;
  Error error;
};
/// Ends the command with the code that the error calls for: exit_usage for `invalid_argument`.
[[noreturn]] void throw_error(Error error);
[[noreturn]] void throw_usage(std::string message);
/// What was asked was done, and what it found is a failure.
[[noreturn]] void throw_failure(std::string message);

/// The value of a result, or the end of the command: the device, the model or a file failed.
template <class T>
T value_or_exit(Result<T> result) {
  if (!result) throw CommandError{exit_failure, std::move(result).error()};
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// The same for what the user's own arguments decide: an `invalid_argument` is the command line's fault.
template <class T>
T argument_or_exit(Result<T> result) {
  if (!result) throw_error(std::move(result).error());
  return std::move(*result);
}

}  // namespace halyard::tools
