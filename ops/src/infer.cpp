#include <fmt/format.h>
#include <fmt/ranges.h>
#include <halyard/ops/primitive.h>
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

/// The element and shape rules that the table's rows name.
namespace halyard::ops {
namespace {

using Axes = std::vector<std::int64_t>;

template <class... Arguments>
tl::unexpected<Error> invalid(Primitive primitive, fmt::format_string<Arguments...> format,
                              Arguments&&... arguments) {
  return fail(
      ErrorCode::invalid_argument,
      fmt::format("{}: {}", name(primitive), fmt::format(format, std::forward<Arguments>(arguments)...)));
}

std::string list(ElementSet set) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < element_type_facts.size(); ++i)
    if (contains(set, static_cast<ElementType>(i))) names.push_back(element_type_facts[i].name);
  return fmt::format("{}", fmt::join(names, ", "));
}

Status check_allowed(const PrimitiveRow& row, ElementType type) {
  if (contains(row.allowed, type)) return {};
  return fail(ErrorCode::unsupported, fmt::format("{}: no {} operands; it takes {}: cast first", row.name,
                                                  name(type), list(row.allowed)));
}

Status check_operand_count(const PrimitiveRow& row, std::size_t count) {
  if (row.operands == any_number ? count >= 1 : count == static_cast<std::size_t>(row.operands)) return {};
  return invalid(row.primitive, "takes {} operands, not {}",
                 row.operands == any_number ? std::string("one or more") : std::to_string(row.operands),
                 count);
}

Status check_equal(const PrimitiveRow& row, std::span<const ElementType> types) {
  for (ElementType type : types)
    if (type != types[0])
      return invalid(row.primitive, "operands of different types, {} and {}: cast one of them",
                     name(types[0]), name(type));
  return {};
}

// ---- shapes

bool is_permutation_of_axes(const Axes& axes, std::size_t rank) {
  if (axes.size() != rank) return false;
  std::vector<bool> seen(rank);
  for (std::int64_t axis : axes) {
    if (axis < 0 || axis >= static_cast<std::int64_t>(rank) || seen[static_cast<std::size_t>(axis)])
      return false;
    seen[static_cast<std::size_t>(axis)] = true;
  }
  return true;
}

Status check_ascending_axes(Primitive primitive, const Axes& axes, std::size_t rank) {
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i] < 0 || axes[i] >= static_cast<std::int64_t>(rank) || (i > 0 && axes[i] <= axes[i - 1]))
      return invalid(primitive, "axes [{}] are not ascending axes of a tensor of rank {}",
                     fmt::join(axes, ", "), rank);
  return {};
}

Status check_one_axis(Primitive primitive, const Axes& axes, std::size_t rank) {
  if (axes.size() == 1 && axes[0] >= 0 && axes[0] < static_cast<std::int64_t>(rank)) return {};
  return invalid(primitive, "axes [{}] are not one axis of a tensor of rank {}", fmt::join(axes, ", "), rank);
}

Result<Shape> elementwise_shape(Primitive primitive, std::span<const TensorType> operands) {
  for (const TensorType& operand : operands)
    if (operand.shape != operands[0].shape)
      return invalid(primitive, "operands of different shapes, {} and {}: broadcast them first",
                     operands[0].shape.text(), operand.shape.text());
  return operands[0].shape;
}

Result<Shape> permuted(const Shape& shape, const Axes& axes) {
  if (!is_permutation_of_axes(axes, shape.rank()))
    return invalid(Primitive::permute, "axes [{}] are no permutation of those of {}", fmt::join(axes, ", "),
                   shape.text());
  Axes extents;
  for (std::int64_t axis : axes) extents.push_back(shape[static_cast<std::size_t>(axis)]);
  return Shape(std::move(extents));
}

