#pragma once

#include <halyard/conformance/report.h>
#include <halyard/fusion/executable.h>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Performance: what part of its own measured ceilings a device reaches, operation by operation, and how
/// evenly several devices do (performance parity, after S. J. Pennycook, J. D. Sewall, V. W. Lee, "A metric
/// for performance portability", 2016: the harmonic mean over devices, 0 where one fails).
namespace halyard::conformance {

/// A graph whose speed is measured. Its name says suite, operation and shape: "ops/softmax/4096x1024".
struct Benchmark {
  std::string name, suite, operation;
  std::function<ops::Graph()> graph;
  std::int64_t indices = 2;  ///< integer inputs hold numbers below this
};
/// The suites "ops", "models" and "parity", in order; the last is small enough for software drivers.
const std::vector<Benchmark>& benchmarks();

/// What was found of one benchmark on one device. Times in seconds.
struct BenchmarkResult {
  std::string name, suite, operation;
  Verdict verdict = Verdict::passed;  ///< failed: other bits than the same graph has unfused
  std::string message;
  double seconds = 0;        ///< of a replay on tensors in device memory, the median
  double least_seconds = 0;  ///< the shortest replay
  std::uint32_t replays = 0;
  std::uint32_t launches = 0;
  std::uint64_t bytes = 0;                      ///< that the kernels move, as planned
  std::uint64_t bytes_fewest = 0;               ///< each input and weight read once, each output written once
  double flops = 0;                             ///< of the operations themselves; a multiply-add counts 2
  double ceiling_seconds = 0;                   ///< what the device's ceilings allow
  fusion::Bound bound = fusion::Bound::launch;  ///< the ceiling that counts
  /// `ceiling_seconds` over `seconds`; 0 for a result that is wrong or none.
  double fraction = 0;
};

/// What one device reached.
struct PerformanceReport {
  std::string halyard_version;
  std::string started;  ///< UTC, ISO 8601
  double seconds = 0;
  Report::DeviceLine device;
  hal::Measurements ceilings;
  std::vector<BenchmarkResult> results;
};

/// How evenly devices do in one operation: over the fractions of all benchmarks of that name.
struct Parity {
  std::string name;
  std::vector<double> fractions;  ///< one per report; 0 where it failed; NaN where it has none
  double harmonic_mean = 0, least = 0, most = 0;
};
/// Of the benchmarks that every report has a result for (an unsupported one is none).
std::vector<Parity> parity_of(std::span<const PerformanceReport> reports);

struct BenchmarkOptions {
  std::vector<std::string> suites;   ///< none: all
  std::vector<std::string> filters;  ///< as of `RunOptions`
  std::vector<Model> models;         ///< measured too, in the suite "models"
  double least_seconds = 0.5;        ///< for which each benchmark is replayed at least
  /// Called after each; `done` of `total`.
  std::function<void(const BenchmarkResult&, std::size_t done, std::size_t total)> progress;
};
/// Measures on the compiler's device. Correct bits are those of the same graph unfused, on `judge` (a device
/// that computes in this one's class; it may be the same). `invalid_argument` if nothing is selected,
/// `unsupported` for an emulated device, which has no performance.
Result<PerformanceReport> measure_performance(const std::shared_ptr<fusion::Compiler>& compiler,
                                              const std::shared_ptr<fusion::Compiler>& judge,
                                              const BenchmarkOptions& options);

/// What must not have become slower.
struct Regression {
  std::string device, name;
  double before = 0, now = 0;  ///< fractions
};
/// Where a fraction fell by more than `allowed` (0.1 is a tenth) against the report of the same device
/// (backend, name, driver version) in `baseline`. Benchmarks that only one of them has do not count.
std::vector<Regression> regressions(std::span<const PerformanceReport> baseline,
                                    std::span<const PerformanceReport> now, double allowed);

/// Stable: keys are only added. Several devices in one file.
std::string to_json(std::span<const PerformanceReport> reports);
/// `invalid_argument` names the field at fault.
Result<std::vector<PerformanceReport>> performance_from_json(std::string_view text);
/// `not_found` or `io_error` for the file, `invalid_argument` for what is in it.
Result<std::vector<PerformanceReport>> read_performance(const std::filesystem::path& path);
/// One page without outside parts: ceilings, fractions by operation and device with parity, bytes and
/// launches.
std::string to_html(std::span<const PerformanceReport> reports);

}  // namespace halyard::conformance
