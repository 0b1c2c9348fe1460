#include <halyard/conformance/report.h>

#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <set>

namespace halyard::conformance {

bool Comparison::failed() const {
  return std::any_of(differences.begin(), differences.end(),
                     [](const Difference& each) { return each.counts; });
}

Comparison compare(const Report& a, const Report& b) {
  Comparison result;
  result.same_class = a.device.numeric_class() == b.device.numeric_class();
  result.same_seed = a.seed == b.seed;
  std::map<std::string_view, const CaseReport*> others;
  std::set<std::string_view> known;
  for (const CaseReport& each : b.cases) others.emplace(each.name, &each);
  for (const CaseReport& one : a.cases) {
    known.insert(one.name);
    const auto found = others.find(one.name);
    if (found == others.end()) {
      result.differences.push_back({one.name, "only in the first", false});
      continue;
    }
    const CaseReport& other = *found->second;
    ++result.cases;
    const Outcome& left = one.outcome;
    const Outcome& right = other.outcome;
    if (left.verdict != right.verdict)
      result.differences.push_back({one.name,
                                    fmt::format("verdict: {}, {}", name(left.verdict), name(right.verdict)),
                                    is_failure(left.verdict) || is_failure(right.verdict)});
    if (!result.same_seed || left.hash.empty() || right.hash.empty()) continue;
    const bool same = left.hash == right.hash;
    result.same_bits += same;
    result.other_bits += !same;
    // What is known to be wrong has bits of its own.
    const bool excused =
        left.verdict == Verdict::expected_failure || right.verdict == Verdict::expected_failure;
    if (!same) result.differences.push_back({one.name, "bits differ", result.same_class && !excused});
  }
  for (const CaseReport& each : b.cases)
    if (!known.contains(each.name)) result.differences.push_back({each.name, "only in the second", false});
  return result;
}

}  // namespace halyard::conformance
