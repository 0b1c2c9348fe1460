#pragma once

#include <fmt/format.h>
#include <halyard/base/result.h>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

/// How the measuring programs end where something fails: there is nothing to measure then.
namespace halyard::conformance {

/// Prints "PROGRAM: message" and exits with 1.
[[noreturn]] inline void give_up(const std::string& message) {
  fmt::print(stderr, "{}: {}\n", program_invocation_short_name, message);
  std::exit(1);
}
template <class T>
T value_of(Result<T> result) {
  if (!result) give_up(result.error().message);
  return std::move(*result);
}
inline void must(const Status& status) {
  if (!status) give_up(status.error().message);
}

}  // namespace halyard::conformance
