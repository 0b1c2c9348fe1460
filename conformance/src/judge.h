#pragma once

#include <halyard/ops/graph.h>
#include <span>
#include <string>
#include <vector>

#include "elementwise_oracle.h"

namespace halyard::conformance {

struct Judgement {
  double error = 0;         ///< the largest, as a fraction of what is allowed
  std::int64_t where = -1;  ///< its element (row-major); −1 if the tensor is empty
  bool within_bound() const { return error <= 1; }
};

/// Judges every element of `result`, which primitive `node` gave on these operands, by the primitive's
/// definition.
Judgement judge(const ops::Node& node, std::span<const ops::HostTensor> operands,
                const ops::HostTensor& result, const Allowance& allowance);

/// Walks the positions of a shape, row-major.
class Positions {
 public:
  explicit Positions(std::vector<std::int64_t> extents);
  bool done() const { return done_; }
  void next();
  const std::vector<std::int64_t>& at() const { return position_; }

 private:
  std::vector<std::int64_t> extents_, position_;
  bool done_;
};
/// The row-major number of a position.
std::int64_t number_of(const std::vector<std::int64_t>& position, std::span<const std::int64_t> extents);

// ---- parts, by kind of primitive (movement_oracle.cpp, accumulation_oracle.cpp)
/// The exact element of a movement, gather, setting scatter or source primitive at one position.
Scalar moved_element(const ops::Node& node, std::span<const ops::HostTensor> operands,
                     const std::vector<std::int64_t>& position);
/// The error of one element of a reduction, contraction, scan, sort or merging scatter, as a fraction of the
/// bound derived from its order.
double accumulated_error(const ops::Node& node, std::span<const ops::HostTensor> operands,
                         const std::vector<std::int64_t>& position, const Scalar& result,
                         const Allowance& allowance);

/// The row-major numbers of the updates that a scatter brings to one position, ascending.
std::vector<std::int64_t> updates_of(const ops::Node& node, std::span<const ops::HostTensor> operands,
                                     const std::vector<std::int64_t>& position);

}  // namespace halyard::conformance
