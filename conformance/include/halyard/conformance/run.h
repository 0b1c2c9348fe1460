#pragma once

#include <halyard/conformance/exceptions.h>
#include <halyard/conformance/report.h>
#include <halyard/conformance/suite.h>
#include <functional>
#include <string>
#include <vector>

namespace halyard::conformance {

struct RunOptions {
  std::vector<std::string> suites;  ///< empty: all
  /// Cases whose name contains one of these; a pattern with * must match the whole name. Empty: all.
  std::vector<std::string> filters;
  /// Exactly the cases of these names, listed or not. Empty: what suites and filters select.
  std::vector<std::string> names;
  bool fast = false;           ///< only the cases marked so
  bool stop_at_first = false;  ///< the cases after the first failure are not run and not reported
  bool shrink = true;          ///< look for the least case that fails as well
  std::vector<Exception> exceptions;
  std::string command = "halyard conformance";  ///< how a failure is repeated, options of the device included
  /// Called after each case, from the calling thread.
  std::function<void(const CaseReport&, std::size_t done, std::size_t total)> progress;
};

/// The cases that the options select, in order. `invalid_argument` names the nearest suite or what a name
/// lacks.
Result<std::vector<Case>> select(const Subject& subject, const RunOptions& options);

/// Runs them one after another. A case that throws or fails never ends the run; a lost device does, and the
/// cases left fail with that as their message.
Result<Report> run(const Subject& subject, const RunOptions& options);

}  // namespace halyard::conformance
