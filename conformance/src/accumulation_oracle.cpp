#include <halyard/ops/reduction_order.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "judge.h"
#include "real.h"

/// Sums, products, extremes and places of extremes, computed exactly; the bounds follow from the declared
/// orders (docs/numerics.md): |result − exact| ≤ γ_d Σ|terms| + u |exact|, d the longest chain of roundings.
namespace halyard::conformance {
namespace {

using ops::HostTensor;
using ops::Primitive;
using Position = std::vector<std::int64_t>;
constexpr double wrong = std::numeric_limits<double>::infinity();

/// γ_d = d u / (1 − d u) for a float type (Higham, "Accuracy and Stability of Numerical Algorithms", 2002,
/// lemma 3.1).
Real gamma(std::int64_t depth, ElementType element) {
  const Real product(static_cast<double>(depth) * std::ldexp(1.0, -format_of(element).digits));
  return product / (Real(1) - product);
}

/// The longest chain of additions over n elements by the row rule and by the column rule.
std::int64_t row_depth(std::int64_t n) {
  namespace order = ops::order;
  std::int64_t depth = 0;
  for (;;) {
    const std::int64_t chunk = std::min(n, order::row_chunk);
    depth += (chunk + order::row_lanes - 1) / order::row_lanes + 7;
    if (n <= order::row_chunk) return depth;
    n = (n + order::row_chunk - 1) / order::row_chunk;
  }
}
std::int64_t column_depth(std::int64_t n) {
  namespace order = ops::order;
  std::int64_t depth = 0;
  for (;;) {
    depth += std::min(n, order::column_chunk);
    if (n <= order::column_chunk) return depth;
    n = (n + order::column_chunk - 1) / order::column_chunk;
  }
}
std::int64_t dot_depth(std::int64_t n) {
  return std::min(n, ops::order::dot_chunk) + (n + ops::order::dot_chunk - 1) / ops::order::dot_chunk;
}
/// Levels of 16, four steps each, up and down again.
std::int64_t scan_depth(std::int64_t n) {
  std::int64_t depth = 4;
  for (; n > ops::order::scan_group; n = (n + ops::order::scan_group - 1) / ops::order::scan_group)
    depth += 5;
  return depth;
}

/// An exact sum or product beside the sum of its terms' magnitudes.
struct Accumulated {
  Real exact;
  Real magnitudes;
  std::int64_t depth = 0;
};

/// The bound counts roundings in the accumulator's type and one more in the result's.
double error_of(const Accumulated& sum, ElementType operand, const Scalar& result,
                const Allowance& allowance) {
  const double got = result.number();
  if (sum.exact.is_nan() || sum.exact.is_infinite() || std::isnan(got))
    return units_apart(got, sum.exact, result.element, false) == 0 ? 0 : wrong;
  if (allowance.exact_sums)
    return units_apart(got, round_to(sum.exact, result.element), result.element, false) == 0 ? 0 : wrong;
  if (got == 0 && sum.exact.is_zero()) return std::signbit(got) == sum.exact.is_negative() ? 0 : wrong;
  const ElementType wide = ops::accumulator(operand);
  const Real unit(std::ldexp(1.0, -format_of(result.element).digits));
  const double tiniest =
      std::ldexp(1.0, format_of(result.element).least_exponent -
                          (allowance.flushes_subnormals ? 0 : format_of(result.element).digits - 1));
  const Real spread = gamma(sum.depth, wide) * sum.magnitudes;
  const Real allowed = spread + unit * (sum.exact.magnitude() + spread) + Real(tiniest / 2);
  if (std::isinf(got)) {
    const Real beyond(std::ldexp(1.0, std::min(format_of(result.element).greatest_exponent, 1022)));
    return beyond < sum.exact.magnitude() + allowed ? 0 : wrong;
  }
  return ((Real(got) - sum.exact).magnitude() / allowed).to_double();
}

/// Calls `visit(element)` for the elements of `operand` that one output gathers, in row-major order of the
/// reduced axes.
template <class Visit>
void for_reduced(const ops::Node& node, const HostTensor& operand, const Position& position,
                 const Visit& visit) {
  const ops::Shape& shape = operand.shape();
  std::vector<std::int64_t> reduced;
  Position at(shape.rank(), 0);
  std::size_t next = 0;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    const bool gone = std::find(node.attributes.axes.begin(), node.attributes.axes.end(),
                                static_cast<std::int64_t>(axis)) != node.attributes.axes.end();
    if (gone) reduced.push_back(static_cast<std::int64_t>(axis));
    if (!gone) at[axis] = position[next++];
    if (gone && node.attributes.keep_dims) ++next;
  }
  std::vector<std::int64_t> extents;
  for (std::int64_t axis : reduced) extents.push_back(shape[static_cast<std::size_t>(axis)]);
  for (Positions p(extents); !p.done(); p.next()) {
    for (std::size_t i = 0; i < reduced.size(); ++i) at[static_cast<std::size_t>(reduced[i])] = p.at()[i];
    visit(Scalar::of(operand, number_of(at, shape.extents())));
  }
}

__int128 wrapped(__int128 value, ElementType element) {
  if (element == ElementType::boolean) return value;
  const int shift = 128 - static_cast<int>(8 * byte_size(element));
  const auto high = static_cast<unsigned __int128>(value) << shift;
  return is_signed(element) ? static_cast<__int128>(high) >> shift : static_cast<__int128>(high >> shift);
}

__int128 merged(Primitive primitive, __int128 a, __int128 b, ElementType element) {
  switch (primitive) {
    case Primitive::reduce_prod:
      return wrapped(a * b, element);
    case Primitive::reduce_min:
      return std::min(a, b);
    case Primitive::reduce_max:
      return std::max(a, b);
    case Primitive::reduce_any:
      return a | b;
    case Primitive::reduce_all:
      return a & b;
    default:
      return wrapped(a + b, element);
  }
}

double integer_reduction_error(const ops::Node& node, const HostTensor& operand, const Position& position,
                               const Scalar& result) {
  Scalar start{result.element, ops::reduction_identity(node.primitive, result.element)};
  __int128 total = start.integer();
  for_reduced(node, operand, position, [&](const Scalar& element) {
    total = merged(node.primitive, total, element.integer(), result.element);
  });
  return total == result.integer() ? 0 : wrong;
}

/// NaN wins, max(−0, +0) = +0, min(−0, +0) = −0; of nothing the identity.
double extreme_error(const ops::Node& node, const HostTensor& operand, const Position& position,
                     const Scalar& result) {
  const bool larger = node.primitive == Primitive::reduce_max;
  double best = larger ? -wrong : wrong;
  for_reduced(node, operand, position, [&](const Scalar& element) {
    const double value = element.number();
    if (std::isnan(best)) return;
    const bool zeros = value == 0 && best == 0;
    const bool takes = zeros ? std::signbit(best) == larger : (larger ? value > best : value < best);
    if (std::isnan(value) || takes) best = value;
  });
  const double got = result.number();
  if (std::isnan(best)) return std::isnan(got) ? 0 : wrong;
  return got == best && std::signbit(got) == std::signbit(best) ? 0 : wrong;
}

/// `start` is what a sum begins with: reductions add to +0, scans to nothing (to −0).
double float_reduction_error(const ops::Node& node, const HostTensor& operand, const Position& position,
                             const Scalar& result, const Allowance& allowance,
                             std::optional<std::int64_t> depth = std::nullopt, double start = 0.0) {
  if (node.primitive == Primitive::reduce_min || node.primitive == Primitive::reduce_max)
    return extreme_error(node, operand, position, result);
  const bool product = node.primitive == Primitive::reduce_prod;
  Accumulated sum{Real(product ? 1 : start), Real(0), 0};
  std::int64_t count = 0;
  for_reduced(node, operand, position, [&](const Scalar& element) {
    const Real term(element.number());
    sum.exact = product ? sum.exact * term : sum.exact + term;
    sum.magnitudes = sum.magnitudes + term.magnitude();
    ++count;
  });
  if (product) sum.magnitudes = sum.exact.magnitude();
  const bool rows =
      std::find(node.attributes.axes.begin(), node.attributes.axes.end(),
                static_cast<std::int64_t>(operand.shape().rank()) - 1) != node.attributes.axes.end();
  // Of a product every rounding counts, not those of the longest chain alone.
  sum.depth = product ? count : depth ? *depth : rows ? row_depth(count) : column_depth(count);
  return error_of(sum, operand.element(), result, allowance);
}

/// The lowest index of the greatest (least); the first NaN wins.
double argument_error(const ops::Node& node, const HostTensor& operand, const Position& position,
                      const Scalar& result) {
  std::optional<Scalar> best;
  std::int64_t best_index = 0, index = 0;
  const bool larger = node.primitive == Primitive::argmax;
  const auto beats = [&](const Scalar& a, const Scalar& b) {
    if (!is_float(a.element)) return larger ? a.integer() > b.integer() : a.integer() < b.integer();
    if (std::isnan(b.number())) return false;
    if (std::isnan(a.number())) return true;
    return larger ? a.number() > b.number() : a.number() < b.number();
  };
  for_reduced(node, operand, position, [&](const Scalar& element) {
    if (!best || beats(element, *best)) {
      best = element;
      best_index = index;
    }
    ++index;
  });
  return result.integer() == best_index ? 0 : wrong;
}

/// Calls `visit(lhs element, rhs element)` for the products of one output, in the order of k.
template <class Visit>
void for_products(const ops::Node& node, std::span<const HostTensor> operands, const Position& position,
                  const Visit& visit) {
  const ops::DotDimensions& dot = node.attributes.dot;
  Position lhs(operands[0].shape().rank(), -1), rhs(operands[1].shape().rank(), -1);
  std::size_t next = 0;
  for (std::size_t i = 0; i < dot.lhs_batch.size(); ++i, ++next)
    lhs[static_cast<std::size_t>(dot.lhs_batch[i])] = rhs[static_cast<std::size_t>(dot.rhs_batch[i])] =
        position[next];
  for (std::int64_t axis : dot.lhs_contracting) lhs[static_cast<std::size_t>(axis)] = -2;
  for (std::int64_t axis : dot.rhs_contracting) rhs[static_cast<std::size_t>(axis)] = -2;
  for (Position* side : {&lhs, &rhs})
    for (std::int64_t& at : *side)
      if (at == -1) at = position[next++];
  std::vector<std::int64_t> extents;
  for (std::int64_t axis : dot.lhs_contracting)
    extents.push_back(operands[0].shape()[static_cast<std::size_t>(axis)]);
  for (Positions p(extents); !p.done(); p.next()) {
    for (std::size_t i = 0; i < extents.size(); ++i) {
      lhs[static_cast<std::size_t>(dot.lhs_contracting[i])] = p.at()[i];
      rhs[static_cast<std::size_t>(dot.rhs_contracting[i])] = p.at()[i];
    }
    visit(Scalar::of(operands[0], number_of(lhs, operands[0].shape().extents())),
          Scalar::of(operands[1], number_of(rhs, operands[1].shape().extents())));
  }
}

double dot_error(const ops::Node& node, std::span<const HostTensor> operands, const Position& position,
                 const Scalar& result, const Allowance& allowance) {
  if (!is_float(operands[0].element())) {
    __int128 total = 0;
    for_products(node, operands, position, [&](const Scalar& a, const Scalar& b) {
      total = wrapped(total + a.integer() * b.integer(), result.element);
    });
    return total == result.integer() ? 0 : wrong;
  }
  Accumulated sum{Real(0), Real(0), 0};
  std::int64_t count = 0;
  for_products(node, operands, position, [&](const Scalar& a, const Scalar& b) {
    const Real term = Real(a.number()) * Real(b.number());
    sum.exact = sum.exact + term;
    sum.magnitudes = sum.magnitudes + term.magnitude();
    ++count;
  });
  sum.depth = dot_depth(count) + (allowance.fused_fma ? 0 : 1);
  return error_of(sum, operands[0].element(), result, allowance);
}

/// Whether a stands before b in ascending order: NaN after everything else.
bool stands_before(const Scalar& a, const Scalar& b) {
  if (!is_float(a.element)) return a.integer() < b.integer();
  if (std::isnan(b.number())) return !std::isnan(a.number());
  return a.number() < b.number();
}

/// The element of that index must have as many before it as the position says: those that are less (greater),
/// and the equal ones of lower index.
double order_error(const ops::Node& node, const HostTensor& operand, const Position& position,
                   const Scalar& result) {
  const auto axis = static_cast<std::size_t>(node.attributes.axes[0]);
  const std::int64_t extent = operand.shape()[axis];
  const auto index = static_cast<std::int64_t>(result.integer());
  if (index < 0 || index >= extent) return wrong;
  Position at = position;
  const auto element = [&](std::int64_t i) {
    at[axis] = i;
    return Scalar::of(operand, number_of(at, operand.shape().extents()));
  };
  const Scalar chosen = element(index);
  std::int64_t before = 0;
  for (std::int64_t i = 0; i < extent; ++i) {
    const Scalar other = element(i);
    const bool less = stands_before(other, chosen), greater = stands_before(chosen, other);
    before += (node.attributes.descending ? greater : less) || (less == greater && i < index);
  }
  return before == position[axis] ? 0 : wrong;
}

/// The reduction that a scan makes of each beginning, or a scatter of the base's element and its updates.
Primitive reduction_of(Primitive scan_or_scatter) {
  switch (scan_or_scatter) {
    case Primitive::cumulative_prod:
    case Primitive::scatter_prod:
      return Primitive::reduce_prod;
    case Primitive::cumulative_min:
    case Primitive::scatter_min:
      return Primitive::reduce_min;
    case Primitive::cumulative_max:
    case Primitive::scatter_max:
      return Primitive::reduce_max;
    default:
      return Primitive::reduce_sum;
  }
}

/// Each element of a scan is a reduction of a beginning of its row, judged as one but for the depth of the
/// tree.
double scan_error(const ops::Node& node, const HostTensor& operand, const Position& position,
                  const Scalar& result, const Allowance& allowance) {
  const auto axis = static_cast<std::size_t>(node.attributes.axes[0]);
  const std::int64_t count = position[axis] + (node.attributes.exclusive ? 0 : 1);
  HostTensor row = HostTensor::allocate(operand.element(), ops::Shape{count}).value();
  Position at = position;
  for (std::int64_t k = 0; k < count; ++k) {
    at[axis] = k;
    row.set_bits_at(k, operand.bits_at(number_of(at, operand.shape().extents())));
  }
  ops::Node reduction;
  reduction.primitive = reduction_of(node.primitive);
  reduction.attributes.axes = {0};
  if (!is_float(operand.element())) return integer_reduction_error(reduction, row, {}, result);
  return float_reduction_error(reduction, row, {}, result, allowance, scan_depth(operand.shape()[axis]),
                               count > 0 ? -0.0 : 0.0);
}

/// The base's element and the updates for it, judged as their reduction but for the depth, which counts all
/// updates.
double scatter_error(const ops::Node& node, std::span<const HostTensor> operands, const Position& position,
                     const Scalar& result, const Allowance& allowance) {
  const HostTensor& base = operands[0];
  const std::vector<std::int64_t> named = updates_of(node, operands, position);
  const std::int64_t own = number_of(position, base.shape().extents());
  if (named.empty()) return base.bits_at(own) == result.bits ? 0 : wrong;
  HostTensor terms =
      HostTensor::allocate(base.element(), ops::Shape{static_cast<std::int64_t>(named.size()) + 1}).value();
  terms.set_bits_at(0, base.bits_at(own));
  for (std::size_t i = 0; i < named.size(); ++i)
    terms.set_bits_at(static_cast<std::int64_t>(i) + 1, operands[2].bits_at(named[i]));
  ops::Node reduction;
  reduction.primitive = reduction_of(node.primitive);
  reduction.attributes.axes = {0};
  if (!is_float(base.element())) return integer_reduction_error(reduction, terms, {}, result);
  const bool rows = static_cast<std::size_t>(node.attributes.axes[0]) + 1 == position.size();
  const std::int64_t count = operands[1].shape().extents().back();
  return float_reduction_error(reduction, terms, {}, result, allowance,
                               (rows ? row_depth(count) : column_depth(count)) + 1);
}

}  // namespace

