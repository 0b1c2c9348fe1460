#include "lowering_harness.h"

#include <fmt/format.h>
#include <halyard/ops/reduction_order.h>
#include <halyard/ops/reference.h>
#include <halyard/program/interpret.h>
#include <halyard/program/text.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <random>
#include <sstream>
#include <stdexcept>

namespace halyard::fusion::test {

using ops::HostTensor;
using ops::Shape;

DeviceProfile profile(const std::string& name) {
  std::ifstream file(std::string(HALYARD_TEST_PROFILES) + "/" + name + ".json");
  std::stringstream text;
  text << file.rdbuf();
  Result<DeviceProfile> parsed = profile_from_json(text.str());
  if (!parsed) throw std::runtime_error(name + ": " + parsed.error().message);
  return *parsed;
}

std::vector<std::string> profile_names() {
  return {"cpu-avx2", "cpu-avx512", "lavapipe", "lavapipe-22", "swiftshader", "gpu-32", "interpreter"};
}

namespace {

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

HostTensor filled(ElementType type, std::int64_t count, std::mt19937_64& random, std::int64_t below) {
  HostTensor tensor = must(HostTensor::allocate(type, Shape{count}));
  std::normal_distribution<double> normal(0, 1);
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint64_t bits = 0;
    if (is_float(type)) {
      double value = random() % 16 == 0 ? (random() % 2 ? 0.0 : -0.0) : normal(random);
      bits = HostTensor::scalar(type, value).bits_at(0);
    } else if (type == ElementType::boolean) {
      bits = random() % 2;
    } else {
      bits = random() % static_cast<std::uint64_t>(below);
    }
    tensor.set_bits_at(i, bits);
  }
  return tensor;
}

}  // namespace

Case make_case(TileBuilder&& builder, std::uint64_t seed, std::int64_t below) {
  TileBuilder::Finished finished = must(std::move(builder).finish());
  Case made{finished.program, finished.binding, {}};
  std::mt19937_64 random(seed);
  for (std::size_t o = 0; o < made.program.operands.size(); ++o)
    made.operands.push_back(
        filled(made.program.operands[o].type, made.binding.operand_elements[o], random, below));
  return made;
}

namespace {

/// Computes every value of a program on its whole axes, plainly.
class Reference {
 public:
  Reference(const Case& made, const ops::NumericClass& numeric)
      : program_(made.program), binding_(made.binding), operands_(made.operands), numeric_(numeric) {
    for (HostTensor& operand : operands_) {
      HostTensor copy = must(HostTensor::allocate(operand.element(), operand.shape()));
      std::copy(operand.bytes().begin(), operand.bytes().end(), copy.mutable_data());
      operand = copy;
    }
  }

  std::vector<HostTensor> run() {
    for (std::size_t v = 0; v < program_.values.size(); ++v) values_.push_back(compute(v));
    return std::move(operands_);
  }

 private:
  std::vector<Axis> axes_of(AxisSet set) const {
    std::vector<Axis> axes;
    for (std::size_t a = 0; a < program_.axes.size(); ++a)
      if (set.contains(static_cast<Axis>(a))) axes.push_back(static_cast<Axis>(a));
    return axes;
  }
  std::int64_t extent(Axis axis) const { return binding_.extents[index(axis)]; }

  /// Calls `visit` at every point of `set`, in row-major order of axis numbers; positions by axis number.
  void each_point(AxisSet set, const std::function<void(const std::vector<std::int64_t>&)>& visit) const {
    std::vector<Axis> axes = axes_of(set);
    std::int64_t count = 1;
    for (Axis axis : axes) count *= extent(axis);
    std::vector<std::int64_t> at(program_.axes.size(), 0);
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t rest = i;
      for (std::size_t a = axes.size(); a-- > 0;) {
        at[index(axes[a])] = rest % extent(axes[a]);
        rest /= extent(axes[a]);
      }
      visit(at);
    }
  }
  std::int64_t linear(AxisSet set, const std::vector<std::int64_t>& at) const {
    std::int64_t result = 0;
    for (Axis axis : axes_of(set)) result = result * extent(axis) + at[index(axis)];
    return result;
  }
  HostTensor empty(ElementType type, AxisSet set) const {
    std::int64_t count = 1;
    for (Axis axis : axes_of(set)) count *= extent(axis);
    return must(HostTensor::allocate(type, Shape{count}));
  }
  std::uint64_t bits(TileId id, const std::vector<std::int64_t>& at) const {
    return values_[index(id)].bits_at(linear(program_.values[index(id)].axes, at));
  }
  std::int64_t integer(TileId id, const std::vector<std::int64_t>& at) const {
    const HostTensor& tensor = values_[index(id)];
    return static_cast<std::int64_t>(tensor.at(linear(program_.values[index(id)].axes, at)));
  }

