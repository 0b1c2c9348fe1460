#pragma once

#include <halyard/hal/plugin.h>
#include <halyard/program/program.h>
#include <span>
#include <string_view>
#include <vector>

/// Faults that a device could have, planted one at a time by name (HALYARD_FAULT), so that the conformance
/// suite can be seen to find each.
namespace halyard::faulty {

/// A submission's commands while it is altered; the pointers among them stay valid until it is passed on.
struct Commands {
  std::vector<HyCommand> list;
  std::vector<HyDispatch> dispatches;  ///< room for altered copies; reserved, never reallocated
  std::vector<HyCopy> copies;
  std::vector<HyFill> fills;
  std::vector<std::vector<std::byte>> scalars;
};

struct Fault {
  std::string_view name;
  std::string_view what;  ///< for a list of them
  /// Alters a kernel before it is compiled, and says whether it did.
  bool (*alter_program)(program::Program&) = nullptr;
  /// Alters what is submitted.
  void (*alter_commands)(Commands&) = nullptr;
  bool ignores_waits = false;   ///< submissions begin before what they wait for
  bool loses_errors = false;    ///< failed work is reported as done
  bool caches_by_name = false;  ///< a kernel of a known name is taken from a cache that looks at nothing else
};

/// All of them; the first plants nothing.
std::span<const Fault> faults();
/// What HALYARD_FAULT names; a null pointer if it names nothing known.
const Fault* chosen_fault();

// ---- program_faults.cpp
bool clear_last_bit_of_products(program::Program&);
bool divide_by_reciprocal(program::Program&);
bool forget_nan(program::Program&);
bool lose_negative_zero(program::Program&);
bool contract_sums_of_products(program::Program&);
bool split_fma(program::Program&);
bool round_halves_up(program::Program&);
bool truncate_to_f16(program::Program&);
bool drop_guard_of_divisor(program::Program&);
bool swap_shuffles(program::Program&);
bool drop_barriers(program::Program&);
bool include_equals(program::Program&);
bool flush_subnormal_products(program::Program&);
bool spoil_coefficient(program::Program&);
bool misplace_far_elements(program::Program&);

// ---- submission_faults.cpp
void drop_tail(Commands&);
void swap_strides(Commands&);
void write_past_end(Commands&);
void write_into_input(Commands&);
void lose_dispatches(Commands&);
void misplace_copies(Commands&);
void shorten_fills(Commands&);

}  // namespace halyard::faulty
