#pragma once

#include <halyard/base/result.h>
#include <halyard/fusion/executable.h>
#include <halyard/hal/device_info.h>
#include <halyard/ops/graph.h>
#include <halyard/ops/host_tensor.h>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Conformance: whether a device computes what Halyard promises. Cases are listed, run one by one on a device
/// through public interfaces alone, and judged against oracles that no backend has a part in.
namespace halyard::conformance {

/// What a case found.
enum class Verdict : std::uint8_t {
  passed,
  failed,
  unsupported,       ///< the device says that it cannot do this (an element type, a size): no fault
  expected_failure,  ///< failed, as an exception beside the backend says it does
  stale_exception,   ///< passed, although an exception says that it fails: the exception must go
};
std::string_view name(Verdict verdict);
std::optional<Verdict> parse_verdict(std::string_view text);
/// Whether a run with this verdict in it has failed.
constexpr bool is_failure(Verdict verdict) {
  return verdict == Verdict::failed || verdict == Verdict::stale_exception;
}

/// The outcome of one case on one device.
struct Outcome {
  Verdict verdict = Verdict::passed;
  std::string message;  ///< what is wrong, or why it is unsupported; empty if passed
  /// The largest error as a fraction of what is allowed (1 is the bound itself), where the case has a bound.
  std::optional<double> error;
  /// Of the outputs' bits with NaNs made equal: two devices of one class must agree. Empty if nothing was
  /// computed.
  std::string hash;

  static Outcome fail(std::string message) { return {Verdict::failed, std::move(message), {}, {}}; }
  static Outcome unsupported(std::string message) {
    return {Verdict::unsupported, std::move(message), {}, {}};
  }
};

/// A graph from outside that the models suite runs too.
struct Model {
  std::string name;
  ops::Graph graph;
};

/// A graph from outside with what it must give (of ONNX's node tests), or why there is none.
struct GivenCase {
  std::string name;
  Result<ops::Graph> graph;
  std::vector<ops::HostTensor> inputs, expected;
};

/// The device under test, with what cases need beside it.
struct Subject {
  std::shared_ptr<fusion::Compiler> compiler;
  /// The device to compare bits with; absent in suites that do not.
  std::shared_ptr<fusion::Compiler> against;
  std::uint64_t seed = 1;  ///< decides all random values, together with the case's name
  std::vector<Model> models;
  std::vector<GivenCase> given;

  const hal::DeviceInfo& info() const { return compiler->device()->info(); }
};

/// One fact to be checked. `name` says all that is needed to make the case again:
/// "ops/exp/f32/33x7/transposed".
struct Case {
  std::string name;
  std::string suite;
  std::string operation;  ///< what the report's rows are: a primitive, a pattern, an object
  std::string element;    ///< the element type, where it has one
  std::function<Outcome(const Subject&)> run;
  /// Smaller cases that test the same, to find the least one that fails; empty if there is none.
  std::function<std::vector<Case>()> smaller;
  /// In the part of the suite that fits into continuous integration: see `--fast` in docs/conformance.md.
  bool fast = true;
};

/// A family of cases.
struct Suite {
  std::string_view name;
  std::string_view doc;  ///< what it checks, in a line
  /// The cases for a device, in a fixed order.
  std::vector<Case> (*cases)(const Subject&);
  /// The case of that name, listed or not; `invalid_argument` says what the name lacks.
  Result<Case> (*parse)(std::string_view name, const Subject&);
};
/// All suites, in the order in which they run.
const std::vector<Suite>& suites();

}  // namespace halyard::conformance
