#include <fmt/format.h>
#include <fmt/ranges.h>
#include <halyard/ops/npy.h>
#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <unistd.h>

namespace halyard::ops {
namespace {

constexpr std::string_view magic{"\x93NUMPY", 6};
constexpr std::size_t largest_rank = 64;  // of NumPy

template <class... Arguments>
tl::unexpected<Error> corrupt(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  return fail(ErrorCode::corrupt_data,
              fmt::format("read_npy: {}", fmt::format(format, std::forward<Arguments>(arguments)...)));
}

/// What the header's dictionary says.
struct Header {
  std::string descriptor;
  bool fortran_order = false;
  std::vector<std::int64_t> extents;
};

/// Reads the Python dictionary literal of the header: string keys; values that are strings, True or False, or
/// a tuple of integers. Nothing else occurs in files of plain element types.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  Result<Header> parse() {
    Header header;
    bool has_descriptor = false;
    bool has_order = false;
    bool has_shape = false;
    if (!take('{')) return corrupt("the header is no dictionary");
    while (!take('}')) {
      HALYARD_ASSIGN(std::string key, string());
      if (!take(':')) return corrupt("the header has no ':' after '{}'", key);
      if (key == "descr" && !has_descriptor) {
        skip_space();
        if (position_ < text_.size() && text_[position_] == '[')
          return fail(ErrorCode::unsupported, "read_npy: structured element types are not supported");
        HALYARD_ASSIGN(header.descriptor, string());
        has_descriptor = true;
      } else if (key == "fortran_order" && !has_order) {
        HALYARD_ASSIGN(header.fortran_order, boolean());
        has_order = true;
      } else if (key == "shape" && !has_shape) {
        HALYARD_ASSIGN(header.extents, tuple());
        has_shape = true;
      } else {
        return corrupt("the header has an unknown or repeated key '{}'", key);
      }
      if (!take(',') && !peek('}')) return corrupt("the header lacks a ',' or '}}'");
    }
    if (!has_descriptor || !has_order || !has_shape)
      return corrupt("the header needs 'descr', 'fortran_order' and 'shape'");
    skip_space();
    if (position_ != text_.size()) return corrupt("there is text after the header's dictionary");
    return header;
  }

