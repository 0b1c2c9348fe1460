#include <fmt/format.h>
#include <halyard/ops/graph_builder.h>
#include <algorithm>
#include <charconv>

#include "judge.h"
#include "ops_case.h"
#include "values.h"

/// From a case's description to a graph: the primitive, the views before it, and the tensors that go in.
namespace halyard::conformance {
namespace {

using ops::Attributes;
using ops::GraphBuilder;
using ops::HostTensor;
using ops::NodeId;
using ops::Primitive;
using ops::Shape;

enum class View : std::uint8_t { plain, transposed, stepped, reversed, broadcast, offset };

/// What a form says: "axes02-keep", "transposed", "axes1-exclusive-reversed", …
struct Form {
  View view = View::plain;
  std::vector<std::int64_t> axes;
  bool keep = false;
  bool exclusive = false;
  bool descending = false;
};

std::optional<View> parse_view(std::string_view text) {
  constexpr std::string_view names[] = {"plain", "transposed", "stepped", "reversed", "broadcast", "offset"};
  for (std::size_t i = 0; i < std::size(names); ++i)
    if (text == names[i]) return static_cast<View>(i);
  return std::nullopt;
}

Result<Form> parse_form(std::string_view text, std::size_t rank) {
  Form form;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('-');
    const std::string_view word = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (word.starts_with("axes")) {
      for (char digit : word.substr(4)) form.axes.push_back(digit - '0');
    } else if (word == "keep") {
      form.keep = true;
    } else if (word == "exclusive") {
      form.exclusive = true;
    } else if (word == "descending") {
      form.descending = true;
    } else if (auto view = parse_view(word)) {
      form.view = *view;
    } else {
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("'{}' is no form: write plain, transposed, stepped, reversed, broadcast, offset, or "
                      "axes with their digits",
                      text));
    }
  }
  for (std::int64_t axis : form.axes)
    if (axis < 0 || static_cast<std::size_t>(axis) >= rank)
      return fail(ErrorCode::invalid_argument,
                  fmt::format("form '{}' names an axis beyond rank {}", text, rank));
  return form;
}

/// Adds operands to a graph, each as an input and the view that makes it what the primitive sees.
class Operands {
 public:
  Operands(BuiltCase& built, Random& random, bool avoid_subnormals)
      : built_(built), builder_(built.graph), random_(random), avoid_subnormals_(avoid_subnormals) {}

  GraphBuilder& builder() { return builder_; }

  Result<NodeId> add(ElementType element, const Shape& shape, Values values, View view) {
    const int number = static_cast<int>(built_.operands.size());
    const bool repeats = view == View::broadcast && shape.rank() > 0 && shape[0] > 0;
    std::vector<std::int64_t> own = shape.vector();
    if (repeats) own[0] = 1;
    HALYARD_ASSIGN(HostTensor given,
                   make_values(element, Shape(own), values, number, random_, avoid_subnormals_));
    HostTensor seen = given;
    if (repeats) {
      HALYARD_ASSIGN(seen, repeated(given, shape));
    }
    built_.operands.push_back(seen);
    switch (view) {
      case View::plain:
        return input(std::move(given));
      case View::broadcast: {
        HALYARD_ASSIGN(NodeId id, input(std::move(given)));
        return builder_.broadcast(id, shape);
      }
      case View::transposed:
        return transposed(seen);
      case View::stepped:
        return stepped(seen);
      case View::reversed:
        return reversed(seen);
      case View::offset:
        return offset(seen);
    }
    return input(std::move(given));
  }
  /// An operand with these very values.
  Result<NodeId> add(HostTensor values) {
    built_.operands.push_back(values);
    return input(std::move(values));
  }

 private:
  Result<NodeId> input(HostTensor values) {
    HALYARD_ASSIGN(NodeId id, builder_.input(fmt::format("x{}", built_.inputs.size()), values.element(),
                                             values.shape()));
    built_.inputs.push_back(std::move(values));
    return id;
  }

  static Result<HostTensor> repeated(const HostTensor& values, const Shape& shape) {
    HALYARD_ASSIGN(HostTensor result, HostTensor::allocate(values.element(), shape));
    for (std::int64_t i = 0; i < result.count(); ++i)
      result.set_bits_at(i, values.bits_at(i % values.count()));
    return result;
  }

