#include <limits>
#include "expand_compounds.h"

/// Sorting without a kernel of its own: keys that are unsigned integers, made unique by the position in their
/// low half, are sorted in groups by counting for each how many are less, and the groups merged in pairs,
/// each element of the result finding its source by bisection ("merge path": Odeh, Green, Mwassi, Shmueli and
/// Birk, 2012). What is sorted is unique, so that any way of sorting gives the same bits.
namespace halyard::fusion {
namespace {

using ops::GraphBuilder;
using ops::HostTensor;
using ops::NodeId;
using ops::Primitive;

/// Elements of a group that is sorted by counting, in (group_extent)² comparisons.
constexpr std::int64_t group_extent = 256;

/// The bits of a u32 or u64 scalar.
NodeId number(GraphBuilder& b, ElementType element, std::uint64_t bits) {
  return b.constant(HostTensor::scalar_bits(element, bits));
}

class Sort {
 public:
  Sort(GraphBuilder& builder, std::int64_t rows, std::int64_t extent)
      : b_(builder), rows_(rows), extent_(extent) {
    padded_ = extent <= group_extent ? extent : group_extent;
    while (padded_ < extent) padded_ *= 2;
    index_ = rows <= std::numeric_limits<std::int32_t>::max() / padded_ ? ElementType::i32 : ElementType::i64;
  }

  /// Of u32 or u64 keys [rows, extent]: the positions that sort each row, of type i32 or i64.
  Result<NodeId> argsort(NodeId keys);

 private:
  Result<NodeId> argsort_narrow(NodeId keys);
  Result<NodeId> sort_groups(NodeId x);
  Result<NodeId> merge_pairs(NodeId x, std::int64_t half);
  Result<NodeId> along(NodeId x, NodeId positions);
  /// `a` op `b`, in the type of indices.
  Result<NodeId> index(Primitive primitive, NodeId a, NodeId b) { return b_.binary(primitive, a, b); }

