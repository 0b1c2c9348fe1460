#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>

#include "contents.h"

namespace halyard::onnx {
namespace {

using ::onnx::TensorProto;

/// As NumPy's: tensors of more axes could not be written to files that it reads.
constexpr int largest_rank = 64;

template <class Source, class Target>
Status copy_field(const Source& field, ops::HostTensor& tensor, std::string_view name) {
  if (field.size() != tensor.count())
    return fail(ErrorCode::corrupt_data,
                fmt::format("onnx: tensor '{}' of shape {} holds {} values, not {}", name,
                            tensor.shape().text(), field.size(), tensor.count()));
  for (int i = 0; i < field.size(); ++i) {
    auto value = static_cast<Target>(field.Get(i));
    std::memcpy(tensor.mutable_data() + static_cast<std::size_t>(i) * sizeof(Target), &value, sizeof(Target));
  }
  return {};
}

Status copy_typed_values(const TensorProto& proto, ops::HostTensor& tensor) {
  switch (tensor.element()) {
    case ElementType::f32:
      return copy_field<decltype(proto.float_data()), float>(proto.float_data(), tensor, proto.name());
    case ElementType::f64:
      return copy_field<decltype(proto.double_data()), double>(proto.double_data(), tensor, proto.name());
    case ElementType::i64:
      return copy_field<decltype(proto.int64_data()), std::int64_t>(proto.int64_data(), tensor, proto.name());
    case ElementType::u64:
      return copy_field<decltype(proto.uint64_data()), std::uint64_t>(proto.uint64_data(), tensor,
                                                                      proto.name());
    case ElementType::u32:
      return copy_field<decltype(proto.uint64_data()), std::uint32_t>(proto.uint64_data(), tensor,
                                                                      proto.name());
    case ElementType::i32:
      return copy_field<decltype(proto.int32_data()), std::int32_t>(proto.int32_data(), tensor, proto.name());
    case ElementType::i16:
    case ElementType::u16:
    case ElementType::f16:
    case ElementType::bf16:
      return copy_field<decltype(proto.int32_data()), std::uint16_t>(proto.int32_data(), tensor,
                                                                     proto.name());
    case ElementType::i8:
    case ElementType::u8:
      return copy_field<decltype(proto.int32_data()), std::uint8_t>(proto.int32_data(), tensor, proto.name());
    case ElementType::boolean:
      return copy_field<decltype(proto.int32_data()), bool>(proto.int32_data(), tensor, proto.name());
  }
  return fail(ErrorCode::internal, "onnx: an element type without a row");
}

std::uint64_t parse_number(const std::string& text, bool& good) {
  std::uint64_t value = 0;
  good = good && !text.empty() && text.size() < 19;
  for (char c : text) {
    if (c < '0' || c > '9') good = false;
    if (good) value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

/// The text with control characters as '?': a hostile name must not reach a terminal as it is.
std::string printable(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}

/// Reads the bytes of external data; the file must lie inside the model's folder.
Result<std::string> read_external(const TensorProto& proto, const std::filesystem::path& folder,
                                  std::size_t bytes) {
  if (folder.empty())
    return fail(
        ErrorCode::unsupported,
        fmt::format("onnx: tensor '{}' lies in an external file; load the model by its path", proto.name()));
  std::filesystem::path location;
  std::uint64_t offset = 0;
  bool good = true;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = parse_number(entry.value(), good);
    if (entry.key() == "length") good = parse_number(entry.value(), good) == bytes && good;
  }
  if (!good)
    return fail(ErrorCode::corrupt_data,
                fmt::format("onnx: tensor '{}' names external data at an offset or of a length that is no "
                            "number or not the {} bytes of its shape; export the model again",
                            proto.name(), bytes));
  // The file itself must lie there: what a symbolic link leads to counts, not its name.
  std::error_code unresolved;
  const auto home = std::filesystem::weakly_canonical(folder, unresolved);
  const auto target = std::filesystem::weakly_canonical(folder / location, unresolved);
  bool inside = !location.empty() && location.is_relative() && !unresolved &&
                location.native().find('\0') == std::string::npos;
  for (const auto& part : location) inside = inside && part != "..";
  inside =
      inside && std::mismatch(home.begin(), home.end(), target.begin(), target.end()).first == home.end();
  if (!inside)
    return fail(ErrorCode::corrupt_data,
                fmt::format("onnx: tensor '{}' names external data '{}', which is no file name inside the "
                            "model's folder (symbolic links are followed); keep the files together",
                            proto.name(), printable(location.native())));
  std::error_code ignored;
  const std::uint64_t size = std::filesystem::file_size(folder / location, ignored);
  if (ignored || offset > size || bytes > size - offset)
    return fail(ErrorCode::io_error,
                fmt::format("onnx: tensor '{}' needs {} bytes at {} of '{}', which is missing or too "
                            "short",
                            proto.name(), bytes, offset, (folder / location).string()));
  std::ifstream file(folder / location, std::ios::binary);
  std::string data(bytes, '\0');
  if (!file.seekg(static_cast<std::streamoff>(offset)) ||
      !file.read(data.data(), static_cast<std::streamsize>(bytes)))
    return fail(ErrorCode::io_error, fmt::format("onnx: cannot read {} bytes at {} of '{}' for tensor '{}'",
                                                 bytes, offset, (folder / location).string(), proto.name()));
  return data;
}

}  // namespace

Result<ElementType> element_type(std::int32_t onnx_type) {
  switch (onnx_type) {
    case TensorProto::FLOAT:
      return ElementType::f32;
    case TensorProto::DOUBLE:
      return ElementType::f64;
    case TensorProto::FLOAT16:
      return ElementType::f16;
    case TensorProto::BFLOAT16:
      return ElementType::bf16;
    case TensorProto::INT8:
      return ElementType::i8;
    case TensorProto::INT16:
      return ElementType::i16;
    case TensorProto::INT32:
      return ElementType::i32;
    case TensorProto::INT64:
      return ElementType::i64;
    case TensorProto::UINT8:
      return ElementType::u8;
    case TensorProto::UINT16:
      return ElementType::u16;
    case TensorProto::UINT32:
      return ElementType::u32;
    case TensorProto::UINT64:
      return ElementType::u64;
    case TensorProto::BOOL:
      return ElementType::boolean;
    default:
      return fail(
          ErrorCode::unsupported,
          fmt::format(
              "onnx: element type {} has no counterpart (strings, complex and 8-bit floats are not read)",
              onnx_type));
  }
}

Result<ops::HostTensor> read_tensor(const TensorProto& proto, const std::filesystem::path& folder) {
  HALYARD_ASSIGN(ElementType element, element_type(proto.data_type()));
  if (proto.dims_size() > largest_rank)
    return fail(ErrorCode::unsupported, fmt::format("onnx: tensor '{}' has {} axes; at most {} are read",
                                                    proto.name(), proto.dims_size(), largest_rank));
  HALYARD_ASSIGN(ops::Shape shape, ops::Shape::create({proto.dims().begin(), proto.dims().end()}));
  const bool external = proto.data_location() == TensorProto::EXTERNAL;
  const std::size_t bytes = static_cast<std::size_t>(shape.count()) * byte_size(element);
  // Sizes are checked before memory is taken, so that a small hostile file cannot ask for a large allocation.
  if (!external && proto.has_raw_data() && proto.raw_data().size() != bytes)
    return fail(ErrorCode::corrupt_data,
                fmt::format("onnx: tensor '{}' of shape {} {} needs {} bytes and holds {}", proto.name(),
                            name(element), shape.text(), bytes, proto.raw_data().size()));
  std::int64_t typed = proto.float_data_size() + proto.int32_data_size() + proto.int64_data_size() +
                       proto.double_data_size() + proto.uint64_data_size();
  if (!external && !proto.has_raw_data() && typed != shape.count())
    return fail(ErrorCode::corrupt_data, fmt::format("onnx: tensor '{}' of shape {} holds {} values, not {}",
                                                     proto.name(), shape.text(), typed, shape.count()));
  std::string from_file;
  if (external) {
    HALYARD_ASSIGN(from_file, read_external(proto, folder, bytes));
  }
  HALYARD_ASSIGN(ops::HostTensor tensor, ops::HostTensor::allocate(element, shape));
  if (external)
    std::memcpy(tensor.mutable_data(), from_file.data(), bytes);
  else if (proto.has_raw_data())
    std::memcpy(tensor.mutable_data(), proto.raw_data().data(), bytes);
  else
    HALYARD_TRY(copy_typed_values(proto, tensor));
  if (element == ElementType::boolean)
    for (std::size_t i = 0; i < bytes; ++i)
      tensor.mutable_data()[i] = static_cast<std::byte>(tensor.data()[i] != std::byte{0});
  return tensor;
}

}  // namespace halyard::onnx
