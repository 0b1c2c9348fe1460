#include <fmt/format.h>

#include "hal_cases.h"
#include "suites.h"

/// Buffers, queues, sync points, threads, modules, graphs, sharing and faults, on a device of their own for
/// each case.
namespace halyard::conformance {
namespace {

std::vector<Case> list(const Subject&) {
  std::vector<Case> cases;
  for (const std::string& fact : hal_facts())
    cases.push_back({"hal/" + slug(fact), "hal", fact, "",
                     [fact](const Subject& subject) {
                       const std::string complaints = check_hal_fact(fact, subject.info().uri);
                       return complaints.empty() ? Outcome{} : Outcome::fail(complaints);
                     },
                     nullptr});
  return cases;
}

Result<Case> parse(std::string_view name, const Subject& subject) {
  for (Case& each : list(subject))
    if (each.name == name) return std::move(each);
  return fail(
      ErrorCode::invalid_argument,
      fmt::format("'{}' is no case of the hal suite; `halyard conformance --suite hal --list` names them",
                  name));
}

}  // namespace

Suite hal_suite() {
  return {"hal", "objects, queues, sync points, threads, graphs, sharing and faults of the C ABI", list,
          parse};
}

}  // namespace halyard::conformance
