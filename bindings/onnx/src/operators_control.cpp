#include <fmt/format.h>

#include <algorithm>

#include "importer.h"

/// Branches and loops, read as what they do: one branch, or the body as often as it runs. So conditions and
/// trip counts must be known when the graph is built.
namespace halyard::onnx {
namespace {

/// More iterations would make graphs that nobody waits for.
constexpr std::int64_t longest = 512;

/// Row `i` of x along `axis`, which goes.
Result<NodeId> element_of(ops::GraphBuilder& builder, NodeId x, std::int64_t axis, std::int64_t i) {
  HALYARD_ASSIGN(NodeId row, builder.slice_axis(x, axis, i, i + 1));
  return builder.squeeze(row, {axis});
}

/// The tensors one behind the other along a new axis.
Result<NodeId> stacked(ops::GraphBuilder& builder, const std::vector<NodeId>& parts, std::int64_t axis) {
  if (parts.empty())
    return fail(ErrorCode::unsupported, "no iteration runs, so the extents of what it collects are unknown");
  HALYARD_ASSIGN(axis, ops::normalize_axis(axis, builder.shape(parts[0]).rank() + 1));
  std::vector<NodeId> rows;
  for (NodeId part : parts) {
    HALYARD_ASSIGN(NodeId row, builder.unsqueeze(part, {axis}));
    rows.push_back(row);
  }
  return builder.concat(rows, axis);
}

Results either_branch(ImportContext& c) {
  HALYARD_ASSIGN(double condition, c.known_number(0, 0));
  HALYARD_ASSIGN(const ::onnx::GraphProto* branch,
                 c.attributes.graph(condition != 0 ? "then_branch" : "else_branch"));
  if (branch == nullptr) return fail(ErrorCode::corrupt_data, "a branch is missing");
  return c.importer.branch(*branch, {});
}

/// What a body's iterations leave: the state of the last, and what each of them collected.
struct Iterations {
  std::vector<NodeId> state;
  std::vector<std::vector<NodeId>> collected;  ///< [collected output][iteration]

  /// Takes what an iteration gave: the new state from `first` on, then what it collects.
  Status take(const std::vector<NodeId>& results, std::size_t first) {
    const std::size_t states = state.size();
    if (results.size() < first + states ||
        (!collected.empty() && results.size() != first + states + collected.size()))
      return fail(ErrorCode::corrupt_data,
                  fmt::format("its body gives {} results, for {} states", results.size(), states));
    collected.resize(results.size() - first - states);
    std::copy_n(results.begin() + static_cast<std::ptrdiff_t>(first), states, state.begin());
    for (std::size_t i = 0; i < collected.size(); ++i) collected[i].push_back(results[first + states + i]);
    return {};
  }
};

/// Operands: trip count, condition (either may be omitted), state. The body: iteration, condition, state →
/// condition, state, what is collected.
Results loop(ImportContext& c) {
  HALYARD_ASSIGN(const ::onnx::GraphProto* body, c.attributes.graph("body"));
  if (body == nullptr) return fail(ErrorCode::corrupt_data, "the body is missing");
  HALYARD_ASSIGN(const std::int64_t trips, c.known_integer(0, longest + 1));
  HALYARD_ASSIGN(double goes_on, c.known_number(1, 1));
  Iterations iterations;
  for (std::size_t i = 2; i < c.operands.size(); ++i) {
    HALYARD_ASSIGN(NodeId state, c.operand(i));
    iterations.state.push_back(state);
  }
  for (std::int64_t i = 0; i < trips && goes_on != 0; ++i) {
    if (i == longest)
      return fail(ErrorCode::unsupported, fmt::format("more than {} iterations are not read", longest));
    std::vector<NodeId> inputs{c.builder.scalar(ElementType::i64, static_cast<double>(i)),
                               c.builder.scalar(ElementType::boolean, 1)};
    inputs.insert(inputs.end(), iterations.state.begin(), iterations.state.end());
    HALYARD_ASSIGN(std::vector<NodeId> results, c.importer.branch(*body, inputs));
    HALYARD_TRY(iterations.take(results, 1));
    const std::shared_ptr<const ops::HostTensor> condition = c.builder.node(results[0]).value;
    if (!condition || condition->count() != 1)
      return fail(ErrorCode::unsupported,
                  fmt::format("whether iteration {} is the last depends on the values of the inputs", i));
    goes_on = condition->at(0);
  }
  // Without an iteration, the declared outputs tell how many are collected.
  if (iterations.collected.empty() && body->output_size() > static_cast<int>(iterations.state.size()) + 1)
    iterations.collected.resize(static_cast<std::size_t>(body->output_size()) - iterations.state.size() - 1);
  std::vector<NodeId> results = iterations.state;
  for (const auto& parts : iterations.collected) {
    HALYARD_ASSIGN(NodeId all, stacked(c.builder, parts, 0));
    results.push_back(all);
  }
  return results;
}

/// What a Scan says of its body's operands and results.
struct ScanAttributes {
  const ::onnx::GraphProto* body = nullptr;
  std::size_t scanned = 0;
  Extents axes, directions, result_axes, result_directions;

