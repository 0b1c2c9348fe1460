#include <fmt/format.h>
#include <halyard/fusion/sample_graphs.h>

#include "graph_checks.h"
#include "suites.h"
#include "values.h"

/// Whole models: an encoder layer of several shapes, and the models that the caller gives.
namespace halyard::conformance {
namespace {

namespace samples = fusion::samples;

Case model_case(std::string_view model, bool with_reference,
                const std::function<ops::Graph(const Subject&)>& make) {
  const std::string name = fmt::format("models/{}", model);
  return {name,
          "models",
          std::string(model),
          "",
          [name, make, with_reference](const Subject& subject) {
            const ops::Graph graph = make(subject);
            const auto seed = static_cast<std::uint32_t>(seed_of(name, subject.seed));
            return check_fusion(subject, graph, samples::random_inputs(graph, seed), with_reference);
          },
          nullptr};
}

std::vector<Case> list(const Subject& subject) {
  std::vector<Case> cases;
  cases.push_back(model_case("encoder-layer-1x5", true,
                             [](const Subject&) { return samples::encoder_layer(1, 5, 2, 32); }));
  cases.push_back(model_case("encoder-layer-2x15", true,
                             [](const Subject&) { return samples::encoder_layer(2, 15, 3, 96); }));
  cases.push_back(model_case("encoder-layer-3x64", true,
                             [](const Subject&) { return samples::encoder_layer(3, 64, 4, 128); }));
  for (std::size_t i = 0; i < subject.models.size(); ++i)
    cases.push_back(
        model_case(subject.models[i].name, false, [i](const Subject& with) { return with.models[i].graph; }));
  return cases;
}

Result<Case> parse(std::string_view name, const Subject& subject) {
  for (Case& each : list(subject))
    if (each.name == name) return std::move(each);
  return fail(ErrorCode::invalid_argument,
              fmt::format("'{}' is no case of the models suite; --model FILE.onnx adds one", name));
}

}  // namespace

Suite models_suite() {
  return {"models", "encoder layers, and the models given, fused and unfused", list, parse};
}

}  // namespace halyard::conformance
