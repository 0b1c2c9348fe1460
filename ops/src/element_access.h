#pragma once

#include <halyard/base/half.h>
#include <halyard/ops/host_tensor.h>
#include <cstdint>

/// Host tensors read and written in the accumulator's C++ type.
namespace halyard::ops {

/// Calls `function(Access{})` for the element type, where Access::Value is the type to accumulate in (float
/// for 16-bit floats, unsigned integers for integers so that they wrap, `Signed` to compare) and load and
/// store convert, rounding once.
template <class Stored, class Accumulated, class Compared = Stored>
struct PlainAccess {
  using Value = Accumulated;
  using Ordered = Compared;
  static Value load(const HostTensor& tensor, std::int64_t i) {
    return static_cast<Value>(reinterpret_cast<const Stored*>(tensor.data())[i]);
  }
  static void store(HostTensor& tensor, std::int64_t i, Value value) {
    reinterpret_cast<Stored*>(tensor.mutable_data())[i] = static_cast<Stored>(value);
  }
};
struct HalfAccess {
  using Value = float;
  using Ordered = float;
  static Value load(const HostTensor& tensor, std::int64_t i) {
    return float_from_f16(reinterpret_cast<const std::uint16_t*>(tensor.data())[i]);
  }
  static void store(HostTensor& tensor, std::int64_t i, Value value) {
    reinterpret_cast<std::uint16_t*>(tensor.mutable_data())[i] = f16_from_float(value);
  }
};
struct BrainAccess {
  using Value = float;
  using Ordered = float;
  static Value load(const HostTensor& tensor, std::int64_t i) {
    return float_from_bf16(reinterpret_cast<const std::uint16_t*>(tensor.data())[i]);
  }
  static void store(HostTensor& tensor, std::int64_t i, Value value) {
    reinterpret_cast<std::uint16_t*>(tensor.mutable_data())[i] = bf16_from_float(value);
  }
};

template <class Function>
auto with_access(ElementType element, Function&& function) {
  switch (element) {
    case ElementType::f16:
      return function(HalfAccess{});
    case ElementType::bf16:
      return function(BrainAccess{});
    case ElementType::f32:
      return function(PlainAccess<float, float>{});
    case ElementType::f64:
      return function(PlainAccess<double, double>{});
    case ElementType::i8:
      return function(PlainAccess<std::int8_t, std::uint32_t, std::int8_t>{});
    case ElementType::i16:
      return function(PlainAccess<std::int16_t, std::uint32_t, std::int16_t>{});
    case ElementType::i32:
      return function(PlainAccess<std::int32_t, std::uint32_t, std::int32_t>{});
    case ElementType::i64:
      return function(PlainAccess<std::int64_t, std::uint64_t, std::int64_t>{});
    case ElementType::u16:
      return function(PlainAccess<std::uint16_t, std::uint32_t, std::uint16_t>{});
    case ElementType::u32:
      return function(PlainAccess<std::uint32_t, std::uint32_t>{});
    case ElementType::u64:
      return function(PlainAccess<std::uint64_t, std::uint64_t>{});
    default:
      return function(PlainAccess<std::uint8_t, std::uint32_t, std::uint8_t>{});
  }
}

/// The i-th of indices of type i32 or i64.
inline std::int64_t index_at(const HostTensor& indices, std::int64_t i) {
  std::uint64_t bits = indices.bits_at(i);
  return indices.element() == ElementType::i32 ? static_cast<std::int32_t>(bits)
                                               : static_cast<std::int64_t>(bits);
}

}  // namespace halyard::ops
