#include <fmt/format.h>
#include <fmt/ranges.h>
#include <halyard/ops/shape.h>
#include <algorithm>
#include <limits>

namespace halyard::ops {

Result<std::int64_t> checked_count(std::span<const std::int64_t> extents) {
  constexpr std::int64_t limit = std::numeric_limits<std::int64_t>::max() / 8;
  std::int64_t count = 1;
  bool empty = false;
  for (std::int64_t extent : extents) {
    if (extent < 0)
      return fail(ErrorCode::invalid_argument,
                  fmt::format("shape [{}]: extent {} is negative", fmt::join(extents, ", "), extent));
    if (extent == 0) {
      empty = true;
      continue;
    }
    if (count > limit / extent)
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("shape [{}]: more elements than 2^60; use smaller extents", fmt::join(extents, ", ")));
    count *= extent;
  }
  return empty ? 0 : count;
}

Result<Shape> Shape::create(std::vector<std::int64_t> extents) {
  HALYARD_TRY(checked_count(extents));
  return Shape(std::move(extents));
}

std::int64_t Shape::count() const {
  std::int64_t count = 1;
  for (std::int64_t extent : extents_) count *= extent;
  return count;
}

std::vector<std::int64_t> Shape::row_major_strides() const {
  std::vector<std::int64_t> strides(rank());
  std::int64_t stride = 1;
  for (std::size_t axis = rank(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= std::max<std::int64_t>(extents_[axis], 1);
  }
  return strides;
}

std::string Shape::text() const {
  return fmt::format("[{}]", fmt::join(extents_, ", "));
}

Result<Shape> broadcast_shapes(const Shape& a, const Shape& b) {
  std::vector<std::int64_t> extents(std::max(a.rank(), b.rank()));
  for (std::size_t i = 0; i < extents.size(); ++i) {
    std::int64_t x = i < a.rank() ? a[a.rank() - 1 - i] : 1;
    std::int64_t y = i < b.rank() ? b[b.rank() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1)
      return fail(ErrorCode::invalid_argument,
                  fmt::format("shapes {} and {} do not broadcast: extents {} and {} differ and neither is 1",
                              a.text(), b.text(), x, y));
    extents[extents.size() - 1 - i] = x == 1 ? y : x;
  }
  return Shape::create(std::move(extents));
}

bool broadcasts_to(const Shape& from, const Shape& to) {
  if (from.rank() > to.rank()) return false;
  for (std::size_t i = 0; i < from.rank(); ++i) {
    std::int64_t extent = from[from.rank() - 1 - i];
    if (extent != 1 && extent != to[to.rank() - 1 - i]) return false;
  }
  return true;
}

Result<std::int64_t> normalize_axis(std::int64_t axis, std::size_t rank) {
  auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank)
    return fail(ErrorCode::invalid_argument,
                fmt::format("axis {} does not exist in a tensor of rank {}", axis, rank));
  return axis < 0 ? axis + signed_rank : axis;
}

Result<std::vector<std::int64_t>> normalize_axes(std::span<const std::int64_t> axes, std::size_t rank) {
  std::vector<std::int64_t> result;
  for (std::int64_t axis : axes) {
    HALYARD_ASSIGN(std::int64_t normalized, normalize_axis(axis, rank));
    result.push_back(normalized);
  }
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end())
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("axes [{}] name one axis twice in a tensor of rank {}", fmt::join(axes, ", "), rank));
  return result;
}

}  // namespace halyard::ops
