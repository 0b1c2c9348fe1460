#include <doctest/doctest.h>
#include <halyard/fusion/emit_c.h>
#include <halyard/fusion/planner.h>
#include <map>
#include <string>

#include <halyard/fusion/sample_graphs.h>
#include "gpu_compilers.h"
#include "pinned_profiles.h"

namespace halyard::fusion {
namespace {

/// Every distinct kernel of the sample graphs, fused and one by one, as a GPU of this subgroup size would get
/// it: name by source.
std::map<std::string, std::string> kernels(CLanguage language, std::uint32_t subgroup_size) {
  DeviceProfile profile = pinned_profile("gpu-32");
  profile.subgroup_size = subgroup_size;
  std::map<std::string, std::string> sources;
  for (const samples::Sample& sample : samples::all())
    for (ops::Fusion fusion : {ops::Fusion::on, ops::Fusion::off}) {
      CAPTURE(sample.name);
      Result<Plan> plan = make_plan(sample.make(), profile, {.fusion = fusion});
      REQUIRE_MESSAGE(plan, plan.error().message);
      for (const Cluster& cluster : plan->clusters) {
        Result<std::string> source =
            emit_c(cluster.kernel.program, {.language = language, .subgroup_size = subgroup_size});
        REQUIRE_MESSAGE(source, source.error().message);
        sources.emplace(std::move(*source), cluster.kernel.program.name);
      }
    }
  return sources;
}

void compile_all(std::unique_ptr<testing::GpuCompiler> compiler) {
  if (!compiler) return;
  for (const std::string& architecture : compiler->architectures()) {
    auto sources = kernels(compiler->language(), compiler->subgroup_size(architecture));
    CHECK(sources.size() > 10);
    for (const auto& [source, name] : sources) {
      auto code = compiler->compile(source, architecture);
      CHECK_MESSAGE(code, architecture << ": " << name << ": " << code.error().message);
    }
  }
}

}  // namespace

TEST_CASE("the kernels of the sample graphs compile with NVRTC for sm_75, sm_80 and sm_90") {
  compile_all(testing::present(testing::open_nvrtc()));
}

TEST_CASE("the kernels of the sample graphs compile with HIPRTC for gfx90a and gfx1030") {
  compile_all(testing::present(testing::open_hiprtc()));
}

}  // namespace halyard::fusion
