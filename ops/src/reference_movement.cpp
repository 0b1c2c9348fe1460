#include <algorithm>
#include <cstring>
#include "element_access.h"
#include "reference_functions.h"

/// Reference meaning of movement, gather and iota: every one copies elements between two strided views.
namespace halyard::ops {
namespace {

using Steps = std::vector<std::int64_t>;

/// Elements offset + Σ position · stride of a tensor; strides may be 0 or negative.
struct View {
  std::int64_t offset = 0;
  Steps strides;
};

template <class Element>
void copy_elements(const Shape& extents, std::size_t axis, const Element* from, const View& source,
                   Element* to, const View& target) {
  std::int64_t source_stride = source.strides[axis];
  std::int64_t target_stride = target.strides[axis];
  if (axis + 1 == extents.rank()) {
    for (std::int64_t i = 0; i < extents[axis]; ++i) to[i * target_stride] = from[i * source_stride];
    return;
  }
  for (std::int64_t i = 0; i < extents[axis]; ++i)
    copy_elements(extents, axis + 1, from + i * source_stride, source, to + i * target_stride, target);
}

void copy(const Shape& extents, const HostTensor& from, const View& source, HostTensor& to,
          const View& target) {
  if (extents.is_empty()) return;
  auto run = [&](auto zero) {
    using Element = decltype(zero);
    const auto* first = reinterpret_cast<const Element*>(from.data()) + source.offset;
    auto* out = reinterpret_cast<Element*>(to.mutable_data()) + target.offset;
    if (extents.rank() == 0)
      *out = *first;
    else
      copy_elements(extents, 0, first, source, out, target);
  };
  switch (byte_size(from.element())) {
    case 1:
      return run(std::uint8_t{});
    case 2:
      return run(std::uint16_t{});
    case 4:
      return run(std::uint32_t{});
    default:
      return run(std::uint64_t{});
  }
}

View whole(const HostTensor& tensor) {
  return {0, tensor.shape().row_major_strides()};
}

}  // namespace

Status reference_iota(std::span<const HostTensor>, const Attributes& attributes, const NumericClass& numeric,
                      HostTensor& result) {
  (void)numeric;
  auto axis = static_cast<std::size_t>(attributes.axes[0]);
  std::int64_t stride = result.shape().row_major_strides()[axis];
  std::int64_t extent = result.shape()[axis];
  for (std::int64_t i = 0; i < result.count(); ++i) {
    std::int64_t position = i / stride % extent;
    ElementType element = result.element();
    // Converted as by cast: integers wrap; floats round, 16-bit ones by way of f32.
    bool half = element == ElementType::f16 || element == ElementType::bf16;
    if (is_integer(element))
      result.set_bits_at(i, static_cast<std::uint64_t>(position));
    else if (half || element == ElementType::f32)
      result.set_bits_at(i, HostTensor::scalar(element, static_cast<float>(position)).bits_at(0));
    else
      result.set_bits_at(i, HostTensor::scalar(element, static_cast<double>(position)).bits_at(0));
  }
  return {};
}

Status reference_reshape(std::span<const HostTensor> operands, const Attributes&, const NumericClass&,
                         HostTensor& result) {
  HALYARD_ASSIGN(result, operands[0].reshaped(result.shape()));
  return {};
}

Status reference_permute(std::span<const HostTensor> operands, const Attributes& attributes,
                         const NumericClass&, HostTensor& result) {
  Steps strides = operands[0].shape().row_major_strides();
  View source;
  for (std::int64_t axis : attributes.axes) source.strides.push_back(strides[static_cast<std::size_t>(axis)]);
  copy(result.shape(), operands[0], source, result, whole(result));
  return {};
}

Status reference_broadcast(std::span<const HostTensor> operands, const Attributes&, const NumericClass&,
                           HostTensor& result) {
  const Shape& from = operands[0].shape();
  Steps strides = from.row_major_strides();
  View source{0, Steps(result.shape().rank(), 0)};
  std::size_t skipped = result.shape().rank() - from.rank();
  for (std::size_t axis = 0; axis < from.rank(); ++axis)
    if (from[axis] != 1) source.strides[skipped + axis] = strides[axis];
  copy(result.shape(), operands[0], source, result, whole(result));
  return {};
}

Status reference_slice(std::span<const HostTensor> operands, const Attributes& attributes,
                       const NumericClass&, HostTensor& result) {
  View source = whole(operands[0]);
  for (std::size_t axis = 0; axis < source.strides.size(); ++axis) {
    source.offset += attributes.starts[axis] * source.strides[axis];
    source.strides[axis] *= attributes.steps[axis];
  }
  copy(result.shape(), operands[0], source, result, whole(result));
  return {};
}

Status reference_pad(std::span<const HostTensor> operands, const Attributes& attributes, const NumericClass&,
                     HostTensor& result) {
  for (std::int64_t i = 0; i < result.count(); ++i) result.set_bits_at(i, attributes.value_bits);
  View target = whole(result);
  for (std::size_t axis = 0; axis < target.strides.size(); ++axis)
    target.offset += attributes.starts[axis] * target.strides[axis];
  copy(operands[0].shape(), operands[0], whole(operands[0]), result, target);
  return {};
}

Status reference_concat(std::span<const HostTensor> operands, const Attributes& attributes,
                        const NumericClass&, HostTensor& result) {
  auto axis = static_cast<std::size_t>(attributes.axes[0]);
  View target = whole(result);
  for (const HostTensor& operand : operands) {
    copy(operand.shape(), operand, whole(operand), result, target);
    target.offset += operand.shape()[axis] * target.strides[axis];
  }
  return {};
}

Status reference_reverse(std::span<const HostTensor> operands, const Attributes& attributes,
                         const NumericClass&, HostTensor& result) {
  View source = whole(operands[0]);
  for (std::int64_t axis : attributes.axes) {
    auto a = static_cast<std::size_t>(axis);
    source.offset += (operands[0].shape()[a] - 1) * source.strides[a];
    source.strides[a] = -source.strides[a];
  }
  copy(result.shape(), operands[0], source, result, whole(result));
  return {};
}

Status reference_windows(std::span<const HostTensor> operands, const Attributes& attributes,
                         const NumericClass&, HostTensor& result) {
  View source = whole(operands[0]);
  for (std::size_t i = 0; i < attributes.axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(attributes.axes[i]);
    source.strides.push_back(source.strides[axis] * attributes.dilations[i]);
    source.strides[axis] *= attributes.steps[i];
  }
  copy(result.shape(), operands[0], source, result, whole(result));
  return {};
}

Status reference_take(std::span<const HostTensor> operands, const Attributes& attributes, const NumericClass&,
                      HostTensor& result) {
  if (result.count() == 0) return {};
  const HostTensor& data = operands[0];
  const HostTensor& indices = operands[1];
  auto axis = static_cast<std::size_t>(attributes.axes[0]);
  std::int64_t extent = data.shape()[axis];
  std::int64_t inner = data.shape().row_major_strides()[axis];
  std::int64_t outer = data.count() / (inner * extent);
  std::size_t size = byte_size(data.element());
  std::size_t run = static_cast<std::size_t>(inner) * size;
  std::byte* out = result.mutable_data();
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < indices.count(); ++i, out += run) {
      std::int64_t index = index_at(indices, i);
      if (index < 0) index += extent;
      index = std::clamp<std::int64_t>(index, 0, extent - 1);
      std::memcpy(out, data.data() + static_cast<std::size_t>((o * extent + index) * inner) * size, run);
    }
  return {};
}

}  // namespace halyard::ops