  std::int64_t address(std::size_t v, const std::vector<std::int64_t>& at) const {
    const Access& access = program_.values[v].access;
    const AccessBinding& numbers = binding_.accesses[v];
    std::int64_t result = numbers.offset;
    for (std::size_t t = 0; t < access.terms.size(); ++t) {
      const IndexTerm& term = access.terms[t];
      std::int64_t source = term.axis ? at[index(*term.axis)] : integer(term.value, at);
      if (term.divided) source /= numbers.divisors[t];
      if (term.wrapped && numbers.moduli[t] > 0) source %= numbers.moduli[t];
      result += source * numbers.strides[t];
    }
    return result;
  }

  HostTensor compute(std::size_t v) {
    const TileValue& value = program_.values[v];
    HostTensor result = empty(value.type, value.axes);
    switch (value.op) {
      case TileOp::constant:
        result.set_bits_at(0, value.bits);
        break;
      case TileOp::scalar:
        result.set_bits_at(0, binding_.scalars[value.number]);
        break;
      case TileOp::position:
        each_point(value.axes, [&](const auto& at) {
          result.set_bits_at(linear(value.axes, at),
                             static_cast<std::uint64_t>(at[index(value.axes_list[0])]));
        });
        break;
      case TileOp::extent: {
        std::int64_t count = 1;
        for (Axis axis : value.axes_list) count *= extent(axis);
        result.set_bits_at(0, static_cast<std::uint64_t>(count));
        break;
      }
      case TileOp::load:
        each_point(value.axes, [&](const auto& at) {
          bool reads = value.operands.empty() || bits(value.operands[0], at) != 0;
          result.set_bits_at(linear(value.axes, at),
                             reads ? operands_[value.number].bits_at(address(v, at)) : 0);
        });
        break;
      case TileOp::elementwise:
        return elementwise(value);
      case TileOp::reduce:
        return reduce(value);
      case TileOp::dot:
        return dot(value);
      case TileOp::store:
        each_point(value.axes, [&](const auto& at) {
          operands_[value.number].set_bits_at(address(v, at), bits(value.operands[0], at));
        });
        break;
    }
    return result;
  }

  HostTensor apply(ops::Primitive primitive, const std::vector<HostTensor>& operands, ElementType to) const {
    ops::Attributes attributes;
    attributes.element = to;
    return must(ops::evaluate_primitive(primitive, operands, attributes, numeric_));
  }
  HostTensor convert(const HostTensor& tensor, ElementType to) const {
    return tensor.element() == to ? tensor : apply(ops::Primitive::cast, {tensor}, to);
  }

  HostTensor elementwise(const TileValue& value) {
    std::vector<HostTensor> operands;
    for (TileId id : value.operands) {
      HostTensor wide = empty(program_.values[index(id)].type, value.axes);
      each_point(value.axes, [&](const auto& at) { wide.set_bits_at(linear(value.axes, at), bits(id, at)); });
      operands.push_back(wide);
    }
    return apply(value.primitive, operands, value.type);
  }

  /// The operand's elements at a point of the result, linearized over `over`.
  std::vector<std::uint64_t> along(const HostTensor& tensor, AxisSet axes, const std::vector<Axis>& over,
                                   std::vector<std::int64_t> at) const {
    std::int64_t count = 1;
    for (Axis axis : over) count *= extent(axis);
    std::vector<std::uint64_t> elements;
    for (std::int64_t k = 0; k < count; ++k) {
      std::int64_t rest = k;
      for (std::size_t a = over.size(); a-- > 0;) {
        at[index(over[a])] = rest % extent(over[a]);
        rest /= extent(over[a]);
      }
      elements.push_back(tensor.bits_at(linear(axes, at)));
    }
    return elements;
  }

  template <class T, class Bits>
  static T as(std::uint64_t bits) {
    return std::bit_cast<T>(static_cast<Bits>(bits));
  }

