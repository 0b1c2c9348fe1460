#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halyard/base/element_type.h"
#include "halyard/hal/plugin.h"

namespace halyard::hal {

/// What is known about a yes-or-no fact.
enum class Fact : std::uint8_t { unknown, no, yes };

enum class DeviceType : std::uint8_t { other, cpu, integrated, discrete, virtual_machine };

/// A set of element types, one bit each, in the order of `ElementType`.
struct ElementTypeSet {
  std::uint32_t bits = 0;
  constexpr bool has(ElementType type) const { return (bits >> static_cast<unsigned>(type)) & 1u; }
  constexpr void add(ElementType type) { bits |= 1u << static_cast<unsigned>(type); }
};

/// A named fact about the device or its driver's version; names are in quirks.h.
struct Quirk {
  std::string name;
  std::int64_t value = 1;
  std::string reason;
};

/// One matrix instruction of a subgroup: (m × k) · (k × n) added to m × n.
struct MatrixShape {
  std::uint32_t m = 0, n = 0, k = 0;
  ElementType operand = ElementType::f16, accumulator = ElementType::f32, result = ElementType::f32;
};

/// What the device's arithmetic is, found by running kernels on it (see `set_prober`), never assumed.
struct NumericFacts {
  Fact fused_fma = Fact::unknown;  ///< fma(a, b, c) rounds once, in f32
  Fact fused_fma_f64 = Fact::unknown;
  Fact keeps_subnormals = Fact::unknown;  ///< f32 operations neither flush operands nor results
  Fact keeps_subnormals_f16 = Fact::unknown;
  Fact keeps_subnormals_f64 = Fact::unknown;
  Fact exact_add_multiply = Fact::unknown;  ///< + − × round correctly to nearest even and are not contracted
  Fact exact_division = Fact::unknown;      ///< f32 division rounds correctly
  Fact exact_sqrt = Fact::unknown;
  Fact rounds_f16 =
      Fact::unknown;  ///< an explicit conversion f32 → f16 → f32 is performed and rounds to even
  Fact converts_integers = Fact::unknown;  ///< i32/u32/i64 → f32 rounds to nearest even
  Fact keeps_signed_zero = Fact::unknown;
  bool operator==(const NumericFacts&) const = default;
};

/// Rates and costs measured on the device (see `set_measurer`); zero means not measured.
struct Measurements {
  /// What streams reach whose tensors have so many bytes together: the levels of the caches show.
  struct Bandwidth {
    double bytes = 0;                  ///< read and written
    double copy_bytes_per_second = 0;  ///< launch not counted
    double triad_bytes_per_second = 0;
  };
  std::vector<Bandwidth> bandwidth;    ///< ascending by bytes, the last far beyond the caches
  double copy_bytes_per_second = 0;    ///< bytes read plus bytes written
  double triad_bytes_per_second = 0;   ///< a = b · c + d, bytes read plus written, far beyond the caches
  double cached_bytes_per_second = 0;  ///< the same within the last-level cache
  std::array<double, element_type_facts.size()>
      flops_per_second{};  ///< of a product, by ElementType; a fused multiply-add counts 2
  std::array<double, element_type_facts.size()>
      peak_flops_per_second{};   ///< of multiply-adds in registers alone
  double launch_seconds = 0;     ///< one more small dispatch within a submission
  double submit_seconds = 0;     ///< one empty submission until the host sees its sync point
  double workgroup_seconds = 0;  ///< one more workgroup of a dispatch, all else equal
  bool measured() const { return triad_bytes_per_second > 0; }
};

/// Everything schedules, emitters and listings need to know of a device. A plain value; immutable while a
/// device is open. Sizes are in bytes; zero means unknown.
struct DeviceInfo {
  std::string backend;  ///< the URI's scheme: "cpu", "vulkan", …
  std::string backend_version;
  std::string uri;  ///< the canonical name, e.g. "vulkan:0"
  std::string name, vendor, driver, driver_version, architecture;
  std::array<std::uint8_t, 16> uuid{};
  DeviceType type = DeviceType::other;
  bool emulated = false;  ///< a stand-in for hardware: named so everywhere, excluded from performance results
  bool software = false;  ///< a real driver that computes on the CPU

  /// The cpu's execution model: a workgroup is one invocation, a subgroup one lane; no barriers; shared
  /// memory is per-task scratch; vectors are explicit.
  bool one_lane_per_workgroup = false;
  bool subgroup_size_control = false;       ///< a kernel may require a size within [min, max]
  bool device_address = false;              ///< HY_BINDING_DEVICE_ADDRESS is accepted
  bool host_visible_device_memory = false;  ///< device memory can be mapped: no staging needed
  bool time_stamps = false;
  bool vulkan_memory_model = false;
  std::uint32_t spirv_version = 0;

  std::uint32_t compute_units = 1;
  std::uint32_t lanes_per_subgroup = 1, min_lanes_per_subgroup = 1, max_lanes_per_subgroup = 1;
  std::uint32_t subgroup_operations = 0;  ///< HY_SUBGROUP_… bits
  std::uint32_t max_workgroup_invocations = 1;
  std::array<std::uint32_t, 3> max_workgroup_size{1, 1, 1};
  std::array<std::uint32_t, 3> max_grid{1, 1, 1};
  std::uint64_t shared_bytes = 0;  ///< static shared memory of a workgroup; on a cpu, scratch that stays near
  std::uint64_t shared_bytes_optin = 0;  ///< with dynamic opt-in; at least `shared_bytes`
  std::uint32_t registers_per_workgroup = 0, registers_per_lane = 0;
  std::uint32_t max_scalar_bytes = 0;  ///< push constants; see spirv_kernel_abi.h
  std::uint32_t max_buffers_per_kernel = 0;
  std::uint32_t vector_register_bytes = 0;  ///< cpu: 16, 32, 64

  std::uint64_t memory_bytes = 0, max_allocation_bytes = 0;
  std::uint64_t max_storage_range = 0;   ///< bytes that one slice of a kernel may span
  std::uint64_t storage_alignment = 64;  ///< of a slice's byte offset
  std::uint64_t cache_line_bytes = 64, l1_bytes = 0, l2_bytes = 0, l3_bytes = 0;

  ElementTypeSet storage_types;     ///< may be loaded from and stored to buffers
  ElementTypeSet arithmetic_types;  ///< may be computed in
  ElementTypeSet shared_types;      ///< may be held in shared memory
  ElementTypeSet declares_keeps_subnormals, declares_flushes_subnormals, declares_rounds_to_even,
      declares_keeps_nan;

  std::vector<std::string> isa_features;    ///< "avx2", "fma", "avx512f", …
  std::vector<std::string> module_formats;  ///< accepted, best first
  std::vector<MatrixShape> matrix_shapes;
  std::vector<Quirk> quirks;
  NumericFacts numeric;       ///< all unknown until probed
  Measurements measurements;  ///< zero until measured

  bool has_feature(std::string_view isa_feature) const;
  bool accepts(std::string_view module_format) const;
  bool has_subgroup(std::uint32_t operations) const {
    return (subgroup_operations & operations) == operations;
  }
  /// The value of a quirk, or nothing if this device has no such row.
  std::optional<std::int64_t> quirk(std::string_view name) const;
};

/// Names as they stand in listings and JSON.
std::string_view name(DeviceType type);
std::string_view name(Fact fact);

}  // namespace halyard::hal