  GraphBuilder& b_;
  std::int64_t rows_, extent_, padded_;
  ElementType index_;
};

/// x [rows, extent] at positions [rows, extent] of its rows.
Result<NodeId> Sort::along(NodeId x, NodeId positions) {
  HALYARD_ASSIGN(NodeId row, b_.iota(index_, {rows_, 1}, 0));
  HALYARD_ASSIGN(NodeId first, b_.binary(Primitive::mul, row, static_cast<double>(extent_)));
  HALYARD_ASSIGN(NodeId places, b_.binary(Primitive::add, first, positions));
  HALYARD_ASSIGN(NodeId flat, b_.reshape(x, {rows_ * extent_}));
  return b_.take(flat, places, 0);
}

/// Each row of x [groups, n] in ascending order; its elements are unique.
Result<NodeId> Sort::sort_groups(NodeId x) {
  const std::int64_t groups = b_.shape(x)[0], n = b_.shape(x)[1];
  HALYARD_ASSIGN(NodeId each, b_.reshape(x, {groups, n, 1}));
  HALYARD_ASSIGN(NodeId other, b_.reshape(x, {groups, 1, n}));
  HALYARD_ASSIGN(NodeId smaller, b_.binary(Primitive::lt, other, each));
  HALYARD_ASSIGN(NodeId counted, b_.cast(smaller, ElementType::i32));
  HALYARD_ASSIGN(NodeId rank, b_.reduce(Primitive::reduce_sum, counted, {2}));
  HALYARD_ASSIGN(rank, b_.reshape(rank, {groups, 1, n}));
  HALYARD_ASSIGN(NodeId place, b_.iota(ElementType::i32, {1, n, 1}, 1));
  HALYARD_ASSIGN(NodeId is_here, b_.binary(Primitive::eq, rank, place));
  HALYARD_ASSIGN(NodeId here, b_.select(is_here, other, number(b_, ElementType::u64, 0)));
  return b_.reduce(Primitive::reduce_max, here, {2});
}

/// Each row of x [pairs, 2 · half], two ascending halves, in ascending order; its elements are unique.
Result<NodeId> Sort::merge_pairs(NodeId x, std::int64_t half) {
  const std::int64_t pairs = b_.shape(x)[0];
  const auto length = static_cast<double>(half);
  HALYARD_ASSIGN(NodeId flat, b_.reshape(x, {pairs * 2 * half}));
  HALYARD_ASSIGN(NodeId place, b_.iota(index_, {1, 2 * half}, 1));
  HALYARD_ASSIGN(NodeId pair, b_.iota(index_, {pairs, 1}, 0));
  HALYARD_ASSIGN(NodeId left, b_.binary(Primitive::mul, pair, 2 * length));
  HALYARD_ASSIGN(NodeId right, b_.binary(Primitive::add, left, length));
  // How many of the left half are among the first `place` of the result: from `low` to `high`.
  HALYARD_ASSIGN(NodeId beyond, b_.binary(Primitive::sub, place, length));
  HALYARD_ASSIGN(NodeId low, b_.binary(Primitive::max, beyond, 0));
  HALYARD_ASSIGN(NodeId high, b_.binary(Primitive::min, place, length));
  HALYARD_ASSIGN(NodeId right_end, b_.binary(Primitive::add, right, place));
  for (std::int64_t span = half; span > 0; span /= 2) {
    HALYARD_ASSIGN(NodeId both, b_.binary(Primitive::add, low, high));
    HALYARD_ASSIGN(NodeId middle, b_.binary(Primitive::shr, both, 1));
    HALYARD_ASSIGN(NodeId at_left, b_.binary(Primitive::add, left, middle));
    HALYARD_ASSIGN(NodeId next, b_.binary(Primitive::add, middle, 1));
    HALYARD_ASSIGN(NodeId at_right, b_.binary(Primitive::sub, right_end, next));
    HALYARD_ASSIGN(NodeId from_left, b_.take(flat, at_left, 0));
    HALYARD_ASSIGN(NodeId from_right, b_.take(flat, at_right, 0));
    HALYARD_ASSIGN(NodeId is_less, b_.binary(Primitive::lt, from_left, from_right));
    HALYARD_ASSIGN(NodeId is_open, b_.binary(Primitive::lt, low, high));
    HALYARD_ASSIGN(NodeId more, b_.binary(Primitive::bit_and, is_less, is_open));
    HALYARD_ASSIGN(low, b_.select(more, next, low));
    HALYARD_ASSIGN(high, b_.select(more, high, middle));
  }
  HALYARD_ASSIGN(NodeId of_right, b_.binary(Primitive::sub, place, low));
  HALYARD_ASSIGN(NodeId at_left, b_.binary(Primitive::add, left, low));
  HALYARD_ASSIGN(NodeId at_right, b_.binary(Primitive::add, right, of_right));
  HALYARD_ASSIGN(NodeId from_left, b_.take(flat, at_left, 0));
  HALYARD_ASSIGN(NodeId from_right, b_.take(flat, at_right, 0));
  HALYARD_ASSIGN(NodeId is_less, b_.binary(Primitive::lt, from_left, from_right));
  HALYARD_ASSIGN(NodeId right_is_done, b_.binary(Primitive::ge, of_right, length));
  HALYARD_ASSIGN(NodeId left_is_open, b_.binary(Primitive::lt, low, length));
  HALYARD_ASSIGN(NodeId either, b_.binary(Primitive::bit_or, is_less, right_is_done));
  HALYARD_ASSIGN(NodeId takes_left, b_.binary(Primitive::bit_and, left_is_open, either));
  return b_.select(takes_left, from_left, from_right);
}

/// Of u32 keys.
Result<NodeId> Sort::argsort_narrow(NodeId keys) {
  if (padded_ > extent_) {  // with what sorts behind everything
    ops::Attributes behind;
    behind.starts = {0, 0};
    behind.ends = {0, padded_ - extent_};
    behind.value_bits = 0xffffffffu;
    HALYARD_ASSIGN(keys, b_.graph().append(Primitive::pad, {keys}, std::move(behind)));
  }
  HALYARD_ASSIGN(NodeId wide, b_.cast(keys, ElementType::u64));
  HALYARD_ASSIGN(NodeId high, b_.binary(Primitive::shl, wide, 32));
  HALYARD_ASSIGN(NodeId position, b_.iota(ElementType::u64, {1, padded_}, 1));
  HALYARD_ASSIGN(NodeId x, b_.binary(Primitive::bit_or, high, position));
  std::int64_t length = std::min(padded_, group_extent);
  HALYARD_ASSIGN(x, b_.reshape(x, {rows_ * padded_ / length, length}));
  HALYARD_ASSIGN(x, sort_groups(x));
  for (; length < padded_; length *= 2) {
    HALYARD_ASSIGN(x, b_.reshape(x, {rows_ * padded_ / (2 * length), 2 * length}));
    HALYARD_ASSIGN(x, merge_pairs(x, length));
  }
  HALYARD_ASSIGN(x, b_.reshape(x, {rows_, padded_}));
  HALYARD_ASSIGN(x, b_.slice_axis(x, 1, 0, extent_));
  HALYARD_ASSIGN(x, b_.binary(Primitive::bit_and, x, number(b_, ElementType::u64, 0xffffffffu)));
  return b_.cast(x, index_);
}

Result<NodeId> Sort::argsort(NodeId keys) {
  if (b_.element(keys) == ElementType::u32) return argsort_narrow(keys);
  // By the low halves, then, stably, by the high ones.
  HALYARD_ASSIGN(NodeId low, b_.cast(keys, ElementType::u32));
  HALYARD_ASSIGN(NodeId first, argsort_narrow(low));
  HALYARD_ASSIGN(NodeId shifted, b_.binary(Primitive::shr, keys, 32));
  HALYARD_ASSIGN(NodeId high, b_.cast(shifted, ElementType::u32));
  HALYARD_ASSIGN(high, along(high, first));
  HALYARD_ASSIGN(NodeId second, argsort_narrow(high));
  return along(first, second);
}

/// Of f32 or f64: unsigned integers in the same order, −0 beside +0 and NaN last.
Result<NodeId> float_keys(GraphBuilder& b, NodeId x) {
  const bool wide = b.element(x) == ElementType::f64;
  const ElementType key = wide ? ElementType::u64 : ElementType::u32;
  const std::uint64_t sign = wide ? 1ull << 63 : 1ull << 31;
  const std::uint64_t infinity = wide ? 0x7ffull << 52 : 0xffull << 23;
  HALYARD_ASSIGN(NodeId bits, b.bitcast(x, key));
  HALYARD_ASSIGN(NodeId magnitude, b.binary(Primitive::bit_and, bits, number(b, key, sign - 1)));
  HALYARD_ASSIGN(NodeId is_zero, b.binary(Primitive::eq, magnitude, 0));
  HALYARD_ASSIGN(NodeId is_nan, b.binary(Primitive::gt, magnitude, number(b, key, infinity)));
  HALYARD_ASSIGN(bits, b.select(is_zero, number(b, key, 0), bits));
  HALYARD_ASSIGN(NodeId is_negative, b.binary(Primitive::ge, bits, number(b, key, sign)));
  HALYARD_ASSIGN(NodeId turned, b.unary(Primitive::bit_not, bits));
  HALYARD_ASSIGN(NodeId raised, b.binary(Primitive::bit_or, bits, number(b, key, sign)));
  HALYARD_ASSIGN(NodeId ordered, b.select(is_negative, turned, raised));
  return b.select(is_nan, number(b, key, wide ? ~0ull : 0xffffffffu), ordered);
}

/// u32 keys, or u64 ones of 64-bit types, in the order of the elements.
Result<NodeId> ascending_keys(GraphBuilder& b, NodeId x) {
  const ElementType element = b.element(x);
  const bool wide = byte_size(element) == 8;
  if (is_float(element)) {
    HALYARD_ASSIGN(x, b.cast(x, wide ? ElementType::f64 : ElementType::f32));
    return float_keys(b, x);
  }
  const ElementType key = wide ? ElementType::u64 : ElementType::u32;
  if (element == ElementType::boolean || !is_signed(element)) return b.cast(x, key);
  HALYARD_ASSIGN(x, b.cast(x, wide ? ElementType::i64 : ElementType::i32));
  HALYARD_ASSIGN(NodeId bits, b.bitcast(x, key));
  return b.binary(Primitive::bit_xor, bits, number(b, key, wide ? 1ull << 63 : 1ull << 31));
}

}  // namespace

Result<NodeId> expand_sort(GraphBuilder& b, const ops::Node& node, std::span<const NodeId> operands) {
  NodeId x = operands[0];
  const std::int64_t axis = node.attributes.axes[0], last = static_cast<std::int64_t>(node.shape.rank()) - 1;
  const std::int64_t extent = node.shape[static_cast<std::size_t>(axis)];
  if (extent > std::numeric_limits<std::int32_t>::max())
    return fail(ErrorCode::unsupported, "argsort: rows of 2^31 elements and more; sort parts of them");
  const std::int64_t rows = node.shape.count() / extent;
  HALYARD_ASSIGN(x, b.transpose(x, axis, last));
  const ops::Shape turned = b.shape(x);
  HALYARD_ASSIGN(x, b.reshape(x, {rows, extent}));
  HALYARD_ASSIGN(NodeId keys, ascending_keys(b, x));
  if (node.attributes.descending) {
    HALYARD_ASSIGN(keys, b.unary(Primitive::bit_not, keys));
  }
  HALYARD_ASSIGN(NodeId order, Sort(b, rows, extent).argsort(keys));
  HALYARD_ASSIGN(order, b.cast(order, node.element));
  HALYARD_ASSIGN(order, b.reshape(order, turned.vector()));
  return b.transpose(order, axis, last);
}

}  // namespace halyard::fusion
