#pragma once

#include <halyard/ops/graph_builder.h>
#include <cstdint>
#include <vector>

/// Reading and writing at computed places, and sorting: compositions of `take`, the scatters and `argsort`,
/// whose rules for indices hold (negative ones count from the end; what is outside is clamped when read,
/// dropped when written). Indices are i32 or i64.
namespace halyard::ops {

/// x at `indices` along `axis`, apart for each row: result[…, i, …] = x[…, indices[…, i, …], …]. The indices
/// have x's rank and at most its extents on the other axes.
Result<NodeId> take_along(GraphBuilder&, NodeId x, NodeId indices, std::int64_t axis);
/// x at the positions that the last axis of `indices` [b…, n…, k] holds, k axes after the first `batch_axes`,
/// which both have: [b…, n…, the rest of x's axes].
Result<NodeId> gather_nd(GraphBuilder&, NodeId x, NodeId indices, std::int64_t batch_axes = 0);
/// The opposite of `take_along`, with any scatter: the base, and where `indices` say along `axis` the
/// updates, which have the indices' shape.
Result<NodeId> scatter_along(GraphBuilder&, Primitive scatter, NodeId base, NodeId indices, NodeId updates,
                             std::int64_t axis);
/// The opposite of `gather_nd`, with any scatter: `updates` [n…, the rest of the base's axes] at the
/// positions in `indices` [n…, k].
Result<NodeId> scatter_nd(GraphBuilder&, Primitive scatter, NodeId base, NodeId indices, NodeId updates);

/// x in ascending order along `axis`, or in descending: NaN counts as the greatest.
Result<NodeId> sort(GraphBuilder&, NodeId x, std::int64_t axis, bool descending = false);
struct TopK {
  NodeId values, indices;
};
/// The k greatest (or least) elements along `axis`, in order, and their indices; of equal ones the first.
/// `invalid_argument` if there are fewer.
Result<TopK> top_k(GraphBuilder&, NodeId x, std::int64_t k, std::int64_t axis, bool greatest = true,
                   ElementType index = ElementType::i64);

enum class PadMode : std::uint8_t {
  edge,     ///< the first and the last element, repeated
  reflect,  ///< mirrored at the first and the last element, which are not repeated
  wrap,     ///< from the other end
};
/// x with `before` and `after` more elements along each axis, taken from x itself. Reflected ones must be
/// fewer than the extent; an empty axis has none to take.
Result<NodeId> pad_from(GraphBuilder&, NodeId x, std::vector<std::int64_t> before,
                        std::vector<std::int64_t> after, PadMode mode);

}  // namespace halyard::ops
