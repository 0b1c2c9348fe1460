#include <fmt/format.h>
#include <halyard/ops/dlpack.h>
#include <memory>
#include <optional>
#include <vector>

namespace halyard::ops::dlpack {
namespace {

DataType data_type(ElementType element) {
  auto bits = static_cast<std::uint8_t>(8 * byte_size(element));
  if (element == ElementType::boolean) return {code_bool, 8, 1};
  if (element == ElementType::bf16) return {code_bfloat, 16, 1};
  if (is_float(element)) return {code_float, bits, 1};
  return {static_cast<std::uint8_t>(is_signed(element) ? code_int : code_uint), bits, 1};
}

std::optional<ElementType> element_type(DataType type) {
  for (std::size_t i = 0; i < element_type_facts.size(); ++i) {
    auto element = static_cast<ElementType>(i);
    DataType ours = data_type(element);
    if (ours.code == type.code && ours.bits == type.bits && type.lanes == 1) return element;
  }
  return std::nullopt;
}

/// What an exported tensor keeps alive.
struct Exported {
  HostTensor tensor;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  ManagedTensor managed;
};

void delete_exported(ManagedTensor* self) {
  delete static_cast<Exported*>(self->manager_context);
}

struct CallDeleter {
  void operator()(ManagedTensor* managed) const {
    if (managed->deleter != nullptr) managed->deleter(managed);
  }
};

bool is_row_major(const Shape& shape, const std::int64_t* strides) {
  if (strides == nullptr || shape.is_empty()) return true;
  std::vector<std::int64_t> expected = shape.row_major_strides();
  for (std::size_t axis = 0; axis < shape.rank(); ++axis)
    if (shape[axis] != 1 && strides[axis] != expected[axis]) return false;
  return true;
}

Result<HostTensor> gathered(ElementType element, const Shape& shape, const std::int64_t* strides,
                            const std::byte* data) {
  HALYARD_ASSIGN(HostTensor result, HostTensor::allocate(element, shape));
  std::size_t size = byte_size(element);
  std::vector<std::int64_t> position(shape.rank(), 0);
  for (std::int64_t i = 0; i < result.count(); ++i) {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < shape.rank(); ++axis) offset += position[axis] * strides[axis];
    std::memcpy(result.mutable_data() + static_cast<std::size_t>(i) * size,
                data + offset * static_cast<std::int64_t>(size), size);
    for (std::size_t axis = shape.rank(); axis-- > 0;) {
      if (++position[axis] < shape[axis]) break;
      position[axis] = 0;
    }
  }
  return result;
}

}  // namespace

ManagedTensor* to_dlpack(const HostTensor& tensor) {
  auto exported = std::make_unique<Exported>();
  exported->tensor = tensor;
  exported->shape = tensor.shape().vector();
  exported->strides = tensor.shape().row_major_strides();
  exported->managed = {{major_version, minor_version}, exported.get(), delete_exported, flag_read_only, {}};
  DlTensor& out = exported->managed.tensor;
  out.data = const_cast<std::byte*>(tensor.data());
  out.device = {device_cpu, 0};
  out.ndim = static_cast<std::int32_t>(exported->shape.size());
  out.dtype = data_type(tensor.element());
  out.shape = exported->shape.data();
  out.strides = exported->strides.data();
  out.byte_offset = 0;
  return &exported.release()->managed;
}

Result<HostTensor> from_dlpack(ManagedTensor* managed) {
  if (managed == nullptr) return fail(ErrorCode::invalid_argument, "from_dlpack: the tensor is null");
  if (managed->version.major != major_version) {
    // Another major version may lay out everything after the deleter differently; the deleter's place is
    // fixed.
    std::uint32_t version = managed->version.major;
    CallDeleter{}(managed);
    return fail(ErrorCode::unsupported,
                fmt::format("from_dlpack: DLPack version {} is not {}; ask the producer for that version",
                            version, major_version));
  }
  std::shared_ptr<ManagedTensor> owner(managed, CallDeleter{});
  const DlTensor& given = managed->tensor;
  if (given.device.device_type != device_cpu && given.device.device_type != device_cuda_host &&
      given.device.device_type != device_rocm_host)
    return fail(
        ErrorCode::unsupported,
        fmt::format(
            "from_dlpack: the tensor lies on DLPack device type {}, not in host memory: copy it first",
            given.device.device_type));
  std::optional<ElementType> element = element_type(given.dtype);
  if (!element)
    return fail(ErrorCode::unsupported,
                fmt::format("from_dlpack: element type (code {}, {} bits, {} lanes) is not supported",
                            given.dtype.code, given.dtype.bits, given.dtype.lanes));
  if (given.ndim < 0 || (given.ndim > 0 && given.shape == nullptr))
    return fail(ErrorCode::invalid_argument, fmt::format("from_dlpack: {} axes without a shape", given.ndim));
  HALYARD_ASSIGN(Shape shape, Shape::create({given.shape, given.shape + given.ndim}));
  if (given.data == nullptr && !shape.is_empty())
    return fail(ErrorCode::invalid_argument, fmt::format("from_dlpack: no data for shape {}", shape.text()));
  const auto* data =
      static_cast<const std::byte*>(given.data) + (given.data == nullptr ? 0 : given.byte_offset);
  bool aligned = reinterpret_cast<std::uintptr_t>(data) % byte_size(*element) == 0;
  if (is_row_major(shape, given.strides) && aligned) return HostTensor::wrap(*element, shape, owner, data);
  std::vector<std::int64_t> row_major = shape.row_major_strides();
  return gathered(*element, shape, given.strides != nullptr ? given.strides : row_major.data(), data);
}

}  // namespace halyard::ops::dlpack
