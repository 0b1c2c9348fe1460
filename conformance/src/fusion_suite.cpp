#include <fmt/format.h>
#include <halyard/fusion/sample_graphs.h>
#include <charconv>

#include "graph_checks.h"
#include "suites.h"
#include "values.h"

/// Fused and unfused graphs give the same bits: the patterns that DESIGN.md names, each in one kernel, and
/// random graphs.
namespace halyard::conformance {
namespace {

namespace samples = fusion::samples;
constexpr std::uint32_t random_graphs = 40;

std::uint32_t input_seed(const Subject& subject, std::string_view name) {
  return static_cast<std::uint32_t>(seed_of(name, subject.seed));
}

Case sample_case(std::string_view family, const samples::Sample& sample) {
  const std::string name = fmt::format("fusion/{}/{}", family, slug(sample.name));
  return {name,
          "fusion",
          sample.name,
          "",
          [sample, name](const Subject& subject) {
            const ops::Graph graph = sample.make();
            return check_fusion(subject, graph, samples::random_inputs(graph, input_seed(subject, name)),
                                true, sample.launches);
          },
          nullptr};
}

/// The graph depends on the number and the run's seed; fewer nodes are a smaller case.
Case random_case(std::uint32_t number, int nodes) {
  const std::string name = fmt::format("fusion/random/{}/{}", number, nodes);
  return {name,
          "fusion",
          "random graph",
          "",
          [number, nodes, name](const Subject& subject) {
            const auto seed = static_cast<std::uint32_t>(subject.seed * 1000 + number);
            const ops::Graph graph = samples::random_graph(seed, nodes);
            return check_fusion(subject, graph, samples::random_inputs(graph, input_seed(subject, name)),
                                true);
          },
          [number, nodes] {
            std::vector<Case> smaller;
            for (int fewer = 1; fewer < nodes; ++fewer) smaller.push_back(random_case(number, fewer));
            return smaller;
          }};
}

std::vector<Case> list(const Subject&) {
  std::vector<Case> cases;
  for (const samples::Sample& sample : samples::all()) cases.push_back(sample_case("pattern", sample));
  for (const samples::Sample& sample : samples::with_empty_tensors())
    cases.push_back(sample_case("empty", sample));
  for (std::uint32_t number = 1; number <= random_graphs; ++number) cases.push_back(random_case(number, 24));
  return cases;
}

Result<Case> parse(std::string_view name, const Subject& subject) {
  for (Case& each : list(subject))
    if (each.name == name) return std::move(each);
  constexpr std::string_view prefix = "fusion/random/";
  std::uint32_t number = 0;
  int nodes = 0;
  if (name.starts_with(prefix)) {
    const char* const end = name.data() + name.size();
    const auto first = std::from_chars(name.data() + prefix.size(), end, number);
    if (first.ec == std::errc{} && first.ptr != end && *first.ptr == '/') {
      const auto second = std::from_chars(first.ptr + 1, end, nodes);
      if (second.ec == std::errc{} && second.ptr == end && nodes > 0 && nodes <= 1000)
        return random_case(number, nodes);
    }
  }
  return fail(
      ErrorCode::invalid_argument,
      fmt::format("'{}' is no case of the fusion suite: write fusion/random/NUMBER/NODES, or a name that "
                  "--list shows",
                  name));
}

}  // namespace

Suite fusion_suite() {
  return {"fusion", "fused and unfused graphs give the same bits, and what can be one kernel is one", list,
          parse};
}

}  // namespace halyard::conformance
