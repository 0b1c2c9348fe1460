#pragma once

#include <halyard/ops/host_tensor.h>
#include <cstdint>

/// DLPack 1.x exchange on the cpu without copying. The structs below are the ABI of dlpack.h 1.0
/// (DLManagedTensorVersioned and what it holds), written out because Debian 12's libdlpack-dev is 0.6 and
/// lacks the versioned form; their layout is fixed by that standard (major version 1).
namespace halyard::ops::dlpack {

inline constexpr std::uint32_t major_version = 1;
inline constexpr std::uint32_t minor_version = 0;

enum DeviceType : std::int32_t {
  device_cpu = 1,
  device_cuda = 2,
  device_cuda_host = 3,
  device_rocm_host = 11
};
enum TypeCode : std::uint8_t { code_int = 0, code_uint = 1, code_float = 2, code_bfloat = 4, code_bool = 6 };

struct Device {
  std::int32_t device_type;
  std::int32_t device_id;
};
struct DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};
/// DLTensor.
struct DlTensor {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  ///< in elements; null = row-major without gaps
  std::uint64_t byte_offset;
};
struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};
inline constexpr std::uint64_t flag_read_only = 1;
inline constexpr std::uint64_t flag_is_copied = 2;
/// DLManagedTensorVersioned.
struct ManagedTensor {
  Version version;
  void* manager_context;
  void (*deleter)(ManagedTensor* self);
  std::uint64_t flags;
  DlTensor tensor;
};
static_assert(sizeof(DlTensor) == 48 && sizeof(ManagedTensor) == 80);

/// Hands out the bytes without copying, marked read-only (our tensors are immutable and may be shared). The
/// consumer calls `deleter` once; until then the bytes live.
ManagedTensor* to_dlpack(const HostTensor& tensor);

/// Takes ownership of `managed`, also on failure (its deleter is called). Row-major tensors without gaps are
/// shared, not copied; strided ones are gathered into a copy. The producer must not change the bytes
/// afterwards. Errors: `invalid_argument` (null, impossible shape), `unsupported` (other major version,
/// another device, a type we lack), each naming the value.
Result<HostTensor> from_dlpack(ManagedTensor* managed);

}  // namespace halyard::ops::dlpack
