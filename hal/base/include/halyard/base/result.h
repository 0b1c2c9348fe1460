#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace halyard {

/// What kind of failure an `Error` reports. Stable: the C ABI carries the same numbers.
enum class ErrorCode : int {
  invalid_argument = 1,  ///< the caller's values do not fit the operation
  not_found = 2,         ///< a named thing (device, file, library, kernel) does not exist
  unsupported = 3,       ///< valid, but this device or build cannot do it
  out_of_memory = 4,     ///< the message tells how much was asked, held and free
  device_lost = 5,       ///< the device failed; every later call on it fails the same way
  timeout = 6,           ///< a bounded wait ended before the awaited point
  corrupt_data = 7,      ///< a file, module or message is damaged or hostile
  io_error = 8,          ///< the operating system refused a file operation
  compile_error = 9,     ///< a vendor's compiler refused generated code
  internal = 10,         ///< a defect of Halyard itself
};

/// The snake_case name of a code, as it stands in messages and reports.
constexpr const char* name(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::out_of_memory:
      return "out_of_memory";
    case ErrorCode::device_lost:
      return "device_lost";
    case ErrorCode::timeout:
      return "timeout";
    case ErrorCode::corrupt_data:
      return "corrupt_data";
    case ErrorCode::io_error:
      return "io_error";
    case ErrorCode::compile_error:
      return "compile_error";
    case ErrorCode::internal:
      return "internal";
  }
  return "unknown";
}

/// A failure: a code for programs, and for people a message that names the operation, the values and the
/// remedy.
struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;
};

/// Either a value or an `Error`. Halyard's libraries return it instead of throwing.
template <class T>
using Result = tl::expected<T, Error>;

/// The result of an operation without a value.
using Status = Result<void>;

/// Builds the failing side of a `Result`.
inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

}  // namespace halyard

#define HALYARD_CONCAT_INNER(a, b) a##b
#define HALYARD_CONCAT(a, b) HALYARD_CONCAT_INNER(a, b)

/// Evaluates an expression of type `Status` or `Result<T>`; on failure returns its error from this function.
#define HALYARD_TRY(expression)                                                     \
  do {                                                                              \
    if (auto halyard_status = (expression); !halyard_status)                        \
      return ::tl::unexpected<::halyard::Error>(std::move(halyard_status).error()); \
  } while (false)

/// `HALYARD_ASSIGN(auto x, expression);` declares or assigns `x` from a `Result<T>`, or returns its error.
#define HALYARD_ASSIGN(declaration, expression)                                                              \
  auto HALYARD_CONCAT(halyard_result_, __LINE__) = (expression);                                             \
  if (!HALYARD_CONCAT(halyard_result_, __LINE__))                                                            \
    return ::tl::unexpected<::halyard::Error>(std::move(HALYARD_CONCAT(halyard_result_, __LINE__)).error()); \
  declaration = std::move(*HALYARD_CONCAT(halyard_result_, __LINE__))