  /// A tensor of other extents that holds `seen` at the places that `place` names, and other values between.
  template <class Place>
  Result<HostTensor> scattered(const HostTensor& seen, const Shape& into, const Place& place) {
    HALYARD_ASSIGN(HostTensor result, make_values(seen.element(), into, Values::ordinary, 0, random_, true));
    std::int64_t number = 0;
    for (Positions p(seen.shape().vector()); !p.done(); p.next(), ++number)
      result.set_bits_at(number_of(place(p.at()), into.extents()), seen.bits_at(number));
    return result;
  }

  Result<NodeId> transposed(const HostTensor& seen) {
    std::vector<std::int64_t> extents = seen.shape().vector();
    std::reverse(extents.begin(), extents.end());
    HALYARD_ASSIGN(HostTensor given, scattered(seen, Shape(extents), [](std::vector<std::int64_t> at) {
                     std::reverse(at.begin(), at.end());
                     return at;
                   }));
    std::vector<std::int64_t> axes(extents.size());
    for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<std::int64_t>(axes.size() - 1 - i);
    HALYARD_ASSIGN(NodeId id, input(std::move(given)));
    return builder_.permute(id, axes);
  }

  /// Every second element along each axis, from the second on.
  Result<NodeId> stepped(const HostTensor& seen) {
    std::vector<std::int64_t> extents = seen.shape().vector();
    for (std::int64_t& extent : extents) extent = 2 * extent + 2;
    HALYARD_ASSIGN(HostTensor given, scattered(seen, Shape(extents), [](std::vector<std::int64_t> at) {
                     for (std::int64_t& i : at) i = 2 * i + 1;
                     return at;
                   }));
    Attributes slice;
    slice.shape = seen.shape().vector();
    slice.starts.assign(slice.shape.size(), 1);
    slice.steps.assign(slice.shape.size(), 2);
    HALYARD_ASSIGN(NodeId id, input(std::move(given)));
    return builder_.graph().append(Primitive::slice, {id}, slice);
  }

  Result<NodeId> reversed(const HostTensor& seen) {
    const Shape& shape = seen.shape();
    HALYARD_ASSIGN(HostTensor given, scattered(seen, shape, [&](std::vector<std::int64_t> at) {
                     for (std::size_t i = 0; i < at.size(); ++i) at[i] = shape[i] - 1 - at[i];
                     return at;
                   }));
    std::vector<std::int64_t> axes(shape.rank());
    for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<std::int64_t>(i);
    HALYARD_ASSIGN(NodeId id, input(std::move(given)));
    return axes.empty() ? Result<NodeId>(id) : builder_.reverse(id, axes);
  }

  /// In the middle of a longer vector, three elements from its start: no vector load is aligned.
  Result<NodeId> offset(const HostTensor& seen) {
    constexpr std::int64_t before = 3;
    const Shape flat{seen.count() + 2 * before};
    const Shape& shape = seen.shape();
    HALYARD_ASSIGN(HostTensor given, scattered(seen, flat, [&](const std::vector<std::int64_t>& at) {
                     return std::vector<std::int64_t>{before + number_of(at, shape.extents())};
                   }));
    HALYARD_ASSIGN(NodeId id, input(std::move(given)));
    HALYARD_ASSIGN(NodeId part, builder_.slice_axis(id, 0, before, before + seen.count()));
    return builder_.reshape(part, shape.vector());
  }

  BuiltCase& built_;
  GraphBuilder builder_;
  Random& random_;
  bool avoid_subnormals_;
};

/// Of a case, whose name was parsed.
Values values_of(const OpsCase& c) {
  return parse_values(c.values).value_or(Values::ordinary);
}

std::int64_t first_axis(const Form& form) {
  return form.axes.empty() ? 0 : form.axes[0];
}

/// Indices in range, from the end, and some beyond both ends.
Result<HostTensor> indices(ElementType element, const Shape& shape, std::int64_t extent, Random& random) {
  HALYARD_ASSIGN(HostTensor tensor, HostTensor::allocate(element, shape));
  for (std::int64_t i = 0; i < tensor.count(); ++i)
    tensor.set_bits_at(
        i, HostTensor::scalar(element, static_cast<double>(random.below(4 * extent + 1) - 2 * extent))
               .bits_at(0));
  return tensor;
}

