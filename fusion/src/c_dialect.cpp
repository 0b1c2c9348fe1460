#include "c_dialect.h"

#include <array>

namespace halyard::fusion {
namespace {

constexpr std::array<std::string_view, 5> cuda_options{"--fmad=false", "--ftz=false", "--prec-div=true",
                                                       "--prec-sqrt=true", "--std=c++17"};
constexpr std::array<std::string_view, 4> hip_options{"-ffp-contract=off",
                                                      "-fhip-fp32-correctly-rounded-divide-sqrt",
                                                      "-fno-gpu-flush-denormals-to-zero", "-std=c++17"};

constexpr std::string_view cuda_f16 = R"(
static __device__ __forceinline__ float hy_f32_from_f16(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
static __device__ __forceinline__ unsigned short hy_f16_from_f32(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
static __device__ __forceinline__ unsigned short hy_fma_f16(unsigned short a, unsigned short b, unsigned short c) {
  unsigned short bits;
  asm("fma.rn.f16 %0, %1, %2, %3;" : "=h"(bits) : "h"(a), "h"(b), "h"(c));
  return bits;
}
)";

// _Float16 is the compiler's own type; conversions between it and float round to nearest even.
constexpr std::string_view hip_f16 = R"(
static __device__ __forceinline__ float hy_f32_from_f16(unsigned short bits) {
  _Float16 half;
  __builtin_memcpy(&half, &bits, 2);
  return (float)half;
}
static __device__ __forceinline__ unsigned short hy_f16_from_f32(float value) {
  _Float16 half = (_Float16)value;
  unsigned short bits;
  __builtin_memcpy(&bits, &half, 2);
  return bits;
}
static __device__ __forceinline__ unsigned short hy_fma_f16(unsigned short a, unsigned short b, unsigned short c) {
  _Float16 x, y, z;
  __builtin_memcpy(&x, &a, 2);
  __builtin_memcpy(&y, &b, 2);
  __builtin_memcpy(&z, &c, 2);
  _Float16 half = __builtin_fmaf16(x, y, z);
  unsigned short bits;
  __builtin_memcpy(&bits, &half, 2);
  return bits;
}
)";

// The conversion instruction came with sm_80; before, and on AMD, rounding is integer arithmetic.
#define HALYARD_BF16_INTEGER                                                                               \
  "  unsigned wide = __float_as_uint(value);\n"                                                            \
  "  if ((wide & 0x7fffffffu) > 0x7f800000u) return (unsigned short)((wide >> 16 & 0x8000u) | 0x7fc0u);\n" \
  "  return (unsigned short)((wide + 0x7fffu + (wide >> 16 & 1u)) >> 16);\n"
#define HALYARD_F32_FROM_BF16                                                           \
  "\nstatic __device__ __forceinline__ float hy_f32_from_bf16(unsigned short bits) {\n" \
  "  return __uint_as_float((unsigned)bits << 16);\n"                                   \
  "}\n"                                                                                 \
  "static __device__ __forceinline__ unsigned short hy_bf16_from_f32(float value) {\n"

constexpr std::string_view cuda_bf16 = HALYARD_F32_FROM_BF16
    "#if __CUDA_ARCH__ >= 800\n"
    "  unsigned short bits;\n"
    "  asm(\"cvt.rn.bf16.f32 %0, %1;\" : \"=h\"(bits) : \"f\"(value));\n"
    "  return bits;\n"
    "#else\n" HALYARD_BF16_INTEGER
    "#endif\n"
    "}\n";
constexpr std::string_view hip_bf16 = HALYARD_F32_FROM_BF16 HALYARD_BF16_INTEGER "}\n";

constexpr CDialect cuda{
    .title = "CUDA C++",
    .file_head = "",
    .add_f32 = "__fadd_rn({0}, {1})",
    .sub_f32 = "__fsub_rn({0}, {1})",
    .mul_f32 = "__fmul_rn({0}, {1})",
    .div_f32 = "__fdiv_rn({0}, {1})",
    .sqrt_f32 = "__fsqrt_rn({0})",
    .fma_f32 = "__fmaf_rn({0}, {1}, {2})",
    .add_f64 = "__dadd_rn({0}, {1})",
    .sub_f64 = "__dsub_rn({0}, {1})",
    .mul_f64 = "__dmul_rn({0}, {1})",
    .div_f64 = "__ddiv_rn({0}, {1})",
    .sqrt_f64 = "__dsqrt_rn({0})",
    .fma_f64 = "__fma_rn({0}, {1}, {2})",
    .shuffle_xor = "__shfl_xor_sync(subgroup_mask, {0}, {1}, {2})",
    .shuffle_lane = "__shfl_sync(subgroup_mask, {0}, {1}, {2})",
    .workgroup_barrier = "__syncthreads()",
    .subgroup_barrier = "__syncwarp(subgroup_mask)",
    .subgroup_mask =
        "const unsigned subgroup_mask = (unsigned)((1ull << {0}) - 1) << (lane & 31 & ~({0} - 1));",
    .f16_functions = cuda_f16,
    .bf16_functions = cuda_bf16,
    .compile_options = cuda_options,
};

// HIP's __fadd_rn and the like are plain operators that may be contracted, and its __fsqrt_rn is not
// correctly rounded: the pragma, the options and sqrtf are what holds.
constexpr CDialect hip{
    .title = "HIP C++",
    .file_head = "#pragma clang fp contract(off)\n",
    .add_f32 = "{0} + {1}",
    .sub_f32 = "{0} - {1}",
    .mul_f32 = "{0} * {1}",
    .div_f32 = "{0} / {1}",
    .sqrt_f32 = "sqrtf({0})",
    .fma_f32 = "__builtin_fmaf({0}, {1}, {2})",
    .add_f64 = "{0} + {1}",
    .sub_f64 = "{0} - {1}",
    .mul_f64 = "{0} * {1}",
    .div_f64 = "{0} / {1}",
    .sqrt_f64 = "sqrt({0})",
    .fma_f64 = "__builtin_fma({0}, {1}, {2})",
    .shuffle_xor = "__shfl_xor({0}, {1}, {2})",
    .shuffle_lane = "__shfl({0}, {1}, {2})",
    .workgroup_barrier = "__syncthreads()",
    .subgroup_barrier =
        "__builtin_amdgcn_fence(__ATOMIC_ACQ_REL, \"wavefront\"), __builtin_amdgcn_wave_barrier()",
    .subgroup_mask = "",
    .f16_functions = hip_f16,
    .bf16_functions = hip_bf16,
    .compile_options = hip_options,
};

}  // namespace

// Rounding to odd before the last rounding makes two roundings as good as one (Boldo and Melquiond, 2008; see
// halyard/base/half.h).
const std::string_view c_odd_functions = R"(
static __device__ __forceinline__ float hy_odd_f32(double value) {
  float near = (float)value;
  if ((double)near == value || value != value || near == 2.0f * near) return near;
  unsigned bits = __float_as_uint(near);
  if (fabs((double)near) > fabs(value)) --bits;
  return __uint_as_float(bits | 1u);
}
static __device__ __forceinline__ double hy_odd_f64(unsigned long long magnitude, bool negative) {
  if (magnitude >> 53) magnitude = (magnitude & ~0x7ffull) | ((magnitude & 0x7ffull) ? 0x800ull : 0ull);
  return negative ? -(double)magnitude : (double)magnitude;
}
)";

const std::string_view c_bf16_fma_function = R"(
static __device__ __forceinline__ unsigned short hy_fma_bf16(unsigned short a, unsigned short b, unsigned short c) {
  double product = (double)hy_f32_from_bf16(a) * hy_f32_from_bf16(b);  // exact
  double addend = hy_f32_from_bf16(c);
  double sum = product + addend;
  double back = sum - product;
  double error = (product - (sum - back)) + (addend - back);
  if (error != 0 && sum - sum == 0) {  // to odd
    long long bits = __double_as_longlong(sum);
    if ((error < 0) == (sum > 0) && (bits & 1) == 0) --bits;
    sum = __longlong_as_double(bits | 1);
  }
  return hy_bf16_from_f32(hy_odd_f32(sum));
}
)";

const CDialect& c_dialect(CLanguage language) {
  return language == CLanguage::cuda ? cuda : hip;
}

std::span<const std::string_view> c_compile_options(CLanguage language) {
  return c_dialect(language).compile_options;
}

}  // namespace halyard::fusion
