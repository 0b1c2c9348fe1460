#pragma once

#include <halyard/base/element_type.h>
#include <halyard/base/result.h>
#include <halyard/ops/primitive.h>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace halyard::hal {
struct DeviceInfo;
}

namespace halyard::fusion {

/// How a device runs thread programs.
enum class ExecutionModel : std::uint8_t {
  tasks,  ///< one lane per workgroup, explicit wide vectors, private scratch (the cpu)
  lanes,  ///< workgroups of lanes in subgroups, shared memory, barriers (GPUs and what behaves like one)
};

/// What plans and schedules know of a device: facts, and measured figures rounded to steps of sqrt(2) so that
/// plans do not change with noise. A value type; a plan is a pure function of graph, options and profile, and
/// tests pin checked-in profiles (fusion/tests/profiles/*.json).
struct DeviceProfile {
  std::string name;          ///< of the device, for reports
  std::string architecture;  ///< part of every cache key: ISA or chip, and driver
  ExecutionModel model = ExecutionModel::tasks;

  std::uint32_t threads = 1;  ///< tasks: worker threads; lanes: workgroups that run at once
  std::uint32_t vector_bytes =
      32;  ///< tasks: width of a vector register; lanes: widest useful access of one lane
  std::uint32_t vector_registers =
      16;  ///< tasks: architectural vector registers; lanes: 32-bit registers per lane
  std::uint32_t subgroup_size = 1;
  bool subgroup_shuffle = false;
  bool cheap_barriers = true;  ///< lanes: whether a workgroup-wide barrier costs nanoseconds (real GPUs) or
                               ///< far more (software drivers)
  std::uint32_t max_workgroup_lanes = 1;
  std::uint32_t max_grid = 65535;        ///< per dimension
  std::uint64_t shared_bytes = 1 << 20;  ///< tasks: useful scratch per task (what stays in the near cache)
  std::uint64_t cache_bytes_near = 32 << 10;  ///< L1 per core
  std::uint64_t cache_bytes_mid = 512 << 10;  ///< L2 per core
  std::uint64_t cache_bytes_far = 32 << 20;   ///< last level, shared
  std::uint64_t max_buffer_range = ~std::uint64_t{0};
  std::uint32_t max_buffers = ~std::uint32_t{0};  ///< that one kernel binds
  std::uint32_t max_loop_trips =
      0;  ///< 0 = no limit; else the most iterations one lane may run over all its loops (a driver's quirk)

  bool fused_fma = true;
  bool fma_in_integers =
      false;  ///< the device's own rounds twice: each is some hundred instructions (legalize.h)
  bool keeps_subnormals = true;
  bool has_f16 = true;  ///< arithmetic and storage natively
  bool has_f64 = true;
  bool has_i64 = true;
  bool has_8_bit_storage = true;
  bool has_16_bit_storage = true;

  double bytes_per_second = 20e9;         ///< streaming bandwidth
  double cache_bytes_per_second = 100e9;  ///< when the working set stays in the last-level cache
  double flops_f32 = 100e9;               ///< fused multiply-adds count 2
  double launch_seconds = 5e-6;           ///< one more kernel in a replayed command graph

  std::string module_format;  ///< "llvm-ir", "spirv", "thread-program", "cuda-c++", …: the device's best that
                              ///< an emitter serves

  ops::NumericClass numeric_class() const;
};

/// Reads facts and measurements off a device, rounding the latter.
DeviceProfile make_profile(const hal::DeviceInfo& info);

/// The nearest power of sqrt(2), in the logarithm.
double round_to_profile_step(double measured);

std::string to_json(const DeviceProfile& profile);
Result<DeviceProfile> profile_from_json(std::string_view text);

}  // namespace halyard::fusion