Result<Shape> sliced(const Shape& shape, const Attributes& attributes) {
  std::size_t rank = shape.rank();
  if (attributes.starts.size() != rank || attributes.steps.size() != rank || attributes.shape.size() != rank)
    return invalid(Primitive::slice, "starts, steps and shape need {} entries each, one per axis of {}", rank,
                   shape.text());
  HALYARD_ASSIGN(Shape result, Shape::create(attributes.shape));
  for (std::size_t axis = 0; axis < rank; ++axis) {
    std::int64_t start = attributes.starts[axis];
    std::int64_t step = attributes.steps[axis];
    std::int64_t count = attributes.shape[axis];
    bool fits = start >= 0 && start <= shape[axis] && step > 0 &&
                (count == 0 || (start < shape[axis] && count - 1 <= (shape[axis] - 1 - start) / step));
    if (!fits)
      return invalid(Primitive::slice, "{} elements from {} in steps of {} do not fit axis {} of {}", count,
                     start, step, axis, shape.text());
  }
  return result;
}

Result<Shape> padded(const Shape& shape, const Attributes& attributes) {
  if (attributes.starts.size() != shape.rank() || attributes.ends.size() != shape.rank())
    return invalid(Primitive::pad, "starts and ends need {} entries each, one per axis of {}", shape.rank(),
                   shape.text());
  constexpr std::int64_t limit = std::numeric_limits<std::int64_t>::max() / 8;
  Axes extents;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    std::int64_t before = attributes.starts[axis];
    std::int64_t after = attributes.ends[axis];
    if (before < 0 || after < 0 || before > limit || after > limit)
      return invalid(Primitive::pad, "{} before and {} after axis {} of {} are no paddings", before, after,
                     axis, shape.text());
    extents.push_back(shape[axis] + before + after);
  }
  return Shape::create(std::move(extents));
}

Result<Shape> concatenated(std::span<const TensorType> operands, const Attributes& attributes) {
  const Shape& first = operands[0].shape;
  HALYARD_TRY(check_one_axis(Primitive::concat, attributes.axes, first.rank()));
  auto axis = static_cast<std::size_t>(attributes.axes[0]);
  Axes extents = first.vector();
  for (const TensorType& operand : operands.subspan(1)) {
    Axes other = operand.shape.vector();
    bool fits = other.size() == extents.size();
    for (std::size_t i = 0; fits && i < other.size(); ++i) fits = i == axis || other[i] == extents[i];
    if (!fits || extents[axis] > std::numeric_limits<std::int64_t>::max() / 16)
      return invalid(Primitive::concat, "shapes {} and {} do not fit along axis {}", first.text(),
                     operand.shape.text(), axis);
    extents[axis] += other[axis];
  }
  return Shape::create(std::move(extents));
}

Result<Shape> taken(std::span<const TensorType> operands, const Attributes& attributes) {
  const Shape& data = operands[0].shape;
  const Shape& indices = operands[1].shape;
  HALYARD_TRY(check_one_axis(Primitive::take, attributes.axes, data.rank()));
  auto axis = static_cast<std::size_t>(attributes.axes[0]);
  Axes extents(data.vector().begin(), data.vector().begin() + attributes.axes[0]);
  extents.insert(extents.end(), indices.vector().begin(), indices.vector().end());
  extents.insert(extents.end(), data.vector().begin() + attributes.axes[0] + 1, data.vector().end());
  HALYARD_ASSIGN(Shape result, Shape::create(std::move(extents)));
  if (data[axis] == 0 && result.count() > 0)
    return invalid(Primitive::take, "axis {} of {} has no elements to take", axis, data.text());
  return result;
}

/// Windows of `extent` elements `dilation` apart that start `step` apart and end within `count`.
std::int64_t windows_within(std::int64_t count, std::int64_t extent, std::int64_t step,
                            std::int64_t dilation) {
  if (extent > 0 && (count == 0 || extent - 1 > (count - 1) / dilation)) return 0;
  return (count - (extent > 0 ? (extent - 1) * dilation + 1 : 0)) / step + 1;
}

Result<Shape> windowed(const Shape& shape, const Attributes& attributes) {
  const std::size_t count = attributes.axes.size();
  HALYARD_TRY(check_ascending_axes(Primitive::windows, attributes.axes, shape.rank()));
  if (attributes.shape.size() != count || attributes.steps.size() != count ||
      attributes.dilations.size() != count)
    return invalid(Primitive::windows,
                   "shape, steps and dilations need {} entries each, one per entry of axes", count);
  Axes extents = shape.vector();
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t& extent = extents[static_cast<std::size_t>(attributes.axes[i])];
    if (attributes.shape[i] < 0 || attributes.steps[i] < 1 || attributes.dilations[i] < 1)
      return invalid(Primitive::windows, "a window of {} elements {} apart in steps of {}",
                     attributes.shape[i], attributes.dilations[i], attributes.steps[i]);
    extent = windows_within(extent, attributes.shape[i], attributes.steps[i], attributes.dilations[i]);
  }
  extents.insert(extents.end(), attributes.shape.begin(), attributes.shape.end());
  return Shape::create(std::move(extents));
}

