#pragma once

#include <halyard/base/element_type.h>
#include <halyard/base/result.h>
#include <halyard/ops/shape.h>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace halyard::ops {

/// The bits of one binary16 or bfloat16 element, so that they have a C++ type of their own.
struct Float16 {
  std::uint16_t bits = 0;
  friend bool operator==(const Float16&, const Float16&) = default;
};
struct BFloat16 {
  std::uint16_t bits = 0;
  friend bool operator==(const BFloat16&, const BFloat16&) = default;
};

/// The `ElementType` that a C++ type stands for.
template <class T>
constexpr ElementType element_type_of() {
  if constexpr (std::is_same_v<T, bool>)
    return ElementType::boolean;
  else if constexpr (std::is_same_v<T, std::int8_t>)
    return ElementType::i8;
  else if constexpr (std::is_same_v<T, std::int16_t>)
    return ElementType::i16;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return ElementType::i32;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return ElementType::i64;
  else if constexpr (std::is_same_v<T, std::uint8_t>)
    return ElementType::u8;
  else if constexpr (std::is_same_v<T, std::uint16_t>)
    return ElementType::u16;
  else if constexpr (std::is_same_v<T, std::uint32_t>)
    return ElementType::u32;
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    return ElementType::u64;
  else if constexpr (std::is_same_v<T, Float16>)
    return ElementType::f16;
  else if constexpr (std::is_same_v<T, BFloat16>)
    return ElementType::bf16;
  else if constexpr (std::is_same_v<T, float>)
    return ElementType::f32;
  else {
    static_assert(std::is_same_v<T, double>, "no element type for this C++ type");
    return ElementType::f64;
  }
}

/// Elements in host memory, row-major without gaps, little-endian. Copies share the bytes. The bytes are
/// immutable once a second holder exists: write through `mutable_bytes` only right after `allocate`.
/// Reading is thread-safe.
class HostTensor {
 public:
  /// A scalar f32 zero.
  HostTensor();

  /// Zero-filled and 64-byte aligned. `out_of_memory` names the bytes asked.
  static Result<HostTensor> allocate(ElementType element, Shape shape);
  /// Wraps memory that `owner` keeps alive, without copying. `bytes` must hold the whole tensor.
  static HostTensor wrap(ElementType element, Shape shape, std::shared_ptr<const void> owner,
                         const std::byte* bytes);
  /// Copies `values`, whose number must be the shape's (`invalid_argument`).
  template <class T>
  static Result<HostTensor> from_values(Shape shape, std::span<const T> values) {
    return copy_of(element_type_of<T>(), std::move(shape), values.data(), values.size());
  }
  template <class T>
  static Result<HostTensor> from_values(Shape shape, const std::vector<T>& values) {
    return from_values<T>(std::move(shape), std::span<const T>(values));
  }
  /// A scalar of any type, converted as by the `cast` primitive: floats round to nearest, integers truncate
  /// and saturate, NaN becomes 0 there.
  static HostTensor scalar(ElementType element, double value);
  /// A scalar with the given bits.
  static HostTensor scalar_bits(ElementType element, std::uint64_t bits);

  ElementType element() const { return element_; }
  const Shape& shape() const { return shape_; }
  std::int64_t count() const { return count_; }
  std::size_t byte_count() const { return static_cast<std::size_t>(count_) * byte_size(element_); }
  const std::byte* data() const { return data_; }
  std::span<const std::byte> bytes() const { return {data_, byte_count()}; }
  std::byte* mutable_data() { return const_cast<std::byte*>(data_); }
  /// What keeps the bytes alive.
  const std::shared_ptr<const void>& owner() const { return owner_; }

  /// The elements as `T`, whose element type must be this tensor's: otherwise empty.
  template <class T>
  std::span<const T> values() const {
    if (element_type_of<T>() != element_) return {};
    return {reinterpret_cast<const T*>(data_), static_cast<std::size_t>(count_)};
  }
  template <class T>
  std::span<T> mutable_values() {
    if (element_type_of<T>() != element_) return {};
    return {reinterpret_cast<T*>(mutable_data()), static_cast<std::size_t>(count_)};
  }

  /// Element number `index` (row-major) as a double (i64 and u64 beyond 2^53 round) or as its bits.
  double at(std::int64_t index) const;
  std::uint64_t bits_at(std::int64_t index) const;
  void set_bits_at(std::int64_t index, std::uint64_t bits);

  /// The same bytes under another shape of the same count (`invalid_argument` otherwise).
  Result<HostTensor> reshaped(Shape shape) const;

 private:
  explicit HostTensor(std::nullptr_t) {}
  static Result<HostTensor> copy_of(ElementType element, Shape shape, const void* values, std::size_t count);

  ElementType element_ = ElementType::f32;
  Shape shape_;
  std::int64_t count_ = 1;
  std::shared_ptr<const void> owner_;
  const std::byte* data_ = nullptr;
};

/// Equal type, shape and bits, where all NaNs count as equal ("same bits" of the numeric contract).
bool same_bits(const HostTensor& a, const HostTensor& b);

/// NumPy-like text: nested brackets, long axes shortened, e.g. "[[1, 2], [3, 4]] f32 [2, 2]".
std::string format(const HostTensor& tensor);

}  // namespace halyard::ops
