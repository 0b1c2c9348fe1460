#pragma once

#include <halyard/ops/graph.h>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

namespace halyard::ops {

/// Appends primitives to a `Graph` with NumPy's conveniences: shapes are broadcast (by explicit `broadcast`
/// nodes), axes may count from the end, trivial views (a reshape to the same shape) add no node. Types are
/// never promoted silently: mixing f32 with f16 is an error that names `cast`. Not thread-safe.
class GraphBuilder {
 public:
  explicit GraphBuilder(Graph& graph) : graph_(graph) {}

  Graph& graph() { return graph_; }
  const Node& node(NodeId id) const { return graph_.node(id); }
  const Shape& shape(NodeId id) const { return graph_.node(id).shape; }
  ElementType element(NodeId id) const { return graph_.node(id).element; }

  // ---- sources
  Result<NodeId> input(std::string name, ElementType element, const Shape& shape) {
    return graph_.input(std::move(name), element, shape);
  }
  NodeId constant(HostTensor value, std::string name = {}) {
    return graph_.constant(std::move(value), std::move(name));
  }
  /// A rank-0 constant.
  NodeId scalar(ElementType element, double value);
  /// `value` in every element of `shape`.
  Result<NodeId> full(ElementType element, const Shape& shape, double value);
  /// 0, 1, 2, … along `axis`.
  Result<NodeId> iota(ElementType element, const Shape& shape, std::int64_t axis);

  // ---- elementwise
  /// Any elementwise primitive; operands are broadcast to their common shape.
  Result<NodeId> elementwise(Primitive primitive, std::span<const NodeId> operands,
                             Attributes attributes = {});
  Result<NodeId> unary(Primitive primitive, NodeId a);
  Result<NodeId> binary(Primitive primitive, NodeId a, NodeId b);
  /// The second operand is the constant `b` in a's type.
  Result<NodeId> binary(Primitive primitive, NodeId a, double b);
  Result<NodeId> select(NodeId condition, NodeId a, NodeId b);
  Result<NodeId> clamp(NodeId a, NodeId low, NodeId high);
  /// The node itself if it has that type already.
  Result<NodeId> cast(NodeId a, ElementType to);
  Result<NodeId> bitcast(NodeId a, ElementType to);

  // ---- movement
  /// One extent may be −1: it is computed.
  Result<NodeId> reshape(NodeId a, std::vector<std::int64_t> shape);
  Result<NodeId> permute(NodeId a, std::vector<std::int64_t> axes);
  /// Exchanges two axes.
  Result<NodeId> transpose(NodeId a, std::int64_t axis_a, std::int64_t axis_b);
  Result<NodeId> broadcast(NodeId a, const Shape& shape);
  /// Inserts axes of extent 1 at these positions of the result.
  Result<NodeId> unsqueeze(NodeId a, std::vector<std::int64_t> axes);
  /// Removes axes of extent 1 (all of them if `axes` is empty).
  Result<NodeId> squeeze(NodeId a, std::vector<std::int64_t> axes);
  /// Elements start, start + step, … below (for negative steps: above) stop along `axis`, with Python's
  /// clamping; a negative step adds a `reverse`.
  Result<NodeId> slice_axis(NodeId a, std::int64_t axis, std::optional<std::int64_t> start,
                            std::optional<std::int64_t> stop, std::int64_t step = 1);
  Result<NodeId> pad(NodeId a, std::vector<std::int64_t> before, std::vector<std::int64_t> after,
                     double value);
  Result<NodeId> concat(std::span<const NodeId> parts, std::int64_t axis);
  Result<NodeId> reverse(NodeId a, std::vector<std::int64_t> axes);

  /// Windows of `extents` elements along `axes` (ascending), `steps` apart, their elements `dilations` apart
  /// (each 1 if empty); the window axes come last.
  Result<NodeId> windows(NodeId a, std::vector<std::int64_t> axes, std::vector<std::int64_t> extents,
                         std::vector<std::int64_t> steps = {}, std::vector<std::int64_t> dilations = {});

  // ---- gather, scatter, sort
  /// Rows of `a` along `axis` (see `take` in the table).
  Result<NodeId> take(NodeId a, NodeId indices, std::int64_t axis);

  /// Any scatter: base [b…, d, i…], indices [b…, u], updates [b…, u, i…], d being `axis` (see `scatter_set`
  /// in the table).
  Result<NodeId> scatter(Primitive primitive, NodeId base, NodeId indices, NodeId updates, std::int64_t axis);
  Result<NodeId> argsort(NodeId a, std::int64_t axis, bool descending = false,
                         ElementType index = ElementType::i64);

  // ---- reductions
  /// Any reduction; all axes if `axes` is empty. An empty set of axes after that (rank 0) gives `a`.
  Result<NodeId> reduce(Primitive primitive, NodeId a, std::vector<std::int64_t> axes,
                        bool keep_dims = false);
  Result<NodeId> argument(Primitive primitive, NodeId a, std::int64_t axis, bool keep_dims = false,
                          ElementType index = ElementType::i64);
  /// Any scan: `cumulative_sum` and the like.
  Result<NodeId> cumulative(Primitive primitive, NodeId a, std::int64_t axis, bool exclusive = false);
  Result<NodeId> cumulative_sum(NodeId a, std::int64_t axis, bool exclusive = false) {
    return cumulative(Primitive::cumulative_sum, a, axis, exclusive);
  }

  // ---- contraction
  Result<NodeId> dot_general(NodeId a, NodeId b, DotDimensions dimensions,
                             std::optional<ElementType> result = std::nullopt);
  /// NumPy's matmul: rank-1 operands are vectors, leading axes are batch axes and broadcast.
  Result<NodeId> matmul(NodeId a, NodeId b);

 private:
  Graph& graph_;
};

}  // namespace halyard::ops