Result<Shape> scattered(Primitive primitive, std::span<const TensorType> operands,
                        const Attributes& attributes) {
  const Shape& base = operands[0].shape;
  const Axes indices = operands[1].shape.vector();
  HALYARD_TRY(check_one_axis(primitive, attributes.axes, base.rank()));
  const auto axis = static_cast<std::ptrdiff_t>(attributes.axes[0]);
  Axes updates = base.vector();
  bool fits = indices.size() == static_cast<std::size_t>(axis) + 1 &&
              std::equal(indices.begin(), indices.end() - 1, updates.begin());
  if (fits) updates[static_cast<std::size_t>(axis)] = indices.back();
  if (!fits || operands[2].shape.vector() != updates)
    return invalid(
        primitive,
        "base {}, indices {} and updates {} do not fit along axis {}: indices have the base's axes "
        "before it and one more, updates the base's extents but along it",
        base.text(), operands[1].shape.text(), operands[2].shape.text(), axis);
  return base;
}

Result<Shape> reduced(Primitive primitive, const Shape& shape, const Attributes& attributes) {
  HALYARD_TRY(check_ascending_axes(primitive, attributes.axes, shape.rank()));
  Axes extents;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    bool is_reduced =
        std::binary_search(attributes.axes.begin(), attributes.axes.end(), static_cast<std::int64_t>(axis));
    if (!is_reduced)
      extents.push_back(shape[axis]);
    else if (attributes.keep_dims)
      extents.push_back(1);
  }
  return Shape::create(std::move(extents));
}

Result<Shape> contracted(const TensorType& lhs, const TensorType& rhs, const DotDimensions& dot) {
  auto describe_problem = [&](std::string_view problem) {
    return invalid(Primitive::dot_general,
                   "{}: lhs {} contracting [{}] batch [{}], rhs {} contracting [{}] batch [{}]", problem,
                   lhs.shape.text(), fmt::join(dot.lhs_contracting, ", "), fmt::join(dot.lhs_batch, ", "),
                   rhs.shape.text(), fmt::join(dot.rhs_contracting, ", "), fmt::join(dot.rhs_batch, ", "));
  };
  if (dot.lhs_contracting.size() != dot.rhs_contracting.size() ||
      dot.lhs_batch.size() != dot.rhs_batch.size())
    return describe_problem("the sides name different numbers of axes");
  auto free_axes = [](const Shape& shape, const Axes& contracting, const Axes& batch,
                      std::vector<bool>& used) {
    used.assign(shape.rank(), false);
    for (const Axes* axes : {&contracting, &batch})
      for (std::int64_t axis : *axes) {
        if (axis < 0 || axis >= static_cast<std::int64_t>(shape.rank()) ||
            used[static_cast<std::size_t>(axis)])
          return false;
        used[static_cast<std::size_t>(axis)] = true;
      }
    return true;
  };
  std::vector<bool> lhs_used;
  std::vector<bool> rhs_used;
  if (!free_axes(lhs.shape, dot.lhs_contracting, dot.lhs_batch, lhs_used) ||
      !free_axes(rhs.shape, dot.rhs_contracting, dot.rhs_batch, rhs_used))
    return describe_problem("an axis does not exist or is named twice");
  auto extent = [](const Shape& shape, std::int64_t axis) { return shape[static_cast<std::size_t>(axis)]; };
  for (std::size_t i = 0; i < dot.lhs_contracting.size(); ++i)
    if (extent(lhs.shape, dot.lhs_contracting[i]) != extent(rhs.shape, dot.rhs_contracting[i]))
      return describe_problem("contracted extents differ");
  Axes extents;
  for (std::size_t i = 0; i < dot.lhs_batch.size(); ++i) {
    if (extent(lhs.shape, dot.lhs_batch[i]) != extent(rhs.shape, dot.rhs_batch[i]))
      return describe_problem("batch extents differ");
    extents.push_back(extent(lhs.shape, dot.lhs_batch[i]));
  }
  for (std::size_t axis = 0; axis < lhs.shape.rank(); ++axis)
    if (!lhs_used[axis]) extents.push_back(lhs.shape[axis]);
  for (std::size_t axis = 0; axis < rhs.shape.rank(); ++axis)
    if (!rhs_used[axis]) extents.push_back(rhs.shape[axis]);
  return Shape::create(std::move(extents));
}

