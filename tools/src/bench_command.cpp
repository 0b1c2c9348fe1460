#include <fmt/format.h>
#include <halyard/conformance/performance.h>
#include <halyard/hal/registry.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "commands.h"
#include "model_inputs.h"
#include "progress.h"

namespace halyard::tools {
namespace {

namespace suite = conformance;

struct BenchArguments {
  std::vector<std::string> devices{"auto"};
  std::vector<std::string> suites, filters, models, inputs;
  std::string json, html, baseline;
  double allowed_percent = 10;
  double seconds = 0.5;
  bool list = false;
};

std::shared_ptr<fusion::Compiler> open(const std::string& uri) {
  return value_or_exit(fusion::Compiler::create(argument_or_exit(hal::Registry::shared().open(uri))));
}

void print_row(const suite::BenchmarkResult& each) {
  if (each.verdict == suite::Verdict::passed)
    fmt::print(
        "{:<44} {:>6.2f}  {:<7} {:>10.3f} {:>9.1f} {:>8.1f} {:>7.2f} {:>5}\n", each.name, each.fraction,
        fusion::name(each.bound), each.seconds * 1e3, each.flops / each.seconds * 1e-9,
        static_cast<double>(each.bytes_fewest) / each.seconds * 1e-9,
        static_cast<double>(each.bytes) / static_cast<double>(std::max<std::uint64_t>(each.bytes_fewest, 1)),
        each.launches);
  else
    fmt::print("{:<44} {}: {}\n", each.name,
               each.verdict == suite::Verdict::unsupported ? "unsupported" : "WRONG, scores 0", each.message);
  std::fflush(stdout);
}

void print_parity(const std::vector<suite::PerformanceReport>& reports) {
  fmt::print("\n{:<44} {:>13} {:>6} {:>6}  fractions by device\n", "parity", "harmonic mean", "least",
             "most");
  for (const suite::Parity& each : suite::parity_of(reports)) {
    fmt::print("{:<44} {:>13.2f} {:>6.2f} {:>6.2f} ", each.name, each.harmonic_mean, each.least, each.most);
    for (double fraction : each.fractions) fmt::print(" {:.2f}", fraction);
    fmt::print("\n");
  }
}

suite::PerformanceReport measure(const std::string& uri, const std::shared_ptr<fusion::Compiler>& cpu,
                                 const suite::BenchmarkOptions& options) {
  const auto compiler = open(uri);
  const hal::DeviceInfo& info = compiler->device()->info();
  fmt::print("{} ({}, driver {})\n{:<44} {:>6}  {:<7} {:>10} {:>9} {:>8} {:>7} {:>5}\n", info.uri, info.name,
             info.driver_version, "benchmark", "part", "bound", "ms", "GFLOP/s", "GB/s", "bytes", "runs");
  auto report = suite::measure_performance(compiler, cpu ? cpu : compiler, options);
  if (!report && report.error().code == ErrorCode::invalid_argument) throw_error(report.error());
  return value_or_exit(std::move(report));
}

/// The cpu judges the bits of all devices, itself included; without one each judges itself.
std::shared_ptr<fusion::Compiler> judge() {
  auto device = hal::Registry::shared().open("cpu");
  if (!device) return nullptr;
  return value_or_exit(fusion::Compiler::create(*device));
}

void check_baseline(const BenchArguments& arguments, const std::vector<suite::PerformanceReport>& baseline,
                    const std::vector<suite::PerformanceReport>& reports) {
  const auto lost = suite::regressions(baseline, reports, arguments.allowed_percent / 100);
  for (const suite::Regression& each : lost)
    fmt::print("SLOWER  {} on {}: {:.3f} of its ceiling, {:.3f} in the baseline\n", each.name, each.device,
               each.now, each.before);
  if (!lost.empty())
    throw_failure(fmt::format("{} benchmarks lost more than {} % against '{}'", lost.size(),
                              arguments.allowed_percent, arguments.baseline));
}

void write(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  value_or_exit(suite::write_file(path, text));
  fmt::print("wrote {}\n", path);
}

void run(const BenchArguments& arguments) {
  if (arguments.list) {
    for (const suite::Benchmark& each : suite::benchmarks()) fmt::print("{}\n", each.name);
    return;
  }
  // Asked first: what cannot be read or written must not cost an hour.
  std::vector<suite::PerformanceReport> baseline;
  if (!arguments.baseline.empty()) baseline = value_or_exit(suite::read_performance(arguments.baseline));
  for (const std::string& path : {arguments.json, arguments.html})
    if (!path.empty()) value_or_exit(suite::check_writable(path));
  suite::BenchmarkOptions options;
  options.suites = arguments.suites;
  options.filters = arguments.filters;
  options.least_seconds = arguments.seconds;
  constexpr std::int64_t open_extent = 128;
  for (const std::string& path : arguments.models)
    options.models.push_back(
        {std::filesystem::path(path).stem().string(), load_graph(path, arguments.inputs, open_extent)});
  options.progress = [](const suite::BenchmarkResult& each, std::size_t done, std::size_t total) {
    finish_progress();
    print_row(each);
    if (done < total) show_count(done, total, each.name);
  };
  const std::shared_ptr<fusion::Compiler> cpu = judge();
  std::vector<suite::PerformanceReport> reports;
  for (const std::string& uri : arguments.devices) reports.push_back(measure(uri, cpu, options));
  if (reports.size() > 1) print_parity(reports);
  write(arguments.json, suite::to_json(reports));
  write(arguments.html, suite::to_html(reports));
  check_baseline(arguments, baseline, reports);
  for (const suite::PerformanceReport& report : reports)
    for (const suite::BenchmarkResult& each : report.results)
      if (each.verdict == suite::Verdict::failed) throw_failure("some results are wrong");
}

}  // namespace

void add_bench_command(CLI::App& application) {
  auto arguments = std::make_shared<BenchArguments>();
  CLI::App* command = application.add_subcommand(
      "bench", "Measure what part of its own ceilings a device reaches, and how evenly devices do");
  command->add_option("-d,--device", arguments->devices,
                      "Device URI; repeatable (default: HALYARD_DEVICE, else the best found)");
  command->add_option("--suite", arguments->suites, "ops, models or parity; repeatable (default: all)");
  command->add_option("--filter", arguments->filters,
                      "Benchmarks whose name contains this, or matches it if it holds a *; repeatable");
  command->add_option("--model", arguments->models, "An ONNX model for the suite models; repeatable")
      ->check(CLI::ExistingFile);
  command
      ->add_option("-i,--input", arguments->inputs,
                   "NAME=SHAPE like ids=8x128 for the models; open dimensions are else 1 and 128")
      ->take_all();
  command->add_option("--seconds", arguments->seconds, "For which each is replayed at least (default 0.5)")
      ->check(CLI::Range(0.0, 3600.0));
  command->add_option("--json", arguments->json, "Write the whole report here");
  command->add_option("--html", arguments->html, "Write a page to read here");
  command
      ->add_option("--baseline", arguments->baseline,
                   "An earlier --json: exit code 1 if a fraction of its devices fell by more than --allow")
      ->check(CLI::ExistingFile);
  command->add_option("--allow", arguments->allowed_percent, "By how many percent it may fall (default 10)")
      ->check(CLI::Range(0.0, 100.0));
  command->add_flag("--list", arguments->list, "Name the benchmarks and run none");
  command->footer(
      "part: of what the device's measured ceilings allow; bytes: moved, of the fewest possible; runs: "
      "launches.\n\n"
      "Example: halyard bench --device cpu --device vulkan:0 --suite parity --html parity.html");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace halyard::tools
