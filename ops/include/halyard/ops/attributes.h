#pragma once

#include <halyard/base/element_type.h>
#include <cstdint>
#include <optional>
#include <vector>

namespace halyard::ops {

/// Which axes a `dot_general` contracts and which it batches over; the i-th entries of the two sides belong
/// together. The result's axes are: batch, then lhs's free axes, then rhs's free axes, each in their order.
/// Contracted axes are linearized row-major in the order listed: that is the k of the canonical order.
struct DotDimensions {
  std::vector<std::int64_t> lhs_contracting;
  std::vector<std::int64_t> rhs_contracting;
  std::vector<std::int64_t> lhs_batch;
  std::vector<std::int64_t> rhs_batch;
  friend bool operator==(const DotDimensions&, const DotDimensions&) = default;
};

/// What a node says beside its operands. A primitive reads only the fields its docstring names; in a `Graph`
/// axes are non-negative, and for reductions ascending.
struct Attributes {
  std::vector<std::int64_t> axes;   ///< reductions, reverse, windows; permute: result axis i is operand axis
                                    ///< axes[i]; concat, take, argmax, argsort, scans, scatters: the one axis
  std::vector<std::int64_t> shape;  ///< extents of the result: reshape, broadcast, slice, iota, input;
                                    ///< windows: extent of the window along each of `axes`
  std::vector<std::int64_t> starts;  ///< slice: first element per axis; pad: elements before
  std::vector<std::int64_t> ends;    ///< pad: elements after
  std::vector<std::int64_t> steps;   ///< slice: positive, per axis; windows: from a window to the next, per
                                     ///< entry of `axes`
  std::vector<std::int64_t>
      dilations;  ///< windows: from an element of a window to the next, per entry of `axes`
  std::optional<ElementType>
      element;                   ///< cast, bitcast, iota, input; argmax, argmin, argsort (i64 if absent);
                                 ///< dot_general: f32 for an unrounded result of 16-bit operands
  std::uint64_t value_bits = 0;  ///< pad: the fill element's bits
  bool keep_dims = false;        ///< reductions, argmax, argmin: reduced axes stay with extent 1
  bool exclusive = false;        ///< scans: without the element itself
  bool descending = false;       ///< argsort: greatest first
  DotDimensions dot;
  friend bool operator==(const Attributes&, const Attributes&) = default;
};

}  // namespace halyard::ops
