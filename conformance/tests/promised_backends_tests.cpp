#include <doctest/doctest.h>
#include <halyard/hal/registry.h>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>

namespace halyard::conformance {

TEST_CASE("the backends that this run promises are there") {
  std::set<std::string> present;
  for (const hal::DeviceSummary& summary : hal::Registry::shared().devices()) present.insert(summary.backend);
  CHECK(!present.empty());
  const char* promised = std::getenv("HALYARD_TEST_BACKENDS");
  std::istringstream names(promised ? promised : "");
  for (std::string name; names >> name;) CHECK_MESSAGE(present.contains(name), name);
}

}  // namespace halyard::conformance
