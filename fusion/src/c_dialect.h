#pragma once

#include <halyard/fusion/emit_c.h>
#include <span>
#include <string_view>

namespace halyard::fusion {

/// Where CUDA C++ and HIP C++ differ; everything else the emitter prints is common to both. Patterns are
/// fmt's: {0}, {1}, {2} are operands.
struct CDialect {
  std::string_view title;
  std::string_view file_head;  ///< before everything else
  // Rounded once, never contracted. {0}, {1}, {2} are the operands.
  std::string_view add_f32, sub_f32, mul_f32, div_f32, sqrt_f32, fma_f32;
  std::string_view add_f64, sub_f64, mul_f64, div_f64, sqrt_f64, fma_f64;
  /// {0} value, {1} lane mask or lane number, {2} lanes of the program's subgroup.
  std::string_view shuffle_xor, shuffle_lane;
  std::string_view workgroup_barrier, subgroup_barrier;
  /// Declares `subgroup_mask` where the two above name it: {0} lanes of the program's subgroup; may be empty.
  std::string_view subgroup_mask;
  std::string_view f16_functions;   ///< hy_f32_from_f16, hy_f16_from_f32, hy_fma_f16
  std::string_view bf16_functions;  ///< hy_f32_from_bf16, hy_bf16_from_f32
  std::span<const std::string_view> compile_options;
};

const CDialect& c_dialect(CLanguage language);

/// Functions common to both dialects: conversions that round to odd first, and the bf16 fma built on them.
extern const std::string_view c_odd_functions;      ///< hy_odd_f32, hy_odd_f64
extern const std::string_view c_bf16_fma_function;  ///< hy_fma_bf16; needs both of the above

}  // namespace halyard::fusion
