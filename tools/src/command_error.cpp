#include "commands.h"

namespace halyard::tools {

void throw_error(Error error) {
  const int code = error.code == ErrorCode::invalid_argument ? exit_usage : exit_failure;
  throw CommandError{code, std::move(error)};
}

void throw_usage(std::string message) {
  throw CommandError{exit_usage, {ErrorCode::invalid_argument, std::move(message)}};
}

void throw_failure(std::string message) {
  throw CommandError{exit_failure, {ErrorCode::internal, std::move(message)}};
}

}  // namespace halyard::tools
