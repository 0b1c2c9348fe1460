#include <fmt/format.h>
#include <halyard/base/half.h>
#include <halyard/ops/host_tensor.h>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace halyard::ops {
namespace {

constexpr std::size_t alignment = 64;

template <class Function>
auto with_type(ElementType element, Function&& function) {
  switch (element) {
    case ElementType::i8:
      return function(std::int8_t{});
    case ElementType::i16:
      return function(std::int16_t{});
    case ElementType::i32:
      return function(std::int32_t{});
    case ElementType::i64:
      return function(std::int64_t{});
    case ElementType::u16:
      return function(std::uint16_t{});
    case ElementType::u32:
      return function(std::uint32_t{});
    case ElementType::u64:
      return function(std::uint64_t{});
    case ElementType::f32:
      return function(float{});
    case ElementType::f64:
      return function(double{});
    default:  // boolean, u8, and the bits of 16-bit floats are converted by the callers
      return function(std::uint8_t{});
  }
}

/// Truncated and saturated, NaN as 0: as a cast, and without C++'s undefined conversions.
template <class T>
T saturated(double value) {
  double beyond = std::ldexp(1.0, std::numeric_limits<T>::digits);
  if (std::isnan(value)) return 0;
  if (value >= beyond) return std::numeric_limits<T>::max();
  if (value <= (std::is_signed_v<T> ? -beyond : 0.0)) return std::numeric_limits<T>::min();
  return static_cast<T>(value);
}

std::uint64_t bits_from_double(ElementType element, double value) {
  if (element == ElementType::f16) return f16_from_double(value);
  if (element == ElementType::bf16) return bf16_from_double(value);
  if (element == ElementType::boolean) return value != 0;
  return with_type(element, [&](auto zero) -> std::uint64_t {
    using T = decltype(zero);
    T converted;
    if constexpr (std::is_floating_point_v<T>)
      converted = static_cast<T>(value);
    else
      converted = saturated<T>(value);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &converted, sizeof(T));
    return bits;
  });
}

}  // namespace

HostTensor::HostTensor() : HostTensor(scalar_bits(ElementType::f32, 0)) {}

Result<HostTensor> HostTensor::allocate(ElementType element, Shape shape) {
  HALYARD_ASSIGN(std::int64_t count, checked_count(shape.extents()));
  std::size_t bytes = static_cast<std::size_t>(count) * byte_size(element);
  std::size_t rounded = std::max(alignment, (bytes + alignment - 1) / alignment * alignment);
  void* memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr)
    return fail(ErrorCode::out_of_memory,
                fmt::format("HostTensor::allocate: the host has no {} bytes for {}{}; use a smaller shape or "
                            "free memory",
                            bytes, name(element), shape.text()));
  std::memset(memory, 0, rounded);
  std::shared_ptr<const void> owner(memory, [](const void* p) { std::free(const_cast<void*>(p)); });
  auto* data = static_cast<const std::byte*>(memory);
  return wrap(element, std::move(shape), std::move(owner), data);
}

HostTensor HostTensor::wrap(ElementType element, Shape shape, std::shared_ptr<const void> owner,
                            const std::byte* bytes) {
  HostTensor tensor{nullptr};
  tensor.element_ = element;
  tensor.count_ = shape.count();
  tensor.shape_ = std::move(shape);
  tensor.owner_ = std::move(owner);
  tensor.data_ = bytes;
  return tensor;
}

HostTensor HostTensor::scalar_bits(ElementType element, std::uint64_t bits) {
  auto holder = std::make_shared<std::uint64_t>(bits);
  const auto* data = reinterpret_cast<const std::byte*>(holder.get());
  return wrap(element, Shape{}, std::move(holder), data);
}

HostTensor HostTensor::scalar(ElementType element, double value) {
  return scalar_bits(element, bits_from_double(element, value));
}

Result<HostTensor> HostTensor::copy_of(ElementType element, Shape shape, const void* values,
                                       std::size_t count) {
  HALYARD_ASSIGN(HostTensor tensor, allocate(element, std::move(shape)));
  if (static_cast<std::size_t>(tensor.count()) != count)
    return fail(ErrorCode::invalid_argument,
                fmt::format("HostTensor::from_values: {} values for shape {}", count, tensor.shape().text()));
  if (count > 0) std::memcpy(tensor.mutable_data(), values, tensor.byte_count());
  return tensor;
}

