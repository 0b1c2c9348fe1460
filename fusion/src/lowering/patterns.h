#pragma once

#include <halyard/fusion/lower.h>
#include <vector>

/// The doors of the patterns, one pair each: the schedules worth trying, and the lowering under one of them.
/// All take programs that `classify` assigned to the pattern and that `verify` accepted.
namespace halyard::fusion::lowering {

std::vector<Schedule> map_schedules(const TileProgram&, const Binding&, const DeviceProfile&);
Result<LoweredKernel> lower_map(const TileProgram&, const Binding&, const Schedule&, const DeviceProfile&);

std::vector<Schedule> row_schedules(const TileProgram&, const Binding&, const DeviceProfile&);
Result<LoweredKernel> lower_rows(const TileProgram&, const Binding&, const Schedule&, const DeviceProfile&);

std::vector<Schedule> column_schedules(const TileProgram&, const Binding&, const DeviceProfile&);
Result<LoweredKernel> lower_columns(const TileProgram&, const Binding&, const Schedule&,
                                    const DeviceProfile&);

std::vector<Schedule> contraction_schedules(const TileProgram&, const Binding&, const DeviceProfile&);
Result<LoweredKernel> lower_contraction(const TileProgram&, const Binding&, const Schedule&,
                                        const DeviceProfile&);

std::vector<Schedule> attention_schedules(const TileProgram&, const Binding&, const DeviceProfile&);
Result<LoweredKernel> lower_attention(const TileProgram&, const Binding&, const Schedule&,
                                      const DeviceProfile&);

}  // namespace halyard::fusion::lowering
