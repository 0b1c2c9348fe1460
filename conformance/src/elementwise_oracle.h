#pragma once

#include <halyard/ops/host_tensor.h>
#include <halyard/ops/primitive.h>
#include <cstdint>
#include <span>

namespace halyard::conformance {

/// One element by type and bits.
struct Scalar {
  ElementType element = ElementType::f32;
  std::uint64_t bits = 0;

  double number() const;     ///< exact for floats; integers beyond 2^53 round
  __int128 integer() const;  ///< of an integer or boolean
  static Scalar of(const ops::HostTensor& tensor, std::int64_t index);
};

/// What a device's arithmetic may do that IEEE 754 does not, as its probe reports it, and what the values
/// forbid.
struct Allowance {
  bool fused_fma = true;
  bool flushes_subnormals = false;
  bool exact_sums = false;  ///< the operands are small integers: nothing rounds but the result itself
};

/// How far `result` lies from the exact value of an elementwise primitive on these operands, as a fraction of
/// what the table allows: 0 exact, up to 1 within the bound, infinite if wrong in kind. The exact value is
/// computed here, in 160 bits or in integers, from the primitive's definition; nothing of Halyard's own
/// formulas is used.
double elementwise_error(ops::Primitive primitive, std::span<const Scalar> operands, const Scalar& result,
                         const Allowance& allowance);

}  // namespace halyard::conformance