 private:
  void skip_space() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n')) ++position_;
  }
  bool peek(char expected) {
    skip_space();
    return position_ < text_.size() && text_[position_] == expected;
  }
  bool take(char expected) {
    if (!peek(expected)) return false;
    ++position_;
    return true;
  }
  bool take_word(std::string_view word) {
    skip_space();
    if (text_.substr(position_, word.size()) != word) return false;
    position_ += word.size();
    return true;
  }
  Result<std::string> string() {
    skip_space();
    char quote = position_ < text_.size() ? text_[position_] : '\0';
    if (quote != '\'' && quote != '"') return corrupt("the header has no string at byte {}", position_);
    std::size_t end = text_.find(quote, position_ + 1);
    if (end == std::string_view::npos) return corrupt("a string of the header has no end");
    std::string value(text_.substr(position_ + 1, end - position_ - 1));
    position_ = end + 1;
    return value;
  }
  Result<bool> boolean() {
    if (take_word("True")) return true;
    if (take_word("False")) return false;
    return corrupt("'fortran_order' is neither True nor False");
  }
  Result<std::vector<std::int64_t>> tuple() {
    if (!take('(')) return corrupt("'shape' is no tuple");
    std::vector<std::int64_t> extents;
    while (!take(')')) {
      skip_space();
      std::int64_t extent = 0;
      const char* first = text_.data() + position_;
      auto [end, error] = std::from_chars(first, text_.data() + text_.size(), extent);
      if (error != std::errc()) return corrupt("'shape' holds something that is no integer");
      position_ += static_cast<std::size_t>(end - first);
      take_word("L");  // written by Python 2
      extents.push_back(extent);
      if (extents.size() > largest_rank) return corrupt("'shape' has more than {} axes", largest_rank);
      if (!take(',') && !peek(')')) return corrupt("'shape' lacks a ',' or ')'");
    }
    return extents;
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

struct Descriptor {
  ElementType element;
  bool big_endian;
};

struct DescriptorName {
  std::string_view code;  ///< without the byte order
  ElementType element;
};
constexpr DescriptorName descriptor_names[] = {
    {"b1", ElementType::boolean}, {"i1", ElementType::i8},  {"i2", ElementType::i16},
    {"i4", ElementType::i32},     {"i8", ElementType::i64}, {"u1", ElementType::u8},
    {"u2", ElementType::u16},     {"u4", ElementType::u32}, {"u8", ElementType::u64},
    {"f2", ElementType::f16},     {"f4", ElementType::f32}, {"f8", ElementType::f64},
    {"V2", ElementType::bf16},
};

Result<Descriptor> parse_descriptor(std::string_view text) {
  bool has_order = !text.empty() && std::string_view("<>|=").find(text[0]) != std::string_view::npos;
  std::string_view code = has_order ? text.substr(1) : text;
  for (const DescriptorName& name : descriptor_names)
    if (name.code == code) return Descriptor{name.element, has_order && text[0] == '>'};
  return fail(ErrorCode::unsupported, fmt::format("read_npy: element type '{}' is not supported", text));
}

void swap_bytes(HostTensor& tensor) {
  std::size_t size = byte_size(tensor.element());
  std::byte* data = tensor.mutable_data();
  for (std::int64_t i = 0; i < tensor.count(); ++i, data += size) std::reverse(data, data + size);
}

/// The tensor whose elements lie in `source` with the first axis running fastest.
Result<HostTensor> from_fortran_order(const HostTensor& source) {
  HALYARD_ASSIGN(HostTensor result, HostTensor::allocate(source.element(), source.shape()));
  std::vector<std::int64_t> strides(source.shape().rank());
  std::int64_t stride = 1;
  for (std::size_t axis = 0; axis < strides.size(); ++axis) {
    strides[axis] = stride;
    stride *= source.shape()[axis];
  }
  std::vector<std::int64_t> row_major = source.shape().row_major_strides();
  for (std::int64_t i = 0; i < result.count(); ++i) {
    std::int64_t from = 0;
    for (std::size_t axis = 0; axis < strides.size(); ++axis)
      from += i / row_major[axis] % source.shape()[axis] * strides[axis];
    result.set_bits_at(i, source.bits_at(from));
  }
  return result;
}

/// Where the header's text lies.
struct HeaderRange {
  std::size_t begin;
  std::size_t length;
};

Result<HeaderRange> find_header(std::span<const std::byte> bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.substr(0, magic.size()) != magic)
    return corrupt("the file does not begin with the magic \\x93NUMPY");
  auto byte = [&](std::size_t i) { return static_cast<std::size_t>(bytes[i]); };
  if (bytes.size() < 8) return corrupt("the file ends within the version");
  std::size_t version = byte(6);
  if (version < 1 || version > 3)
    return fail(ErrorCode::unsupported, fmt::format("read_npy: format version {} is not 1, 2 or 3", version));
  std::size_t length_bytes = version == 1 ? 2 : 4;
  if (bytes.size() < 8 + length_bytes) return corrupt("the file ends within the header's length");
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) length |= byte(8 + i) << (8 * i);
  std::size_t begin = 8 + length_bytes;
  if (length > bytes.size() - begin)
    return corrupt("the header's length is {} but {} bytes follow", length, bytes.size() - begin);
  return HeaderRange{begin, length};
}

std::string header_text(const HostTensor& tensor) {
  std::string_view code;
  for (const DescriptorName& name : descriptor_names)
    if (name.element == tensor.element()) code = name.code;
  bool single_byte = byte_size(tensor.element()) == 1 || code == "V2";
  std::string shape = tensor.shape().rank() == 1
                          ? fmt::format("({},)", tensor.shape()[0])
                          : fmt::format("({})", fmt::join(tensor.shape().extents(), ", "));
  std::string text = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': {}, }}",
                                 single_byte ? '|' : '<', code, shape);
  // Spaces and a newline bring the data to a multiple of 64 bytes.
  std::size_t total = magic.size() + 4 + text.size() + 1;
  text.append((64 - total % 64) % 64, ' ');
  text += '\n';
  return text;
}

}  // namespace

