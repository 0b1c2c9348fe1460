#include "index_expression.h"

#include <algorithm>
#include <span>

namespace halyard::fusion {
namespace {

bool same_source(const IndexPart& a, const IndexPart& b) {
  return a.axis == b.axis && a.value == b.value;
}

/// Joins ((s / d) mod m) * c and ((s / (d m)) mod n) * (c m) into ((s / d) mod (m n)) * c.
bool join_digits(std::vector<IndexPart>& parts) {
  for (IndexPart& low : parts) {
    if (low.modulus == 0) continue;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      IndexPart& high = parts[i];
      if (&high == &low || !same_source(high, low)) continue;
      if (high.divisor != low.divisor * low.modulus || high.coefficient != low.coefficient * low.modulus)
        continue;
      low.count *= high.count;
      low.modulus = high.modulus == 0 ? 0 : low.modulus * high.modulus;
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
  }
  return false;
}

void normalize(IndexExpression& expression) {
  auto& parts = expression.parts;
  std::sort(parts.begin(), parts.end(), [](const IndexPart& a, const IndexPart& b) {
    return std::tie(a.axis, a.value, a.divisor, a.modulus, a.coefficient) <
           std::tie(b.axis, b.value, b.divisor, b.modulus, b.coefficient);
  });
  std::vector<IndexPart> merged;
  for (const IndexPart& part : parts) {
    if (!merged.empty() && same_source(merged.back(), part) && merged.back().divisor == part.divisor &&
        merged.back().modulus == part.modulus)
      merged.back().coefficient += part.coefficient;
    else
      merged.push_back(part);
  }
  std::erase_if(merged, [](const IndexPart& part) { return part.coefficient == 0 || part.count == 1; });
  while (join_digits(merged)) {
  }
  parts = std::move(merged);
}

/// (part / stride) mod size for a part whose coefficient divides `stride`.
std::optional<IndexPart> divide(const IndexPart& part, std::int64_t stride, std::int64_t size) {
  if (part.coefficient <= 0 || stride % part.coefficient != 0) return std::nullopt;
  std::int64_t by = stride / part.coefficient;
  IndexPart result = part;
  result.coefficient = 1;
  if (by > 1) {
    if (result.modulus != 0) {
      if (result.modulus % by != 0) return std::nullopt;
      result.modulus /= by;
    }
    result.divisor *= by;
    result.count = (part.count + by - 1) / by;
  }
  if (result.count > size) {
    if (result.modulus != 0 && result.modulus % size != 0) return std::nullopt;
    result.modulus = size;
    result.count = size;
  }
  return result;
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  std::int64_t quotient = a / b;
  return (a % b != 0 && a < 0) ? quotient - 1 : quotient;
}

}  // namespace

IndexExpression IndexExpression::of_axis(Axis axis, std::int64_t extent) {
  IndexExpression result;
  if (extent != 1) result.parts.push_back({.axis = axis, .count = extent});
  return result;
}

IndexExpression IndexExpression::of_value(TileId value, std::int64_t count) {
  IndexExpression result;
  if (count != 1) result.parts.push_back({.value = value, .count = count});
  return result;
}

std::optional<Axis> IndexExpression::plain_axis() const {
  if (constant != 0 || parts.size() != 1) return std::nullopt;
  const IndexPart& part = parts.front();
  if (!part.axis || part.coefficient != 1 || part.divisor != 1 || part.modulus != 0) return std::nullopt;
  return part.axis;
}

IndexExpression add(const IndexExpression& a, const IndexExpression& b) {
  IndexExpression result = a;
  result.constant += b.constant;
  result.parts.insert(result.parts.end(), b.parts.begin(), b.parts.end());
  normalize(result);
  return result;
}

IndexExpression scale(const IndexExpression& a, std::int64_t factor) {
  IndexExpression result = a;
  result.constant *= factor;
  for (IndexPart& part : result.parts) part.coefficient *= factor;
  normalize(result);
  return result;
}

IndexExpression shift(IndexExpression a, std::int64_t offset) {
  a.constant += offset;
  return a;
}

std::pair<std::int64_t, std::int64_t> bounds(const IndexExpression& expression) {
  std::int64_t low = expression.constant, high = expression.constant;
  for (const IndexPart& part : expression.parts) {
    std::int64_t reach = part.coefficient * std::max<std::int64_t>(part.count - 1, 0);
    (reach < 0 ? low : high) += reach;
  }
  return {low, high};
}

std::optional<IndexExpression> digit(const IndexExpression& expression, std::int64_t stride,
                                     std::int64_t size) {
  // Split the sum into multiples of stride * size (dropped), multiples of stride (kept), a part across the
  // border (divided) and the rest (below stride, dropped), and prove that no carry passes between them.
  IndexExpression kept, below, across;
  std::int64_t period = stride * size;
  std::int64_t constant = expression.constant - floor_divide(expression.constant, period) * period;
  kept.constant = constant / stride;
  below.constant = constant % stride;
  for (const IndexPart& part : expression.parts) {
    std::int64_t reach = part.coefficient * (part.count - 1);
    if (part.coefficient % period == 0) continue;
    if (part.coefficient % stride == 0 && std::abs(reach) < period) {
      IndexPart moved = part;
      moved.coefficient /= stride;
      kept.parts.push_back(moved);
    } else if (std::abs(reach) < stride) {
      below.parts.push_back(part);
    } else {
      across.parts.push_back(part);
    }
  }
  if (across.parts.size() > 1) return std::nullopt;
  auto [below_low, below_high] = bounds(below);
  std::int64_t room = stride;
  if (!across.parts.empty()) {
    const IndexPart& part = across.parts.front();
    if (part.coefficient % stride == 0) {  // a multiple that reaches past the period: only the modulus is new
      IndexPart whole = part;
      whole.coefficient = part.coefficient / stride;
      if (whole.coefficient < 0 || size % whole.coefficient != 0) return std::nullopt;
      std::int64_t limit = size / whole.coefficient;
      if (whole.modulus != 0 && whole.modulus % limit != 0) return std::nullopt;
      whole.modulus = limit;
      whole.count = limit;
      kept.parts.push_back(whole);
    } else {
      auto divided = divide(part, stride, size);
      if (!divided) return std::nullopt;
      room = part.coefficient;
      if (divided->count > 1) kept.parts.push_back(*divided);
    }
  }
  if (below_low < 0 || below_high >= room) return std::nullopt;
  normalize(kept);
  auto [low, high] = bounds(kept);
  if (low < 0 || high >= size) return std::nullopt;
  return kept;
}

AxisSet axes_of(const IndexExpression& expression) {
  AxisSet axes;
  for (const IndexPart& part : expression.parts)
    if (part.axis) axes = axes | AxisSet{*part.axis};
  return axes;
}

IndexExpression linearize(const std::vector<IndexExpression>& dimensions,
                          const std::vector<std::int64_t>& shape) {
  IndexExpression result;
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    result = add(result, scale(dimensions[i], stride));
    stride *= shape[i];
  }
  return result;
}