  template <class T, class Bits>
  std::uint64_t reduce_elements(const TileValue& value, const std::vector<std::uint64_t>& elements) const {
    auto n = static_cast<std::int64_t>(elements.size());
    auto at = [&](std::int64_t k) { return as<T, Bits>(elements[static_cast<std::size_t>(k)]); };
    auto ordered = [&](T identity, auto combine) {
      return value.reduces_last_axis ? ops::order::reduce_row<T>(n, identity, at, combine)
                                     : ops::order::reduce_column<T>(n, identity, at, combine);
    };
    // Integers wrap.
    auto plus = [](T a, T b) {
      if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
      else
        return static_cast<T>(a + b);
    };
    auto times = [](T a, T b) {
      if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
      else
        return static_cast<T>(a * b);
    };
    auto is_nan = [](T x) { return x != x; };
    T extreme{};
    std::int64_t best = 0;
    bool greatest = value.reduction == Reduction::max || value.reduction == Reduction::argmax;
    bool has_infinity = std::numeric_limits<T>::has_infinity;
    if (greatest)
      extreme = has_infinity ? static_cast<T>(-std::numeric_limits<T>::infinity())
                             : std::numeric_limits<T>::lowest();
    else
      extreme = has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
    switch (value.reduction) {
      case Reduction::sum:
        return bits_of<T, Bits>(ordered(T{0}, plus));
      case Reduction::prod:
        return bits_of<T, Bits>(ordered(T{1}, times));
      case Reduction::max:
      case Reduction::min:
        for (std::int64_t k = 0; k < n; ++k) {
          T x = at(k);
          bool zeros = x == T{0} && extreme == T{0};
          bool better = greatest ? x > extreme : x < extreme;
          if constexpr (std::is_floating_point_v<T>)
            if (zeros) better = greatest ? !std::signbit(x) : std::signbit(x);
          if (!is_nan(extreme) && (is_nan(x) || better)) extreme = x;
        }
        return bits_of<T, Bits>(extreme);
      case Reduction::argmax:
      case Reduction::argmin:
        for (std::int64_t k = 1; k < n; ++k) {
          T x = at(k), held = at(best);
          if (!is_nan(held) && (is_nan(x) || (greatest ? x > held : x < held))) best = k;
        }
        return static_cast<std::uint64_t>(best);
      case Reduction::any:
        return std::any_of(elements.begin(), elements.end(), [](std::uint64_t x) { return x != 0; });
      case Reduction::all:
        return std::all_of(elements.begin(), elements.end(), [](std::uint64_t x) { return x != 0; });
    }
    return 0;
  }
  template <class T, class Bits>
  static std::uint64_t bits_of(T value) {
    return std::bit_cast<Bits>(value);
  }

  HostTensor reduce(const TileValue& value) {
    const TileValue& operand = program_.values[index(value.operands[0])];
    ElementType wide = ops::accumulator(operand.type);
    HostTensor tensor = convert(values_[index(value.operands[0])], wide);
    bool argument = value.reduction == Reduction::argmax || value.reduction == Reduction::argmin;
    HostTensor result = empty(argument ? ElementType::i64 : wide, value.axes);
    each_point(value.axes, [&](const auto& at) {
      std::vector<std::uint64_t> elements = along(tensor, operand.axes, value.axes_list, at);
      std::uint64_t bits = 0;
      switch (wide) {
        case ElementType::f32:
          bits = reduce_elements<float, std::uint32_t>(value, elements);
          break;
        case ElementType::f64:
          bits = reduce_elements<double, std::uint64_t>(value, elements);
          break;
        case ElementType::i32:
          bits = reduce_elements<std::int32_t, std::uint32_t>(value, elements);
          break;
        case ElementType::boolean:
          bits = reduce_elements<std::uint8_t, std::uint8_t>(value, elements);
          break;
        default:
          bits = reduce_elements<std::int64_t, std::uint64_t>(value, elements);
      }
      result.set_bits_at(linear(value.axes, at), bits);
    });
    return convert(result, value.type);
  }

  HostTensor dot(const TileValue& value) {
    const TileValue& left = program_.values[index(value.operands[0])];
    const TileValue& right = program_.values[index(value.operands[1])];
    ElementType wide = ops::accumulator(left.type);
    HostTensor a = convert(values_[index(value.operands[0])], wide);
    HostTensor b = convert(values_[index(value.operands[1])], wide);
    HostTensor result = empty(wide, value.axes);
    each_point(value.axes, [&](const auto& at) {
      std::vector<std::uint64_t> x = along(a, left.axes, value.axes_list, at);
      std::vector<std::uint64_t> y = along(b, right.axes, value.axes_list, at);
      auto n = static_cast<std::int64_t>(x.size());
      std::uint64_t bits = 0;
      auto product = [&](auto zero, auto narrow) {
        using T = decltype(zero);
        using Bits = decltype(narrow);
        T total = ops::order::dot<T>(
            n, [&](std::int64_t k) { return as<T, Bits>(x[static_cast<std::size_t>(k)]); },
            [&](std::int64_t k) { return as<T, Bits>(y[static_cast<std::size_t>(k)]); }, numeric_.fused_fma);
        bits = bits_of<T, Bits>(total);
      };
      if (wide == ElementType::f64)
        product(double{}, std::uint64_t{});
      else if (wide == ElementType::f32)
        product(float{}, std::uint32_t{});
      else if (wide == ElementType::i32)
        product(std::uint32_t{}, std::uint32_t{});
      else
        product(std::uint64_t{}, std::uint64_t{});
      result.set_bits_at(linear(value.axes, at), bits);
    });
    return convert(result, value.type);
  }