std::vector<std::int64_t> updates_of(const ops::Node& node, std::span<const HostTensor> operands,
                                     const Position& position) {
  const auto axis = static_cast<std::size_t>(node.attributes.axes[0]);
  const HostTensor& indices = operands[1];
  const std::int64_t extent = operands[0].shape()[axis];
  Position of_index(position.begin(), position.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
  Position of_update = position;
  std::vector<std::int64_t> numbers;
  for (std::int64_t u = 0; u < indices.shape()[axis]; ++u) {
    of_index[axis] = of_update[axis] = u;
    const auto index = static_cast<std::int64_t>(
        Scalar::of(indices, number_of(of_index, indices.shape().extents())).integer());
    if ((index < 0 ? index + extent : index) == position[axis])
      numbers.push_back(number_of(of_update, operands[2].shape().extents()));
  }
  return numbers;
}

double accumulated_error(const ops::Node& node, std::span<const HostTensor> operands,
                         const Position& position, const Scalar& result, const Allowance& allowance) {
  switch (node.primitive) {
    case Primitive::argmax:
    case Primitive::argmin:
      return argument_error(node, operands[0], position, result);
    case Primitive::argsort:
      return order_error(node, operands[0], position, result);
    case Primitive::dot_general:
      return dot_error(node, operands, position, result, allowance);
    case Primitive::cumulative_sum:
    case Primitive::cumulative_prod:
    case Primitive::cumulative_min:
    case Primitive::cumulative_max:
      return scan_error(node, operands[0], position, result, allowance);
    case Primitive::scatter_add:
    case Primitive::scatter_prod:
    case Primitive::scatter_min:
    case Primitive::scatter_max:
      return scatter_error(node, operands, position, result, allowance);
    default:
      return is_float(operands[0].element())
                 ? float_reduction_error(node, operands[0], position, result, allowance)
                 : integer_reduction_error(node, operands[0], position, result);
  }
}

}  // namespace halyard::conformance
