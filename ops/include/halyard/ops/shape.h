#pragma once

#include <halyard/base/result.h>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace halyard::ops {

/// The extents of a tensor, outermost first; rank 0 is a scalar, an extent of 0 makes the tensor empty.
/// A value type. `Shape::create` is the checked door for extents from outside; every shape in a `Graph` has
/// passed it, so the arithmetic below cannot overflow there.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> extents) : extents_(extents) {}
  explicit Shape(std::vector<std::int64_t> extents) : extents_(std::move(extents)) {}

  /// Fails with `invalid_argument` if an extent is negative, or if the product of the extents (zeros counted
  /// as one, so that strides fit too) times 8 bytes does not fit in an int64.
  static Result<Shape> create(std::vector<std::int64_t> extents);

  std::size_t rank() const { return extents_.size(); }
  std::int64_t operator[](std::size_t axis) const { return extents_[axis]; }
  std::span<const std::int64_t> extents() const { return extents_; }
  const std::vector<std::int64_t>& vector() const { return extents_; }

  /// Number of elements: 1 for a scalar.
  std::int64_t count() const;
  bool is_empty() const { return count() == 0; }
  /// Elements between neighbours along each axis when stored row-major without gaps.
  std::vector<std::int64_t> row_major_strides() const;
  /// "[2, 3]"; "[]" for a scalar.
  std::string text() const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::vector<std::int64_t> extents_;
};

/// The number of elements, or `invalid_argument` as `Shape::create`.
Result<std::int64_t> checked_count(std::span<const std::int64_t> extents);

/// NumPy's rule: axes are aligned at the right; extents agree or one of them is 1. The error names both
/// shapes.
Result<Shape> broadcast_shapes(const Shape& a, const Shape& b);

/// Whether `from` broadcasts to exactly `to`.
bool broadcasts_to(const Shape& from, const Shape& to);

/// `axis` counted from the end if negative; the error names the axis and the rank.
Result<std::int64_t> normalize_axis(std::int64_t axis, std::size_t rank);

/// Normalized, ascending, without repeats (a repeat is an error).
Result<std::vector<std::int64_t>> normalize_axes(std::span<const std::int64_t> axes, std::size_t rank);

}  // namespace halyard::ops
