#include <doctest/doctest.h>

#include <halyard/fusion/custom_kernel.h>
#include <halyard/fusion/executable.h>
#include <halyard/fusion/explanation.h>
#include <halyard/fusion/sample_graphs.h>
#include <halyard/hal/disk_cache.h>
#include <halyard/hal/registry.h>
#include <halyard/ops/reference.h>
#include <halyard/ops/tensor.h>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

namespace halyard::fusion {
namespace {

/// One compiler per device that can be opened here.
const std::vector<std::shared_ptr<Compiler>>& compilers() {
  static const std::vector<std::shared_ptr<Compiler>> all = [] {
    std::vector<std::shared_ptr<Compiler>> made;
    for (const hal::DeviceSummary& summary : hal::Registry::shared().devices()) {
      auto device = hal::Registry::shared().open(summary.uri);
      REQUIRE_MESSAGE(device.has_value(), summary.uri);
      auto compiler = Compiler::create(*device);
      REQUIRE_MESSAGE(compiler.has_value(), summary.uri);
      made.push_back(*compiler);
    }
    return made;
  }();
  return all;
}

template <class T>
T must(Result<T> result) {
  REQUIRE_MESSAGE(result.has_value(), (result ? std::string() : result.error().message));
  return std::move(*result);
}

}  // namespace

TEST_CASE("every device that is listed opens, and the backends that this run promises are there") {
  CHECK(!compilers().empty());
  std::set<std::string> present;
  for (const auto& compiler : compilers()) {
    present.insert(compiler->device()->info().backend);
    CHECK_MESSAGE(compiler->device()->info().numeric.fused_fma != hal::Fact::unknown, "not probed");
  }
  const char* promised = std::getenv("HALYARD_TEST_BACKENDS");
  std::istringstream names(promised ? promised : "");
  for (std::string name; names >> name;) CHECK_MESSAGE(present.contains(name), name);
}

TEST_CASE("on every device fused, unfused and reference results have the same bits") {
  for (const auto& compiler : compilers())
    for (const samples::Sample& sample : samples::all()) {
      CAPTURE(compiler->device()->info().uri);
      CAPTURE(sample.name);
      ops::Graph graph = sample.make();
      auto inputs = samples::random_inputs(graph);
      auto expected = must(ops::evaluate(graph, inputs, compiler->profile().numeric_class()));
      for (ops::Fusion fusion : {ops::Fusion::on, ops::Fusion::off}) {
        CAPTURE(static_cast<int>(fusion));
        auto executable = must(compiler->compile(graph, {.fusion = fusion}));
        auto got = must(executable->run(std::span<const ops::HostTensor>(inputs)));
        REQUIRE(got.size() == expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) CHECK(ops::same_bits(expected[i], got[i]));
      }
    }
}

TEST_CASE("on every device random graphs have the reference's bits") {
  for (const auto& compiler : compilers())
    for (std::uint32_t seed = 0; seed < 12; ++seed) {
      CAPTURE(compiler->device()->info().uri);
      CAPTURE(seed);
      ops::Graph graph = samples::random_graph(seed);
      auto inputs = samples::random_inputs(graph, seed);
      auto expected = must(ops::evaluate(graph, inputs, compiler->profile().numeric_class()));
      auto got = must(must(compiler->compile(graph))->run(std::span<const ops::HostTensor>(inputs)));
      for (std::size_t i = 0; i < expected.size(); ++i) CHECK(ops::same_bits(expected[i], got[i]));
    }
}

TEST_CASE("on every device rows of awkward lengths have the reference's bits") {
  for (const auto& compiler : compilers())
    for (std::int64_t length : {1, 7, 33, 127, 129, 1000, 4097}) {
      CAPTURE(compiler->device()->info().uri);
      CAPTURE(length);
      for (const ops::Graph& graph : {samples::softmax(3, length), samples::layer_norm_residual(3, length)}) {
        auto inputs = samples::random_inputs(graph);
        auto expected = must(ops::evaluate(graph, inputs, compiler->profile().numeric_class()));
        auto got = must(must(compiler->compile(graph))->run(std::span<const ops::HostTensor>(inputs)));
        CHECK(ops::same_bits(expected[0], got[0]));
      }
    }
}

TEST_CASE("on every device a run twice, and from four threads at once, gives the same bits") {
  for (const auto& compiler : compilers()) {
    CAPTURE(compiler->device()->info().uri);
    ops::Graph graph = samples::encoder_layer();
    auto executable = must(compiler->compile(graph));
    auto inputs = samples::random_inputs(graph);
    auto first = must(executable->run(std::span<const ops::HostTensor>(inputs)));
    std::vector<std::jthread> threads;
    std::vector<Result<std::vector<ops::HostTensor>>> results(4, fail(ErrorCode::internal, "not run"));
    for (auto& result : results)
      threads.emplace_back([&] { result = executable->run(std::span<const ops::HostTensor>(inputs)); });
    threads.clear();
    for (auto& result : results) CHECK(ops::same_bits(first[0], must(std::move(result))[0]));
  }
}

TEST_CASE("on every device a sentence has the same bits alone and in a batch of eight") {
  constexpr std::int64_t batch = 8, tokens = 15, width = 96;
  auto inputs = samples::random_inputs(samples::encoder_layer(batch, tokens, 3, width));
  // Element i of the batch, in place.
  const auto part = [](const ops::HostTensor& whole, std::int64_t i) {
    std::vector<std::int64_t> shape = whole.shape().vector();
    shape[0] = 1;
    const std::size_t bytes = whole.byte_count() / batch;
    return ops::HostTensor::wrap(whole.element(), ops::Shape(shape), whole.owner(),
                                 whole.data() + static_cast<std::size_t>(i) * bytes);
  };
  for (const auto& compiler : compilers()) {
    CAPTURE(compiler->device()->info().uri);
    auto many = must(compiler->compile(samples::encoder_layer(batch, tokens, 3, width)));
    auto one = must(compiler->compile(samples::encoder_layer(1, tokens, 3, width)));
    auto together = must(many->run(std::span<const ops::HostTensor>(inputs)));
    for (std::int64_t i = 0; i < batch; ++i) {
      std::vector<ops::HostTensor> alone;
      for (const ops::HostTensor& input : inputs) alone.push_back(part(input, i));
      auto result = must(one->run(std::span<const ops::HostTensor>(alone)));
      CHECK(ops::same_bits(part(together[0], i), result[0]));
    }
  }
}

TEST_CASE(
    "on every device twenty lengths of one model compile no more kernels than there are shape classes") {
  for (const auto& opened : compilers()) {
    CAPTURE(opened->device()->info().uri);
    auto compiler = must(Compiler::create(opened->device()));
    // All these lengths lie in one power-of-two bucket; they differ in the powers of two that divide them.
    std::set<std::int64_t> classes;
    std::uint32_t made = 0;
    std::uint32_t most_of_one = 0;
    for (std::int64_t tokens = 33; tokens < 53; ++tokens) {
      classes.insert(tokens & -tokens);
      auto executable = must(compiler->compile(samples::encoder_layer(1, tokens)));
      const CompileCounters& counters = executable->counters();
      made += counters.compiled + counters.loaded;
      most_of_one = std::max(most_of_one, counters.kernels);
    }
    CHECK(made <= classes.size() * most_of_one);
    auto again = must(compiler->compile(samples::encoder_layer(1, 40)));
    CHECK(again->counters().reused == again->counters().kernels);
  }
}

TEST_CASE("on every device with native code a second compiler loads what the first one left on disk") {
  if (!hal::DiskCache::shared().enabled()) return;
  ops::Graph graph = samples::encoder_layer(1, 9);
  for (const auto& opened : compilers()) {
    if (opened->device()->backend().module_get_native == nullptr) continue;
    CAPTURE(opened->device()->info().uri);
    for (int round = 0; round < 2; ++round) {
      auto device = must(hal::Registry::shared().open(opened->device()->info().uri));
      auto executable = must(must(Compiler::create(device))->compile(graph));
      CHECK(executable->counters().kernels ==
            executable->counters().compiled + executable->counters().loaded);
      if (round == 1) CHECK(executable->counters().compiled == 0);
    }
  }
}

TEST_CASE("a wrong input is refused with its name") {
  if (compilers().empty()) return;
  auto executable = must(compilers().front()->compile(samples::softmax(3, 4)));
  std::vector<ops::HostTensor> wrong{samples::random_tensor(ElementType::f32, {3, 5}, 1)};
  auto result = executable->run(std::span<const ops::HostTensor>(wrong));
  REQUIRE(!result);
  CHECK(result.error().code == ErrorCode::invalid_argument);
  CHECK(result.error().message.find("'x'") != std::string::npos);
}

TEST_CASE("on every device graphs with empty tensors run, fused or not, and have the reference's bits") {
  for (const auto& compiler : compilers())
    for (const samples::Sample& sample : samples::with_empty_tensors())
      for (bool simplify : {true, false}) {
        CAPTURE(compiler->device()->info().uri);
        CAPTURE(sample.name);
        CAPTURE(simplify);
        ops::Graph graph = sample.make();
        auto inputs = samples::random_inputs(graph);
        auto expected = must(ops::evaluate(graph, inputs, compiler->profile().numeric_class()));
        for (ops::Fusion fusion : {ops::Fusion::on, ops::Fusion::off}) {
          auto executable = must(compiler->compile(graph, {.fusion = fusion, .simplify = simplify}));
          auto got = must(executable->run(std::span<const ops::HostTensor>(inputs)));
          REQUIRE(got.size() == expected.size());
          for (std::size_t i = 0; i < expected.size(); ++i) CHECK(ops::same_bits(expected[i], got[i]));
        }
      }
}

TEST_CASE("the explanation is JSON, and emit writes three files per kernel") {
  if (compilers().empty()) return;
  auto executable = must(compilers().front()->compile(samples::encoder_layer()));
  auto json = nlohmann::json::parse(to_json(explain(*executable)), nullptr, false);
  REQUIRE(json.is_object());
  CHECK(json["launches"] == executable->plan().clusters.size());
  auto folder = std::filesystem::temp_directory_path() / "halyard_emit_test";
  std::filesystem::remove_all(folder);
  std::size_t kernels = must(emit(*executable, folder));
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++files;
  CHECK(files == 3 * kernels);
  std::filesystem::remove_all(folder);
}

TEST_CASE("tensors run fused on a device once the executor is registered, with the reference's bits") {
  if (compilers().empty()) return;
  auto compute = [] {
    ops::Tensor x = ops::Tensor::from<float>({0.5f, -1.25f, 3.0f, 2.0f});
    ops::Tensor y = ops::exp(x) * 2.0 + x;
    return (y / y.sum()).host();
  };
  ops::HostTensor reference = compute();
  ops::register_executor(make_executor());
  ops::HostTensor fused = compute(), unfused;
  {
    ops::FusionScope off(ops::Fusion::off);
    unfused = compute();
  }
  ops::register_executor(nullptr);
  CHECK(ops::same_bits(reference, fused));
  CHECK(ops::same_bits(reference, unfused));
}

TEST_CASE("on the cpu a caller's aligned memory is read in place, and results are handed out in place") {
  for (const auto& compiler : compilers()) {
    if (compiler->device()->info().backend != "cpu") continue;
    constexpr std::int64_t count = 1 << 18;
    ops::Graph graph = samples::elementwise_chain(512, count / 512);
    auto executable = must(compiler->compile(graph));
    auto inputs = samples::random_inputs(graph);
    const std::weak_ptr<const void> watch = inputs[0].owner();
    const auto expected = must(ops::evaluate(graph, inputs, compiler->profile().numeric_class()));
    const auto before = compiler->device()->pool_statistics();
    auto results = must(executable->run(std::span<const ops::HostTensor>(inputs)));
    const auto after = compiler->device()->pool_statistics();
    // The only allocations are the results'; nothing was copied to stage an input.
    CHECK(after.allocations - before.allocations == results.size());
    CHECK(ops::same_bits(results[0], expected[0]));
    inputs.clear();
    results.clear();
    executable.reset();
    CHECK(must(compiler->device()->default_queue())->wait_idle());
    compiler->device()->trim_pool();
    CHECK(watch.expired());
  }
}

TEST_CASE("a custom kernel runs on every device with the same bits") {
  TileBuilder k("residual_rms_norm");
  Axis row = k.axis("row"), col = k.axis("col");
  Tile h = k.input("x", ElementType::f32, {row, col}) + k.input("residual", ElementType::f32, {row, col});
  Tile mean_square = k.sum(h * h, {col}) / k.extent({col}, ElementType::f32);
  k.output("y", h / sqrt(mean_square + 1e-6) * k.input("weight", ElementType::f32, {col}));
  auto kernel = must(CustomKernel::create(std::move(k)));
  std::vector<ops::HostTensor> inputs{samples::random_tensor(ElementType::f32, {5, 70}, 1),
                                      samples::random_tensor(ElementType::f32, {5, 70}, 2),
                                      samples::random_tensor(ElementType::f32, {70}, 3)};
  std::vector<ops::HostTensor> first;
  for (const auto& compiler : compilers()) {
    auto got = must(kernel.run(*compiler, std::span<const ops::HostTensor>(inputs)));
    if (first.empty()) first = got;
    CHECK(ops::same_bits(first[0], got[0]));
  }
  std::vector<ops::HostTensor> wrong{inputs[0], inputs[1], samples::random_tensor(ElementType::f32, {71}, 3)};
  if (!compilers().empty())
    CHECK_FALSE(kernel.run(*compilers().front(), std::span<const ops::HostTensor>(wrong)));
}

}  // namespace halyard::fusion
