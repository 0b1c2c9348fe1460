#include "cluster_to_tile.h"

#include <fmt/format.h>
#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include "axis_factors.h"
#include "index_expression.h"

namespace halyard::fusion {

using ops::NodeId;
using ops::Primitive;

bool is_view(Primitive primitive) {
  switch (primitive) {
    case Primitive::reshape:
    case Primitive::permute:
    case Primitive::broadcast:
    case Primitive::slice:
    case Primitive::reverse:
    case Primitive::windows:
      return true;
    default:
      return false;
  }
}

bool is_source(Primitive primitive) {
  return ops::row(primitive).kind == ops::Kind::source;
}

bool is_uniform_constant(const ops::Node& node) {
  if (node.primitive != Primitive::constant || !node.value || node.value->count() == 0) return false;
  std::uint64_t first = node.value->bits_at(0);
  for (std::int64_t i = 1; i < node.value->count(); ++i)
    if (node.value->bits_at(i) != first) return false;
  return true;
}

namespace {

using Position = std::vector<IndexExpression>;  // one per dimension of a node

class Translator {
 public:
  Translator(const ops::Graph& graph, const ClusterSpec& cluster, const std::vector<bool>& materialized)
      : graph_(graph),
        cluster_(cluster),
        materialized_(materialized),
        factors_(graph),
        builder_(structural_name()) {}

  Result<ClusterTile> run();

 private:
  struct Key {
    std::uint32_t node;
    Position position;
    std::uint32_t mask;
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  std::string structural_name() const;
  const ops::Node& node(NodeId id) const { return graph_.node(id); }
  bool is_member(NodeId id) const {
    return std::binary_search(cluster_.members.begin(), cluster_.members.end(), id);
  }
  bool is_external(NodeId id) const;
  void tie_factors();
  void tie_from(NodeId id, std::set<NodeId>& seen);

  Axis axis_of(std::uint32_t factor, std::uint32_t copy);
  /// An index into a dimension made of axes of its factors that are not in `taken`, which they join.
  IndexExpression fresh(NodeId id, std::size_t dimension, AxisSet& taken, std::vector<Axis>* list = nullptr);
  AxisSet free_axes(const Position& position);

  Result<Tile> value(NodeId id, const Position& position, Tile mask);
  Result<Tile> expand(NodeId id, const Position& position, Tile mask);
  Result<Tile> view(NodeId id, const Position& position, Tile mask);
  Result<Tile> reduction(NodeId id, const Position& position);
  Result<Tile> contraction(NodeId id, const Position& position);
  Result<Tile> take(NodeId id, const Position& position, Tile mask);
  Result<Tile> pad(NodeId id, const Position& position, Tile mask);
  Result<Tile> concat(NodeId id, const Position& position, Tile mask);
  Tile load(NodeId id, const IndexExpression& address, Tile mask);
  std::uint32_t operand(NodeId id, bool written);
  void access(const IndexExpression& address, Access& access, AccessBinding& numbers) const;

  Tile number(std::int64_t value, ElementType type = ElementType::i64) {
    return builder_.constant_bits(type, static_cast<std::uint64_t>(value));
  }
  ElementType index_type(const IndexExpression& expression) const;
  /// The expression as a value of an integer type that holds it.
  Tile index_value(const IndexExpression& expression, ElementType type = ElementType::i64);
  /// A comparison of an index with a number, in the narrower type where that holds both: cheaper, and
  /// Mesa 22.3.6 compares wrongly what was widened to 64 bits (docs/software_drivers.md).
  Tile compared(Primitive comparison, const IndexExpression& index, std::int64_t with) {
    const ElementType type = index_type(index);
    return builder_.elementwise(comparison, {index_value(index, type), number(with, type)});
  }
  Tile spread(Tile made, AxisSet axes);
  Tile added_to_zero(Tile made);
  Tile both(Tile a, Tile b) {
    if (!a.builder) return b;
    if (!b.builder) return a;
    return builder_.elementwise(Primitive::bit_and, {a, b});
  }

