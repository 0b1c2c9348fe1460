#include <fmt/format.h>
#include <fmt/ranges.h>
#include <halyard/conformance/performance.h>
#include <halyard/fusion/planner.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <set>

#include "selection.h"
#include "suites.h"

namespace halyard::conformance {
namespace {

using ops::HostTensor;
using ops::NodeId;
using ops::Primitive;

std::uint64_t bytes_of(const ops::TensorType& type) {
  return static_cast<std::uint64_t>(type.shape.count()) * byte_size(type.element);
}

/// Floats in [-2, 2) and integers below `limit`, made fast: inputs are large here.
HostTensor random_input(const ops::TensorType& type, std::int64_t limit, std::uint32_t seed) {
  HostTensor tensor = HostTensor::allocate(type.element, type.shape).value();
  std::minstd_rand random(seed);
  if (type.element == ElementType::f32) {
    auto* values = reinterpret_cast<float*>(tensor.mutable_data());
    for (std::int64_t i = 0; i < tensor.count(); ++i)
      values[i] = static_cast<float>(random() >> 7) * 0x1p-22F - 2.0F;
    return tensor;
  }
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    const auto number = static_cast<std::int64_t>(random());
    const double value = is_float(type.element) ? static_cast<double>(number % 4096) / 1024 - 2
                                                : static_cast<double>(number % limit);
    tensor.set_bits_at(i, HostTensor::scalar(type.element, value).bits_at(0));
  }
  return tensor;
}

std::vector<HostTensor> inputs_of(const Benchmark& benchmark, const ops::Graph& graph) {
  std::vector<HostTensor> inputs;
  std::uint32_t seed = 1;
  for (NodeId input : graph.inputs())
    inputs.push_back(random_input(graph.node(input).type(), benchmark.indices, seed++));
  return inputs;
}

/// Inputs and constants read once (of a table of which rows are taken, no more than is taken), outputs
/// written once.
std::uint64_t fewest_bytes(const ops::Graph& graph) {
  std::vector<std::uint64_t> read(graph.size(), 0);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const ops::Node& node = graph.node(NodeId{static_cast<std::uint32_t>(i)});
    for (std::size_t operand = 0; operand < node.operands.size(); ++operand) {
      const auto source = static_cast<std::size_t>(node.operands[operand]);
      const ops::Node& from = graph.node(node.operands[operand]);
      if (!from.operands.empty()) continue;
      const bool is_table = node.primitive == Primitive::take && operand == 0;
      const std::uint64_t needed = is_table ? bytes_of(node.type()) : bytes_of(from.type());
      read[source] = std::min(bytes_of(from.type()), read[source] + needed);
    }
  }
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const Primitive primitive = graph.node(NodeId{static_cast<std::uint32_t>(i)}).primitive;
    if (primitive == Primitive::input || primitive == Primitive::constant) bytes += read[i];
  }
  for (const ops::GraphOutput& output : graph.outputs()) bytes += bytes_of(graph.node(output.node).type());
  return bytes;
}

/// Of the level of memory that holds so many bytes.
double bandwidth_for(const hal::Measurements& ceilings, double bytes) {
  double rate = ceilings.triad_bytes_per_second;
  for (const hal::Measurements::Bandwidth& level : ceilings.bandwidth) {
    rate = std::max(level.copy_bytes_per_second, level.triad_bytes_per_second);
    if (level.bytes >= bytes) break;
  }
  return rate;
}

Result<std::vector<Benchmark>> selected_benchmarks(const BenchmarkOptions& options) {
  std::vector<Benchmark> all = benchmarks();
  for (const Model& model : options.models)
    all.push_back({"models/" + model.name, "models", model.name, [&model] { return model.graph; }});
  std::set<std::string> known;
  for (const Benchmark& each : all) known.insert(each.suite);
  for (const std::string& suite : options.suites)
    if (!known.contains(suite))
      return fail(ErrorCode::invalid_argument,
                  fmt::format("bench: '{}' is no suite; there are {}", suite, fmt::join(known, ", ")));
  std::vector<Benchmark> selected;
  for (Benchmark& each : all) {
    const auto& suites = options.suites;
    if (!suites.empty() && std::find(suites.begin(), suites.end(), each.suite) == suites.end()) continue;
    if (taken_by(options.filters, each.name)) selected.push_back(std::move(each));
  }
  if (selected.empty())
    return fail(ErrorCode::invalid_argument,
                fmt::format("bench: no benchmark matches '{}'; `halyard bench --list` names them all",
                            fmt::join(options.filters, ", ")));
  return selected;
}

/// The rate of the widest type that the graph multiplies and adds in.
double flops_rate(const hal::Measurements& ceilings, const ops::Graph& graph) {
  ElementType element = ElementType::f32;
  for (std::size_t i = 0; i < graph.size(); ++i)
    if (graph.node(NodeId{static_cast<std::uint32_t>(i)}).element == ElementType::f64)
      element = ElementType::f64;
  const auto index = static_cast<std::size_t>(element);
  return std::max(ceilings.flops_per_second[index], ceilings.peak_flops_per_second[index]);
}

