#pragma once

namespace halyard::ops {

/// What a device's arithmetic is, as far as results depend on it. Devices of one class agree to the bit.
/// Found by a probe when the device is opened (hal), never assumed.
struct NumericClass {
  /// Whether fma rounds once. Where it does not (all software Vulkan drivers), products multiply and add with
  /// two roundings, and so does the `fma` primitive.
  bool fused_fma = true;
  friend bool operator==(const NumericClass&, const NumericClass&) = default;
};

}  // namespace halyard::ops