  const ops::Graph& graph_;
  const ClusterSpec& cluster_;
  const std::vector<bool>& materialized_;
  AxisFactors factors_;
  TileBuilder builder_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Axis> axes_;
  std::vector<std::int64_t> axis_extents_;
  std::map<std::pair<NodeId, bool>, std::uint32_t> operand_numbers_;
  std::vector<NodeId> operands_;
  std::map<Key, Tile> values_;
};

/// Named after what it does, not after where it stands in a graph: equal kernels have equal names.
std::string Translator::structural_name() const {
  std::string name = "k";
  std::size_t shown = 0;
  for (NodeId member : cluster_.members) {
    if (++shown > 6) break;
    name += fmt::format("_{}", ops::name(node(member).primitive));
  }
  if (cluster_.members.empty()) name += "_copy";
  if (cluster_.members.size() > 6) name += fmt::format("_and_{}", cluster_.members.size() - 6);
  return name;
}

bool Translator::is_external(NodeId id) const {
  if (is_member(id)) return false;
  Primitive primitive = node(id).primitive;
  if (is_view(primitive)) return materialized_[ops::index(id)];
  return primitive != Primitive::iota && !is_uniform_constant(node(id));
}

void Translator::tie_from(NodeId id, std::set<NodeId>& seen) {
  if (!seen.insert(id).second || is_external(id)) return;
  for (NodeId operand : node(id).operands) tie_from(operand, seen);
}

void Translator::tie_factors() {
  std::set<NodeId> seen;
  for (NodeId store : cluster_.stores) tie_from(store, seen);
  for (NodeId id : seen)
    if (!is_external(id) && !is_source(node(id).primitive)) factors_.tie(id);
}

Axis Translator::axis_of(std::uint32_t factor, std::uint32_t copy) {
  auto found = axes_.find({factor, copy});
  if (found != axes_.end()) return found->second;
  std::int64_t extent = factors_.extent(factor);
  Axis axis = builder_.axis(fmt::format("a{}", axes_.size()), extent);
  axis_extents_.push_back(extent);
  axes_.emplace(std::pair{factor, copy}, axis);
  return axis;
}

IndexExpression Translator::fresh(NodeId id, std::size_t dimension, AxisSet& taken, std::vector<Axis>* list) {
  IndexExpression result;
  for (std::uint32_t factor : factors_.of(id, dimension)) {
    std::uint32_t copy = 0;
    while (taken.contains(axis_of(factor, copy))) ++copy;
    Axis axis = axis_of(factor, copy);
    taken = taken | AxisSet{axis};
    if (list) list->push_back(axis);
    result =
        add(scale(result, factors_.extent(factor)), IndexExpression::of_axis(axis, factors_.extent(factor)));
  }
  return result;
}

AxisSet Translator::free_axes(const Position& position) {
  AxisSet axes;
  for (const IndexExpression& expression : position)
    for (const IndexPart& part : expression.parts)
      axes = axes | (part.axis ? AxisSet{*part.axis} : builder_.axes({&builder_, part.value}));
  return axes;
}

std::uint32_t Translator::operand(NodeId id, bool written) {
  auto [found, added] = operand_numbers_.try_emplace({id, written}, 0u);
  if (!added) return found->second;
  const ops::Node& source = node(id);
  std::size_t same_kind = static_cast<std::size_t>(
      std::count_if(operand_numbers_.begin(), operand_numbers_.end(),
                    [&](const auto& entry) { return entry.first.second == written; }));
  TileOperand made{.name = fmt::format("{}{}", written ? "out" : "in", same_kind - 1),
                   .type = source.element,
                   .written = written,
                   .constant = source.primitive == Primitive::constant};
  found->second = builder_.operand(std::move(made), source.shape.count());
  operands_.push_back(id);
  return found->second;
}

void Translator::access(const IndexExpression& address, Access& access, AccessBinding& numbers) const {
  numbers.offset = address.constant;
  for (const IndexPart& part : address.parts) {
    access.terms.push_back(
        {.axis = part.axis, .value = part.value, .divided = part.divisor != 1, .wrapped = part.modulus != 0});
    numbers.strides.push_back(part.coefficient);
    numbers.divisors.push_back(part.divisor);
    numbers.moduli.push_back(part.modulus);
  }
}

Tile Translator::load(NodeId id, const IndexExpression& address, Tile mask) {
  Access terms;
  AccessBinding numbers;
  access(address, terms, numbers);
  return builder_.load(operand(id, false), std::move(terms), std::move(numbers), mask);
}

/// i32 if neither the expression nor any step on the way to it leaves that, else i64.
ElementType Translator::index_type(const IndexExpression& expression) const {
  constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max() / 2;
  std::int64_t reach = std::min(std::abs(expression.constant), limit);
  for (const IndexPart& part : expression.parts) {
    const std::int64_t source = part.axis           ? axis_extents_[index(*part.axis)]
                                : part.divisor == 1 ? part.count
                                                    : limit;
    const std::int64_t factor = std::abs(part.coefficient);
    if (source >= limit || factor >= limit || (factor > 0 && part.count > (limit - reach) / factor))
      return ElementType::i64;
    reach += factor * part.count;
  }
  return reach < limit ? ElementType::i32 : ElementType::i64;
}

Tile Translator::index_value(const IndexExpression& expression, ElementType type) {
  Tile total{};
  for (const IndexPart& part : expression.parts) {
    Tile term = part.axis ? builder_.position(*part.axis) : Tile{&builder_, part.value};
    if (builder_.type(term) != type) term = builder_.elementwise(Primitive::cast, {term}, type);
    if (part.divisor != 1) term = builder_.elementwise(Primitive::div, {term, number(part.divisor, type)});
    if (part.modulus != 0) term = builder_.elementwise(Primitive::rem, {term, number(part.modulus, type)});
    if (part.coefficient != 1)
      term = builder_.elementwise(Primitive::mul, {term, number(part.coefficient, type)});
    total = total.builder ? builder_.elementwise(Primitive::add, {total, term}) : term;
  }
  if (!total.builder) return number(expression.constant, type);
  if (expression.constant == 0) return total;
  return builder_.elementwise(Primitive::add, {total, number(expression.constant, type)});
}

Result<Tile> Translator::value(NodeId id, const Position& position, Tile mask) {
  Key key{ops::index(id), position, mask.builder ? index(mask.id) : index(no_tile)};
  auto found = values_.find(key);
  if (found != values_.end()) return found->second;
  HALYARD_ASSIGN(Tile made, expand(id, position, mask));
  values_.emplace(std::move(key), made);
  return made;
}

Result<Tile> Translator::expand(NodeId id, const Position& position, Tile mask) {
  const ops::Node& source = node(id);
  if (source.primitive == Primitive::iota) {
    auto axis = static_cast<std::size_t>(source.attributes.axes.empty() ? 0 : source.attributes.axes[0]);
    Tile at = index_value(position[axis], index_type(position[axis]));
    return builder_.type(at) == source.element ? at
                                               : builder_.elementwise(Primitive::cast, {at}, source.element);
  }
  if (is_uniform_constant(source)) return builder_.constant_bits(source.element, source.value->bits_at(0));
  if (is_external(id) || is_source(source.primitive))
    return load(id, linearize(position, source.shape.vector()), mask);
  if (is_view(source.primitive)) return view(id, position, mask);
  if (source.primitive == Primitive::pad) return pad(id, position, mask);
  if (source.primitive == Primitive::concat) return concat(id, position, mask);
  if (source.primitive == Primitive::take) return take(id, position, mask);
  ops::Kind kind = ops::row(source.primitive).kind;
  if (kind == ops::Kind::elementwise) {
    std::vector<Tile> operands;
    for (NodeId operand : source.operands) {
      HALYARD_ASSIGN(Tile made, value(operand, position, mask));
      operands.push_back(made);
    }
    return builder_.elementwise(source.primitive, operands, source.element);
  }
  if (mask.builder)
    return fail(
        ErrorCode::unsupported,
        fmt::format("{} read through pad or concat needs its result in memory", ops::name(source.primitive)));
  if (kind == ops::Kind::reduction) return reduction(id, position);
  if (kind == ops::Kind::contraction) return contraction(id, position);
  return fail(ErrorCode::unsupported, fmt::format("{} has no tile operation", ops::name(source.primitive)));
}

Result<Tile> Translator::view(NodeId id, const Position& position, Tile mask) {
  const ops::Node& source = node(id);
  NodeId operand = source.operands[0];
  const ops::Shape& from = node(operand).shape;
  Position inner(from.rank());
  switch (source.primitive) {
    case Primitive::reshape: {
      const std::vector<std::int64_t> shape = source.shape.vector();
      auto mapped = reshape_index(position, shape, from.vector());
      // What lies in memory has the same address in both shapes.
      if (!mapped && (is_external(operand) || is_source(node(operand).primitive)) &&
          node(operand).primitive != Primitive::iota)
        return load(operand, linearize(position, shape), mask);
      if (!mapped)
        mapped = reshape_index(position, shape, from.vector(),
                               [this](const IndexExpression& index, std::int64_t count) {
                                 return IndexExpression::of_value(index_value(index).id, count);
                               });
      if (!mapped)
        return fail(ErrorCode::unsupported, fmt::format("the reshape of {} to {} has no index map",
                                                        from.text(), source.shape.text()));
      inner = std::move(*mapped);
      break;
    }
    case Primitive::permute:
      for (std::size_t i = 0; i < from.rank(); ++i)
        inner[static_cast<std::size_t>(source.attributes.axes[i])] = position[i];
      break;
    case Primitive::broadcast:
      for (std::size_t i = 0; i < from.rank(); ++i)
        if (from[i] != 1) inner[i] = position[source.shape.rank() - from.rank() + i];
      break;
    case Primitive::slice:
      for (std::size_t i = 0; i < from.rank(); ++i) {
        std::int64_t step = source.attributes.steps.empty() ? 1 : source.attributes.steps[i];
        inner[i] = shift(scale(position[i], step), source.attributes.starts[i]);
      }
      break;
    case Primitive::windows:
      std::copy_n(position.begin(), from.rank(), inner.begin());
      for (std::size_t i = 0; i < source.attributes.axes.size(); ++i) {
        IndexExpression& index = inner[static_cast<std::size_t>(source.attributes.axes[i])];
        index = add(scale(index, source.attributes.steps[i]),
                    scale(position[from.rank() + i], source.attributes.dilations[i]));
      }
      break;
    default:  // reverse
      inner = position;
      for (std::int64_t axis : source.attributes.axes) {
        auto i = static_cast<std::size_t>(axis);
        inner[i] = shift(scale(position[i], -1), from[i] - 1);
      }
  }
  return value(operand, inner, mask);
}

Reduction reduction_of(Primitive primitive) {
  switch (primitive) {
    case Primitive::reduce_prod:
      return Reduction::prod;
    case Primitive::reduce_min:
      return Reduction::min;
    case Primitive::reduce_max:
      return Reduction::max;
    case Primitive::reduce_any:
      return Reduction::any;
    case Primitive::reduce_all:
      return Reduction::all;
    case Primitive::argmax:
      return Reduction::argmax;
    case Primitive::argmin:
      return Reduction::argmin;
    default:
      return Reduction::sum;
  }
}

Result<Tile> Translator::reduction(NodeId id, const Position& position) {
  const ops::Node& source = node(id);
  NodeId operand = source.operands[0];
  std::size_t rank = node(operand).shape.rank();
  AxisSet taken = free_axes(position);
  Position inner(rank);
  std::vector<Axis> axes;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < rank; ++i) {
    bool reduced = std::count(source.attributes.axes.begin(), source.attributes.axes.end(),
                              static_cast<std::int64_t>(i)) != 0;
    if (reduced)
      inner[i] = fresh(operand, i, taken, &axes);
    else
      inner[i] = position[kept];
    if (!reduced || source.attributes.keep_dims) ++kept;
  }
  HALYARD_ASSIGN(Tile made, value(operand, inner, {}));
  Reduction kind = reduction_of(source.primitive);
  bool argument = kind == Reduction::argmax || kind == Reduction::argmin;
  if (axes.empty()) {  // a single element: the identity is combined with it once
    if (argument) return builder_.constant_bits(source.element, 0);
    return kind == Reduction::sum ? added_to_zero(made) : made;
  }
  made = spread(made, set_of(axes));
  bool last = std::count(source.attributes.axes.begin(), source.attributes.axes.end(),
                         static_cast<std::int64_t>(rank) - 1) != 0;
  Tile result = builder_.reduce(kind, made, axes, last);
  if (argument && builder_.type(result) != source.element)
    result = builder_.elementwise(Primitive::cast, {result}, source.element);
  return result;
}

Result<Tile> Translator::contraction(NodeId id, const Position& position) {
  const ops::Node& source = node(id);
  NodeId a = source.operands[0], b = source.operands[1];
  const ops::DotDimensions& dimensions = source.attributes.dot;
  Position at_a(node(a).shape.rank()), at_b(node(b).shape.rank());
  std::size_t result = 0;
  for (std::size_t i = 0; i < dimensions.lhs_batch.size(); ++i, ++result) {
    at_a[static_cast<std::size_t>(dimensions.lhs_batch[i])] = position[result];
    at_b[static_cast<std::size_t>(dimensions.rhs_batch[i])] = position[result];
  }
  auto free = [&](Position& at, const std::vector<std::int64_t>& batch,
                  const std::vector<std::int64_t>& contracting) {
    for (std::size_t i = 0; i < at.size(); ++i) {
      auto axis = static_cast<std::int64_t>(i);
      if (!std::count(batch.begin(), batch.end(), axis) &&
          !std::count(contracting.begin(), contracting.end(), axis))
        at[i] = position[result++];
    }
  };
  free(at_a, dimensions.lhs_batch, dimensions.lhs_contracting);
  free(at_b, dimensions.rhs_batch, dimensions.rhs_contracting);
  AxisSet taken = free_axes(position);
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < dimensions.lhs_contracting.size(); ++i) {
    auto side = static_cast<std::size_t>(dimensions.lhs_contracting[i]);
    IndexExpression k = fresh(a, side, taken, &axes);
    at_a[side] = k;
    at_b[static_cast<std::size_t>(dimensions.rhs_contracting[i])] = k;
  }
  HALYARD_ASSIGN(Tile left, value(a, at_a, {}));
  HALYARD_ASSIGN(Tile right, value(b, at_b, {}));
  if (!axes.empty()) {
    // An axis of the result that neither operand has is given to the one it belongs to.
    const AxisSet missing = free_axes(position) - builder_.axes(left) - builder_.axes(right);
    left = spread(left, (missing & free_axes(at_a)) | set_of(axes));
    right = spread(right, (missing & (free_axes(at_b) - free_axes(at_a))) | set_of(axes));
    return builder_.dot(left, right, axes, source.element);
  }
  // One term: round(a * b) + 0, in the accumulator's type.
  ElementType wide = ops::accumulator(node(a).element);
  if (builder_.type(left) != wide) left = builder_.elementwise(Primitive::cast, {left}, wide);
  if (builder_.type(right) != wide) right = builder_.elementwise(Primitive::cast, {right}, wide);
  Tile product = builder_.elementwise(Primitive::mul, {left, right});
  product = added_to_zero(product);
  if (wide != source.element) product = builder_.elementwise(Primitive::cast, {product}, source.element);
  return product;
}

Result<Tile> Translator::take(NodeId id, const Position& position, Tile mask) {
  const ops::Node& source = node(id);
  NodeId table = source.operands[0], indices = source.operands[1];
  auto axis = static_cast<std::size_t>(source.attributes.axes[0]);
  std::size_t count = node(indices).shape.rank();
  Position at_indices(position.begin() + static_cast<std::ptrdiff_t>(axis),
                      position.begin() + static_cast<std::ptrdiff_t>(axis + count));
  HALYARD_ASSIGN(Tile which, value(indices, at_indices, mask));
  // Negative indices count from the end; what is still outside is clamped (the table's rule for `take`). In
  // the indices' own type where the extent fits it.
  const std::int64_t rows = node(table).shape[axis];
  if (rows > std::numeric_limits<std::int32_t>::max() && builder_.type(which) != ElementType::i64)
    which = builder_.elementwise(Primitive::cast, {which}, ElementType::i64);
  const auto constant = [&](std::int64_t value) {
    return builder_.constant_bits(builder_.type(which), static_cast<std::uint64_t>(value));
  };
  const Tile negative = builder_.elementwise(Primitive::lt, {which, constant(0)});
  const Tile wrapped = builder_.elementwise(Primitive::add, {which, constant(rows)});
  which = builder_.elementwise(Primitive::select, {negative, wrapped, which});
  which = builder_.elementwise(Primitive::clamp, {which, constant(0), constant(rows - 1)});
  if (builder_.type(which) != ElementType::i64)
    which = builder_.elementwise(Primitive::cast, {which}, ElementType::i64);
  Position at_table(node(table).shape.rank());
  for (std::size_t i = 0; i < axis; ++i) at_table[i] = position[i];
  at_table[axis] = IndexExpression::of_value(which.id, rows);
  for (std::size_t i = axis + 1; i < at_table.size(); ++i) at_table[i] = position[i + count - 1];
  return value(table, at_table, mask);
}

Result<Tile> Translator::pad(NodeId id, const Position& position, Tile mask) {
  const ops::Node& source = node(id);
  NodeId operand = source.operands[0];
  const ops::Shape& from = node(operand).shape;
  Position inner(from.rank());
  Tile inside{};
  for (std::size_t i = 0; i < from.rank(); ++i) {
    inner[i] = shift(position[i], -source.attributes.starts[i]);
    auto [low, high] = bounds(inner[i]);
    if (low < 0) inside = both(inside, compared(Primitive::ge, inner[i], 0));
    if (high >= from[i]) inside = both(inside, compared(Primitive::lt, inner[i], from[i]));
  }
  if (!inside.builder) return value(operand, inner, mask);
  HALYARD_ASSIGN(Tile made, value(operand, inner, both(mask, inside)));
  Tile fill = builder_.constant_bits(source.element, source.attributes.value_bits);
  return builder_.elementwise(Primitive::select, {inside, made, fill});
}

Result<Tile> Translator::concat(NodeId id, const Position& position, Tile mask) {
  const ops::Node& source = node(id);
  auto axis = static_cast<std::size_t>(source.attributes.axes[0]);
  std::int64_t begin = source.shape[axis];
  Tile result{};
  for (std::size_t i = source.operands.size(); i-- > 0;) {
    NodeId operand = source.operands[i];
    std::int64_t extent = node(operand).shape[axis];
    std::int64_t end = begin;
    begin -= extent;
    if (extent == 0) continue;
    Tile from_begin{}, before_end{};
    if (begin > 0) from_begin = compared(Primitive::ge, position[axis], begin);
    if (end < source.shape[axis]) before_end = compared(Primitive::lt, position[axis], end);
    Position inner = position;
    inner[axis] = shift(position[axis], -begin);
    HALYARD_ASSIGN(Tile made, value(operand, inner, both(mask, both(from_begin, before_end))));
    result = result.builder ? builder_.elementwise(Primitive::select, {before_end, made, result}) : made;
  }
  return result;
}

/// +0 + x, for a sum of one term: said as a selection, for lavapipe drops the addition of a constant 0, and
/// with it that −0 becomes +0.
Tile Translator::added_to_zero(Tile made) {
  if (!is_float(builder_.type(made))) return made;
  const Tile zero = builder_.constant(builder_.type(made), 0);
  return builder_.elementwise(Primitive::select,
                              {builder_.elementwise(Primitive::eq, {made, zero}), zero, made});
}

/// A value is stored, reduced and contracted over axes that it has, so one that does not depend on some of
/// them (it is broadcast along them) gets them by a choice between equals.
Tile Translator::spread(Tile made, AxisSet axes) {
  AxisSet missing = axes - builder_.axes(made);
  for (std::uint32_t i = 0; i < axis_extents_.size(); ++i) {
    if (!missing.contains(Axis{i})) continue;
    Tile always = builder_.elementwise(Primitive::ge, {builder_.position(Axis{i}), number(0)});
    made = builder_.elementwise(Primitive::select, {always, made, made});
  }
  return made;
}

Result<ClusterTile> Translator::run() {
  tie_factors();
  for (NodeId store : cluster_.stores) {
    const ops::Shape& shape = node(store).shape;
    AxisSet taken;
    Position position;
    for (std::size_t i = 0; i < shape.rank(); ++i) position.push_back(fresh(store, i, taken));
    if (axes_.size() > 24)
      return fail(ErrorCode::unsupported, "the cluster's tensors have more axes than a tile program holds");
    HALYARD_ASSIGN(Tile made, value(store, position, {}));
    made = spread(made, taken);
    Access terms;
    AccessBinding numbers;
    access(linearize(position, shape.vector()), terms, numbers);
    builder_.store(operand(store, true), made, std::move(terms), std::move(numbers));
  }
  if (axes_.size() > 32)
    return fail(ErrorCode::unsupported, "the cluster's tensors have more axes than a tile program holds");
  HALYARD_ASSIGN(TileBuilder::Finished finished, std::move(builder_).finish());
  ClusterTile result{std::move(finished.program), std::move(finished.binding), std::move(operands_)};
  canonicalize(result.program, result.binding);
  return result;
}

}  // namespace

Result<ClusterTile> cluster_to_tile(const ops::Graph& graph, const ClusterSpec& cluster,
                                    const std::vector<bool>& materialized) {
  return Translator(graph, cluster, materialized).run();
}

}  // namespace halyard::fusion
