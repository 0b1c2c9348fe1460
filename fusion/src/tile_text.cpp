#include <fmt/format.h>
#include <halyard/fusion/tile_program.h>
#include <halyard/ops/primitive.h>
#include <bit>
#include <string>

namespace halyard::fusion {
namespace {

std::string_view name_of(Reduction reduction) {
  constexpr std::string_view names[] = {"sum", "prod", "max", "min", "any", "all", "argmax", "argmin"};
  return names[static_cast<std::size_t>(reduction)];
}

class Printer {
 public:
  Printer(const TileProgram& program, const Binding* binding) : program_(program), binding_(binding) {}

  std::string run() {
    text_ = fmt::format("tile {}\n", program_.name);
    for (std::size_t a = 0; a < program_.axes.size(); ++a)
      text_ += binding_ ? fmt::format("axis {} = {}\n", program_.axes[a], binding_->extents[a])
                        : fmt::format("axis {}\n", program_.axes[a]);
    for (std::size_t o = 0; o < program_.operands.size(); ++o) print_operand(o);
    for (std::size_t s = 0; s < program_.scalars.size(); ++s)
      text_ += fmt::format("scalar {} : {}\n", program_.scalars[s].name, name(program_.scalars[s].type));
    text_ += "{\n";
    for (std::size_t v = 0; v < program_.values.size(); ++v) print_value(v);
    text_ += "}\n";
    return std::move(text_);
  }

 private:
  void print_operand(std::size_t o) {
    const TileOperand& operand = program_.operands[o];
    text_ += fmt::format("operand {} : {} {}{}", operand.name, name(operand.type),
                         operand.written ? "written" : "read", operand.constant ? " constant" : "");
    if (binding_) text_ += fmt::format("  # {} elements", binding_->operand_elements[o]);
    text_ += '\n';
  }

  std::string axes(AxisSet set) const {
    std::string text;
    for (std::size_t a = 0; a < program_.axes.size(); ++a)
      if (set.contains(static_cast<Axis>(a))) text += (text.empty() ? "" : ", ") + program_.axes[a];
    return text;
  }
  std::string axes(const std::vector<Axis>& list) const {
    std::string text;
    for (Axis axis : list) text += (text.empty() ? "" : ", ") + program_.axes[index(axis)];
    return text;
  }

  /// "offset + row*stride + …"; the numbers where a binding gives them, else their roles.
  std::string access(std::size_t v) const {
    const TileValue& value = program_.values[v];
    const AccessBinding* numbers = binding_ ? &binding_->accesses[v] : nullptr;
    std::string text = numbers ? (numbers->offset ? fmt::format("{}", numbers->offset) : "") : "offset";
    for (std::size_t t = 0; t < value.access.terms.size(); ++t) {
      const IndexTerm& term = value.access.terms[t];
      std::string source =
          term.axis ? program_.axes[index(*term.axis)] : fmt::format("%{}", index(term.value));
      if (term.divided)
        source = numbers ? fmt::format("({} div {})", source, numbers->divisors[t])
                         : fmt::format("({} div divisor{})", source, t);
      if (term.wrapped)
        source = numbers ? fmt::format("({} mod {})", source, numbers->moduli[t])
                         : fmt::format("({} mod modulus{})", source, t);
      if (!text.empty()) text += " + ";
      text +=
          numbers ? fmt::format("{}*{}", source, numbers->strides[t]) : fmt::format("{}*stride{}", source, t);
    }
    return text.empty() ? "0" : text;
  }

  static std::string constant(const TileValue& value) {
    std::string bits = fmt::format("0x{:x}", value.bits);
    if (value.type == ElementType::f32)
      return fmt::format("{} ({})", bits, std::bit_cast<float>(static_cast<std::uint32_t>(value.bits)));
    if (value.type == ElementType::f64)
      return fmt::format("{} ({})", bits, std::bit_cast<double>(value.bits));
    if (value.type == ElementType::i64) return fmt::format("{}", static_cast<std::int64_t>(value.bits));
    return bits;
  }

  std::string expression(std::size_t v) const {
    const TileValue& value = program_.values[v];
    std::string operands;
    for (TileId id : value.operands)
      operands += fmt::format("{}%{}", operands.empty() ? "" : ", ", index(id));
    switch (value.op) {
      case TileOp::constant:
        return "constant " + constant(value);
      case TileOp::scalar:
        return "scalar " + program_.scalars[value.number].name;
      case TileOp::position:
        return fmt::format("position({})", axes(value.axes_list));
      case TileOp::extent:
        return fmt::format("extent({})", axes(value.axes_list));
      case TileOp::load:
        return fmt::format("load {}[{}]{}", program_.operands[value.number].name, access(v),
                           operands.empty() ? "" : " where " + operands);
      case TileOp::elementwise:
        return fmt::format("{}({})", ops::name(value.primitive), operands);
      case TileOp::reduce:
        return fmt::format("{}({}) over ({}){}", name_of(value.reduction), operands, axes(value.axes_list),
                           value.reduces_last_axis ? "" : " by columns");
      case TileOp::dot:
        return fmt::format("dot({}) over ({})", operands, axes(value.axes_list));
      case TileOp::store:
        return fmt::format("store {}[{}], {}", program_.operands[value.number].name, access(v), operands);
    }
    return "?";
  }

  void print_value(std::size_t v) {
    const TileValue& value = program_.values[v];
    if (value.op == TileOp::store)
      text_ += "  " + expression(v);
    else
      text_ += fmt::format("  %{} : {}({}) = {}", v, name(value.type), axes(value.axes), expression(v));
    if (!value.note.empty()) text_ += "  # " + value.note;
    text_ += '\n';
  }

  const TileProgram& program_;
  const Binding* binding_;
  std::string text_;
};

}  // namespace

std::string to_text(const TileProgram& program) {
  return Printer(program, nullptr).run();
}

std::string to_text(const TileProgram& program, const Binding& binding) {
  return Printer(program, &binding).run();
}

}  // namespace halyard::fusion
