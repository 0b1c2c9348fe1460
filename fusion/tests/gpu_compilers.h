#pragma once

#include <halyard/base/result.h>
#include <halyard/fusion/emit_c.h>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace halyard::fusion::testing {

/// A vendor's run-time compiler, opened by name: it needs no device.
class GpuCompiler {
 public:
  virtual ~GpuCompiler() = default;
  virtual CLanguage language() const = 0;
  /// Of those asked for by the tests, the architectures that this compiler knows.
  virtual std::vector<std::string> architectures() const = 0;
  /// Lanes of a subgroup on that architecture.
  virtual std::uint32_t subgroup_size(std::string_view architecture) const = 0;
  /// Machine code (checked down to inline assembly), and for CUDA the PTX text before it. Fails with
  /// compile_error and the compiler's log.
  struct Code {
    std::string binary;
    std::string assembly;
  };
  virtual Result<Code> compile(const std::string& source, std::string_view architecture) = 0;
};

/// NVRTC; not_found with a remedy if it is not installed.
Result<std::unique_ptr<GpuCompiler>> open_nvrtc();
/// HIPRTC. Its code-object manager is asked for the architectures first: an unknown one would abort the
/// process, a missing manager crash it.
Result<std::unique_ptr<GpuCompiler>> open_hiprtc();

/// The compiler; or null, with a message that the test is skipped, where it is not installed. The test fails
/// then if HALYARD_TEST_GPU_COMPILERS is set, which promises both.
std::unique_ptr<GpuCompiler> present(Result<std::unique_ptr<GpuCompiler>> compiler);

}  // namespace halyard::fusion::testing
