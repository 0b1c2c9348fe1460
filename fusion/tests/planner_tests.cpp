#include <doctest/doctest.h>

#include <halyard/fusion/explanation.h>
#include <halyard/fusion/planner.h>
#include <halyard/fusion/sample_graphs.h>
#include <halyard/ops/reference.h>
#include <halyard/program/serialize.h>
#include <algorithm>
#include <set>
#include "interpret_plan.h"
#include "pinned_profiles.h"

namespace halyard::fusion {
namespace {

using ops::Primitive;

Plan planned(const ops::Graph& graph, const std::string& profile = "cpu-avx2",
             ops::Fusion fusion = ops::Fusion::on) {
  auto plan = make_plan(graph, pinned_profile(profile), {.fusion = fusion});
  REQUIRE_MESSAGE(plan.has_value(), (plan ? std::string() : plan.error().message));
  return std::move(*plan);
}

const char* const profiles[] = {"cpu-avx2", "gpu-32", "lavapipe"};

}  // namespace

TEST_CASE("an elementwise chain with two outputs is one kernel") {
  for (const char* profile : profiles) {
    CAPTURE(profile);
    Plan plan = planned(samples::elementwise_chain(), profile);
    CHECK(plan.clusters.size() == 1);
    CHECK(Inspector(plan).count(Pattern::map) == 1);
    CHECK(plan.clusters[0].spec.stores.size() == 2);
  }
}

TEST_CASE("after one length of each residue and bucket, further lengths of a model need no new kernel") {
  for (const char* profile : profiles) {
    CAPTURE(profile);
    std::set<std::vector<std::byte>> kernels;
    for (std::int64_t tokens = 33; tokens < 53; ++tokens) {
      const std::size_t before = kernels.size();
      for (const Cluster& cluster : planned(samples::encoder_layer(1, tokens), profile).clusters)
        kernels.insert(program::serialize(cluster.kernel.program));
      CAPTURE(tokens);
      if (tokens >= 49) CHECK(kernels.size() == before);
    }
  }
}

TEST_CASE("softmax is one kernel that reads and writes each element once") {
  for (const char* profile : profiles) {
    CAPTURE(profile);
    Plan plan = planned(samples::softmax(), profile);
    REQUIRE(plan.clusters.size() == 1);
    CHECK(plan.clusters[0].pattern == Pattern::rows);
    CHECK(plan.clusters[0].cost.bytes() == 2 * 6 * 50 * 4);
  }
}

TEST_CASE("layer norm with residual, scale and bias is one kernel") {
  for (const char* profile : profiles) {
    CAPTURE(profile);
    Plan plan = planned(samples::layer_norm_residual(), profile);
    REQUIRE(plan.clusters.size() == 1);
    CHECK(plan.clusters[0].pattern == Pattern::rows);
    CHECK(Inspector(plan).count(0, Primitive::reduce_sum) == 2);
  }
}

TEST_CASE("bias, gelu and residual are the epilogue of a product") {
  for (const char* profile : profiles) {
    CAPTURE(profile);
    Plan plan = planned(samples::linear_gelu_residual(), profile);
    REQUIRE(plan.clusters.size() == 1);
    CHECK(plan.clusters[0].pattern == Pattern::contraction);
    CHECK(Inspector(plan).some_cluster_fuses({Primitive::dot_general, Primitive::erf, Primitive::add}));
  }
}

TEST_CASE("a cast and a scale are the prologue of a product") {
  Plan plan = planned(samples::scaled_operand());
  REQUIRE(plan.clusters.size() == 1);
  CHECK(Inspector(plan).some_cluster_fuses({Primitive::cast, Primitive::mul, Primitive::dot_general}));
}

TEST_CASE("attention with mask, from split heads to merged ones, is one kernel") {
  for (const char* profile : profiles) {
    CAPTURE(profile);
    Plan plan = planned(samples::attention(), profile);
    REQUIRE(plan.clusters.size() == 1);
    CHECK(plan.clusters[0].pattern == Pattern::attention);
  }
}

TEST_CASE("embedding gathers, their sum and the layer norm are one kernel") {
  for (const char* profile : profiles) {
    CAPTURE(profile);
    Plan plan = planned(samples::embedding_layer_norm(), profile);
    REQUIRE(plan.clusters.size() == 1);
    CHECK(Inspector(plan).count(0, Primitive::take) == 2);
  }
}

TEST_CASE("an encoder layer is ten kernels or fewer") {
  for (const char* profile : profiles) {
    CAPTURE(profile);
    Plan plan = planned(samples::encoder_layer(), profile);
    CHECK(plan.clusters.size() <= 10);
    CHECK(Inspector(plan).count(Pattern::attention) == 1);
    CHECK(Inspector(plan).count(Pattern::contraction) == 6);
  }
}

TEST_CASE("every boundary kept has a reason") {
  Plan plan = planned(samples::encoder_layer());
  CHECK(!plan.boundaries.empty());
  for (const Boundary& boundary : plan.boundaries) CHECK(!boundary.reason.empty());
}

TEST_CASE("attention whose rows do not fit on chip is split, and the boundary says so") {
  const Plan plan = planned(samples::attention(1, 2048), "lavapipe");
  CHECK(Inspector(plan).count(Pattern::attention) == 0);
  CHECK(Inspector(planned(samples::attention(1, 64), "lavapipe")).count(Pattern::attention) == 1);
  bool told = false;
  for (const Boundary& boundary : plan.boundaries) {
    told = told || boundary.reason.find("does not fit on") != std::string::npos;
  }
  CHECK(told);
}

TEST_CASE("without fusion every primitive is a kernel of its own") {
  Plan plan = planned(samples::softmax(), "cpu-avx2", ops::Fusion::off);
  CHECK(plan.clusters.size() == 5);
  for (const Cluster& cluster : plan.clusters) CHECK(cluster.spec.members.size() == 1);
}

TEST_CASE("fusion moves fewer bytes") {
  for (const samples::Sample& sample : samples::all()) {
    CAPTURE(sample.name);
    Explanation explanation = explain(planned(sample.make()), pinned_profile("cpu-avx2"));
    CHECK(explanation.bytes < explanation.bytes_unfused);
  }
}

TEST_CASE("equal layers give equal kernels, whatever their place in the graph") {
  Plan first = planned(samples::layer_norm_residual(8, 96)),
       second = planned(samples::layer_norm_residual(31, 96));
  auto lowered = [&](const Plan& plan) {
    const Cluster& cluster = plan.clusters[0];
    return to_text(cluster.tile.program);
  };
  CHECK(lowered(first) == lowered(second));
}

TEST_CASE("fused, unfused and reference results have the same bits") {
  for (const char* profile : profiles)
    for (const samples::Sample& sample : samples::all()) {
      CAPTURE(profile);
      CAPTURE(sample.name);
      ops::Graph graph = sample.make();
      DeviceProfile device = pinned_profile(profile);
      auto inputs = samples::random_inputs(graph);
      auto expected = ops::evaluate(graph, inputs, device.numeric_class()).value();
      for (ops::Fusion fusion : {ops::Fusion::on, ops::Fusion::off}) {
        auto got = interpret(planned(graph, profile, fusion), inputs);
        REQUIRE_MESSAGE(got.has_value(), (got ? std::string() : got.error().message));
        for (std::size_t i = 0; i < expected.size(); ++i) CHECK(ops::same_bits(expected[i], (*got)[i]));
      }
    }
}

TEST_CASE("cumulative sums run as kernels, in their canonical order") {
  for (std::int64_t n : {1, 3, 16, 17, 40, 300})
    for (bool exclusive : {false, true}) {
      CAPTURE(n);
      ops::Graph graph;
      ops::GraphBuilder b(graph);
      auto x = b.input("x", ElementType::f32, {2, n, 3}).value();
      REQUIRE(graph.output(b.cumulative_sum(x, 1, exclusive).value(), "y"));
      auto inputs = samples::random_inputs(graph);
      auto expected = ops::evaluate(graph, inputs).value();
      auto got = interpret(planned(graph), inputs);
      REQUIRE_MESSAGE(got.has_value(), (got ? std::string() : got.error().message));
      CHECK(ops::same_bits(expected[0], (*got)[0]));
    }
}

TEST_CASE("random graphs have the same bits fused, unfused and by the reference") {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    ops::Graph graph = samples::random_graph(seed);
    DeviceProfile device = pinned_profile(seed % 2 ? "cpu-avx2" : "gpu-32");
    auto inputs = samples::random_inputs(graph, seed);
    auto expected = ops::evaluate(graph, inputs, device.numeric_class()).value();
    for (ops::Fusion fusion : {ops::Fusion::on, ops::Fusion::off}) {
      auto plan = make_plan(graph, device, {.fusion = fusion});
      REQUIRE_MESSAGE(plan.has_value(), (plan ? std::string() : plan.error().message));
      auto got = interpret(*plan, inputs);
      REQUIRE_MESSAGE(got.has_value(), (got ? std::string() : got.error().message));
      for (std::size_t i = 0; i < expected.size(); ++i) CHECK(ops::same_bits(expected[i], (*got)[i]));
    }
  }
}

