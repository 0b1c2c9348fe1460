#pragma once

#include <halyard/fusion/lower.h>
#include <halyard/ops/host_tensor.h>
#include <string>
#include <vector>

/// Runs tile programs twice: plainly, value by value, in the canonical orders; and lowered, by the
/// interpreter of thread programs. The bits must agree.
namespace halyard::fusion::test {

/// The checked-in profile `tests/profiles/<name>.json`.
DeviceProfile profile(const std::string& name);
/// All of them, of both execution models.
std::vector<std::string> profile_names();

/// A tile program with its numbers and the contents of its operands (those written hold what was there
/// before).
struct Case {
  TileProgram program;
  Binding binding;
  std::vector<ops::HostTensor> operands;
};

/// Fills every operand with values fit for its type: mixed signs, some zeros of both signs; integers below
/// `below`.
Case make_case(TileBuilder&& builder, std::uint64_t seed = 1, std::int64_t below = 1000);

/// The operands after the program ran, plainly computed.
std::vector<ops::HostTensor> reference(const Case& made, const ops::NumericClass& numeric);

/// The operands after the lowered program ran, or the error's message in `problem`.
struct Lowered {
  std::vector<ops::HostTensor> operands;
  LoweredKernel kernel;
  std::string problem;
};
Lowered run_lowered(const Case& made, const Schedule& schedule, const DeviceProfile& profile);

/// For every candidate schedule on every profile that has the types: lowers, verifies, runs, compares. Gives
/// a list of what disagreed, empty if all is well; `ran` counts the kernels that ran.
std::string disagreements(const Case& made, int* ran = nullptr);

}  // namespace halyard::fusion::test
