#include <fmt/format.h>
#include <halyard/conformance/run.h>
#include <halyard/hal/registry.h>
#include <halyard/onnx/model.h>
#include <halyard/onnx/node_test.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>

#include "commands.h"
#include "model_inputs.h"
#include "progress.h"

namespace halyard::tools {
namespace {

namespace suite = conformance;

struct ConformanceArguments {
  std::string device = "auto";
  std::string against;
  std::string plugin;
  std::vector<std::string> suites, filters, names, models;
  std::string onnx_tests;
  std::uint64_t seed = 1;
  std::string json, junit, html;
  bool fast = false;
  bool list = false;
  bool no_shrink = false;
  bool fail_fast = false;
};

/// The options that name the devices, as a repeat command needs them.
/// As one word of a POSIX shell (Shell Command Language, 2.2.2): in single quotes where it needs them.
std::string for_a_shell(const std::string& word) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_./-+:=,@%").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return word;
  std::string quoted = "'";
  for (char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string command_of(const ConformanceArguments& arguments, const suite::Subject& subject) {
  std::string command = "halyard conformance --device " + subject.info().uri;
  if (!arguments.plugin.empty()) command += " --plugin " + for_a_shell(arguments.plugin);
  if (subject.against) command += " --against " + subject.against->device()->info().uri;
  for (const std::string& model : arguments.models) command += " --model " + for_a_shell(model);
  if (!arguments.onnx_tests.empty()) command += " --onnx-tests " + for_a_shell(arguments.onnx_tests);
  return command;
}

/// A backend's path, for the exceptions beside it.
std::filesystem::path backend_path(const std::string& backend) {
  for (const hal::BackendReport& report : hal::Registry::shared().backends())
    if (report.name == backend) return report.path;
  return {};
}

suite::Model load_model(const std::string& path) {
  constexpr std::int64_t open_extent = 16;
  return {std::filesystem::path(path).stem().string(), load_graph(path, {}, open_extent)};
}

/// The tests in a folder of folders `test_NAME`, by name.
std::vector<suite::GivenCase> load_onnx_tests(const std::string& path) {
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(path))
    if (entry.is_directory() && entry.path().filename().string().starts_with("test_"))
      folders.push_back(entry.path());
  if (folders.empty())
    throw_failure(fmt::format("'{}' holds no folder test_NAME with an ONNX node test", path));
  std::sort(folders.begin(), folders.end());
  std::vector<suite::GivenCase> cases;
  for (const std::filesystem::path& folder : folders) {
    constexpr std::string_view prefix = "test_";
    suite::GivenCase made{folder.filename().string().substr(prefix.size()), ops::Graph{}, {}, {}};
    Result<onnx::NodeTest> test = onnx::read_node_test(folder);
    if (test) {
      made.graph = std::move(test->graph);
      made.inputs = std::move(test->inputs);
      made.expected = std::move(test->expected);
    } else {
      made.graph = tl::unexpected(test.error());
    }
    cases.push_back(std::move(made));
  }
  return cases;
}

std::shared_ptr<fusion::Compiler> open(const std::string& uri) {
  return value_or_exit(fusion::Compiler::create(argument_or_exit(hal::Registry::shared().open(uri))));
}

suite::Subject subject_of(const ConformanceArguments& arguments) {
  std::string uri = arguments.device;
  if (!arguments.plugin.empty()) {
    const std::string backend = argument_or_exit(hal::Registry::shared().load(arguments.plugin));
    if (uri == "auto") uri = backend;
  }
  suite::Subject subject;
  subject.compiler = open(uri);
  if (!arguments.against.empty()) subject.against = open(arguments.against);
  subject.seed = arguments.seed;
  for (const std::string& model : arguments.models) subject.models.push_back(load_model(model));
  if (!arguments.onnx_tests.empty()) subject.given = load_onnx_tests(arguments.onnx_tests);
  return subject;
}

void print_failure(const suite::CaseReport& report) {
  fmt::print("{}  {}\n    {}\n    repeat: {}\n",
             report.outcome.verdict == suite::Verdict::stale_exception ? "STALE " : "FAILED", report.name,
             report.outcome.message, report.repeat);
  std::fflush(stdout);
}

/// A failure at once, whole; beside it a line that counts, where somebody watches.
std::function<void(const suite::CaseReport&, std::size_t, std::size_t)> show_progress() {
  return [failed = std::size_t{0}](const suite::CaseReport& report, std::size_t done,
                                   std::size_t total) mutable {
    if (suite::is_failure(report.outcome.verdict)) {
      ++failed;
      finish_progress();
      print_failure(report);
    }
    show_count(done, total, failed == 0 ? report.name : fmt::format("{} failed; {}", failed, report.name));
    if (done == total) finish_progress();
  };
}

void print_totals(const suite::Report& report) {
  fmt::print("{:<10} {:>7} {:>7} {:>12} {:>9} {:>9} {:>12}\n", "suite", "passed", "failed", "unsupported",
             "expected", "seconds", "worst error");
  for (const suite::Suite& each : suite::suites()) {
    std::size_t passed = 0, failed = 0, unsupported = 0, expected = 0;
    double seconds = 0, worst = 0;
    for (const suite::CaseReport& one : report.cases) {
      if (one.suite != each.name) continue;
      passed += one.outcome.verdict == suite::Verdict::passed;
      failed += suite::is_failure(one.outcome.verdict);
      unsupported += one.outcome.verdict == suite::Verdict::unsupported;
      expected += one.outcome.verdict == suite::Verdict::expected_failure;
      seconds += one.seconds;
      worst = std::max(worst, one.outcome.error.value_or(0));
    }
    if (passed + failed + unsupported + expected == 0) continue;
    fmt::print("{:<10} {:>7} {:>7} {:>12} {:>9} {:>9.1f} {:>12}\n", each.name, passed, failed, unsupported,
               expected, seconds, worst > 0 ? fmt::format("{:.2f} of bound", worst) : "-");
  }
}

void write_reports(const ConformanceArguments& arguments, const suite::Report& report) {
  const auto write = [](const std::string& path, const std::string& text) {
    if (path.empty()) return;
    value_or_exit(suite::write_file(path, text));
    fmt::print("wrote {}\n", path);
  };
  write(arguments.json, suite::to_json(report));
  write(arguments.junit, suite::to_junit(report));
  write(arguments.html, suite::to_html(std::span(&report, 1)));
}

void run(const ConformanceArguments& arguments) {
  const suite::Subject subject = subject_of(arguments);
  suite::RunOptions options;
  options.suites = arguments.suites;
  options.filters = arguments.filters;
  options.names = arguments.names;
  options.fast = arguments.fast;
  options.shrink = !arguments.no_shrink;
  options.stop_at_first = arguments.fail_fast;
  options.command = command_of(arguments, subject);
  if (arguments.list) {
    for (const suite::Case& each : argument_or_exit(suite::select(subject, options)))
      fmt::print("{}\n", each.name);
    return;
  }
  for (const std::string& path : {arguments.json, arguments.junit, arguments.html})
    if (!path.empty()) value_or_exit(suite::check_writable(path));
  options.exceptions =
      value_or_exit(suite::exceptions_for(subject.info(), backend_path(subject.info().backend)));
  options.progress = show_progress();
  const suite::Report report = argument_or_exit(suite::run(subject, options));
  fmt::print(
      "{} ({}, driver {}): class {}; seed {}{}\n", report.device.uri, report.device.name,
      report.device.driver_version, report.device.numeric_class(), report.seed,
      report.against ? fmt::format("; against {} ({})", report.against->uri, report.against->name) : "");
  print_totals(report);
  write_reports(arguments, report);
  if (report.failed())
    throw_failure(
        fmt::format("{} of {} cases failed",
                    report.count(suite::Verdict::failed) + report.count(suite::Verdict::stale_exception),
                    report.cases.size()));
}

struct CompareArguments {
  std::vector<std::string> reports;
  std::string html;
};

bool differ(const suite::Report& a, const suite::Report& b) {
  const suite::Comparison comparison = suite::compare(a, b);
  for (const suite::Comparison::Difference& each : comparison.differences)
    fmt::print("{}  {}: {}\n", each.counts ? "DIFFERS" : "differs", each.name, each.what);
  const std::string bits =
      comparison.same_seed
          ? fmt::format("same bits in {}, other bits in {}", comparison.same_bits, comparison.other_bits)
          : fmt::format("seeds {} and {} give other values: bits not compared", a.seed, b.seed);
  fmt::print("{} ({}) and {} ({}): {} cases in both; {}; classes '{}' and '{}'\n", a.device.name,
             a.device.driver_version, b.device.name, b.device.driver_version, comparison.cases, bits,
             a.device.numeric_class(), b.device.numeric_class());
  return comparison.failed();
}

void compare(const CompareArguments& arguments) {
  std::vector<suite::Report> reports;
  for (const std::string& path : arguments.reports)
    reports.push_back(value_or_exit(suite::read_report(path)));
  bool failed = false;
  for (std::size_t i = 0; i < reports.size(); ++i)
    for (std::size_t j = i + 1; j < reports.size(); ++j) failed = differ(reports[i], reports[j]) || failed;
  if (!arguments.html.empty()) {
    value_or_exit(suite::write_file(arguments.html, suite::to_html(reports)));
    fmt::print("wrote {}\n", arguments.html);
  }
  if (failed) throw_failure("the reports disagree where they must not");
}

}  // namespace

void add_conformance_command(CLI::App& application) {
  auto arguments = std::make_shared<ConformanceArguments>();
  CLI::App* command = application.add_subcommand(
      "conformance", "Check that a device computes what Halyard promises, against exact arithmetic");
  command->add_option("-d,--device", arguments->device,
                      "Device URI (default: HALYARD_DEVICE, else the best found)");
  command->add_option("--against", arguments->against, "Another device that must give the same bits");
  command
      ->add_option("--plugin", arguments->plugin,
                   "A backend to load: libhalyard_NAME.so; its device is the default")
      ->check(CLI::ExistingFile);
  command->add_option("--suite", arguments->suites, "One of the suites below; repeatable (default: all)");
  command->add_option("--filter", arguments->filters,
                      "Cases whose name contains this, or matches it if it holds a *; repeatable");
  command->add_option("--case", arguments->names, "Exactly this case, listed or not; repeatable");
  command->add_option("--model", arguments->models, "An ONNX model for the models suite; repeatable")
      ->check(CLI::ExistingFile);
  command
      ->add_option("--onnx-tests", arguments->onnx_tests,
                   "A folder of ONNX's node tests for the onnx suite: folders test_NAME")
      ->check(CLI::ExistingDirectory);
  command->add_option("--seed", arguments->seed, "Decides all random values (default 1)");
  command->add_option("--json", arguments->json, "Write the whole report here");
  command->add_option("--junit", arguments->junit, "Write JUnit's XML here");
  command->add_option("--html", arguments->html, "Write a page to read here");
  command->add_flag("--fast", arguments->fast, "The part that fits into continuous integration");
  command->add_flag("--list", arguments->list, "Name the cases and run none");
  command->add_flag("--fail-fast", arguments->fail_fast, "Stop at the first failure");
  command->add_flag("--no-shrink", arguments->no_shrink, "Do not look for the least case that fails");
  std::string footer = "Suites:\n";
  for (const suite::Suite& each : suite::suites()) footer += fmt::format("  {:<10}{}\n", each.name, each.doc);
  command->footer(
      footer +
      "\nExample: halyard conformance --device vulkan:0 --against cpu --json vulkan.json --html vulkan.html");

  auto compared = std::make_shared<CompareArguments>();
  CLI::App* comparison =
      command->add_subcommand("compare", "Compare reports, each with each; no device is needed");
  comparison->add_option("reports", compared->reports, "A.json B.json …")->required()->expected(2, 64);
  comparison->add_option("--html", compared->html, "Write all side by side here");
  comparison->callback([compared] { compare(*compared); });
  command->callback([arguments, command] {
    if (command->get_subcommands().empty()) run(*arguments);
  });
}

}  // namespace halyard::tools
