#pragma once

#include <halyard/fusion/tile_program.h>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace halyard::fusion {

/// coefficient * ((source / divisor) mod modulus), the source being an axis or an integer tile value.
struct IndexPart {
  std::int64_t coefficient = 1;
  std::optional<Axis> axis;
  TileId value = no_tile;    ///< the source when `axis` is empty
  std::int64_t divisor = 1;  ///< >= 1
  std::int64_t modulus = 0;  ///< 0: none
  std::int64_t count = 1;    ///< the quotient's values are 0 … count - 1

  friend auto operator<=>(const IndexPart&, const IndexPart&) = default;
};

/// An index into one dimension (or a linear address) of a tensor as a quasi-affine function of positions:
/// constant + the sum of the parts. Views act on these, which is how they cost nothing.
struct IndexExpression {
  std::int64_t constant = 0;
  std::vector<IndexPart> parts;

  static IndexExpression of_axis(Axis axis, std::int64_t extent);
  static IndexExpression of_value(TileId value, std::int64_t count);
  bool is_constant() const { return parts.empty(); }
  /// The axis if the expression is that axis and nothing else.
  std::optional<Axis> plain_axis() const;

  friend auto operator<=>(const IndexExpression&, const IndexExpression&) = default;
};

IndexExpression add(const IndexExpression& a, const IndexExpression& b);
IndexExpression scale(const IndexExpression& a, std::int64_t factor);
IndexExpression shift(IndexExpression a, std::int64_t offset);

/// The least and the greatest value it can take.
std::pair<std::int64_t, std::int64_t> bounds(const IndexExpression& expression);

/// (expression / stride) mod size, or nothing when that is not of this form.
std::optional<IndexExpression> digit(const IndexExpression& expression, std::int64_t stride,
                                     std::int64_t size);

/// Axes it depends on (values' axes are not among them).
AxisSet axes_of(const IndexExpression& expression);

/// Sum of index * stride over the dimensions of a row-major tensor.
IndexExpression linearize(const std::vector<IndexExpression>& dimensions,
                          const std::vector<std::int64_t>& shape);

/// Makes one value of an index that is to be divided as a whole: an expression whose only part is that value,
/// which is below `count`. Without it such an index is not expressed.
using JoinIndex = std::function<IndexExpression(const IndexExpression& index, std::int64_t count)>;

/// The indices into a tensor of shape `to` of what lies at `dimensions` of a tensor of shape `from` with the
/// same number of elements. Where that is not quasi-affine (the shapes' factors interleave), `join` is used;
/// nothing without it.
std::optional<std::vector<IndexExpression>> reshape_index(const std::vector<IndexExpression>& dimensions,
                                                          const std::vector<std::int64_t>& from,
                                                          const std::vector<std::int64_t>& to,
                                                          const JoinIndex& join = {});

}  // namespace halyard::fusion
