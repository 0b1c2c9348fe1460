#pragma once

#include <halyard/ops/primitive.h>
#include <span>

/// The meaning of the primitives that are not elementwise, as the table's rows name them.
namespace halyard::ops {

#define HALYARD_REFERENCE(name) \
  Status name(std::span<const HostTensor>, const Attributes&, const NumericClass&, HostTensor& result)
HALYARD_REFERENCE(reference_iota);
HALYARD_REFERENCE(reference_reshape);
HALYARD_REFERENCE(reference_permute);
HALYARD_REFERENCE(reference_broadcast);
HALYARD_REFERENCE(reference_slice);
HALYARD_REFERENCE(reference_pad);
HALYARD_REFERENCE(reference_concat);
HALYARD_REFERENCE(reference_reverse);
HALYARD_REFERENCE(reference_windows);
HALYARD_REFERENCE(reference_take);
HALYARD_REFERENCE(reference_sum);
HALYARD_REFERENCE(reference_prod);
HALYARD_REFERENCE(reference_min);
HALYARD_REFERENCE(reference_max);
HALYARD_REFERENCE(reference_any);
HALYARD_REFERENCE(reference_all);
HALYARD_REFERENCE(reference_argmax);
HALYARD_REFERENCE(reference_argmin);
HALYARD_REFERENCE(reference_dot);
HALYARD_REFERENCE(reference_cumulative_sum);
HALYARD_REFERENCE(reference_cumulative_prod);
HALYARD_REFERENCE(reference_cumulative_min);
HALYARD_REFERENCE(reference_cumulative_max);
HALYARD_REFERENCE(reference_argsort);
HALYARD_REFERENCE(reference_scatter_set);
HALYARD_REFERENCE(reference_scatter_add);
HALYARD_REFERENCE(reference_scatter_prod);
HALYARD_REFERENCE(reference_scatter_min);
HALYARD_REFERENCE(reference_scatter_max);
#undef HALYARD_REFERENCE

}  // namespace halyard::ops
