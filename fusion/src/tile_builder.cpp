#include <fmt/format.h>
#include <halyard/fusion/tile_program.h>
#include <halyard/ops/primitive.h>
#include <algorithm>
#include <utility>

namespace halyard::fusion {
namespace {

constexpr std::size_t max_axes = 32;

/// The bits of `value` rounded to `type`, as the thread program's constants are made.
std::uint64_t bits_of(ElementType type, double value) {
  program::Builder builder("constant");
  std::uint64_t bits = 0;
  builder.is_constant(builder.constant({type, 1}, value), &bits);
  return bits;
}

}  // namespace

TileBuilder::TileBuilder(std::string name) {
  made_.program.name = std::move(name);
}

void TileBuilder::complain(ErrorCode code, std::string message) {
  if (!error_) error_ = Error{code, fmt::format("tile program {}: {}", made_.program.name, message)};
}

ElementType TileBuilder::type(Tile value) const {
  return value.id == no_tile ? ElementType::f32 : made_.program.values[index(value.id)].type;
}

AxisSet TileBuilder::axes(Tile value) const {
  return value.id == no_tile ? AxisSet{} : made_.program.values[index(value.id)].axes;
}

Tile TileBuilder::append(TileValue value, AccessBinding numbers) {
  made_.program.values.push_back(std::move(value));
  made_.binding.accesses.push_back(std::move(numbers));
  return {this, static_cast<TileId>(made_.program.values.size() - 1)};
}

Axis TileBuilder::axis(std::string name, std::int64_t extent) {
  if (made_.program.axes.size() == max_axes) {
    complain(ErrorCode::invalid_argument, "it has more than 32 axes; split the kernel");
    return Axis{0};
  }
  made_.program.axes.push_back(std::move(name));
  made_.binding.extents.push_back(extent);
  return static_cast<Axis>(made_.program.axes.size() - 1);
}

std::uint32_t TileBuilder::operand(TileOperand operand, std::int64_t elements) {
  made_.program.operands.push_back(std::move(operand));
  made_.binding.operand_elements.push_back(elements);
  made_.dimensions.emplace_back();
  return static_cast<std::uint32_t>(made_.program.operands.size() - 1);
}

std::uint32_t TileBuilder::scalar_parameter(TileScalar scalar, std::uint64_t bits) {
  made_.program.scalars.push_back(std::move(scalar));
  made_.binding.scalars.push_back(bits);
  return static_cast<std::uint32_t>(made_.program.scalars.size() - 1);
}

namespace {

/// One plain term per dimension; the numbers come with `contiguous_binding`.
Access access_of(const std::vector<Axis>& dimensions) {
  Access access;
  for (Axis axis : dimensions) access.terms.push_back({.axis = axis});
  return access;
}

AccessBinding unbound(std::size_t terms) {
  AccessBinding numbers;
  numbers.strides.assign(terms, 0);
  numbers.divisors.assign(terms, 1);
  numbers.moduli.assign(terms, 0);
  return numbers;
}

}  // namespace

Tile TileBuilder::input(std::string name, ElementType type, const std::vector<Axis>& dimensions) {
  std::uint32_t number = operand({.name = std::move(name), .type = type});
  made_.dimensions[number] = dimensions;
  return load(number, access_of(dimensions), unbound(dimensions.size()));
}

void TileBuilder::output(std::string name, Tile value, std::vector<Axis> dimensions) {
  AxisSet value_axes = axes(value);
  if (dimensions.empty())
    for (std::size_t a = 0; a < made_.program.axes.size(); ++a)
      if (value_axes.contains(static_cast<Axis>(a))) dimensions.push_back(static_cast<Axis>(a));
  if (!(set_of(dimensions) == value_axes))
    complain(ErrorCode::invalid_argument,
             fmt::format("output {} names other axes than its value has; broadcast or reduce the value first",
                         name));
  std::uint32_t number = operand({.name = std::move(name), .type = type(value), .written = true});
  made_.dimensions[number] = dimensions;
  store(number, value, access_of(dimensions), unbound(dimensions.size()));
}

Tile TileBuilder::constant(ElementType type, double value) {
  return constant_bits(type, bits_of(type, value));
}

Tile TileBuilder::constant_bits(ElementType type, std::uint64_t bits) {
  return append({.op = TileOp::constant, .type = type, .bits = bits});
}

Tile TileBuilder::scalar(std::uint32_t number) {
  if (number >= made_.program.scalars.size()) {
    complain(ErrorCode::invalid_argument, fmt::format("there is no scalar number {}", number));
    return constant(ElementType::f32, 0);
  }
  return append({.op = TileOp::scalar, .type = made_.program.scalars[number].type, .number = number});
}

Tile TileBuilder::position(Axis axis) {
  return append({.op = TileOp::position, .type = ElementType::i64, .axes = {axis}, .axes_list = {axis}});
}

Tile TileBuilder::extent(std::vector<Axis> axes, ElementType as) {
  Tile count = append({.op = TileOp::extent, .type = ElementType::i64, .axes_list = std::move(axes)});
  return as == ElementType::i64 ? count : elementwise(ops::Primitive::cast, {count}, as);
}

Tile TileBuilder::load(std::uint32_t number, Access access, AccessBinding numbers, Tile mask) {
  if (number >= made_.program.operands.size()) {
    complain(ErrorCode::invalid_argument, fmt::format("there is no operand number {} to load from", number));
    return constant(ElementType::f32, 0);
  }
  TileValue value{.op = TileOp::load, .type = made_.program.operands[number].type, .number = number};
  for (const IndexTerm& term : access.terms)
    value.axes = value.axes | (term.axis ? AxisSet{*term.axis} : axes({this, term.value}));
  if (mask.builder) {
    value.operands = {mask.id};
    value.axes = value.axes | axes(mask);
  }
  value.access = std::move(access);
  return append(std::move(value), std::move(numbers));
}

Tile TileBuilder::elementwise(ops::Primitive primitive, const std::vector<Tile>& operands,
                              std::optional<ElementType> to) {
  TileValue value{.op = TileOp::elementwise, .primitive = primitive};
  std::vector<ElementType> types;
  for (Tile operand : operands) {
    if (operand.builder != this || operand.id == no_tile) {
      complain(ErrorCode::invalid_argument,
               fmt::format("an operand of {} belongs to another kernel", ops::name(primitive)));
      return constant(to.value_or(ElementType::f32), 0);
    }
    value.operands.push_back(operand.id);
    value.axes = value.axes | axes(operand);
    types.push_back(type(operand));
  }
  ops::Attributes attributes;
  attributes.element = to;
  Result<ElementType> inferred = ops::infer_element(primitive, types, attributes);
  if (!inferred) {
    complain(inferred.error().code, inferred.error().message);
    return constant(to.value_or(types.empty() ? ElementType::f32 : types[0]), 0);
  }
  value.type = *inferred;
  return append(std::move(value));
}

Tile TileBuilder::reduce(Reduction reduction, Tile operand, std::vector<Axis> over, bool reduces_last_axis) {
  bool argument = reduction == Reduction::argmax || reduction == Reduction::argmin;
  AxisSet reduced = set_of(over);
  if (!axes(operand).contains(reduced) || over.empty())
    complain(ErrorCode::invalid_argument,
             "a reduction needs at least one axis, and only axes that its operand has");
  return append({.op = TileOp::reduce,
                 .type = argument ? ElementType::i64 : type(operand),
                 .axes = axes(operand) - reduced,
                 .operands = {operand.id},
                 .reduction = reduction,
                 .axes_list = std::move(over),
                 .reduces_last_axis = reduces_last_axis});
}

Tile TileBuilder::dot(Tile a, Tile b, std::vector<Axis> over, ElementType result) {
  AxisSet reduced = set_of(over);
  if (!(axes(a) & axes(b)).contains(reduced) || over.empty())
    complain(ErrorCode::invalid_argument,
             "a dot needs at least one axis, and only axes that both operands have");
  return append({.op = TileOp::dot,
                 .type = result,
                 .axes = (axes(a) | axes(b)) - reduced,
                 .operands = {a.id, b.id},
                 .axes_list = std::move(over)});
}

void TileBuilder::store(std::uint32_t number, Tile value, Access access, AccessBinding numbers) {
  if (number >= made_.program.operands.size()) {
    complain(ErrorCode::invalid_argument, fmt::format("there is no operand number {} to store to", number));
    return;
  }
  append({.op = TileOp::store,
          .type = type(value),
          .axes = axes(value),
          .operands = {value.id},
          .number = number,
          .access = std::move(access)},
         std::move(numbers));
}

Result<TileBuilder::Finished> TileBuilder::finish() && {
  if (error_) return tl::unexpected<Error>(*error_);
  HALYARD_TRY(verify(made_.program));
  bool extents_known = std::all_of(made_.binding.extents.begin(), made_.binding.extents.end(),
                                   [](std::int64_t extent) { return extent >= 0; });
  if (extents_known) {
    HALYARD_ASSIGN(made_.binding, contiguous_binding(made_, made_.binding.extents));
    HALYARD_TRY(verify(made_.program, made_.binding));
  }
  return std::move(made_);
}

Result<Binding> contiguous_binding(const TileBuilder::Finished& kernel,
                                   const std::vector<std::int64_t>& extents) {
  const TileProgram& program = kernel.program;
  if (extents.size() != program.axes.size())
    return fail(ErrorCode::invalid_argument, fmt::format("kernel {} has {} axes, but {} extents were given",
                                                         program.name, program.axes.size(), extents.size()));
  Binding binding = kernel.binding;
  binding.extents = extents;
  for (std::size_t a = 0; a < extents.size(); ++a)
    if (extents[a] < 0)
      return fail(ErrorCode::invalid_argument, fmt::format("kernel {}: axis {} has no extent; give it one",
                                                           program.name, program.axes[a]));
  for (std::size_t v = 0; v < program.values.size(); ++v) {
    const TileValue& value = program.values[v];
    if (value.op != TileOp::load && value.op != TileOp::store) continue;
    const std::vector<Axis>& dimensions = kernel.dimensions[value.number];
    bool by_hand = dimensions.empty() && !value.access.terms.empty();
    if (by_hand) continue;
    std::int64_t stride = 1;
    for (std::size_t d = dimensions.size(); d-- > 0;) {
      binding.accesses[v].strides[d] = stride;
      stride *= extents[index(dimensions[d])];
    }
    if (binding.operand_elements[value.number] < stride) binding.operand_elements[value.number] = stride;
  }
  return binding;
}

namespace {

Tile constant_like(Tile like, double value) {
  return like.builder->constant(like.builder->type(like), value);
}

Tile apply(ops::Primitive primitive, std::initializer_list<Tile> operands) {
  return operands.begin()->builder->elementwise(primitive, operands);
}

}  // namespace

Tile operator+(Tile a, Tile b) {
  return apply(ops::Primitive::add, {a, b});
}
Tile operator-(Tile a, Tile b) {
  return apply(ops::Primitive::sub, {a, b});
}
Tile operator*(Tile a, Tile b) {
  return apply(ops::Primitive::mul, {a, b});
}
Tile operator/(Tile a, Tile b) {
  return apply(ops::Primitive::div, {a, b});
}
Tile operator+(Tile a, double b) {
  return a + constant_like(a, b);
}
Tile operator-(Tile a, double b) {
  return a - constant_like(a, b);
}
Tile operator*(Tile a, double b) {
  return a * constant_like(a, b);
}
Tile operator/(Tile a, double b) {
  return a / constant_like(a, b);
}
Tile exp(Tile a) {
  return apply(ops::Primitive::exp, {a});
}
Tile log(Tile a) {
  return apply(ops::Primitive::log, {a});
}
Tile sqrt(Tile a) {
  return apply(ops::Primitive::sqrt, {a});
}
Tile rsqrt(Tile a) {
  return apply(ops::Primitive::rsqrt, {a});
}
Tile tanh(Tile a) {
  return apply(ops::Primitive::tanh, {a});
}
Tile erf(Tile a) {
  return apply(ops::Primitive::erf, {a});
}
Tile sigmoid(Tile a) {
  return apply(ops::Primitive::sigmoid, {a});
}
Tile maximum(Tile a, Tile b) {
  return apply(ops::Primitive::max, {a, b});
}
Tile minimum(Tile a, Tile b) {
  return apply(ops::Primitive::min, {a, b});
}
Tile select(Tile condition, Tile a, Tile b) {
  return apply(ops::Primitive::select, {condition, a, b});
}
Tile cast(Tile a, ElementType to) {
  return a.builder->elementwise(ops::Primitive::cast, {a}, to);
}

}  // namespace halyard::fusion