  static Result<ScanAttributes> read(const ImportContext& c) {
    ScanAttributes scan;
    HALYARD_ASSIGN(scan.body, c.attributes.graph("body"));
    HALYARD_ASSIGN(std::int64_t scanned, c.attributes.integer("num_scan_inputs", 0));
    HALYARD_ASSIGN(scan.axes, c.attributes.integers("scan_input_axes"));
    HALYARD_ASSIGN(scan.directions,
                   c.attributes.integers(c.opset < 9 ? "directions" : "scan_input_directions"));
    HALYARD_ASSIGN(scan.result_axes, c.attributes.integers("scan_output_axes"));
    HALYARD_ASSIGN(scan.result_directions, c.attributes.integers("scan_output_directions"));
    if (scan.body == nullptr || scanned < 1 || scanned > static_cast<std::int64_t>(c.operands.size()))
      return fail(ErrorCode::corrupt_data, fmt::format("{} scanned operands of {}, {} body", scanned,
                                                       c.operands.size(), scan.body ? "a" : "no"));
    scan.scanned = static_cast<std::size_t>(scanned);
    return scan;
  }
};

std::int64_t entry(const Extents& list, std::size_t i) {
  return i < list.size() ? list[i] : 0;
}

/// The body once per row of the scanned operands, which follow the state in `operands`.
Results scanned(ImportContext& c, const ScanAttributes& scan, const std::vector<NodeId>& operands) {
  const auto first = static_cast<std::ptrdiff_t>(operands.size() - scan.scanned);
  Iterations iterations{{operands.begin(), operands.begin() + first}, {}};
  const std::vector<NodeId> rows(operands.begin() + first, operands.end());
  Extents axes;
  std::int64_t length = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ops::Shape shape = c.builder.shape(rows[i]);
    HALYARD_ASSIGN(std::int64_t axis, ops::normalize_axis(entry(scan.axes, i), shape.rank()));
    axes.push_back(axis);
    const std::int64_t extent = shape[static_cast<std::size_t>(axis)];
    if (i == 0) length = extent;
    if (extent != length)
      return fail(ErrorCode::corrupt_data, fmt::format("scanned operands of {} and {} rows", length, extent));
  }
  if (length > longest)
    return fail(ErrorCode::unsupported, fmt::format("{} iterations; up to {} are read", length, longest));
  for (std::int64_t step = 0; step < length; ++step) {
    std::vector<NodeId> inputs = iterations.state;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::int64_t at = entry(scan.directions, i) ? length - 1 - step : step;
      HALYARD_ASSIGN(NodeId row, element_of(c.builder, rows[i], axes[i], at));
      inputs.push_back(row);
    }
    HALYARD_ASSIGN(std::vector<NodeId> results, c.importer.branch(*scan.body, inputs));
    HALYARD_TRY(iterations.take(results, 0));
  }
  if (length == 0)
    return fail(ErrorCode::unsupported, "no iteration runs, so the extents of what it collects are unknown");
  std::vector<NodeId> results = iterations.state;
  for (std::size_t i = 0; i < iterations.collected.size(); ++i) {
    std::vector<NodeId> parts = iterations.collected[i];
    if (entry(scan.result_directions, i)) std::reverse(parts.begin(), parts.end());
    HALYARD_ASSIGN(NodeId all, stacked(c.builder, parts, entry(scan.result_axes, i)));
    results.push_back(all);
  }
  return results;
}

/// Version 8 had a batch axis and perhaps lengths before the operands.
Results scan_of_batch(ImportContext& c, const ScanAttributes& scan) {
  if (c.has(0)) return fail(ErrorCode::unsupported, "sequence_lens is not supported");
  const std::int64_t batch = c.operands.size() > 1 && c.has(1) && c.rank(1) > 0 ? c.shape(1)[0] : 0;
  std::vector<std::vector<NodeId>> results;  // [result][batch]
  for (std::int64_t i = 0; i < batch; ++i) {
    std::vector<NodeId> operands;
    for (std::size_t k = 1; k < c.operands.size(); ++k) {
      HALYARD_ASSIGN(NodeId whole, c.operand(k));
      HALYARD_ASSIGN(NodeId own, element_of(c.builder, whole, 0, i));
      operands.push_back(own);
    }
    HALYARD_ASSIGN(std::vector<NodeId> own, scanned(c, scan, operands));
    results.resize(own.size());
    for (std::size_t k = 0; k < own.size(); ++k) results[k].push_back(own[k]);
  }
  std::vector<NodeId> all;
  for (const auto& parts : results) {
    HALYARD_ASSIGN(NodeId batched, stacked(c.builder, parts, 0));
    all.push_back(batched);
  }
  return all;
}

Results scan(ImportContext& c) {
  HALYARD_ASSIGN(ScanAttributes attributes, ScanAttributes::read(c));
  if (c.opset < 9) return scan_of_batch(c, attributes);
  std::vector<NodeId> operands;
  for (std::size_t i = 0; i < c.operands.size(); ++i) {
    HALYARD_ASSIGN(NodeId operand, c.operand(i));
    operands.push_back(operand);
  }
  return scanned(c, attributes, operands);
}

}  // namespace

std::vector<OperatorRow> control_operators() {
  return {{"If", either_branch}, {"Loop", loop, 0}, {"Scan", scan, 0}};
}

}  // namespace halyard::onnx
