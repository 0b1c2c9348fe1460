#include <fmt/format.h>
#include <halyard/fusion/tile_program.h>
#include <halyard/ops/primitive.h>
#include <algorithm>
#include <limits>

namespace halyard::fusion {
namespace {

/// One value's rules. Every check returns a message, empty if all is well.
class ValueCheck {
 public:
  ValueCheck(const TileProgram& program, std::size_t number)
      : program_(program), number_(number), value_(program.values[number]) {}

  std::string run() const {
    if (std::string message = operands_exist(); !message.empty()) return message;
    if (std::string message = axes_exist(); !message.empty()) return message;
    switch (value_.op) {
      case TileOp::constant:
        return expect(value_.operands.empty() && value_.axes.empty(),
                      "a constant has neither operands nor axes");
      case TileOp::scalar:
        return expect(value_.number < program_.scalars.size() && value_.axes.empty(),
                      "it reads no existing scalar");
      case TileOp::position:
        return expect(value_.type == ElementType::i64 && value_.axes_list.size() == 1 &&
                          value_.axes == AxisSet{value_.axes_list[0]},
                      "a position is an i64 on one axis");
      case TileOp::extent:
        return expect(value_.type == ElementType::i64 && value_.axes.empty(),
                      "an extent is an i64 without axes");
      case TileOp::load:
        return check_load();
      case TileOp::elementwise:
        return check_elementwise();
      case TileOp::reduce:
        return check_reduce();
      case TileOp::dot:
        return check_dot();
      case TileOp::store:
        return check_store();
    }
    return "its operation is not known";
  }

 private:
  static std::string expect(bool condition, std::string_view otherwise) {
    return condition ? std::string{} : std::string{otherwise};
  }
  const TileValue& operand(std::size_t i) const { return program_.values[index(value_.operands[i])]; }
  AxisSet listed() const {
    AxisSet set;
    for (Axis axis : value_.axes_list) set = set | AxisSet{axis};
    return set;
  }

  std::string operands_exist() const {
    auto defined = [&](TileId id) {
      return index(id) < number_ && program_.values[index(id)].op != TileOp::store;
    };
    for (TileId id : value_.operands)
      if (!defined(id)) return fmt::format("operand {} is not a value defined before", index(id));
    for (const IndexTerm& term : value_.access.terms) {
      if (term.axis) continue;
      if (!defined(term.value)) return "an index term has neither an axis nor a value defined before";
      if (!is_integer(program_.values[index(term.value)].type)) return "an index value is not an integer";
    }
    return {};
  }

  std::string axes_exist() const {
    std::size_t count = program_.axes.size();
    if (count < 32 && (value_.axes.bits() >> count) != 0) return "it has an axis the program does not";
    AxisSet seen;
    for (Axis axis : value_.axes_list) {
      if (index(axis) >= count) return "it names an axis the program does not have";
      if (seen.contains(axis)) return fmt::format("it names axis {} twice", program_.axes[index(axis)]);
      seen = seen | AxisSet{axis};
    }
    for (const IndexTerm& term : value_.access.terms)
      if (term.axis && index(*term.axis) >= count)
        return "an index term names an axis the program does not have";
    return {};
  }

  AxisSet access_axes() const {
    AxisSet axes;
    for (const IndexTerm& term : value_.access.terms)
      axes = axes | (term.axis ? AxisSet{*term.axis} : program_.values[index(term.value)].axes);
    return axes;
  }

  std::string check_load() const {
    if (value_.number >= program_.operands.size()) return "it loads from no existing operand";
    if (value_.type != program_.operands[value_.number].type) return "its type is not its operand's";
    AxisSet axes = access_axes();
    if (value_.operands.size() > 1) return "a load takes at most a mask";
    if (!value_.operands.empty()) {
      if (operand(0).type != ElementType::boolean) return "its mask is not boolean";
      axes = axes | operand(0).axes;
    }
    return expect(value_.axes == axes, "its axes are not those of its index map and mask");
  }

  std::string check_elementwise() const {
    std::vector<ElementType> types;
    AxisSet axes;
    for (std::size_t i = 0; i < value_.operands.size(); ++i) {
      types.push_back(operand(i).type);
      axes = axes | operand(i).axes;
    }
    const ops::PrimitiveRow& row = ops::row(value_.primitive);
    if (row.kind != ops::Kind::elementwise) return fmt::format("{} is not elementwise", row.name);
    ops::Attributes attributes;
    attributes.element = value_.type;
    Result<ElementType> inferred = ops::infer_element(value_.primitive, types, attributes);
    if (!inferred) return inferred.error().message;
    if (*inferred != value_.type)
      return fmt::format("{} gives {}, not {}", row.name, name(*inferred), name(value_.type));
    return expect(value_.axes == axes, "its axes are not its operands' together");
  }

  std::string check_reduce() const {
    if (value_.operands.size() != 1 || value_.axes_list.empty())
      return "a reduction takes one operand and some axes";
    if (!operand(0).axes.contains(listed())) return "it reduces an axis that its operand does not have";
    if (!(value_.axes == operand(0).axes - listed()))
      return "its axes are not its operand's without the reduced ones";
    ElementType from = operand(0).type;
    switch (value_.reduction) {
      case Reduction::argmax:
      case Reduction::argmin:
        return expect(value_.type == ElementType::i64 && from != ElementType::boolean,
                      "argmax and argmin give i64 and take numbers");
      case Reduction::any:
      case Reduction::all:
        return expect(value_.type == ElementType::boolean && from == ElementType::boolean,
                      "any and all take and give booleans");
      default:
        return expect(value_.type == from && from != ElementType::boolean,
                      "a reduction takes numbers and gives its operand's type");
    }
  }

