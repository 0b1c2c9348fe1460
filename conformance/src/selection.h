#pragma once

#include <string>
#include <string_view>
#include <vector>

/// What runs of cases and of benchmarks share.
namespace halyard::conformance {

/// Whether one of the filters takes this name: part of it, or, with a *, a pattern for the whole. No filters
/// take every name.
bool taken_by(const std::vector<std::string>& filters, std::string_view name);

/// "2026-01-31T12:00:00Z".
std::string utc_now();

}  // namespace halyard::conformance
