/* The contract between generated SPIR-V ("spirv") and a backend that loads it. Pure C; constants only.
 *
 * A module holds one or more GLCompute entry points, named by HyKernelDesc::entry, words in host byte order.
 *
 * BUFFERS, binding model HY_BINDING_DEFAULT: slice i is a StorageBuffer variable at descriptor set 0, binding
 * i, a Block-decorated struct with one runtime array at offset 0. Where a buffer is read in several element
 * types, several variables may share the binding (all Aliased). HyKernelDesc::written_buffers tells which are
 * written; the others are NonWritable.
 *
 * BUFFERS, binding model HY_BINDING_DEVICE_ADDRESS (only where the device's HY_EXECUTION_DEVICE_ADDRESS is
 * set): the push constant block begins with one 64-bit address per slice (buffer address + slice offset), in
 * order, at offsets 0, 8, 16 …; the scalar block follows at 8 * buffer_count. No descriptors are used for
 * slices.
 *
 * SCALARS: one PushConstant block whose members have the offsets of the packed scalar block (from 0, or
 * behind the addresses). If the whole push constant block would exceed HyDeviceInfo::max_scalar_bytes, the
 * emitter reads the scalars from a StorageBuffer block instead (NonWritable) at set 0, binding =
 * buffer_count; the backend applies the same comparison (hy_spirv_scalars_by_buffer) and provides that
 * buffer. Addresses always stay in push constants.
 *
 * SIZES: the workgroup size is the LocalSize execution mode (literals), equal to
 * HyKernelDesc::workgroup_size. HyKernelDesc::required_subgroup_size != 0 is applied by the backend in the
 * pipeline (VkPipelineShaderStageRequiredSubgroupSizeCreateInfo) with full subgroups; a module never states
 * it itself. Shared memory is Workgroup variables; their sum is HyKernelDesc::static_shared_bytes. No
 * specialization constants.
 *
 * NUMBERS: every floating-point operation is decorated NoContraction; float-controls execution modes are
 * present only where HyDeviceInfo declares them.
 */
#ifndef HALYARD_HAL_SPIRV_KERNEL_ABI_H
#define HALYARD_HAL_SPIRV_KERNEL_ABI_H

#include <stdint.h>

#define HY_SPIRV_DESCRIPTOR_SET 0u

/* Bytes that addresses and scalars together take in the push constant block. */
static inline uint32_t hy_spirv_push_constant_bytes(uint32_t binding_model, uint32_t buffer_count,
                                                    uint32_t scalar_bytes) {
  return scalar_bytes + (binding_model == 1u ? 8u * buffer_count : 0u);
}

/* 1 if the scalars travel in the storage buffer at binding `buffer_count`. */
static inline int hy_spirv_scalars_by_buffer(uint32_t binding_model, uint32_t buffer_count,
                                             uint32_t scalar_bytes, uint32_t max_scalar_bytes) {
  return scalar_bytes != 0u &&
         hy_spirv_push_constant_bytes(binding_model, buffer_count, scalar_bytes) > max_scalar_bytes;
}

#endif
