#include <halyard/ops/compositions.h>

#include <functional>
#include <numeric>

#include "importer.h"

/// Reductions, scans, softmax and what picks along an axis.
namespace halyard::onnx {
namespace {

/// Reads the attributes that all reductions share and applies `make(x, axes, keep_dims)`.
template <class Make>
Results reduce(ImportContext& c, const Make& make) {
  HALYARD_ASSIGN(std::int64_t keep, c.attributes.integer("keepdims", 1));
  HALYARD_ASSIGN(std::int64_t empty_means_none, c.attributes.integer("noop_with_empty_axes", 0));
  HALYARD_ASSIGN(Axes axes, c.axes(1));
  if (axes.empty() && empty_means_none) return std::vector{*c.operands[0]};
  return one(make(c.term(0), axes, keep != 0));
}

template <Primitive primitive>
Results plain(ImportContext& c) {
  return reduce(c,
                [](const Term& x, const Axes& axes, bool keep) { return x.reduce(primitive, axes, keep); });
}

Results mean(ImportContext& c) {
  return reduce(c, [](const Term& x, const Axes& axes, bool keep) {
    return x.then([&](NodeId id) { return ops::mean(x.builder(), id, axes, keep); });
  });
}

Results sum_of_magnitudes(ImportContext& c) {
  return reduce(c, [](const Term& x, const Axes& axes, bool keep) {
    return x.unary(Primitive::abs).reduce(Primitive::reduce_sum, axes, keep);
  });
}

Results sum_of_squares(ImportContext& c) {
  return reduce(c, [](const Term& x, const Axes& axes, bool keep) {
    return (x * x).reduce(Primitive::reduce_sum, axes, keep);
  });
}

Results norm(ImportContext& c) {
  return reduce(c, [](const Term& x, const Axes& axes, bool keep) {
    return x.then([&](NodeId id) { return ops::norm(x.builder(), id, axes, keep); });
  });
}

Results log_sum(ImportContext& c) {
  return reduce(c, [](const Term& x, const Axes& axes, bool keep) {
    return x.reduce(Primitive::reduce_sum, axes, keep).unary(Primitive::log);
  });
}

Results log_sum_exp(ImportContext& c) {
  return reduce(c, [](const Term& x, const Axes& axes, bool keep) {
    return x.then([&](NodeId id) { return ops::logsumexp(x.builder(), id, axes, keep); });
  });
}

Results argument(ImportContext& c, Primitive primitive) {
  HALYARD_ASSIGN(std::int64_t axis, c.attributes.integer("axis", 0));
  HALYARD_ASSIGN(std::int64_t keep, c.attributes.integer("keepdims", 1));
  HALYARD_ASSIGN(std::int64_t last, c.attributes.integer("select_last_index", 0));
  if (!last) return one(c.builder.argument(primitive, *c.operands[0], axis, keep != 0));
  HALYARD_ASSIGN(axis, ops::normalize_axis(axis, c.rank(0)));
  const auto final = static_cast<double>(c.shape(0)[static_cast<std::size_t>(axis)] - 1);
  HALYARD_ASSIGN(NodeId turned, c.builder.reverse(*c.operands[0], {axis}));
  const Term from_end(c.builder, c.builder.argument(primitive, turned, axis, keep != 0));
  return one(-from_end + final);
}

Results argmax(ImportContext& c) {
  return argument(c, Primitive::argmax);
}
Results argmin(ImportContext& c) {
  return argument(c, Primitive::argmin);
}

Results cumulative_sum(ImportContext& c) {
  HALYARD_ASSIGN(Axes axis, c.known_integers(1));
  HALYARD_ASSIGN(std::int64_t exclusive, c.attributes.integer("exclusive", 0));
  HALYARD_ASSIGN(std::int64_t reverse, c.attributes.integer("reverse", 0));
  if (axis.size() != 1) return fail(ErrorCode::corrupt_data, "the axis must be one number");
  const Axes turned = reverse ? axis : Axes{};
  return one(c.term(0)
                 .then([&](NodeId id) { return c.builder.reverse(id, turned); })
                 .then([&](NodeId id) { return c.builder.cumulative_sum(id, axis[0], exclusive != 0); })
                 .then([&](NodeId id) { return c.builder.reverse(id, turned); }));
}

/// Applies `make(x, axis)` along `axis`. Before version 13 all axes from `axis` on were taken together.
template <class Make>
Results along_axis(ImportContext& c, const Make& make) {
  HALYARD_ASSIGN(std::int64_t axis, c.attributes.integer("axis", c.opset < 13 ? 1 : -1));
  const NodeId x = *c.operands[0];
  const Axes extents = c.shape(0).vector();
  if (c.opset < 13 && axis == static_cast<std::int64_t>(extents.size())) --axis;
  HALYARD_ASSIGN(axis, ops::normalize_axis(axis, extents.size()));
  if (c.opset >= 13 || axis + 1 == static_cast<std::int64_t>(extents.size())) return one(make(x, axis));
  Axes flat(extents.begin(), extents.begin() + axis);
  flat.push_back(
      std::accumulate(extents.begin() + axis, extents.end(), std::int64_t{1}, std::multiplies<>()));
  HALYARD_ASSIGN(NodeId rows, c.builder.reshape(x, flat));
  HALYARD_ASSIGN(NodeId y, make(rows, -1));
  return one(c.builder.reshape(y, extents));
}

Results softmax(ImportContext& c) {
  return along_axis(c, [&](NodeId x, std::int64_t axis) { return ops::softmax(c.builder, x, axis); });
}

Results log_softmax(ImportContext& c) {
  return along_axis(c, [&](NodeId x, std::int64_t axis) { return ops::log_softmax(c.builder, x, axis); });
}

/// 1 at the first greatest element along the axis, 0 elsewhere.
Results hardmax(ImportContext& c) {
  return along_axis(c, [&](NodeId x, std::int64_t axis) -> Result<NodeId> {
    const ops::Shape shape = c.builder.shape(x);
    HALYARD_ASSIGN(NodeId place, c.builder.argument(Primitive::argmax, x, axis, true));
    HALYARD_ASSIGN(NodeId here,
                   c.builder.iota(ElementType::i64, shape,
                                  axis < 0 ? static_cast<std::int64_t>(shape.rank()) - 1 : axis));
    HALYARD_ASSIGN(NodeId is_best, c.builder.binary(Primitive::eq, here, place));
    return c.builder.cast(is_best, c.builder.element(x));
  });
}

}  // namespace

std::vector<OperatorRow> reduction_operators() {
  return {
      {"ArgMax", argmax},
      {"ArgMin", argmin},
      {"CumSum", cumulative_sum, 2},
      {"Hardmax", hardmax},
      {"LogSoftmax", log_softmax},
      {"ReduceL1", sum_of_magnitudes},
      {"ReduceL2", norm},
      {"ReduceLogSum", log_sum},
      {"ReduceLogSumExp", log_sum_exp},
      {"ReduceMax", plain<Primitive::reduce_max>},
      {"ReduceMean", mean},
      {"ReduceMin", plain<Primitive::reduce_min>},
      {"ReduceProd", plain<Primitive::reduce_prod>},
      {"ReduceSum", plain<Primitive::reduce_sum>},
      {"ReduceSumSquare", sum_of_squares},
      {"Softmax", softmax},
  };
}

}  // namespace halyard::onnx