TEST_CASE("long chains and wide sums become kernels of a bounded number of operations") {
  ops::Graph graph;
  ops::GraphBuilder b(graph);
  ops::NodeId x = b.input("x", ElementType::f32, {8, 8}).value();
  ops::NodeId chain = x;
  for (int i = 0; i < 1000; ++i) chain = b.binary(ops::Primitive::mul, chain, 1.0 + i).value();
  ops::NodeId sum = chain;
  for (int i = 0; i < 300; ++i) {
    ops::NodeId term = b.binary(ops::Primitive::max, x, static_cast<double>(i)).value();
    sum = b.binary(ops::Primitive::add, sum, term).value();
  }
  REQUIRE(graph.output(sum, "sum"));
  auto plan = make_plan(graph, pinned_profile("cpu-avx2"), {});
  REQUIRE_MESSAGE(plan, plan.error().message);
  std::size_t operations = 0;
  for (const Cluster& cluster : plan->clusters) {
    CHECK(cluster.spec.members.size() <= 128);
    operations += cluster.spec.members.size();
  }
  CHECK(operations == 1599);  // of 1600, less the multiplication by 1
  CHECK(plan->clusters.size() < 100);
}

TEST_CASE("chains of which every step is read in two places become kernels of a bounded number of values") {
  ops::Graph graph;
  ops::GraphBuilder b(graph);
  ops::NodeId x = b.input("x", ElementType::f32, {1000}).value();
  REQUIRE(graph.output(b.cumulative(ops::Primitive::cumulative_min, x, 0).value(), "y"));
  DeviceProfile costly_launches = pinned_profile("lavapipe");
  costly_launches.launch_seconds = 1e-3;
  auto plan = make_plan(graph, costly_launches, {});
  REQUIRE_MESSAGE(plan, plan.error().message);
  CHECK(plan->clusters.size() > 1);
  for (const Cluster& cluster : plan->clusters) CHECK(cluster.tile.program.values.size() <= 1024);
  CHECK(std::any_of(plan->boundaries.begin(), plan->boundaries.end(), [](const Boundary& boundary) {
    return boundary.reason.find("more than 1024 values") != std::string::npos;
  }));
}

TEST_CASE("a kernel has no more operands and results than the device binds") {
  ops::Graph graph;
  ops::GraphBuilder b(graph);
  ops::NodeId sum = b.input("x", ElementType::f32, {64}).value();
  for (int i = 0; i < 9; ++i) {
    auto term = b.input("x" + std::to_string(i), ElementType::f32, {64}).value();
    sum = b.binary(ops::Primitive::add, sum, term).value();
  }
  REQUIRE(graph.output(sum, "sum"));
  DeviceProfile few = pinned_profile("gpu-32");
  few.max_buffers = 4;
  auto plan = make_plan(graph, few, {});
  REQUIRE_MESSAGE(plan, plan.error().message);
  CHECK(plan->clusters.size() > 1);
  for (const Cluster& cluster : plan->clusters) CHECK(cluster.tile.program.operands.size() <= 4);
  few.max_buffers = 2;
  plan = make_plan(graph, few, {});
  REQUIRE(!plan);
  CHECK(plan.error().message.find("3 operands and results; a kernel of this device binds 2") !=
        std::string::npos);
}

}  // namespace halyard::fusion
