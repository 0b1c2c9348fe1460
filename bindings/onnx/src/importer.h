#pragma once

#include <halyard/ops/graph_builder.h>
#include <halyard/ops/term.h>
#include <onnx/onnx_pb.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "contents.h"

namespace halyard::onnx {

using ops::NodeId;
using ops::Primitive;
using ops::Term;
using Axes = std::vector<std::int64_t>;
using Extents = std::vector<std::int64_t>;
/// What an operator's importer gives: a node per result.
using Results = Result<std::vector<NodeId>>;

class Importer;

/// The attributes of one node, typed. A missing one gives the default; one of another type is `corrupt_data`.
class NodeAttributes {
 public:
  explicit NodeAttributes(const ::onnx::NodeProto& node) : node_(node) {}
  bool has(std::string_view name) const { return find(name) != nullptr; }
  Result<std::int64_t> integer(std::string_view name, std::int64_t otherwise) const;
  Result<double> number(std::string_view name, double otherwise) const;
  Result<std::string> text(std::string_view name, const std::string& otherwise) const;
  Result<std::vector<std::int64_t>> integers(std::string_view name,
                                             std::vector<std::int64_t> otherwise = {}) const;
  Result<std::vector<double>> numbers(std::string_view name) const;
  /// Null if there is none.
  Result<const ::onnx::TensorProto*> tensor(std::string_view name) const;
  /// Null if there is none.
  Result<const ::onnx::GraphProto*> graph(std::string_view name) const;

 private:
  const ::onnx::AttributeProto* find(std::string_view name) const;
  Result<const ::onnx::AttributeProto*> find(std::string_view name,
                                             ::onnx::AttributeProto::AttributeType type) const;
  const ::onnx::NodeProto& node_;
};

/// What an operator's importer sees: the node with its operands resolved, and the graph to append to.
struct ImportContext {
  Importer& importer;
  ops::GraphBuilder& builder;
  const ::onnx::NodeProto& node;
  NodeAttributes attributes;
  std::int64_t opset;
  std::vector<std::optional<NodeId>> operands;  ///< empty for an omitted optional operand

  Result<NodeId> operand(std::size_t number) const;
  bool has(std::size_t number) const { return number < operands.size() && operands[number].has_value(); }
  /// Operand `number` for a formula.
  Term term(std::size_t number) const { return {builder, operand(number)}; }
  ElementType element(std::size_t number) const { return builder.element(*operands[number]); }
  const ops::Shape& shape(std::size_t number) const { return builder.shape(*operands[number]); }
  std::size_t rank(std::size_t number) const { return shape(number).rank(); }
  /// The value of an operand that must be known when the graph is built (axes, shapes, …).
  Result<ops::HostTensor> known(std::size_t number) const;
  Result<std::vector<std::int64_t>> known_integers(std::size_t number) const;
  /// An operand of one element that must be known, or `otherwise` if it is omitted.
  Result<double> known_number(std::size_t number, double otherwise) const;
  /// The same for a whole number below 2^53 in magnitude.
  Result<std::int64_t> known_integer(std::size_t number, std::int64_t otherwise) const;
  /// Axes given as attribute `axes` in old versions and as operand `number` in new ones.
  Result<std::vector<std::int64_t>> axes(std::size_t number) const;
};

using Import = Results (*)(ImportContext&);

/// One row per operator: adding an operator is adding a row.
struct OperatorRow {
  std::string_view name;
  Import import;
  std::uint16_t min_operands = 1;
  std::string_view domain = {};  ///< empty for the default one, ai.onnx
};

/// A row's importer of its own file.
Results einsum(ImportContext& context);

/// Null for an operator the reader lacks.
const OperatorRow* find_operator(std::string_view domain, std::string_view name);
// By kind, a file each.
std::vector<OperatorRow> activation_operators();
std::vector<OperatorRow> control_operators();
std::vector<OperatorRow> elementwise_operators();
std::vector<OperatorRow> indexing_operators();
std::vector<OperatorRow> loss_operators();
std::vector<OperatorRow> movement_operators();
std::vector<OperatorRow> normalization_operators();
std::vector<OperatorRow> other_operators();
std::vector<OperatorRow> quantization_operators();
std::vector<OperatorRow> recurrent_operators();
std::vector<OperatorRow> reduction_operators();
std::vector<OperatorRow> resize_operators();
std::vector<OperatorRow> sampling_operators();
std::vector<OperatorRow> signal_operators();
std::vector<OperatorRow> text_operators();
std::vector<OperatorRow> training_operators();
std::vector<OperatorRow> window_operators();

/// One node's value as the single result of an importer.
inline Results one(Result<NodeId> result) {
  if (!result) return tl::unexpected<Error>(std::move(result).error());
  return std::vector{*result};
}

inline Results one(const Term& result) {
  return one(result.node());
}

/// Builds one ops::Graph from a model for given input shapes.
class Importer {
 public:
  explicit Importer(const Model::Contents& model) : model_(model), builder_(graph_) {}
  /// The outputs of a node's own graph, which sees `inputs` by its inputs' names and the values defined so
  /// far; its own are forgotten afterwards.
  Results branch(const ::onnx::GraphProto& graph, const std::vector<NodeId>& inputs);
  Result<ops::Graph> run(const InputShapes& shapes, const FixedInputs& fixed);

 private:
  Status declare_inputs(const InputShapes& shapes, const FixedInputs& fixed);
  Status import_node(const ::onnx::NodeProto& node, std::size_t position);
  Result<NodeId> lookup(const std::string& name);
  /// If everything the new nodes need is constant, computes `id` and makes it a constant.
  Result<NodeId> fold(NodeId id, std::size_t first_new);

  const Model::Contents& model_;
  ops::Graph graph_;
  ops::GraphBuilder builder_;
  std::map<std::string, NodeId> values_;
  std::map<const ::onnx::TensorProto*, NodeId> branch_constants_;  ///< read once, however often they run
  std::int64_t imported_in_branches_ = 0;                          ///< nodes, counted as often as they run
  std::set<std::string_view> used_;  ///< what some node or the graph's outputs name
};

}  // namespace halyard::onnx
