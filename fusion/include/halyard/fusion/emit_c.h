#pragma once

#include <halyard/base/result.h>
#include <halyard/program/program.h>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace halyard::fusion {

/// The two vendors whose compilers take kernels written in C++.
enum class CLanguage { cuda, hip };

struct COptions {
  CLanguage language = CLanguage::cuda;
  /// Lanes of the device's subgroup: 32 on NVIDIA, 64 on gfx9, 32 from gfx10. A program may rely on fewer.
  std::uint32_t subgroup_size = 32;
};

/// The options without which the compiled kernel's numbers would differ: no contraction, correctly rounded
/// division and square root, subnormals kept. For NVRTC and for HIPRTC respectively, one option an entry; the
/// architecture is for the caller to add.
std::span<const std::string_view> c_compile_options(CLanguage language);

/// Prints a program as one `extern "C" __global__` function named `program.name`, in CUDA C++ or HIP C++, the
/// module formats "cuda-c++" and "hip-c++". Includes no header. Parameters are the buffers as pointers, in
/// order, then the scalars by value; f16, bf16 travel as their bits (unsigned short), booleans as a byte.
///
/// Vectors become one variable per lane; loads and stores whose alignment allows it move up to 16 bytes at
/// once. Notes become comments. The program must be valid (`program::verify`). Fails with `unsupported` if it
/// relies on a larger subgroup than the device has, or if its name is a word of C++. Thread-safe.
Result<std::string> emit_c(const program::Program& program, const COptions& options);

}  // namespace halyard::fusion