/// The attributes of a movement primitive, and what more it takes, from the operand's shape alone.
Result<Attributes> movement(const OpsCase& c, const Form& form) {
  Attributes a;
  const std::size_t rank = c.shape.size();
  switch (c.primitive) {
    case Primitive::reshape:
      a.shape = c.shape;
      std::reverse(a.shape.begin(), a.shape.end());
      return a;
    case Primitive::permute:
      for (std::size_t i = 0; i < rank; ++i) a.axes.push_back(static_cast<std::int64_t>((i + 1) % rank));
      return a;
    case Primitive::broadcast:
      a.shape = c.shape;
      for (std::int64_t& extent : a.shape)
        if (extent == 1) extent = 3;
      a.shape.insert(a.shape.begin(), 2);
      return a;
    case Primitive::slice:
      for (std::int64_t extent : c.shape) {
        a.starts.push_back(std::min<std::int64_t>(1, extent));
        a.steps.push_back(2);
        a.shape.push_back(extent / 2);
      }
      return a;
    case Primitive::pad:
      a.starts.assign(rank, 2);
      a.ends.assign(rank, 1);
      a.value_bits = HostTensor::scalar(c.element, 1).bits_at(0);
      return a;
    case Primitive::reverse:
      a.axes = form.axes;
      return a;
    case Primitive::windows:
      a.axes = form.axes;
      for (std::size_t i = 0; i < form.axes.size(); ++i) {
        a.shape.push_back(i % 2 == 0 ? 3 : 2);
        a.steps.push_back(i % 2 == 0 ? 2 : 1);
        a.dilations.push_back(i % 2 == 0 ? 1 : 3);
      }
      return a;
    default:
      a.axes = {first_axis(form)};
      return a;
  }
}

Result<NodeId> build_contraction(const OpsCase& c, const Form& form, Operands& operands) {
  const std::size_t batch = c.shape.size() - 3;
  const std::vector<std::int64_t> outer(c.shape.begin(),
                                        c.shape.begin() + static_cast<std::ptrdiff_t>(batch));
  const std::int64_t m = c.shape[batch], k = c.shape[batch + 1], n = c.shape[batch + 2];
  std::vector<std::int64_t> left = outer, right = outer;
  left.insert(left.end(), {m, k});
  right.insert(right.end(), {k, n});
  Attributes attributes;
  attributes.element = c.to;
  for (std::size_t i = 0; i < batch; ++i) {
    attributes.dot.lhs_batch.push_back(static_cast<std::int64_t>(i));
    attributes.dot.rhs_batch.push_back(static_cast<std::int64_t>(i));
  }
  attributes.dot.lhs_contracting = {static_cast<std::int64_t>(batch) + 1};
  attributes.dot.rhs_contracting = {static_cast<std::int64_t>(batch)};
  HALYARD_ASSIGN(NodeId lhs, operands.add(c.element, Shape(left), values_of(c), form.view));
  HALYARD_ASSIGN(NodeId rhs, operands.add(c.element, Shape(right), values_of(c), form.view));
  return operands.builder().graph().append(Primitive::dot_general, {lhs, rhs}, attributes);
}

Result<NodeId> build_elementwise(const OpsCase& c, const Form& form, Operands& operands) {
  const ops::PrimitiveRow& row = ops::row(c.primitive);
  Attributes attributes;
  attributes.element = c.to;
  std::vector<NodeId> ids;
  for (int i = 0; i < row.operands; ++i) {
    const bool condition = row.element_rule == ops::ElementRule::select && i == 0;
    // Only the first operand repeats: else the whole result would.
    const View view = form.view == View::broadcast && i > 0 ? View::plain : form.view;
    HALYARD_ASSIGN(NodeId id, operands.add(condition ? ElementType::boolean : c.element, Shape(c.shape),
                                           values_of(c), view));
    ids.push_back(id);
  }
  return operands.builder().graph().append(c.primitive, ids, attributes);
}

/// Indices, from both ends, of elements of a vector that `Values::sparse` touches.
Result<HostTensor> touched_indices(ElementType element, std::int64_t extent, Random& random) {
  HALYARD_ASSIGN(HostTensor tensor, HostTensor::allocate(element, Shape{11}));
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    const std::int64_t from_end = -1 - sparse_step * random.below(extent / sparse_step + 1);
    tensor.set_bits_at(i, static_cast<std::uint64_t>(i % 2 == 0 ? from_end + extent : from_end));
  }
  return tensor;
}

