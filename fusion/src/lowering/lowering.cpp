#include "lowering/lowering.h"

#include <fmt/format.h>
#include <algorithm>
#include <cctype>
#include <cstring>
#include <limits>
#include <utility>

namespace halyard::fusion::lowering {
namespace {

/// Letters, digits and underscores, not beginning with a digit.
std::string identifier(std::string_view text) {
  std::string result;
  for (char c : text) result += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (result.empty() || std::isdigit(static_cast<unsigned char>(result[0]))) result.insert(0, 1, '_');
  return result;
}

/// Room for a vector or a block beyond an end without overflow of an i32 index.
constexpr std::int64_t index_limit = std::numeric_limits<std::int32_t>::max() - (1 << 20);

/// `a * b`, saturated well above `index_limit`. Extents only, so both are non-negative.
std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

std::int64_t product_of(const Binding& binding, AxisSet axes) {
  std::int64_t product = 1;
  for (std::size_t a = 0; a < binding.extents.size(); ++a)
    if (axes.contains(static_cast<Axis>(a)))
      product = saturating_product(product, std::max<std::int64_t>(binding.extents[a], 1));
  return product;
}

/// Whether every index that a kernel of this program forms fits an i32.
bool fits_i32(const TileProgram& tiles, const Binding& binding) {
  for (std::int64_t elements : binding.operand_elements)
    if (elements > index_limit) return false;
  for (std::int64_t extent : binding.extents)
    if (extent > index_limit) return false;
  for (std::size_t v = 0; v < tiles.values.size(); ++v) {
    const TileValue& value = tiles.values[v];
    if (value.op == TileOp::store && product_of(binding, value.axes) > index_limit) return false;
    if (value.op == TileOp::reduce || value.op == TileOp::dot) {
      AxisSet reduced;
      for (Axis axis : value.axes_list) reduced = reduced | AxisSet{axis};
      if (product_of(binding, reduced) > index_limit) return false;
    }
    if (v >= binding.accesses.size()) continue;
    for (std::int64_t stride : binding.accesses[v].strides)
      if (stride > index_limit || stride < -index_limit) return false;
  }
  return true;
}

}  // namespace

Lowering::Lowering(const TileProgram& the_tiles, const Binding& the_binding, const DeviceProfile& the_profile)
    : tiles(the_tiles),
      binding(the_binding),
      profile(the_profile),
      numeric(the_profile.numeric_class()),
      builder(identifier(the_tiles.name)),
      index_type_(fits_i32(the_tiles, the_binding) ? ElementType::i32 : ElementType::i64) {
  if (index_type_ == ElementType::i64 && !profile.has_i64)
    complain(
        ErrorCode::unsupported,
        fmt::format("kernel {}: its tensors need 64-bit indices, which {} does not have; use smaller tensors "
                    "or another device",
                    tiles.name, profile.name));
}

std::int64_t Lowering::extent_of(const std::vector<Axis>& axes) const {
  std::int64_t product = 1;
  for (Axis axis : axes) product *= extent_of(axis);
  return product;
}

std::vector<TileId> Lowering::stores() const {
  std::vector<TileId> found;
  for (std::size_t v = 0; v < tiles.values.size(); ++v)
    if (tiles.values[v].op == TileOp::store) found.push_back(static_cast<TileId>(v));
  return found;
}

std::int64_t Lowering::bucket(std::int64_t extent) {
  std::int64_t power = 1;
  while (power < extent) power *= 2;
  return power;
}

ValueId Lowering::number(const std::string& name, std::int64_t value, bool is_literal) {
  if (is_literal) return literal(value);
  std::string key = identifier(name);
  auto found = numbers_.find(key);
  if (found == numbers_.end()) {
    ValueId id = builder.parameter(key, index_type_);
    scalar_bits_.push_back(static_cast<std::uint64_t>(value));
    found = numbers_.emplace(key, Number{id, static_cast<std::uint64_t>(value)}).first;
  } else if (found->second.bits != static_cast<std::uint64_t>(value)) {
    complain(ErrorCode::internal,
             fmt::format("kernel {}: two values, {} and {}, were given for the number {}", tiles.name,
                         static_cast<std::int64_t>(found->second.bits), value, key));
  }
  return found->second.id;
}

std::string Lowering::axis_name(Axis axis) const {
  const std::string& name = tiles.axes[fusion::index(axis)];
  bool unique = std::count(tiles.axes.begin(), tiles.axes.end(), name) == 1;
  return unique ? name : fmt::format("{}_{}", name, fusion::index(axis));
}

ValueId Lowering::extent(Axis axis) {
  return number("extent_" + axis_name(axis), extent_of(axis), is_literal(extent_of(axis)));
}

ValueId Lowering::count(const std::vector<Axis>& axes) {
  // Unit extents leave no trace, so that one axis alone needs no second number.
  std::string name = "count";
  bool all_literal = true;
  std::vector<Axis> more_than_one;
  for (Axis axis : axes) {
    if (extent_of(axis) == 1) continue;
    more_than_one.push_back(axis);
    name += "_" + axis_name(axis);
    all_literal = all_literal && is_literal(extent_of(axis));
  }
  if (more_than_one.size() == 1) return extent(more_than_one[0]);
  return number(name, extent_of(axes), all_literal);
}

ValueId Lowering::scalar(std::uint32_t which) {
  const TileScalar& scalar = tiles.scalars[which];
  std::string key = identifier(fmt::format("scalar_{}_{}", which, scalar.name));
  auto found = numbers_.find(key);
  if (found == numbers_.end()) {
    std::uint64_t bits = which < binding.scalars.size() ? binding.scalars[which] : 0;
    ValueId id = builder.parameter(key, scalar.type);
    scalar_bits_.push_back(bits);
    found = numbers_.emplace(key, Number{id, bits}).first;
  }
  return found->second.id;
}

ValueId Lowering::builtin(program::Builtin which) {
  auto key = static_cast<std::uint32_t>(which);
  auto found = builtins_.find(key);
  if (found == builtins_.end()) found = builtins_.emplace(key, builder.builtin(which)).first;
  return builder.cast(index_type_, found->second);
}

ValueId Lowering::min(ValueId a, ValueId b) {
  auto x = known(a);
  auto y = known(b);
  if (x && y) return *x < *y ? a : b;
  return builder.select(less(a, b), a, b);
}

ValueId Lowering::max(ValueId a, ValueId b) {
  auto x = known(a);
  auto y = known(b);
  if (x && y) return *x < *y ? b : a;
  return builder.select(less(a, b), b, a);
}

std::optional<std::int64_t> Lowering::known(ValueId value) const {
  std::uint64_t bits = 0;
  if (!builder.is_constant(value, &bits)) return std::nullopt;
  if (builder.type(value).element == ElementType::i32) return static_cast<std::int32_t>(bits);
  return static_cast<std::int64_t>(bits);
}

ValueId Lowering::consecutive(ValueId base, std::uint16_t lanes) {
  if (lanes == 1) return base;
  ValueId iota = builder.iota({index_type_, lanes});
  if (known(base) == 0) return iota;
  return builder.add(builder.splat(base, lanes), iota);
}

void Lowering::decompose(Frame& frame, const std::vector<Axis>& axes, ValueId linear) {
  std::uint16_t lanes = builder.type(linear).lanes;
  auto set = [&](Axis axis, ValueId position) {
    if (lanes == 1)
      frame.at(axis, position);
    else
      frame.indices(axis, position);
  };
  std::size_t outermost = axes.size();
  for (std::size_t a = 0; a < axes.size(); ++a) {
    if (extent_of(axes[a]) == 1) {
      frame.at(axes[a], literal(0));
    } else if (outermost == axes.size()) {
      outermost = a;
    }
  }
  for (std::size_t a = axes.size(); a-- > 0;) {
    if (extent_of(axes[a]) == 1) continue;
    if (a == outermost) {
      set(axes[a], linear);
      continue;
    }
    ValueId extent_here = builder.splat(extent(axes[a]), lanes);
    ValueId quotient = div(linear, extent_here);
    set(axes[a], sub(linear, mul(quotient, extent_here)));
    linear = quotient;
  }
}

void Lowering::decompose_consecutive(Frame& frame, const std::vector<Axis>& axes, ValueId base,
                                     std::uint16_t lanes, std::uint32_t multiple) {
  std::vector<Axis> varying;
  for (Axis axis : axes) {
    if (extent_of(axis) == 1)
      frame.at(axis, literal(0));
    else
      varying.push_back(axis);
  }
  frame.width(lanes);
  if (varying.empty()) return;
  if (lanes == 1) return decompose(frame, varying, base);
  Axis last = varying.back();
  if (varying.size() == 1) {
    frame.consecutive(last, base, multiple);
  } else if (divisible(last, lanes) && multiple % lanes == 0) {
    decompose(frame, varying, base);
    frame.consecutive(last, frame.coordinate(last).value, lanes);
  } else {
    decompose(frame, varying, consecutive(base, lanes));
  }
}

std::vector<ValueId> Lowering::repeat(ValueId trips, std::vector<ValueId> initial,
                                      const Builder::LoopBody& body, std::uint32_t unroll) {
  if (auto literal_trips = known(trips)) {
    if (*literal_trips <= 0) return initial;
    if (*literal_trips == 1) return body(literal(0), initial);
  }
  return builder.for_loop(literal(0), trips, literal(1), std::move(initial), body, unroll);
}

std::vector<ValueId> Lowering::when(ValueId condition, std::vector<ValueId> otherwise,
                                    const Builder::Branch& body) {
  std::uint64_t bits = 0;
  if (builder.is_constant(condition, &bits)) return bits ? body() : otherwise;
  return builder.if_else(condition, body, [&] { return otherwise; });
}

MemoryRef Lowering::buffer(std::uint32_t operand) {
  auto found = buffers_.find(operand);
  if (found != buffers_.end()) return found->second;
  bool read = false;
  bool written = false;
  for (const TileValue& value : tiles.values) {
    if (value.number != operand) continue;
    read = read || value.op == TileOp::load;
    written = written || value.op == TileOp::store;
  }
  auto access =
      written ? (read ? program::Access::read_write : program::Access::write) : program::Access::read;
  const TileOperand& tile_operand = tiles.operands[operand];
  std::string name = fmt::format("{}_{}", identifier(tile_operand.name), operand);
  MemoryRef memory = builder.buffer(std::move(name), tile_operand.type, access);
  buffer_order_.push_back(operand);
  buffers_.emplace(operand, memory);
  return memory;
}

std::string Lowering::compiled_in(Schedule schedule) {
  if (schedule.pattern != Pattern::contraction && schedule.pattern != Pattern::attention)
    schedule.block_rows = schedule.block_n = 1;
  return to_text(schedule);
}

void Lowering::complain(ErrorCode code, std::string message) {
  if (!error_) error_ = Error{code, std::move(message)};
}

namespace {

/// Moves the instructions that read parameters and builtins from wherever they were first needed to the top.
void hoist(program::Block& block, std::vector<program::Instruction>& hoisted) {
  std::erase_if(block.body, [&](program::Instruction& instruction) {
    for (program::Block& nested : instruction.blocks) hoist(nested, hoisted);
    if (instruction.op != program::Op::parameter && instruction.op != program::Op::builtin) return false;
    hoisted.push_back(std::move(instruction));
    return true;
  });
}

}  // namespace

Result<LoweredKernel> Lowering::finish(std::array<std::uint32_t, 3> grid, std::uint32_t lanes,
                                       std::uint32_t subgroup_size, std::string note) {
  if (error_) return tl::unexpected<Error>(*error_);
  LoweredKernel kernel;
  kernel.program = std::move(builder).finish();
  program::Program& made = kernel.program;
  made.note = std::move(note);
  made.workgroup_size[0] = lanes;
  made.subgroup_size = subgroup_size;

  std::vector<program::Instruction> hoisted;
  hoist(made.body, hoisted);
  std::stable_sort(hoisted.begin(), hoisted.end(), [](const auto& a, const auto& b) {
    return std::pair(a.op, a.immediate) < std::pair(b.op, b.immediate);
  });
  made.body.body.insert(made.body.body.begin(), std::make_move_iterator(hoisted.begin()),
                        std::make_move_iterator(hoisted.end()));

  std::vector<std::uint32_t> offsets = program::scalar_offsets(made);
  kernel.scalars.resize(offsets.back());
  for (std::size_t s = 0; s < scalar_bits_.size(); ++s)
    std::memcpy(kernel.scalars.data() + offsets[s], &scalar_bits_[s], byte_size(made.scalars[s].element));
  kernel.grid = grid;
  kernel.buffers = buffer_order_;
  return kernel;
}

}  // namespace halyard::fusion::lowering