Result<Shape> attribute_shape(Primitive primitive, const Attributes& attributes) {
  HALYARD_ASSIGN(Shape shape, Shape::create(attributes.shape));
  if (primitive == Primitive::iota) HALYARD_TRY(check_one_axis(primitive, attributes.axes, shape.rank()));
  return shape;
}

Result<Shape> infer_shape(const PrimitiveRow& row, std::span<const TensorType> operands,
                          const Attributes& attributes, ElementType result) {
  Primitive primitive = row.primitive;
  switch (row.shape_rule) {
    case ShapeRule::attribute:
      return attribute_shape(primitive, attributes);
    case ShapeRule::elementwise:
      return elementwise_shape(primitive, operands);
    case ShapeRule::bitcast:
      if (byte_size(operands[0].element) != byte_size(result))
        return invalid(primitive, "{} and {} differ in size", name(operands[0].element), name(result));
      return operands[0].shape;
    case ShapeRule::reshape: {
      HALYARD_ASSIGN(Shape shape, Shape::create(attributes.shape));
      if (shape.count() != operands[0].shape.count())
        return invalid(primitive, "{} has {} elements, {} has {}", operands[0].shape.text(),
                       operands[0].shape.count(), shape.text(), shape.count());
      return shape;
    }
    case ShapeRule::permute:
      return permuted(operands[0].shape, attributes.axes);
    case ShapeRule::broadcast: {
      HALYARD_ASSIGN(Shape shape, Shape::create(attributes.shape));
      if (!broadcasts_to(operands[0].shape, shape))
        return invalid(primitive, "{} does not broadcast to {}", operands[0].shape.text(), shape.text());
      return shape;
    }
    case ShapeRule::slice:
      return sliced(operands[0].shape, attributes);
    case ShapeRule::pad:
      return padded(operands[0].shape, attributes);
    case ShapeRule::concat:
      return concatenated(operands, attributes);
    case ShapeRule::reverse:
      HALYARD_TRY(check_ascending_axes(primitive, attributes.axes, operands[0].shape.rank()));
      return operands[0].shape;
    case ShapeRule::windows:
      return windowed(operands[0].shape, attributes);
    case ShapeRule::take:
      return taken(operands, attributes);
    case ShapeRule::reduction:
      return reduced(primitive, operands[0].shape, attributes);
    case ShapeRule::argument: {
      HALYARD_TRY(check_one_axis(primitive, attributes.axes, operands[0].shape.rank()));
      HALYARD_ASSIGN(Shape shape, reduced(primitive, operands[0].shape, attributes));
      if (operands[0].shape[static_cast<std::size_t>(attributes.axes[0])] == 0 && shape.count() > 0)
        return invalid(primitive, "axis {} of {} has no elements", attributes.axes[0],
                       operands[0].shape.text());
      return shape;
    }
    case ShapeRule::contraction:
      return contracted(operands[0], operands[1], attributes.dot);
    case ShapeRule::scan:
      HALYARD_TRY(check_one_axis(primitive, attributes.axes, operands[0].shape.rank()));
      return operands[0].shape;
    case ShapeRule::scatter:
      return scattered(primitive, operands, attributes);
  }
  return fail(ErrorCode::internal, "infer: unknown shape rule");
}

Result<ElementType> required_element(Primitive primitive, const Attributes& attributes) {
  if (attributes.element) return *attributes.element;
  return invalid(primitive, "needs the attribute `element`");
}

bool is_index(ElementType type) {
  return type == ElementType::i32 || type == ElementType::i64;
}

}  // namespace