  std::string check_dot() const {
    if (value_.operands.size() != 2 || value_.axes_list.empty())
      return "a dot takes two operands and some axes";
    if (!(operand(0).axes & operand(1).axes).contains(listed()))
      return "it sums over an axis that an operand lacks";
    return expect(value_.axes == (operand(0).axes | operand(1).axes) - listed(),
                  "its axes are not its operands' without the summed ones");
  }

  std::string check_store() const {
    if (value_.operands.size() != 1) return "a store takes one value";
    if (value_.number >= program_.operands.size()) return "it stores to no existing operand";
    const TileOperand& target = program_.operands[value_.number];
    if (!target.written)
      return fmt::format("it stores to operand {}, which is not declared written", target.name);
    if (operand(0).type != target.type)
      return fmt::format("it stores {} to an operand of {}", name(operand(0).type), name(target.type));
    if (!operand(0).axes.contains(access_axes())) return "its index map names an axis that its value lacks";
    return expect(value_.axes == operand(0).axes, "its axes are not its value's");
  }

  const TileProgram& program_;
  std::size_t number_;
  const TileValue& value_;
};

tl::unexpected<Error> complain(const TileProgram& program, std::size_t value, const std::string& message) {
  return fail(ErrorCode::invalid_argument,
              fmt::format("tile program {}: value %{}: {}", program.name, value, message));
}

/// The greatest value of a term on an axis after division and wrapping; the least is 0.
std::int64_t last_position(const IndexTerm& term, std::int64_t extent, std::int64_t divisor,
                           std::int64_t modulus) {
  std::int64_t last = extent - 1;
  if (term.divided) last /= divisor;
  if (term.wrapped && modulus > 0) last = std::min(last, modulus - 1);
  return last;
}

/// Whether every index without a gather lies within the operand.
std::string check_range(const TileProgram& program, const Binding& binding, std::size_t number) {
  const TileValue& value = program.values[number];
  const AccessBinding& numbers = binding.accesses[number];
  std::size_t terms = value.access.terms.size();
  if (numbers.strides.size() != terms || numbers.divisors.size() != terms || numbers.moduli.size() != terms)
    return "its binding has another number of index terms";
  std::int64_t low = numbers.offset;
  std::int64_t high = numbers.offset;
  bool bounded = value.op == TileOp::store || value.operands.empty();
  for (std::size_t t = 0; t < terms; ++t) {
    const IndexTerm& term = value.access.terms[t];
    if (term.divided && numbers.divisors[t] < 1) return "a divisor is not positive";
    if (term.wrapped && numbers.moduli[t] < 0) return "a modulus is negative";
    if (!term.axis) {
      bounded = false;
      continue;
    }
    std::int64_t extent = binding.extents[index(*term.axis)];
    if (extent == 0) return {};  // nothing is accessed
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(last_position(term, extent, numbers.divisors[t], numbers.moduli[t]),
                               numbers.strides[t], &reach) ||
        __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high))
      return "its indices overflow 64 bits";
  }
  std::int64_t elements = binding.operand_elements[value.number];
  if (bounded && (low < 0 || high >= elements))
    return fmt::format("it reaches elements {} to {} of operand {}, which has {}", low, high,
                       program.operands[value.number].name, elements);
  return {};
}

}  // namespace

Status verify(const TileProgram& program) {
  if (program.axes.size() > 32)
    return fail(ErrorCode::invalid_argument,
                fmt::format("tile program {}: it has more than 32 axes", program.name));
  bool stores = false;
  for (std::size_t v = 0; v < program.values.size(); ++v) {
    if (std::string message = ValueCheck(program, v).run(); !message.empty())
      return complain(program, v, message);
    stores = stores || program.values[v].op == TileOp::store;
  }
  if (!stores)
    return fail(ErrorCode::invalid_argument,
                fmt::format("tile program {}: it stores nothing; give it an output", program.name));
  return {};
}

Status verify(const TileProgram& program, const Binding& binding) {
  HALYARD_TRY(verify(program));
  auto parallel = [&](std::string_view what, std::size_t bound, std::size_t expected) -> Status {
    if (bound == expected) return {};
    return fail(ErrorCode::invalid_argument, fmt::format("tile program {}: its binding holds {} {}, not {}",
                                                         program.name, bound, what, expected));
  };
  HALYARD_TRY(parallel("extents", binding.extents.size(), program.axes.size()));
  HALYARD_TRY(parallel("accesses", binding.accesses.size(), program.values.size()));
  HALYARD_TRY(parallel("scalars", binding.scalars.size(), program.scalars.size()));
  HALYARD_TRY(parallel("operand sizes", binding.operand_elements.size(), program.operands.size()));
  for (std::size_t a = 0; a < binding.extents.size(); ++a)
    if (binding.extents[a] < 0)
      return fail(ErrorCode::invalid_argument,
                  fmt::format("tile program {}: axis {} has the extent {}", program.name, program.axes[a],
                              binding.extents[a]));
  for (std::size_t v = 0; v < program.values.size(); ++v) {
    const TileValue& value = program.values[v];
    if (value.op != TileOp::load && value.op != TileOp::store) continue;
    bool empty = false;
    for (std::size_t a = 0; a < binding.extents.size(); ++a)
      empty = empty || (value.axes.contains(static_cast<Axis>(a)) && binding.extents[a] == 0);
    if (empty) continue;
    if (std::string message = check_range(program, binding, v); !message.empty())
      return complain(program, v, message);
  }
  return {};
}

}  // namespace halyard::fusion
