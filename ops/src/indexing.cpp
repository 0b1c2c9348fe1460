#include <halyard/ops/indexing.h>

#include <fmt/format.h>
#include <halyard/ops/term.h>
#include <algorithm>
#include <limits>

namespace halyard::ops {
namespace {

using Extents = std::vector<std::int64_t>;

template <class... Arguments>
tl::unexpected<Error> invalid(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  return fail(ErrorCode::invalid_argument, fmt::format(format, std::forward<Arguments>(arguments)...));
}

Status require_indices(std::string_view operation, const GraphBuilder& b, NodeId indices) {
  const ElementType element = b.element(indices);
  if (element == ElementType::i32 || element == ElementType::i64) return {};
  return invalid("{}: indices are {}, not i32 or i64", operation, name(element));
}

/// The type that numbers of elements below `count` are computed in.
ElementType number_type(std::int64_t count) {
  return count <= std::numeric_limits<std::int32_t>::max() ? ElementType::i32 : ElementType::i64;
}

/// Indices into an axis of that extent with those from the end resolved; in `type`, clamped.
Term within(const Term& indices, std::int64_t extent, ElementType type) {
  GraphBuilder& b = indices.builder();
  const auto last = static_cast<double>(extent - 1);
  return indices
      .then([&](NodeId id) -> Result<NodeId> {
        HALYARD_ASSIGN(NodeId is_negative, b.binary(Primitive::lt, id, 0));
        HALYARD_ASSIGN(NodeId from_end, b.binary(Primitive::add, id, static_cast<double>(extent)));
        return b.select(is_negative, from_end, id);
      })
      .binary(Primitive::max, 0)
      .binary(Primitive::min, last)
      .cast(type);
}

/// Whether indices that may count from the end lie inside the axis.
Term is_within(const Term& indices, std::int64_t extent) {
  const auto limit = static_cast<double>(extent);
  return indices.binary(Primitive::lt, limit)
      .binary(Primitive::bit_and, indices.binary(Primitive::ge, -limit));
}

/// Axes of `rank` with `axis` moved behind the others, and the way back.
Extents axis_last(std::size_t rank, std::int64_t axis) {
  Extents axes;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(rank); ++i)
    if (i != axis) axes.push_back(i);
  axes.push_back(axis);
  return axes;
}
Extents inverse(const Extents& axes) {
  Extents result(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i)
    result[static_cast<std::size_t>(axes[i])] = static_cast<std::int64_t>(i);
  return result;
}

/// Column `number` of `indices` [n…, k]: [n…].
Term column_of(GraphBuilder& b, NodeId indices, std::size_t number) {
  const auto last = static_cast<std::int64_t>(b.shape(indices).rank()) - 1;
  const auto at = static_cast<std::int64_t>(number);
  return Term(b, b.slice_axis(indices, last, at, at + 1)).then([&](NodeId id) {
    return b.squeeze(id, {last});
  });
}

/// The number, row-major over `extents`, that the last axis of `indices` [n…, k] says: i32 or i64 [n…].
Term numbers_of(GraphBuilder& b, NodeId indices, std::span<const std::int64_t> extents, ElementType type) {
  Term total(b, b.scalar(type, 0));
  for (std::size_t i = 0; i < extents.size(); ++i)
    total = total * static_cast<double>(extents[i]) + within(column_of(b, indices, i), extents[i], type);
  return total;
}

}  // namespace

Result<NodeId> take_along(GraphBuilder& b, NodeId x, NodeId indices, std::int64_t axis) {
  const Shape from = b.shape(x), to = b.shape(indices);
  HALYARD_TRY(require_indices("take_along", b, indices));
  HALYARD_ASSIGN(axis, normalize_axis(axis, from.rank()));
  const auto along = static_cast<std::size_t>(axis);
  bool fits = from.rank() == to.rank();
  for (std::size_t i = 0; fits && i < from.rank(); ++i) fits = i == along || to[i] <= from[i];
  if (!fits || (from[along] == 0 && to.count() > 0))
    return invalid("take_along: indices {} do not fit {} along axis {}", to.text(), from.text(), axis);
  const ElementType type = number_type(from.count());
  const auto strides = from.row_major_strides();
  Term number = within(Term(b, indices), from[along], type) * static_cast<double>(strides[along]);
  for (std::size_t i = 0; i < from.rank(); ++i) {
    if (i == along || to[i] == 1) continue;
    Extents line(to.rank(), 1);
    line[i] = to[i];
    number = number + Term(b, b.iota(type, Shape(line), static_cast<std::int64_t>(i))) *
                          static_cast<double>(strides[i]);
  }
  HALYARD_ASSIGN(NodeId flat, b.reshape(x, {from.count()}));
  return number.then([&](NodeId id) { return b.take(flat, id, 0); }).node();
}

