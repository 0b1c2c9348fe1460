#include <dlfcn.h>
#include <fmt/format.h>
#include <halyard/fusion/executable.h>
#include <halyard/hal/registry.h>
#include <halyard/ops/graph_builder.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "give_up.h"
#include "unordered_sums.h"

/// What the fixed orders of accumulation cost on the cpu: Halyard's sums and products beside the fastest that
/// take any order (sums of our own for this purpose; products of a BLAS library, by default OpenBLAS), timed
/// in turns in one run.
namespace halyard::conformance {
namespace {

/// cblas_sgemm for row-major matrices that are not transposed.
using Product = void (*)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                         const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc);

struct Comparison {
  std::string name;
  double ordered = std::numeric_limits<double>::infinity();    // s
  double unordered = std::numeric_limits<double>::infinity();  // s
  double difference = 0;  ///< the largest, relative to the largest result
};

double seconds(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

class Measurement {
 public:
  Measurement(fusion::Compiler& compiler, int repeats) : compiler_(compiler), repeats_(repeats) {}

  /// Times a graph of these inputs against `unordered`, which writes what the graph's one output holds.
  Comparison compare(std::string name, const ops::Graph& graph, std::vector<ops::HostTensor> inputs,
                     const std::function<void(const std::vector<ops::HostTensor>&, float*)>& unordered) {
    const auto executable = value_of(compiler_.compile(graph));
    const std::vector<ops::HostTensor> once = value_of(executable->run(inputs));
    const std::span<const float> expected = once[0].values<float>();
    std::vector<float> others(expected.size());
    unordered(inputs, others.data());
    Comparison result{std::move(name)};
    float largest = 0;
    for (std::size_t i = 0; i < others.size(); ++i) {
      largest = std::max(largest, std::fabs(expected[i]));
      result.difference =
          std::max(result.difference, static_cast<double>(std::fabs(expected[i] - others[i])));
    }
    result.difference /= static_cast<double>(largest);
    for (int i = 0; i < repeats_; ++i) {
      result.ordered = std::min(result.ordered, seconds([&] { (void)value_of(executable->run(inputs)); }));
      result.unordered = std::min(result.unordered, seconds([&] { unordered(inputs, others.data()); }));
    }
    return result;
  }

 private:
  fusion::Compiler& compiler_;
  int repeats_;
};

ops::HostTensor random_tensor(const ops::Shape& shape) {
  ops::HostTensor tensor = value_of(ops::HostTensor::allocate(ElementType::f32, shape));
  auto* values = reinterpret_cast<float*>(tensor.mutable_data());
  std::uint32_t state = 1;
  for (std::int64_t i = 0; i < shape.count(); ++i) {
    state = state * 1664525u + 1013904223u;  // Numerical Recipes' generator: enough for times
    values[i] = std::ldexp(static_cast<float>(state >> 8), -24) - 0.5f;
  }
  return tensor;
}

Comparison measure_sum(Measurement& measurement, std::int64_t rows, std::int64_t length, bool of_rows) {
  ops::Graph graph;
  ops::GraphBuilder builder(graph);
  const ops::NodeId x = value_of(builder.input("x", ElementType::f32, {rows, length}));
  const ops::NodeId sum = value_of(builder.reduce(ops::Primitive::reduce_sum, x, {of_rows ? 1 : 0}));
  must(graph.output(sum, "sum"));
  return measurement.compare(
      fmt::format("sums over {} of {} × {}", of_rows ? "rows" : "columns", rows, length), graph,
      {random_tensor({rows, length})}, [=](const std::vector<ops::HostTensor>& inputs, float* sums) {
        const float* values = inputs[0].values<float>().data();
        of_rows ? sum_rows(values, rows, length, sums) : sum_columns(values, rows, length, sums);
      });
}

Comparison measure_product(Measurement& measurement, Product product, int m, int k, int n) {
  ops::Graph graph;
  ops::GraphBuilder builder(graph);
  const ops::NodeId a = value_of(builder.input("a", ElementType::f32, {m, k}));
  const ops::NodeId b = value_of(builder.input("b", ElementType::f32, {k, n}));
  must(graph.output(value_of(builder.matmul(a, b)), "product"));
  return measurement.compare(
      fmt::format("product {} × {} × {}", m, k, n), graph, {random_tensor({m, k}), random_tensor({k, n})},
      [=](const std::vector<ops::HostTensor>& inputs, float* result) {
        constexpr int row_major = 101, not_transposed = 111;
        product(row_major, not_transposed, not_transposed, m, n, k, 1, inputs[0].values<float>().data(), k,
                inputs[1].values<float>().data(), n, 0, result, n);
      });
}

void print(const Comparison& c) {
  fmt::print("| {} | {:.1f} | {:.1f} | {:.2f} | {:.1e} |\n", c.name, c.ordered * 1e6, c.unordered * 1e6,
             c.ordered / c.unordered, c.difference);
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  std::string library = "libopenblas.so.0";
  int repeats = 30;
  CLI::App application{
      "What the fixed orders of accumulation cost on the cpu, beside the fastest of any order"};
  application.add_option(
      "--blas", library,
      "A library with cblas_sgemm (default libopenblas.so.0, Debian's libopenblas0); none: "
      "sums alone");
  application.add_option("--repeats", repeats, "Runs of each in turn; the shortest counts (default 30)")
      ->check(CLI::Range(1, 100000));
  CLI11_PARSE(application, argc, argv);
  Product product = nullptr;
  if (library != "none") {
    void* handle = dlopen(library.c_str(), RTLD_NOW);
    if (!handle) give_up(fmt::format("{}; install it, or give --blas none", dlerror()));
    product = reinterpret_cast<Product>(dlsym(handle, "cblas_sgemm"));
    if (!product) give_up(fmt::format("{} has no cblas_sgemm", library));
  }
  const auto device = value_of(hal::Registry::shared().open("cpu"));
  const auto compiler = value_of(fusion::Compiler::create(device));
  Measurement measurement(*compiler, repeats);
  fmt::print("{}, {} threads; products against {}\n\n", device->info().name, device->info().compute_units,
             library);
  fmt::print("| f32 | in Halyard's order, µs | in any order, µs | ratio | largest difference |\n");
  fmt::print("| --- | ---: | ---: | ---: | ---: |\n");
  for (const auto& [rows, length] : {std::pair{256, 1024}, {4096, 384}, {4096, 4096}, {1, 1 << 24}})
    print(measure_sum(measurement, rows, length, true));
  for (const auto& [rows, length] : {std::pair{256, 1024}, {4096, 384}, {4096, 4096}})
    print(measure_sum(measurement, rows, length, false));
  if (!product) return 0;
  const int products[][3] = {{168, 384, 1536}, {512, 512, 512}, {1024, 1024, 1024}, {256, 4096, 1024}};
  for (const auto& [m, k, n] : products) print(measure_product(measurement, product, m, k, n));
  return 0;
}

}  // namespace
}  // namespace halyard::conformance

int main(int argc, char** argv) {
  return halyard::conformance::run(argc, argv);
}