void set_ceiling(BenchmarkResult& result, const hal::Measurements& ceilings, const ops::Graph& graph) {
  const auto bytes = static_cast<double>(result.bytes_fewest);
  const double memory = bytes / bandwidth_for(ceilings, bytes);
  const double compute = result.flops / flops_rate(ceilings, graph);
  result.bound = compute > memory ? fusion::Bound::compute : fusion::Bound::memory;
  if (std::max(memory, compute) < ceilings.submit_seconds) result.bound = fusion::Bound::launch;
  result.ceiling_seconds = ceilings.submit_seconds + std::max(memory, compute);
}

/// Fused here, unfused on the judge, which computes in this device's class.
Outcome same_bits(fusion::Executable& fused, fusion::Compiler& judge, const ops::NumericClass& numeric_class,
                  bool flushes, const ops::Graph& graph, const std::vector<HostTensor>& inputs) {
  fusion::CompileOptions unfused;
  unfused.fusion = ops::Fusion::off;
  unfused.numeric_class = numeric_class;
  auto expected = judge.compile(graph, unfused);
  if (!expected) return outcome_of(expected.error());
  auto wanted = (*expected)->run(inputs);
  if (!wanted) return outcome_of(wanted.error());
  auto got = fused.run(inputs);
  if (!got) return outcome_of(got.error());
  for (std::size_t i = 0; i < got->size(); ++i) {
    const std::string difference = first_difference((*got)[i], (*wanted)[i], flushes);
    if (!difference.empty()) return Outcome::fail(fmt::format("output {}: {}", i, difference));
  }
  return {};
}

Status measure(fusion::Executable& executable, const std::vector<HostTensor>& inputs, double least_seconds,
               BenchmarkResult& result) {
  constexpr int at_least = 5, at_most = 200;
  HALYARD_ASSIGN(fusion::Executable::Timings first, executable.measure(inputs, 1));
  const int repeats =
      std::clamp(static_cast<int>(least_seconds / std::max(first.total, 1e-6)), at_least, at_most);
  HALYARD_ASSIGN(fusion::Executable::Timings timings, executable.measure(inputs, repeats));
  std::sort(timings.replays.begin(), timings.replays.end());
  result.replays = static_cast<std::uint32_t>(repeats);
  result.seconds = timings.replays[timings.replays.size() / 2];
  result.least_seconds = timings.replays.front();
  return {};
}

class Run {
 public:
  Run(fusion::Compiler& compiler, fusion::Compiler& judge, const hal::Measurements& ceilings,
      const BenchmarkOptions& options)
      : compiler_(compiler), judge_(judge), ceilings_(ceilings), options_(options) {}

  BenchmarkResult operator()(const Benchmark& benchmark) {
    BenchmarkResult result;
    result.name = benchmark.name;
    result.suite = benchmark.suite;
    result.operation = benchmark.operation;
    const Outcome outcome = measured(benchmark, result);
    result.verdict = outcome.verdict;
    result.message = outcome.message;
    if (outcome.verdict == Verdict::passed) result.fraction = result.ceiling_seconds / result.seconds;
    return result;
  }

 private:
  Outcome measured(const Benchmark& benchmark, BenchmarkResult& result) {
    const ops::Graph graph = benchmark.graph();
    auto compiled = compiler_.compile(graph);
    if (!compiled) return outcome_of(compiled.error());
    fusion::Executable& executable = **compiled;
    result.launches = static_cast<std::uint32_t>(executable.steps().size());
    result.bytes_fewest = fewest_bytes(graph);
    for (const fusion::Cluster& cluster : executable.plan().clusters) {
      result.bytes += cluster.cost.bytes();
      result.flops += cluster.cost.flops;
    }
    set_ceiling(result, ceilings_, graph);
    const std::vector<HostTensor> inputs = inputs_of(benchmark, graph);
    const hal::DeviceInfo& info = compiler_.device()->info();
    Outcome outcome =
        same_bits(executable, judge_, class_of(info), allowance_of(info).flushes_subnormals, graph, inputs);
    if (outcome.verdict != Verdict::passed) return outcome;
    if (Status status = measure(executable, inputs, options_.least_seconds, result); !status)
      return outcome_of(status.error());
    return outcome;
  }

  fusion::Compiler& compiler_;
  fusion::Compiler& judge_;
  const hal::Measurements& ceilings_;
  const BenchmarkOptions& options_;
};

}  // namespace

Result<PerformanceReport> measure_performance(const std::shared_ptr<fusion::Compiler>& compiler,
                                              const std::shared_ptr<fusion::Compiler>& judge,
                                              const BenchmarkOptions& options) {
  const hal::DeviceInfo& info = compiler->device()->info();
  if (info.emulated)
    return fail(ErrorCode::unsupported,
                fmt::format("bench: {} is emulated and has no performance; choose a real device", info.uri));
  HALYARD_ASSIGN(std::vector<Benchmark> selected, selected_benchmarks(options));
  PerformanceReport report;
  report.halyard_version = HALYARD_VERSION;
  report.started = utc_now();
  report.device = describe(info);
  const auto begin = std::chrono::steady_clock::now();
  HALYARD_ASSIGN(report.ceilings, compiler->device()->measurements());
  Run run(*compiler, *judge, report.ceilings, options);
  for (const Benchmark& each : selected) {
    report.results.push_back(run(each));
    if (options.progress) options.progress(report.results.back(), report.results.size(), selected.size());
  }
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

}  // namespace halyard::conformance