std::uint64_t HostTensor::bits_at(std::int64_t index) const {
  std::size_t size = byte_size(element_);
  std::uint64_t bits = 0;
  std::memcpy(&bits, data_ + static_cast<std::size_t>(index) * size, size);
  return bits;
}

void HostTensor::set_bits_at(std::int64_t index, std::uint64_t bits) {
  std::size_t size = byte_size(element_);
  std::memcpy(mutable_data() + static_cast<std::size_t>(index) * size, &bits, size);
}

double HostTensor::at(std::int64_t index) const {
  std::uint64_t bits = bits_at(index);
  if (element_ == ElementType::f16) return float_from_f16(static_cast<std::uint16_t>(bits));
  if (element_ == ElementType::bf16) return float_from_bf16(static_cast<std::uint16_t>(bits));
  return with_type(element_, [&](auto zero) -> double {
    decltype(zero) value;
    std::memcpy(&value, &bits, sizeof(value));
    return static_cast<double>(value);
  });
}

Result<HostTensor> HostTensor::reshaped(Shape shape) const {
  HALYARD_ASSIGN(std::int64_t count, checked_count(shape.extents()));
  if (count != count_)
    return fail(ErrorCode::invalid_argument,
                fmt::format("HostTensor::reshaped: {} has {} elements, {} has {}", shape_.text(), count_,
                            shape.text(), count));
  return wrap(element_, std::move(shape), owner_, data_);
}

bool same_bits(const HostTensor& a, const HostTensor& b) {
  if (a.element() != b.element() || a.shape() != b.shape()) return false;
  if (a.byte_count() == 0 || std::memcmp(a.data(), b.data(), a.byte_count()) == 0) return true;
  for (std::int64_t i = 0; i < a.count(); ++i) {
    if (a.bits_at(i) == b.bits_at(i)) continue;
    if (!is_float(a.element()) || !std::isnan(a.at(i)) || !std::isnan(b.at(i))) return false;
  }
  return true;
}

namespace {

std::string format_element(const HostTensor& tensor, std::int64_t index) {
  if (tensor.element() == ElementType::boolean) return tensor.bits_at(index) ? "true" : "false";
  if (is_float(tensor.element())) {
    double value = tensor.at(index);
    if (tensor.element() == ElementType::f64) return fmt::format("{}", value);
    if (tensor.element() == ElementType::f32) return fmt::format("{}", static_cast<float>(value));
    return fmt::format("{:.4g}", value);
  }
  if (tensor.element() == ElementType::u64) return fmt::format("{}", tensor.bits_at(index));
  if (tensor.element() == ElementType::i64)
    return fmt::format("{}", static_cast<std::int64_t>(tensor.bits_at(index)));
  return fmt::format("{:.0f}", tensor.at(index));
}

constexpr std::int64_t edge_items = 3;
constexpr std::int64_t shown_whole = 8;

void format_axis(const HostTensor& tensor, std::size_t axis, std::int64_t offset, std::int64_t stride,
                 std::string& text) {
  const Shape& shape = tensor.shape();
  if (axis == shape.rank()) {
    text += format_element(tensor, offset);
    return;
  }
  std::int64_t extent = shape[axis];
  std::int64_t inner = extent == 0 ? 0 : stride / extent;
  text += '[';
  for (std::int64_t i = 0; i < extent; ++i) {
    if (i > 0) text += axis + 1 == shape.rank() ? ", " : ",\n" + std::string(axis + 1, ' ');
    if (extent > shown_whole && i == edge_items) {
      text += "…";
      i = extent - edge_items - 1;
      continue;
    }
    format_axis(tensor, axis + 1, offset + i * inner, inner, text);
  }
  text += ']';
}

}  // namespace

std::string format(const HostTensor& tensor) {
  std::string text;
  format_axis(tensor, 0, 0, tensor.count(), text);
  return fmt::format("{} {} {}", text, name(tensor.element()), tensor.shape().text());
}

}  // namespace halyard::ops
