#include <halyard/conformance/run.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <halyard/hal/device.h>
#include <halyard/hal/nearest_name.h>
#include <chrono>
#include <exception>
#include <set>

#include "selection.h"

namespace halyard::conformance {
namespace {

Result<const Suite*> find_suite(std::string_view name) {
  std::vector<std::string> names;
  for (const Suite& suite : suites()) {
    if (suite.name == name) return &suite;
    names.emplace_back(suite.name);
  }
  const std::string nearest = hal::nearest_name(name, names);
  return fail(ErrorCode::invalid_argument,
              fmt::format("'{}' is no suite{}; there are {}", name,
                          nearest.empty() ? "" : fmt::format(": did you mean '{}'?", nearest),
                          fmt::join(names, ", ")));
}

Result<std::vector<Case>> named(const Subject& subject, const std::vector<std::string>& names) {
  std::vector<Case> cases;
  for (const std::string& name : names) {
    HALYARD_ASSIGN(const Suite* suite, find_suite(std::string_view(name).substr(0, name.find('/'))));
    HALYARD_ASSIGN(Case each, suite->parse(name, subject));
    cases.push_back(std::move(each));
  }
  return cases;
}

/// A case's own code may throw (the library it tests does not).
Outcome run_guarded_from_throws(const Case& each, const Subject& subject) {
  try {
    return each.run(subject);
  } catch (const std::exception& problem) {
    return Outcome::fail(fmt::format("threw: {}", problem.what()));
  }
}

/// The name of the least case that fails too, or nothing.
std::string shrunk(const Case& failed, const Subject& subject) {
  if (!failed.smaller) return {};
  for (const Case& smaller : failed.smaller())
    if (run_guarded_from_throws(smaller, subject).verdict == Verdict::failed) return smaller.name;
  return {};
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

CaseReport run_one(const Case& each, const Subject& subject, const RunOptions& options) {
  CaseReport report{each.name, each.suite, each.operation, each.element, {}, 0, {}};
  const auto begin = std::chrono::steady_clock::now();
  const Status alive = subject.compiler->device()->status();
  report.outcome =
      alive ? run_guarded_from_throws(each, subject) : Outcome::fail("not run: " + alive.error().message);
  report.outcome = apply(options.exceptions, each.name, std::move(report.outcome));
  if (is_failure(report.outcome.verdict)) {
    std::string least;
    if (options.shrink && alive && report.outcome.verdict == Verdict::failed) least = shrunk(each, subject);
    if (!least.empty()) report.outcome.message += fmt::format("; fails at {} too", least);
    report.repeat = fmt::format("{} --seed {} --case {}", options.command, subject.seed,
                                least.empty() ? each.name : least);
  }
  report.seconds = seconds_since(begin);
  return report;
}

}  // namespace

Result<std::vector<Case>> select(const Subject& subject, const RunOptions& options) {
  if (!options.names.empty()) return named(subject, options.names);
  std::set<std::string_view> wanted;
  for (const std::string& name : options.suites) {
    HALYARD_ASSIGN(const Suite* suite, find_suite(name));
    wanted.insert(suite->name);
  }
  std::vector<Case> cases;
  for (const Suite& suite : suites()) {
    if (!wanted.empty() && !wanted.contains(suite.name)) continue;
    for (Case& each : suite.cases(subject))
      if ((each.fast || !options.fast) && taken_by(options.filters, each.name))
        cases.push_back(std::move(each));
  }
  if (cases.empty())
    return fail(ErrorCode::invalid_argument,
                fmt::format("no case matches '{}'; `halyard conformance --list` names them all",
                            fmt::join(options.filters, ", ")));
  return cases;
}

Result<Report> run(const Subject& subject, const RunOptions& options) {
  HALYARD_ASSIGN(std::vector<Case> cases, select(subject, options));
  Report report;
  report.halyard_version = HALYARD_VERSION;
  report.started = utc_now();
  report.seed = subject.seed;
  report.device = describe(subject.info());
  if (subject.against) report.against = describe(subject.against->device()->info());
  const auto begin = std::chrono::steady_clock::now();
  for (const Case& each : cases) {
    report.cases.push_back(run_one(each, subject, options));
    if (options.progress) options.progress(report.cases.back(), report.cases.size(), cases.size());
    if (options.stop_at_first && is_failure(report.cases.back().outcome.verdict)) break;
  }
  report.seconds = seconds_since(begin);
  return report;
}

}  // namespace halyard::conformance