/// Fewer updates than rows and, for short axes, more: some rows have none, others several.
Result<NodeId> build_scatter(const OpsCase& c, const Form& form, Operands& operands, Random& random) {
  const auto axis = static_cast<std::size_t>(first_axis(form));
  const std::int64_t extent = c.shape[axis], count = extent / 2 + 3;
  std::vector<std::int64_t> at(c.shape.begin(), c.shape.begin() + static_cast<std::ptrdiff_t>(axis)),
      updates = c.shape;
  at.push_back(count);
  updates[axis] = count;
  Attributes attributes;
  attributes.axes = {first_axis(form)};
  HALYARD_ASSIGN(NodeId base, operands.add(c.element, Shape(c.shape), values_of(c), form.view));
  HALYARD_ASSIGN(HostTensor places, indices(c.to.value_or(ElementType::i64), Shape(at), extent, random));
  HALYARD_ASSIGN(NodeId index, operands.add(std::move(places)));
  HALYARD_ASSIGN(NodeId given, operands.add(c.element, Shape(updates), values_of(c), form.view));
  return operands.builder().graph().append(c.primitive, {base, index, given}, attributes);
}

Result<NodeId> build_other(const OpsCase& c, const Form& form, Operands& operands, Random& random) {
  const ops::PrimitiveRow& row = ops::row(c.primitive);
  ops::Graph& graph = operands.builder().graph();
  Attributes attributes;
  if (row.kind == ops::Kind::movement) {
    HALYARD_ASSIGN(attributes, movement(c, form));
  } else {
    attributes.axes = form.axes;
    attributes.keep_dims = form.keep;
    attributes.exclusive = form.exclusive;
    attributes.descending = form.descending;
    attributes.element = c.to;
  }
  if (c.primitive == Primitive::iota) {
    attributes.shape = c.shape;
    attributes.element = c.element;
    return graph.append(c.primitive, {}, attributes);
  }
  HALYARD_ASSIGN(NodeId x, operands.add(c.element, Shape(c.shape), values_of(c), form.view));
  if (c.primitive == Primitive::take) {
    attributes.element.reset();
    const std::int64_t extent = c.shape[static_cast<std::size_t>(first_axis(form))];
    const ElementType index_type = c.to.value_or(ElementType::i64);
    HALYARD_ASSIGN(HostTensor at, c.values == "sparse" ? touched_indices(index_type, extent, random)
                                                       : indices(index_type, Shape{11}, extent, random));
    HALYARD_ASSIGN(NodeId index, operands.add(std::move(at)));
    return graph.append(c.primitive, {x, index}, attributes);
  }
  if (c.primitive == Primitive::concat) {
    std::vector<std::int64_t> second = c.shape;
    second[static_cast<std::size_t>(first_axis(form))] += 2;
    HALYARD_ASSIGN(NodeId y, operands.add(c.element, Shape(second), values_of(c), View::plain));
    return graph.append(c.primitive, {x, y}, attributes);
  }
  return graph.append(c.primitive, {x}, attributes);
}

}  // namespace

Result<BuiltCase> build(const OpsCase& description, std::uint64_t seed, bool avoid_subnormals) {
  HALYARD_ASSIGN(Form form, parse_form(description.form, description.shape.size()));
  BuiltCase built;
  Random random(seed_of(description.name(), seed));
  Operands operands(built, random, avoid_subnormals);
  const ops::Kind kind = ops::row(description.primitive).kind;
  const bool takes_one_axis = description.primitive == Primitive::take ||
                              description.primitive == Primitive::concat ||
                              description.primitive == Primitive::iota || kind == ops::Kind::scan ||
                              kind == ops::Kind::sort || kind == ops::Kind::scatter;
  if ((takes_one_axis && form.axes.size() != 1) ||
      (kind == ops::Kind::contraction && description.shape.size() < 3) ||
      description.primitive == Primitive::constant || description.primitive == Primitive::input)
    return fail(
        ErrorCode::invalid_argument,
        fmt::format(
            "{}: such a case cannot be built: one axis (axes0), or a shape of [batch x] m x k x n, or "
            "another primitive is wanted",
            description.name()));
  const auto made = kind == ops::Kind::contraction   ? build_contraction(description, form, operands)
                    : kind == ops::Kind::elementwise ? build_elementwise(description, form, operands)
                    : kind == ops::Kind::scatter     ? build_scatter(description, form, operands, random)
                                                     : build_other(description, form, operands, random);
  if (!made) return tl::unexpected(made.error());
  built.operation = *made;
  HALYARD_TRY(built.graph.output(*made, "y"));
  return built;
}

}  // namespace halyard::conformance
