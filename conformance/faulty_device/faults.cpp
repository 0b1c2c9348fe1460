#include "faults.h"

#include <cstdlib>

namespace halyard::faulty {

std::span<const Fault> faults() {
  static constexpr Fault all[] = {
      {"none", "no fault: everything must pass"},
      {"wrong-rounding", "products of f32 lose their last bit", clear_last_bit_of_products},
      {"reciprocal-division", "a / b is a times the rounded 1 / b", divide_by_reciprocal},
      {"nan-eaten", "no value is found to be NaN", forget_nan},
      {"negative-zero-lost", "-x is 0 - x", lose_negative_zero},
      {"contraction", "a product and a sum become one fma", contract_sums_of_products},
      {"fma-split", "an fma rounds twice, although the probe found that it does not", split_fma},
      {"halves-up", "round takes halves up", round_halves_up},
      {"f16-truncated", "f32 becomes f16 by cutting digits off", truncate_to_f16},
      {"guard-dropped", "an integer divisor is not compared with 0", drop_guard_of_divisor},
      {"sum-reordered", "lanes are folded in another order", swap_shuffles},
      {"barrier-dropped", "barriers do nothing", drop_barriers},
      {"equals-included", "less-than is less-or-equal", include_equals},
      {"subnormals-flushed", "subnormal products of f32 become 0, although the probe found that they do not",
       flush_subnormal_products},
      {"wrong-coefficient", "a coefficient of exp is off by a thousandth", spoil_coefficient},
      {"far-element-off-by-one", "loads from element 2^31 on read the one before", misplace_far_elements},
      {"tail-dropped", "the last workgroup does not run", nullptr, drop_tail},
      {"strides-swapped", "two scalar arguments change places", nullptr, swap_strides},
      {"write-past-end", "four bytes behind an output are written", nullptr, write_past_end},
      {"input-overwritten", "the first bytes of an input are written", nullptr, write_into_input},
      {"dispatch-lost", "every fifth dispatch does not run", nullptr, lose_dispatches},
      {"copy-misplaced", "long copies begin four bytes late", nullptr, misplace_copies},
      {"fill-shortened", "a fill leaves its last element out", nullptr, shorten_fills},
      {"race-between-queues", "submissions wait for nothing", nullptr, nullptr, true},
      {"error-lost", "failed work counts as done", nullptr, nullptr, false, true},
      {"stale-cache", "kernels are cached by their name alone", nullptr, nullptr, false, false, true},
  };
  return all;
}

const Fault* chosen_fault() {
  const char* wanted = std::getenv("HALYARD_FAULT");
  const std::string_view name = wanted ? wanted : "none";
  for (const Fault& fault : faults())
    if (fault.name == name) return &fault;
  return nullptr;
}

}  // namespace halyard::faulty
