#pragma once

#include <halyard/program/interpret.h>
#include <memory>
#include <string>

#include "interpret_plan.h"

namespace halyard::program {

/// A lane of the workgroup that runs, as messages name it.
struct Fault {
  const Instruction* instruction = nullptr;
  std::uint32_t lane = 0;
  std::string what;
};

/// Who touched an element of shared memory last; tells uninitialized reads and races.
class SharedWatch {
 public:
  SharedWatch(const Program& program, InterpreterOptions options);

  bool active() const { return options_.report_uninitialized_shared || options_.report_shared_races; }
  void begin_workgroup();
  void barrier(Scope scope);
  /// What is wrong with this access, or an empty string.
  std::string read(std::uint32_t array, std::uint64_t element, std::uint32_t lane);
  std::string write(std::uint32_t array, std::uint64_t element, std::uint32_t lane);

 private:
  struct Touch {
    std::uint32_t lane = nobody;  ///< the last one; `several` if of several subgroups
    bool many = false;            ///< other lanes of its subgroup too, in the same phases
    std::uint32_t workgroup_phase = 0;
    std::uint32_t subgroup_phase = 0;
  };
  struct Element {
    Touch written, read;
  };
  static constexpr std::uint32_t nobody = 0xffffffffu;
  static constexpr std::uint32_t several = 0xfffffffeu;

  bool same_subgroup(std::uint32_t a, std::uint32_t b) const;
  bool collides(const Touch& before, std::uint32_t lane) const;
  Touch add_reader(const Touch& before, std::uint32_t lane) const;

  InterpreterOptions options_;
  std::uint32_t subgroup_size_;
  std::vector<std::vector<Element>> arrays_;
  std::uint32_t workgroup_phase_ = 0;
  std::uint32_t subgroup_phase_ = 0;
};

/// The state of one call of `Interpreter::run`.
struct Frame {
  const Program& program;
  const Plan& plan;
  InterpreterOptions options;
  std::span<const BufferView> buffers;
  std::byte* arena = nullptr;
  std::vector<std::byte*> shared;        ///< each array's first byte
  const std::uint8_t* active = nullptr;  ///< a byte per lane; nullptr: all lanes
  SharedWatch watch;
  Fault fault;

  bool refuse(const Step& step, std::uint32_t lane, std::string what) {
    fault = {step.instruction, lane, std::move(what)};
    return false;
  }
  template <class T>
  T* at(Slot slot) {
    return reinterpret_cast<T*>(arena + slot);
  }
  bool is_active(std::uint32_t lane) const { return !active || active[lane]; }
};

/// Runs a load, store, gather or scatter; false after `frame.fault` was set.
bool run_memory(Frame& frame, const Step& step);

/// Runs steps in order; false after `frame.fault` was set.
bool run_steps(Frame& frame, const Steps& steps);

}  // namespace halyard::program
