#include <fmt/format.h>
#include <halyard/fusion/executable.h>
#include <halyard/hal/registry.h>
#include <halyard/ops/graph_builder.h>
#include <halyard/ops/tensor.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <limits>
#include <vector>

#include "give_up.h"

/// What the host pays: for an operation on small tensors, for one more kernel of a replayed graph, and for a
/// kernel that is new, is one of several, or comes from the disk cache. Kernels are compiled in processes of
/// their own, with a cache of their own.
namespace halyard::conformance {
namespace {

double seconds(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The shortest of several times, per piece of work.
double best(int repeats, int pieces, const std::function<void()>& work) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repeats; ++i) least = std::min(least, seconds(work));
  return least / pieces;
}

/// x · c + x over a row of 16: another constant is another kernel.
ops::Graph one_kernel(int number) {
  ops::Graph graph;
  ops::GraphBuilder builder(graph);
  const ops::NodeId x = value_of(builder.input("x", ElementType::f32, {16}));
  const ops::NodeId scaled = value_of(builder.binary(ops::Primitive::mul, x, 1.5 + number));
  must(graph.output(value_of(builder.binary(ops::Primitive::add, scaled, x)), "y"));
  return graph;
}

double tensor_operation() {
  ops::register_executor(fusion::make_executor());
  const ops::DeviceScope on_cpu("cpu");
  const ops::Tensor a = ops::Tensor::full({16}, 2), b = ops::Tensor::full({16}, 3);
  a.eval();
  b.eval();
  constexpr int count = 1000;
  return best(20, count, [&] {
    for (int i = 0; i < count; ++i) (a + b).eval();
  });
}

/// The difference between 200 and 100 kernels of a graph that is replayed, by 100.
double replayed_kernel(fusion::Compiler& compiler) {
  const auto replay = [&](int kernels) {
    ops::Graph graph;
    ops::GraphBuilder builder(graph);
    ops::NodeId x = value_of(builder.input("x", ElementType::f32, {16}));
    for (int i = 0; i < kernels; ++i) x = value_of(builder.binary(ops::Primitive::add, x, 1.0));
    must(graph.output(x, "y"));
    fusion::CompileOptions options;
    options.fusion = ops::Fusion::off;
    options.simplify = false;
    const auto executable = value_of(compiler.compile(graph, options));
    const std::vector<ops::HostTensor> inputs{value_of(ops::HostTensor::allocate(ElementType::f32, {16}))};
    return value_of(executable->measure(inputs, 300)).total;
  };
  constexpr int more = 100;
  return (replay(2 * more) - replay(more)) / more;
}

/// Compiling kernels number `first` and on, one after another: the first and the mean of the others.
std::array<double, 2> compile_times(int first, int count) {
  const auto compiler = value_of(fusion::Compiler::create(value_of(hal::Registry::shared().open("cpu"))));
  std::array<double, 2> times{};
  for (int i = 0; i < count; ++i) {
    const double took = seconds([&] { (void)value_of(compiler->compile(one_kernel(first + i))); });
    times[i == 0 ? 0 : 1] += i == 0 ? took : took / (count - 1);
  }
  return times;
}

/// The two numbers that this program prints in a process of its own.
std::array<double, 2> in_another_process(const char* self, const std::filesystem::path& cache) {
  const std::string command = fmt::format("HALYARD_CACHE_DIR='{}' '{}' --compile-only", cache.string(), self);
  FILE* pipe = popen(command.c_str(), "r");
  std::array<double, 2> times{};
  if (!pipe || std::fscanf(pipe, "%lf %lf", &times[0], &times[1]) != 2 || pclose(pipe) != 0)
    give_up("the process that compiles failed");
  return times;
}

int run(int argc, char** argv) {
  bool compile_only = false;
  CLI::App application{"What the host pays for operations, launches and compilations on the cpu"};
  application.add_flag("--compile-only", compile_only,
                       "Compile a few kernels and print the two times (used inside)");
  CLI11_PARSE(application, argc, argv);
  constexpr int kernels = 20;
  if (compile_only) {
    const auto times = compile_times(0, kernels);
    fmt::print("{} {}\n", times[0], times[1]);
    return 0;
  }
  const auto device = value_of(hal::Registry::shared().open("cpu"));
  const auto compiler = value_of(fusion::Compiler::create(device));
  fmt::print("{}, {} threads\n\n| what | time |\n| --- | ---: |\n", device->info().name,
             device->info().compute_units);
  fmt::print("| an addition of two tensors of 16 elements, compiled before | {:.2f} µs |\n",
             tensor_operation() * 1e6);
  fmt::print("| one more kernel of a replayed graph | {:.2f} µs |\n", replayed_kernel(*compiler) * 1e6);
  const std::filesystem::path cache =
      std::filesystem::temp_directory_path() / fmt::format("halyard_host_cost.{}", ::getpid());
  const auto cold = in_another_process(argv[0], cache);
  const auto warm = in_another_process(argv[0], cache);
  std::filesystem::remove_all(cache);
  fmt::print("| a new elementwise kernel, the first of a process | {:.1f} ms |\n", cold[0] * 1e3);
  fmt::print("| a later one | {:.1f} ms |\n", cold[1] * 1e3);
  fmt::print("| from the disk cache, the first of a process | {:.2f} ms |\n", warm[0] * 1e3);
  fmt::print("| from the disk cache, a later one | {:.2f} ms |\n", warm[1] * 1e3);
  return 0;
}

}  // namespace
}  // namespace halyard::conformance

int main(int argc, char** argv) {
  return halyard::conformance::run(argc, argv);
}