Result<HostTensor> parse_npy(std::span<const std::byte> bytes) {
  HALYARD_ASSIGN(HeaderRange range, find_header(bytes));
  std::string_view text(reinterpret_cast<const char*>(bytes.data()) + range.begin, range.length);
  HALYARD_ASSIGN(Header header, HeaderParser(text).parse());
  HALYARD_ASSIGN(Descriptor descriptor, parse_descriptor(header.descriptor));
  auto count = checked_count(header.extents);
  if (!count) return corrupt("{}", count.error().message);
  std::span<const std::byte> data = bytes.subspan(range.begin + range.length);
  std::size_t size = byte_size(descriptor.element);
  if (static_cast<std::size_t>(*count) > data.size() / size)
    return corrupt("{} elements of {} bytes are announced, {} bytes follow", *count, size, data.size());
  HALYARD_ASSIGN(HostTensor tensor, HostTensor::allocate(descriptor.element, Shape(header.extents)));
  if (tensor.byte_count() > 0) std::memcpy(tensor.mutable_data(), data.data(), tensor.byte_count());
  if (descriptor.big_endian) swap_bytes(tensor);
  if (descriptor.element == ElementType::boolean)
    for (std::int64_t i = 0; i < tensor.count(); ++i) tensor.set_bits_at(i, tensor.bits_at(i) != 0);
  if (header.fortran_order && tensor.shape().rank() > 1) return from_fortran_order(tensor);
  return tensor;
}

Result<HostTensor> read_npy(const std::filesystem::path& path) {
  std::error_code status;
  const std::filesystem::file_status kind = std::filesystem::status(path, status);
  if (!std::filesystem::is_regular_file(kind)) {  // a pipe would block the one who opens it
    const char* reason = !std::filesystem::exists(kind)        ? "there is no such file"
                         : std::filesystem::is_directory(kind) ? "it is a folder; name a .npy file in it"
                                                               : "it is no regular file";
    return fail(ErrorCode::io_error, fmt::format("read_npy: cannot open '{}': {}", path.string(), reason));
  }
  std::ifstream file(path, std::ios::binary);
  const std::uintmax_t size = std::filesystem::file_size(path, status);
  if (!file || status)
    return fail(ErrorCode::io_error,
                fmt::format("read_npy: cannot open '{}': reading it is not permitted", path.string()));
  if (size == 0) return corrupt("'{}' is empty: 0 bytes", path.string());
  std::vector<std::byte> bytes(size);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  if (file.gcount() != static_cast<std::streamsize>(size))
    return fail(ErrorCode::io_error, fmt::format("read_npy: '{}' could not be read whole", path.string()));
  auto tensor = parse_npy(bytes);
  if (tensor) return tensor;
  return fail(tensor.error().code, fmt::format("{} ('{}')", tensor.error().message, path.string()));
}

std::vector<std::byte> format_npy(const HostTensor& tensor) {
  std::string text = header_text(tensor);
  std::string prefix(magic);
  prefix += {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  prefix += text;
  std::vector<std::byte> bytes(prefix.size() + tensor.byte_count());
  std::memcpy(bytes.data(), prefix.data(), prefix.size());
  if (tensor.byte_count() > 0) std::memcpy(bytes.data() + prefix.size(), tensor.data(), tensor.byte_count());
  return bytes;
}

Status write_npy(const std::filesystem::path& path, const HostTensor& tensor) {
  if (tensor.shape().rank() > largest_rank)
    return fail(ErrorCode::unsupported,
                fmt::format("write_npy: '{}' would have {} axes, and such files hold at most {}; reshape it",
                            path.string(), tensor.shape().rank(), largest_rank));
  std::filesystem::path temporary = path;
  temporary += fmt::format(".{}.part", ::getpid());
  std::vector<std::byte> bytes = format_npy(tensor);
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  std::error_code status;
  if (file) std::filesystem::rename(temporary, path, status);
  if (file && !status) return {};
  std::error_code ignored;
  std::filesystem::remove(temporary, ignored);
  return fail(
      ErrorCode::io_error,
      fmt::format("write_npy: cannot write '{}': does its folder exist, and is there space?", path.string()));
}

}  // namespace halyard::ops