  const TileProgram& program_;
  const Binding& binding_;
  std::vector<HostTensor> operands_;
  ops::NumericClass numeric_;
  std::vector<HostTensor> values_;
};

HostTensor copy_of(const HostTensor& tensor) {
  HostTensor copy = must(HostTensor::allocate(tensor.element(), tensor.shape()));
  std::copy(tensor.bytes().begin(), tensor.bytes().end(), copy.mutable_data());
  return copy;
}

/// Whether the device computes in every type of the program. Booleans and narrow storage are the emitters'
/// affair.
bool has_types(const TileProgram& program, const DeviceProfile& profile) {
  for (const TileOperand& operand : program.operands) {
    bool half = operand.type == ElementType::f16 || operand.type == ElementType::bf16;
    if (half && !profile.has_f16) return false;
    if (operand.type == ElementType::f64 && !profile.has_f64) return false;
    if (byte_size(operand.type) == 8 && !profile.has_i64) return false;
  }
  return true;
}

}  // namespace

namespace {

/// Leaves each distinct program that a GPU would get in the folder HALYARD_RECORD_KERNELS, where the vendors'
/// compilers find it (gpu_compile_tests.cpp).
void record(const program::Program& program, const DeviceProfile& profile) {
  const char* folder = std::getenv("HALYARD_RECORD_KERNELS");
  if (!folder || profile.name != test::profile("gpu-32").name) return;
  const std::string text = program::to_text(program);
  std::filesystem::create_directories(folder);
  const std::string name = fmt::format("{}-{:016x}.thread", program.name, std::hash<std::string>{}(text));
  std::ofstream(std::filesystem::path(folder) / name) << text;
}

}  // namespace

std::vector<HostTensor> reference(const Case& made, const ops::NumericClass& numeric) {
  return Reference(made, numeric).run();
}

Lowered run_lowered(const Case& made, const Schedule& schedule, const DeviceProfile& profile) {
  Lowered lowered;
  Result<LoweredKernel> kernel = lower(made.program, made.binding, schedule, profile);
  if (!kernel) {
    lowered.problem = kernel.error().message;
    return lowered;
  }
  lowered.kernel = std::move(*kernel);
  record(lowered.kernel.program, profile);
  program::InterpreterOptions options{.report_uninitialized_shared = true, .report_shared_races = true};
  Result<program::Interpreter> interpreter = program::Interpreter::prepare(lowered.kernel.program, options);
  if (!interpreter) {
    lowered.problem = interpreter.error().message;
    return lowered;
  }
  for (const HostTensor& operand : made.operands) lowered.operands.push_back(copy_of(operand));
  std::vector<program::BufferView> views;
  for (std::uint32_t operand : lowered.kernel.buffers)
    views.push_back({lowered.operands[operand].mutable_data(), lowered.operands[operand].byte_count()});
  Status status = interpreter->run(lowered.kernel.grid, views, lowered.kernel.scalars);
  if (!status) lowered.problem = status.error().message;
  return lowered;
}

std::string disagreements(const Case& made, int* ran) {
  std::string report;
  std::vector<HostTensor> expected[2];  // by class: products round twice where fma is not fused
  for (const std::string& name : profile_names()) {
    DeviceProfile device = profile(name);
    if (!has_types(made.program, device)) continue;
    std::vector<HostTensor>& wanted = expected[device.fused_fma];
    if (wanted.empty()) wanted = reference(made, device.numeric_class());
    Result<std::vector<Schedule>> schedules = candidate_schedules(made.program, made.binding, device);
    if (!schedules) {
      report += fmt::format("{}: {}\n", name, schedules.error().message);
      continue;
    }
    for (const Schedule& schedule : *schedules) {
      Lowered lowered = run_lowered(made, schedule, device);
      std::string where = fmt::format("{}, {}: ", name, to_text(schedule));
      if (!lowered.problem.empty()) {
        report += where + lowered.problem + "\n";
        continue;
      }
      if (ran) ++*ran;
      for (std::size_t o = 0; o < wanted.size(); ++o) {
        if (ops::same_bits(lowered.operands[o], wanted[o])) continue;
        std::int64_t at = 0;
        while (lowered.operands[o].bits_at(at) == wanted[o].bits_at(at)) ++at;
        report +=
            where + fmt::format("operand {}, element {}: {} instead of {}\n", made.program.operands[o].name,
                                at, lowered.operands[o].at(at), wanted[o].at(at));
      }
    }
  }
  return report;
}

}  // namespace halyard::fusion::test