Result<NodeId> gather_nd(GraphBuilder& b, NodeId x, NodeId indices, std::int64_t batch_axes) {
  const Shape from = b.shape(x), at = b.shape(indices);
  HALYARD_TRY(require_indices("gather_nd", b, indices));
  const auto batch = static_cast<std::size_t>(std::max<std::int64_t>(batch_axes, 0));
  bool fits = batch_axes >= 0 && at.rank() > batch && from.rank() >= batch &&
              at[at.rank() - 1] <= static_cast<std::int64_t>(from.rank() - batch);
  for (std::size_t i = 0; fits && i < batch; ++i) fits = from[i] == at[i];
  if (!fits)
    return invalid("gather_nd: indices {} do not fit {} with {} batch axes", at.text(), from.text(),
                   batch_axes);
  const auto taken = static_cast<std::size_t>(at[at.rank() - 1]);
  const auto extents = from.extents();
  std::int64_t count = 1, rows = 1;  // of all places, and of those in one batch
  for (std::size_t i = 0; i < batch + taken; ++i) (i < batch ? count : rows) *= extents[i];
  const ElementType type = number_type(count * rows);
  Term number = numbers_of(b, indices, extents.subspan(batch, taken), type);
  if (batch > 0) {
    Extents shape(at.vector().begin(), at.vector().end() - 1), line(shape.size(), 1);
    std::copy_n(shape.begin(), batch, line.begin());
    const Term first = Term(b, b.iota(type, {count}, 0)).then([&](NodeId id) { return b.reshape(id, line); });
    number = number + first * static_cast<double>(rows);
  }
  Extents flat{count * rows};
  flat.insert(flat.end(), extents.begin() + static_cast<std::ptrdiff_t>(batch + taken), extents.end());
  HALYARD_ASSIGN(NodeId table, b.reshape(x, flat));
  return number.then([&](NodeId id) { return b.take(table, id, 0); }).node();
}

Result<NodeId> scatter_along(GraphBuilder& b, Primitive scatter, NodeId base, NodeId indices, NodeId updates,
                             std::int64_t axis) {
  const Shape to = b.shape(base), at = b.shape(indices);
  HALYARD_TRY(require_indices(name(scatter), b, indices));
  HALYARD_ASSIGN(axis, normalize_axis(axis, to.rank()));
  bool fits = to.rank() == at.rank() && b.shape(updates) == at;
  Extents none(at.rank(), 0), missing = none;
  for (std::size_t i = 0; fits && i < to.rank(); ++i) {
    if (static_cast<std::int64_t>(i) == axis) continue;
    missing[i] = to[i] - at[i];
    fits = missing[i] >= 0;
  }
  if (!fits)
    return invalid("{}: base {}, indices {} and updates {} do not fit along axis {}", name(scatter),
                   to.text(), at.text(), b.shape(updates).text(), axis);
  if (missing != none) {  // with updates that go nowhere
    const auto outside = static_cast<double>(to[static_cast<std::size_t>(axis)]);
    HALYARD_ASSIGN(indices, b.pad(indices, none, missing, outside));
    HALYARD_ASSIGN(updates, b.pad(updates, none, missing, 0));
  }
  const Extents order = axis_last(to.rank(), axis);
  HALYARD_ASSIGN(base, b.permute(base, order));
  HALYARD_ASSIGN(indices, b.permute(indices, order));
  HALYARD_ASSIGN(updates, b.permute(updates, order));
  HALYARD_ASSIGN(NodeId result, b.scatter(scatter, base, indices, updates, -1));
  return b.permute(result, inverse(order));
}

