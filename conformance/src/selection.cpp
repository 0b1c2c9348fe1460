#include "selection.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <halyard/conformance/exceptions.h>
#include <algorithm>
#include <ctime>

namespace halyard::conformance {

bool taken_by(const std::vector<std::string>& filters, std::string_view name) {
  if (filters.empty()) return true;
  return std::any_of(filters.begin(), filters.end(), [&](const std::string& filter) {
    return filter.find('*') == std::string::npos ? name.find(filter) != std::string_view::npos
                                                 : matches(filter, name);
  });
}

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

}  // namespace halyard::conformance
