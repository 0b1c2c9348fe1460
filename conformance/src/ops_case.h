#pragma once

#include <halyard/base/result.h>
#include <halyard/conformance/suite.h>
#include <halyard/ops/graph.h>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// One primitive on given element types, shape, view and values: a plain value whose name says all of it, so
/// that a name makes the case again. `ops/<primitive>/<element>[-<to>]/<shape>/<form>/<values>`.
namespace halyard::conformance {

/// How operands lie in memory, or which axes an operation works along.
struct OpsCase {
  ops::Primitive primitive = ops::Primitive::add;
  ElementType element = ElementType::f32;
  std::optional<ElementType> to;    ///< cast, bitcast; argmax, argmin: the index; take: the indices' type
  std::vector<std::int64_t> shape;  ///< of the first operand; dot_general: [batch,] m, k, n
  std::string form = "plain";  ///< a view ("transposed"), or axes ("axes0", "axes02-keep"), see ops_forms.cpp
  std::string values = "ordinary";  ///< see `Values`

  /// Whether it belongs to the fast part of its suite.
  bool fast = false;

  std::string name() const;
  /// `invalid_argument` says what the name lacks.
  static Result<OpsCase> parse(std::string_view name);
};

/// A graph of one primitive with the views before it, its inputs, and the operands as the primitive sees
/// them.
struct BuiltCase {
  ops::Graph graph;
  std::vector<ops::HostTensor> inputs;
  ops::NodeId operation{};
  std::vector<ops::HostTensor> operands;
};
/// `seed` and the case's name decide the values. Without subnormals if `avoid_subnormals`.
Result<BuiltCase> build(const OpsCase& description, std::uint64_t seed, bool avoid_subnormals);

/// The cases that the suite lists, for every row of the table.
std::vector<OpsCase> listed_ops_cases();
/// The same case at smaller shapes, the smallest first.
std::vector<OpsCase> smaller_ops_cases(const OpsCase& description);

}  // namespace halyard::conformance
