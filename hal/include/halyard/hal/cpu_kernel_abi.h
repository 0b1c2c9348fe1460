/* The contract between generated LLVM IR ("llvm-ir", "elf-object") and the cpu backend. Pure C.
 *
 * Each kernel is a function of the module, with C linkage and the name HyKernelDesc::entry:
 *
 *     define void @NAME(ptr noalias readonly %args)      ; args: HyCpuKernelArgs
 *
 * A workgroup is one invocation and a subgroup one lane: HyKernelDesc::workgroup_size is {1, 1, 1}. The
 * generated code itself loops over the workgroups begin <= i < end; the linear index is i = x + grid[0] * (y
 * + grid[1] * z). The backend splits the grid into such ranges (tasks) as it likes: results must not depend
 * on the split.
 *
 * The module calls nothing outside itself except memcpy, memset and memmove, which LLVM may introduce.
 * (Conversions of 16-bit floats are written in integers where the CPU has no instruction, so no runtime
 * library is needed.) It holds no mutable globals, no constructors and no thread-local data. It is compiled
 * for the host's CPU with the features that DeviceInfo::isa_features lists, never with fast-math or
 * contraction.
 *
 * Floating-point mode: round to nearest even, subnormals kept; the backend sets it for each task and restores
 * it.
 */
#ifndef HALYARD_HAL_CPU_KERNEL_ABI_H
#define HALYARD_HAL_CPU_KERNEL_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Offsets on 64-bit hosts: buffers 0, scalars 8, scratch 16, begin 24, end 32, grid 40; 56 bytes in all. */
/* NOLINTBEGIN(modernize-use-using): this header is C */
typedef struct HyCpuKernelArgs {
  void* const* buffers; /* buffers[i]: first byte of slice i, aligned to the device's storage_alignment */
  const void* scalars;  /* the scalar block, 16-byte aligned */
  void* scratch; /* this task's own scratch: HyKernelDesc::scratch_bytes, 64-byte aligned, not cleared */
  uint64_t begin, end; /* linear workgroup indices */
  uint32_t grid[3];    /* workgroups in x, y, z */
  uint32_t reserved;
} HyCpuKernelArgs;

typedef void (*HyCpuKernel)(const HyCpuKernelArgs* args);
/* NOLINTEND(modernize-use-using) */

#ifdef __cplusplus
}
#endif

#endif
