#pragma once

#include <halyard/base/result.h>
#include <halyard/program/program.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace halyard::program {

/// What one buffer parameter is bound to. Need not be aligned; only written if the parameter's access says
/// so.
struct BufferView {
  void* data = nullptr;
  std::size_t bytes = 0;  ///< elements beyond bytes / element size are out of bounds
};

struct InterpreterOptions {
  /// A read of shared memory that no lane of the workgroup wrote is an error. Otherwise such a read gives
  /// bytes 0xff (NaN, -1).
  bool report_uninitialized_shared = false;
  /// Two lanes that touch one shared element, at least one of them writing, without a barrier between, are an
  /// error. Costs 24 bytes per element of shared memory.
  bool report_shared_races = false;
};

/// Runs a program by plain means: a second opinion on what emitters and drivers make of it, the engine of
/// devices without an emitter, and the evaluator of scalar expressions.
///
/// All lanes of a workgroup advance together: a value is an array of workgroup lanes x vector lanes elements
/// and an instruction one loop over it. Lanes that took another path are masked off, and a barrier has
/// nothing to wait for. Floating-point operations round once, to nearest even, in their own type, subnormals
/// kept, whatever mode the calling thread is in (which is restored); f16 and bf16 are rounded after every
/// operation.
///
/// Prepared once, immutable afterwards: copies share their plan, and any number of threads may call `run`.
class Interpreter {
 public:
  /// Verifies and plans. Fails as `verify` does, or with unsupported if the values need more than 1 GiB.
  static Result<Interpreter> prepare(Program program, InterpreterOptions options = {});

  const Program& program() const;

  /// Workgroups [begin, end) of a grid, counted x + grid[0] * (y + grid[1] * z).
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };

  /// Runs the workgroups in ascending order on the calling thread; all of the grid if `range` is empty.
  ///
  /// `scalars` is laid out by `scalar_offsets`. Fails with invalid_argument, naming instruction, workgroup
  /// and lane, on: an access out of bounds or against its declared alignment (counted from the buffer's
  /// start), an integer division that is undefined, a loop step that is not positive, a barrier or lane
  /// exchange that not all lanes reach, buffers that overlap though one is written, and what `options` add.
  /// Memory written by then stays written.
  Status run(std::array<std::uint32_t, 3> grid, std::span<const BufferView> buffers,
             std::span<const std::byte> scalars, std::optional<Range> range = std::nullopt) const;

 private:
  struct State;
  explicit Interpreter(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace halyard::program