Result<NodeId> scatter_nd(GraphBuilder& b, Primitive scatter, NodeId base, NodeId indices, NodeId updates) {
  const Shape to = b.shape(base), at = b.shape(indices);
  HALYARD_TRY(require_indices(name(scatter), b, indices));
  const std::size_t named = at.rank() == 0 ? 0 : static_cast<std::size_t>(at[at.rank() - 1]);
  if (at.rank() == 0 || named > to.rank())
    return invalid("{}: indices {} name more axes than {} has", name(scatter), at.text(), to.text());
  const auto extents = to.extents();
  const std::span<const std::int64_t> outer = extents.subspan(0, named), inner = extents.subspan(named);
  Extents expected(at.vector().begin(), at.vector().end() - 1);
  expected.insert(expected.end(), inner.begin(), inner.end());
  if (b.shape(updates).vector() != expected)
    return invalid("{}: updates {} do not fit indices {} into {}", name(scatter), b.shape(updates).text(),
                   at.text(), to.text());
  std::int64_t rows = 1, count = 1;
  for (std::int64_t extent : outer) rows *= extent;
  for (std::size_t i = 0; i + 1 < at.rank(); ++i) count *= at[i];
  const ElementType type = number_type(rows + 1);
  Term number = numbers_of(b, indices, outer, type);
  const NodeId nowhere = b.scalar(type, static_cast<double>(rows));
  for (std::size_t i = 0; i < named; ++i)
    number = number.then([&](NodeId id) {
      return is_within(column_of(b, indices, i), extents[i])
          .then([&](NodeId inside) { return b.select(inside, id, nowhere); })
          .node();
    });
  Extents flat{rows};
  flat.insert(flat.end(), inner.begin(), inner.end());
  HALYARD_ASSIGN(NodeId table, b.reshape(base, flat));
  flat[0] = count;
  HALYARD_ASSIGN(NodeId given, b.reshape(updates, flat));
  HALYARD_ASSIGN(NodeId places, number.node());
  HALYARD_ASSIGN(places, b.broadcast(places, Shape(Extents(at.vector().begin(), at.vector().end() - 1))));
  HALYARD_ASSIGN(places, b.reshape(places, {count}));
  HALYARD_ASSIGN(NodeId result, b.scatter(scatter, table, places, given, 0));
  return b.reshape(result, to.vector());
}

Result<NodeId> sort(GraphBuilder& b, NodeId x, std::int64_t axis, bool descending) {
  HALYARD_ASSIGN(NodeId order, b.argsort(x, axis, descending));
  return take_along(b, x, order, axis);
}

Result<TopK> top_k(GraphBuilder& b, NodeId x, std::int64_t k, std::int64_t axis, bool greatest,
                   ElementType index) {
  HALYARD_ASSIGN(axis, normalize_axis(axis, b.shape(x).rank()));
  if (k < 0 || k > b.shape(x)[static_cast<std::size_t>(axis)])
    return invalid("top_k: {} elements along axis {} of {}", k, axis, b.shape(x).text());
  HALYARD_ASSIGN(NodeId order, b.argsort(x, axis, greatest, index));
  HALYARD_ASSIGN(NodeId first, b.slice_axis(order, axis, 0, k));
  HALYARD_ASSIGN(NodeId values, take_along(b, x, first, axis));
  return TopK{values, first};
}

Result<NodeId> pad_from(GraphBuilder& b, NodeId x, Extents before, Extents after, PadMode mode) {
  const Shape shape = b.shape(x);
  if (before.size() != shape.rank() || after.size() != shape.rank())
    return invalid("pad_from: before and after need {} entries each, one per axis of {}", shape.rank(),
                   shape.text());
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    const std::int64_t most = std::max(before[i], after[i]), extent = shape[i];
    if (before[i] < 0 || after[i] < 0 || (most > 0 && extent == 0) ||
        (mode == PadMode::reflect && most > 0 && most >= extent))
      return invalid("pad_from: {} before and {} after axis {} of {}", before[i], after[i], i, shape.text());
    if (most == 0) continue;
    const auto last = static_cast<double>(extent - 1);
    const ElementType type = number_type(extent + before[i] + after[i]);
    Term at = Term(b, b.iota(type, {before[i] + extent + after[i]}, 0)) + -static_cast<double>(before[i]);
    if (mode == PadMode::edge) at = at.binary(Primitive::max, 0).binary(Primitive::min, last);
    if (mode == PadMode::wrap) at = at.binary(Primitive::mod, static_cast<double>(extent));
    if (mode == PadMode::reflect) {
      const Term behind = (at.unary(Primitive::abs) + -last).unary(Primitive::abs);
      at = behind * -1 + last;
    }
    HALYARD_ASSIGN(x, at.then([&](NodeId id) { return b.take(x, id, static_cast<std::int64_t>(i)); }).node());
  }
  return x;
}

}  // namespace halyard::ops
