#include <fmt/format.h>
#include <halyard/ops/primitive.h>
#include <algorithm>
#include <utility>

#include "lowering/lowering.h"

namespace halyard::fusion::lowering {

using program::no_value;
using program::Op;

namespace {

std::int64_t power_of_two_in(std::int64_t number) {
  return number == 0 ? std::int64_t{1} << 40 : number & -number;
}

}  // namespace

/// An index expression under construction.
struct Lowering::IndexSum {
  ValueId uniform = no_value;                     ///< scalar
  ValueId varying = no_value;                     ///< vector, without a consecutive part
  bool consecutive = false;                       ///< plus lane number
  std::int64_t multiple = std::int64_t{1} << 40;  ///< a power of two that divides the uniform part
};

std::string Lowering::access_name(TileId tile) const {
  const TileValue& v = value(tile);
  return fmt::format("{}_{}", tiles.operands[v.number].name, fusion::index(tile));
}

void Lowering::add_term(IndexSum& sum, const TileValue& access_value, std::size_t number_of_term,
                        const IndexTerm& term, Frame& frame) {
  auto tile = static_cast<TileId>(&access_value - tiles.values.data());
  const AccessBinding& numbers = binding.accesses[fusion::index(tile)];
  std::int64_t stride = numbers.strides[number_of_term];
  if (stride == 0) return;
  std::uint16_t lanes = frame.lanes();

  // The source: uniform, consecutive, or a vector.
  Coordinate source;
  std::string term_name = access_name(tile) + "_";
  if (term.axis) {
    if (extent_of(*term.axis) <= 1) return;
    source = frame.coordinate(*term.axis);
    term_name += axis_name(*term.axis);
    if (source.kind == Coordinate::Kind::absent) {
      complain(ErrorCode::internal,
               fmt::format("kernel {}: value {} is read where axis {} has no position", tiles.name,
                           fusion::index(tile), tiles.axes[fusion::index(*term.axis)]));
      return;
    }
  } else {
    term_name += fmt::format("value_{}", number_of_term);
    ValueId index = evaluate(term.value, frame);
    index = builder.cast(index_type_, index);
    source = {builder.type(index).lanes == 1 ? Coordinate::Kind::uniform : Coordinate::Kind::vector, index,
              1};
  }

  auto as_vector = [&] {
    if (source.kind == Coordinate::Kind::consecutive)
      source = {Coordinate::Kind::vector, consecutive(source.value, lanes), 1};
  };
  auto like_source = [&](ValueId scalar) {
    return source.kind == Coordinate::Kind::vector ? builder.splat(scalar, lanes) : scalar;
  };
  bool steps_with_vector = source.multiple >= lanes;
  if (term.divided && numbers.divisors[number_of_term] != 1) {
    std::int64_t divisor = numbers.divisors[number_of_term];
    if (source.kind == Coordinate::Kind::consecutive && divisor % lanes == 0 && steps_with_vector)
      source.kind = Coordinate::Kind::uniform;  // the whole vector lies within one step of the quotient
    as_vector();
    source.value =
        div(source.value, like_source(number(term_name + "_divisor", divisor, is_literal(divisor))));
    source.multiple = 1;
  }
  if (term.wrapped && numbers.moduli[number_of_term] > 0) {
    std::int64_t modulus = numbers.moduli[number_of_term];
    if (!(source.kind == Coordinate::Kind::consecutive && modulus % lanes == 0 && steps_with_vector))
      as_vector();
    source.value =
        rem(source.value, like_source(number(term_name + "_modulus", modulus, is_literal(modulus))));
    source.multiple = static_cast<std::uint32_t>(
        std::min<std::int64_t>(source.multiple, std::min<std::int64_t>(power_of_two_in(modulus), 1 << 20)));
  }

  auto stride_value = [&] { return number(term_name + "_stride", stride, stride == 1); };
  auto add_uniform = [&](ValueId part, std::int64_t multiple) {
    sum.uniform = sum.uniform == no_value ? part : add(sum.uniform, part);
    sum.multiple = std::min(sum.multiple, multiple);
  };
  auto add_varying = [&](ValueId part) {
    sum.varying = sum.varying == no_value ? part : add(sum.varying, part);
  };
  switch (source.kind) {
    case Coordinate::Kind::uniform:
      add_uniform(mul(source.value, stride_value()), power_of_two_in(stride));
      break;
    case Coordinate::Kind::consecutive:
      if (lanes == 1) {
        add_uniform(mul(source.value, stride_value()), power_of_two_in(stride) * source.multiple);
      } else if (stride == 1 && !sum.consecutive) {
        add_uniform(source.value, source.multiple);
        sum.consecutive = true;
      } else {
        add_uniform(mul(source.value, stride_value()), 1);
        add_varying(mul(builder.iota({index_type_, lanes}), builder.splat(stride_value(), lanes)));
      }
      break;
    case Coordinate::Kind::vector:
      add_varying(stride == 1 ? source.value : mul(source.value, builder.splat(stride_value(), lanes)));
      break;
    case Coordinate::Kind::absent:
      break;
  }
}

Lowering::Place Lowering::place(TileId tile, Frame& frame) {
  const TileValue& v = value(tile);
  const AccessBinding& numbers = binding.accesses[fusion::index(tile)];
  IndexSum sum;
  for (std::size_t t = 0; t < v.access.terms.size(); ++t) add_term(sum, v, t, v.access.terms[t], frame);
  if (numbers.offset != 0 || sum.uniform == no_value) {
    ValueId offset = number(access_name(tile) + "_offset", numbers.offset, numbers.offset == 0);
    sum.uniform = sum.uniform == no_value ? offset : add(sum.uniform, offset);
    sum.multiple = std::min(sum.multiple, power_of_two_in(numbers.offset));
  }

  Place place;
  std::uint16_t lanes = frame.lanes();
  if (sum.varying == no_value) {
    place.kind = sum.consecutive ? Place::Kind::contiguous : Place::Kind::uniform;
    place.index = sum.uniform;
    if (sum.consecutive && profile.model == ExecutionModel::lanes) {
      auto elements = std::min<std::int64_t>(sum.multiple, lanes);
      place.alignment = static_cast<std::uint32_t>(
          std::min<std::size_t>(static_cast<std::size_t>(elements) *
                                    byte_size(v.op == TileOp::store ? tiles.operands[v.number].type : v.type),
                                16));
    }
  } else {
    place.kind = Place::Kind::scattered;
    if (sum.consecutive) sum.varying = add(sum.varying, builder.iota({index_type_, lanes}));
    place.index = known(sum.uniform) == 0 ? sum.varying : add(sum.varying, builder.splat(sum.uniform, lanes));
  }
  return place;
}

ValueId Lowering::widen(ValueId v, std::uint16_t lanes) {
  return builder.type(v).lanes == lanes ? v : builder.splat(v, lanes);
}

ValueId Lowering::mask_of(const TileValue& v, Frame& frame, std::uint16_t lanes) {
  ValueId mask = lanes > 1 || frame.lanes() == 1 ? frame.mask() : no_value;
  if (v.op == TileOp::load && !v.operands.empty()) {
    ValueId condition = widen(evaluate(v.operands[0], frame), lanes);
    mask = mask == no_value ? condition : builder.binary(Op::bit_and, mask, condition);
  }
  return mask;
}

ValueId Lowering::evaluate_load(TileId tile, Frame& frame) {
  const TileValue& v = value(tile);
  MemoryRef memory = buffer(v.number);
  Place where = place(tile, frame);
  std::uint16_t lanes = where.kind == Place::Kind::uniform ? 1 : frame.lanes();
  if (!v.operands.empty() && lanes < frame.lanes()) {
    // A condition may differ between lanes where the address does not.
    ValueId condition = evaluate(v.operands[0], frame);
    if (builder.type(condition).lanes > 1) {
      lanes = frame.lanes();
      where = {Place::Kind::scattered, builder.splat(where.index, lanes), 0};
    }
  }
  ValueId mask = mask_of(v, frame, lanes);
  if (where.kind == Place::Kind::scattered) return builder.gather(memory, where.index, mask);
  return builder.load(memory, where.index, lanes, mask, where.alignment);
}

ValueId Lowering::position(Axis axis, Frame& frame) {
  const Coordinate& coordinate = frame.coordinate(axis);
  if (coordinate.kind == Coordinate::Kind::absent) {
    if (extent_of(axis) == 1) return literal(0);
    complain(ErrorCode::internal, fmt::format("kernel {}: the position on axis {} is not chosen here",
                                              tiles.name, tiles.axes[fusion::index(axis)]));
    return literal(0);
  }
  if (coordinate.kind == Coordinate::Kind::consecutive) return consecutive(coordinate.value, frame.lanes());
  return coordinate.value;
}

std::optional<ValueId> Lowering::evaluate_narrow(TileId tile, Frame& frame) {
  constexpr std::int64_t safe = 1 << 30;
  const TileValue& v = value(tile);
  if (v.type != ElementType::i64 || index_type_ != ElementType::i32) return std::nullopt;
  switch (v.op) {
    case TileOp::position:
      return position(v.axes_list[0], frame);
    case TileOp::extent:
      return count(v.axes_list);
    case TileOp::constant: {
      auto constant = static_cast<std::int64_t>(v.bits);
      if (constant >= safe || constant <= -safe) return std::nullopt;
      return literal(constant);
    }
    default:
      return std::nullopt;
  }
}

ValueId Lowering::elementwise(ops::Primitive primitive, std::vector<ValueId> operands, ElementType result) {
  std::uint16_t lanes = 1;
  for (ValueId operand : operands) lanes = std::max(lanes, builder.type(operand).lanes);
  for (ValueId& operand : operands) operand = widen(operand, lanes);
  const ops::PrimitiveRow& row = ops::row(primitive);
  if (!row.expand) {
    complain(ErrorCode::internal,
             fmt::format("kernel {}: {} is not an elementwise primitive", tiles.name, row.name));
    return builder.constant_bits({result, lanes}, 0);
  }
  ops::Attributes attributes;
  attributes.element = result;
  return row.expand(builder, operands, attributes, numeric);
}

ValueId Lowering::convert(ValueId v, ElementType to) {
  if (builder.type(v).element == to) return v;
  return elementwise(ops::Primitive::cast, {v}, to);
}

ValueId Lowering::evaluate_elementwise(TileId tile, Frame& frame) {
  const TileValue& v = value(tile);
  std::vector<ValueId> operands;
  // Positions and sizes are i64 by definition; where 32 bits hold them the narrow form gives the same value.
  ops::ElementRule rule = ops::row(v.primitive).element_rule;
  if (v.primitive == ops::Primitive::cast || rule == ops::ElementRule::comparison) {
    for (TileId operand : v.operands)
      if (auto narrow = evaluate_narrow(operand, frame)) operands.push_back(*narrow);
    if (operands.size() == v.operands.size()) {
      if (v.primitive == ops::Primitive::cast) return convert(operands[0], v.type);
      return elementwise(v.primitive, std::move(operands), v.type);
    }
    operands.clear();
  }
  for (TileId operand : v.operands) operands.push_back(evaluate(operand, frame));
  return elementwise(v.primitive, std::move(operands), v.type);
}

ValueId Lowering::evaluate(TileId tile, Frame& frame) {
  const TileValue& v = value(tile);
  if (auto found = frame.find(tile, v.axes)) return *found;
  ValueId result = no_value;
  const std::size_t known = builder.program().values.size();
  switch (v.op) {
    case TileOp::constant:
      return builder.constant_bits({v.type, 1}, v.bits);
    case TileOp::scalar:
      return scalar(v.number);
    case TileOp::position:
      result = builder.cast(ElementType::i64, position(v.axes_list[0], frame));
      break;
    case TileOp::extent:
      result = builder.cast(ElementType::i64, count(v.axes_list));
      break;
    case TileOp::load:
      result = evaluate_load(tile, frame);
      break;
    case TileOp::elementwise:
      result = evaluate_elementwise(tile, frame);
      break;
    case TileOp::reduce:
    case TileOp::dot:
    case TileOp::store:
      complain(ErrorCode::internal, fmt::format("kernel {}: value {} is used where it is not yet computed",
                                                tiles.name, fusion::index(tile)));
      return builder.constant_bits({v.type, 1}, 0);
  }
  // Readers follow a kernel by the tile program's values.
  const bool is_new = program::index(result) >= known;
  if (is_new && v.op == TileOp::elementwise)
    builder.note(fmt::format("tile %{}: {}", fusion::index(tile), ops::name(v.primitive)));
  if (is_new && v.op == TileOp::load)
    builder.note(fmt::format("tile %{}: load {}", fusion::index(tile), tiles.operands[v.number].name));
  frame.know(tile, result);
  return result;
}

void Lowering::evaluate_available(const std::vector<TileId>& wanted, Frame& frame) {
  // What the wanted values need, then, in order of definition, whatever of it can be had here.
  std::vector<bool> needed(tiles.values.size(), false);
  for (TileId tile : wanted) needed[fusion::index(tile)] = true;
  auto mark = [&](TileId tile) {
    if (tile != no_tile) needed[fusion::index(tile)] = true;
  };
  for (std::size_t i = tiles.values.size(); i-- > 0;) {
    if (!needed[i]) continue;
    if (frame.find(static_cast<TileId>(i), tiles.values[i].axes)) continue;
    for (TileId operand : tiles.values[i].operands) mark(operand);
    for (const IndexTerm& term : tiles.values[i].access.terms) mark(term.value);
  }
  std::vector<bool> available(tiles.values.size(), false);
  for (std::size_t i = 0; i < tiles.values.size(); ++i) {
    const TileValue& v = tiles.values[i];
    if (!needed[i] || v.op == TileOp::store) continue;
    auto id = static_cast<TileId>(i);
    bool known_here = frame.find(id, v.axes).has_value();
    bool can = known_here || (v.op != TileOp::reduce && v.op != TileOp::dot);
    if (!known_here) {
      for (std::size_t a = 0; a < tiles.axes.size(); ++a)
        if (v.axes.contains(static_cast<Axis>(a)) && binding.extents[a] != 1 &&
            frame.coordinate(static_cast<Axis>(a)).kind == Coordinate::Kind::absent)
          can = false;
      for (TileId operand : v.operands) can = can && available[fusion::index(operand)];
      for (const IndexTerm& term : v.access.terms)
        can = can && (term.value == no_tile || available[fusion::index(term.value)]);
    }
    available[i] = can;
    bool trivial = v.op == TileOp::constant || v.op == TileOp::scalar || v.op == TileOp::position ||
                   v.op == TileOp::extent;
    if (can && !known_here && !trivial) evaluate(id, frame);
  }
}

void Lowering::store(TileId tile, Frame& frame) {
  const TileValue& v = value(tile);
  ValueId stored = convert(evaluate(v.operands[0], frame), tiles.operands[v.number].type);
  MemoryRef memory = buffer(v.number);
  Place where = place(tile, frame);
  if (where.kind == Place::Kind::uniform) {
    // One element for the whole vector; lane 0 always exists.
    builder.store(memory, where.index, builder.extract(stored, 0),
                  frame.lanes() == 1 ? frame.mask() : no_value);
    return;
  }
  stored = widen(stored, frame.lanes());
  if (where.kind == Place::Kind::contiguous)
    builder.store(memory, where.index, stored, frame.mask(), where.alignment);
  else
    builder.scatter(memory, where.index, stored, frame.mask());
}

void Lowering::store_once(TileId tile, Frame& frame, const std::vector<Axis>& space) {
  ValueId here = no_value;
  for (Axis axis : space) {
    const Coordinate& coordinate = frame.coordinate(axis);
    if (value(tile).axes.contains(axis) || extent_of(axis) == 1) continue;
    ValueId first = builder.compare(Op::eq, coordinate.value, literal(0));
    here = here == no_value ? first : builder.binary(Op::bit_and, here, first);
  }
  if (here == no_value) return store(tile, frame);
  builder.if_then(here, [&] {
    Frame inner = frame.inner();
    store(tile, inner);
  });
}

}  // namespace halyard::fusion::lowering