namespace {

/// The digits of an index into dimensions of these sizes, the last one fastest; false if one is not
/// quasi-affine.
bool split_index(const IndexExpression& linear, std::span<const std::int64_t> sizes,
                 std::span<IndexExpression> indices) {
  std::int64_t stride = 1;
  for (std::size_t k = sizes.size(); k-- > 0;) {
    indices[k] = {};
    if (sizes[k] == 1) continue;
    auto part = digit(linear, stride, sizes[k]);
    if (!part) return false;
    indices[k] = *part;
    stride *= sizes[k];
  }
  return true;
}

}  // namespace

std::optional<std::vector<IndexExpression>> reshape_index(const std::vector<IndexExpression>& dimensions,
                                                          const std::vector<std::int64_t>& from,
                                                          const std::vector<std::int64_t>& to,
                                                          const JoinIndex& join) {
  // Whole groups of dimensions with equal products map to each other; linearizing only within a group keeps
  // expressions small and lets an odd dimension elsewhere pass untouched.
  std::vector<IndexExpression> result(to.size());
  std::size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    std::size_t first_from = i, first_to = j;
    std::int64_t left = i < from.size() ? from[i++] : 1;
    std::int64_t right = j < to.size() ? to[j++] : 1;
    while (left != right) {
      if (left < right && i < from.size())
        left *= from[i++];
      else if (j < to.size())
        right *= to[j++];
      else
        return std::nullopt;
    }
    if (i - first_from == 1 && j - first_to == 1) {
      result[first_to] = dimensions[first_from];
      continue;
    }
    std::vector<IndexExpression> group(dimensions.begin() + static_cast<std::ptrdiff_t>(first_from),
                                       dimensions.begin() + static_cast<std::ptrdiff_t>(i));
    std::vector<std::int64_t> group_shape(from.begin() + static_cast<std::ptrdiff_t>(first_from),
                                          from.begin() + static_cast<std::ptrdiff_t>(i));
    const std::span<const std::int64_t> sizes(to.data() + first_to, j - first_to);
    const std::span<IndexExpression> indices(result.data() + first_to, j - first_to);
    const IndexExpression linear = linearize(group, group_shape);
    if (split_index(linear, sizes, indices)) continue;
    if (!join || !split_index(join(linear, left), sizes, indices)) return std::nullopt;
  }
  return result;
}

}  // namespace halyard::fusion
