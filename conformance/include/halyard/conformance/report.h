#pragma once

#include <halyard/conformance/suite.h>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halyard::conformance {

/// One case as a report keeps it.
struct CaseReport {
  std::string name, suite, operation, element;
  Outcome outcome;
  double seconds = 0;
  std::string repeat;  ///< the command that runs this case alone; failures only
};

/// What one run found: everything that its JSON holds (docs/conformance.md describes the schema).
struct Report {
  struct DeviceLine {
    std::string uri, name, backend, driver, driver_version, architecture;
    bool emulated = false;
    std::string fma;         ///< "fused", "unfused"
    std::string subnormals;  ///< "kept", "flushed"
    /// Devices of one class agree to the bit: "fused", "unfused", "unfused, flushes subnormals".
    std::string numeric_class() const;
  };
  std::string halyard_version;
  std::string started;  ///< UTC, ISO 8601
  double seconds = 0;
  std::uint64_t seed = 1;
  DeviceLine device;
  std::optional<DeviceLine> against;
  std::vector<CaseReport> cases;

  std::size_t count(Verdict verdict) const;
  /// Whether a case failed, or an exception is stale.
  bool failed() const;
  /// The suites that have cases here, in the order of their first case; another version's among them.
  std::vector<std::string> suite_names() const;
};

/// What a report says of a device. A fact that is not probed counts as "unfused" or "flushed".
Report::DeviceLine describe(const hal::DeviceInfo& info);

/// The keys stand in one fixed order; an infinite error is the text "inf".
std::string to_json(const Report& report);
/// `invalid_argument` names the field at fault; no text, however hostile, makes it throw.
Result<Report> from_json(std::string_view text);
/// JUnit's XML, one test suite per suite: what continuous integration shows. Valid XML 1.0 whatever the
/// report says: bytes that are no UTF-8 and characters that XML forbids are left out.
std::string to_junit(const Report& report);
/// One page without outside parts: a matrix of operations × element types × devices, the errors as fractions
/// of their bounds, every failure with its repeat command. Reports of several devices stand side by side.
std::string to_html(std::span<const Report> reports);

/// What two reports of the same cases say about each other; neither device need be present.
struct Comparison {
  struct Difference {
    std::string name;
    std::string what;     ///< "verdict: passed, failed", "bits differ", "only in the first"
    bool counts = false;  ///< whether it is a failure: other bits within one class, or another verdict
  };
  std::size_t cases = 0;  ///< in both
  std::size_t same_bits = 0;
  std::size_t other_bits = 0;
  bool same_class = false;
  bool same_seed = false;  ///< else the cases have other values, and bits are not compared
  std::vector<Difference> differences;
  bool failed() const;
};
Comparison compare(const Report& a, const Report& b);

/// Written whole or not at all: to a temporary file that is then renamed. What exists and is no regular file
/// (a folder, a device) is refused. `io_error` names the path and the cause.
Status write_file(const std::filesystem::path& path, std::string_view text);
/// Whether it looks as if `write_file` could: asked before a long run, so that its report is not lost.
Status check_writable(const std::filesystem::path& path);
/// The whole text. `not_found` or `io_error`.
Result<std::string> read_file(const std::filesystem::path& path);
/// `not_found` or `io_error` for the file, `invalid_argument` for what is in it.
Result<Report> read_report(const std::filesystem::path& path);

}  // namespace halyard::conformance