Result<ElementType> infer_element(Primitive primitive, std::span<const ElementType> operands,
                                  const Attributes& attributes) {
  const PrimitiveRow& row = ops::row(primitive);
  HALYARD_TRY(check_operand_count(row, operands.size()));
  switch (row.element_rule) {
    case ElementRule::attribute: {
      HALYARD_ASSIGN(ElementType result, required_element(primitive, attributes));
      HALYARD_TRY(check_allowed(row, result));
      return result;
    }
    case ElementRule::conversion: {
      HALYARD_ASSIGN(ElementType result, required_element(primitive, attributes));
      HALYARD_TRY(check_allowed(row, operands[0]));
      HALYARD_TRY(check_allowed(row, result));
      return result;
    }
    case ElementRule::select:
      if (operands[0] != ElementType::boolean)
        return invalid(primitive, "the condition is {}, not bool", name(operands[0]));
      HALYARD_TRY(check_equal(row, operands.subspan(1)));
      HALYARD_TRY(check_allowed(row, operands[1]));
      return operands[1];
    case ElementRule::take:
    case ElementRule::scatter:
      if (!is_index(operands[1]))
        return invalid(primitive, "indices are {}, not i32 or i64", name(operands[1]));
      if (row.element_rule == ElementRule::scatter)
        HALYARD_TRY(check_equal(row, std::array{operands[0], operands[2]}));
      HALYARD_TRY(check_allowed(row, operands[0]));
      return operands[0];
    default:
      break;
  }
  HALYARD_TRY(check_equal(row, operands));
  HALYARD_TRY(check_allowed(row, operands[0]));
  if (row.element_rule == ElementRule::comparison) return ElementType::boolean;
  if (row.element_rule == ElementRule::argument) {
    ElementType result = attributes.element.value_or(ElementType::i64);
    if (!is_index(result)) return invalid(primitive, "indices as {}, not i32 or i64", name(result));
    return result;
  }
  if (row.element_rule == ElementRule::contraction) {
    ElementType result = attributes.element.value_or(operands[0]);
    if (result != operands[0] && result != accumulator(operands[0]))
      return invalid(primitive, "{} operands give {} or {}, not {}", name(operands[0]), name(operands[0]),
                     name(accumulator(operands[0])), name(result));
    return result;
  }
  return operands[0];
}

Result<TensorType> infer(Primitive primitive, std::span<const TensorType> operands,
                         const Attributes& attributes) {
  std::vector<ElementType> types;
  for (const TensorType& operand : operands) types.push_back(operand.element);
  HALYARD_ASSIGN(ElementType element, infer_element(primitive, types, attributes));
  auto shape = infer_shape(ops::row(primitive), operands, attributes, element);
  if (!shape) {
    Error error = std::move(shape).error();
    if (!error.message.starts_with(name(primitive)))
      error.message = fmt::format("{}: {}", name(primitive), error.message);
    return tl::unexpected<Error>(std::move(error));
  }
  return TensorType{element, std::move(*shape)};
}

std::string TensorType::text() const {
  return fmt::format("{}{}", name(element), shape.text());
}

std::uint64_t reduction_identity(Primitive reduction, ElementType element) {
  bool least = reduction == Primitive::reduce_max || reduction == Primitive::cumulative_max ||
               reduction == Primitive::scatter_max;
  std::uint64_t all = byte_size(element) == 8 ? ~0ull : (1ull << (8 * byte_size(element))) - 1;
  switch (reduction) {
    case Primitive::reduce_prod:
    case Primitive::cumulative_prod:
    case Primitive::scatter_prod:
      return HostTensor::scalar(element, 1).bits_at(0);
    case Primitive::reduce_all:
      return 1;
    case Primitive::reduce_min:
    case Primitive::reduce_max:
    case Primitive::cumulative_min:
    case Primitive::cumulative_max:
    case Primitive::scatter_min:
    case Primitive::scatter_max: {
      double infinity = std::numeric_limits<double>::infinity();
      if (is_float(element)) return HostTensor::scalar(element, least ? -infinity : infinity).bits_at(0);
      if (!is_signed(element)) return least ? 0 : all;
      std::uint64_t minimum = (all >> 1) + 1;
      return least ? minimum : all >> 1;
    }
    default:
      return 0;
  }
}

}  // namespace halyard::ops
