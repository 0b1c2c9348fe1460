#pragma once

#include <cstdint>
#include <string_view>

/// Names of quirks: facts about a device or one version of its driver that generated code must respect. Code
/// asks `DeviceInfo::quirk(name)`, never for a driver's name. Rows come from the backend and from hal's own
/// table (hal/src/quirk_table.cpp), keyed by backend, driver and version.
namespace halyard::hal::quirk {

/// The most loop iterations, over all its loops, that one invocation may run before the driver silently ends
/// them.
inline constexpr std::string_view max_loop_iterations = "max_loop_iterations";
/// 1: the compiler elides conversions to a narrower type and back in spite of `precise`; round by integer
/// operations.
inline constexpr std::string_view elides_round_trips = "elides_round_trips";
/// 1: the count of subgroups that the driver reports rounds down.
inline constexpr std::string_view subgroup_count_rounds_down = "subgroup_count_rounds_down";
/// 1: barriers between invocations cost so much that one subgroup per workgroup is the better schedule.
inline constexpr std::string_view barriers_are_slow = "barriers_are_slow";
/// 1: a load is carried out element by element and lane by lane, each with its own bounds check, whatever the
/// width of an element: as few and as wide elements as possible should be read.
inline constexpr std::string_view loads_cost_per_element = "loads_cost_per_element";
/// 1: pipelines are compiled at the first dispatch, which must be paid before anything is timed.
inline constexpr std::string_view compiles_at_first_dispatch = "compiles_at_first_dispatch";
/// 1: the driver accepts sizes beyond its own limits and misbehaves; check limits before every call.
inline constexpr std::string_view limits_are_not_enforced = "limits_are_not_enforced";

}  // namespace halyard::hal::quirk
