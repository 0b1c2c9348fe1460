#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

/// Structs of the C interface carry their size, so that a host and a backend of different versions meet.
namespace halyard::hal::backend {

/// Element `i` of an array of sized structs that a caller of another version may have compiled: its elements
/// lie as far apart as their own `size` says, and fields that the caller did not know read as zero.
template <class Struct>
Struct element_of(const Struct* array, std::size_t i) {
  const std::size_t stride = array->size ? array->size : sizeof(Struct);
  Struct value{};
  std::memcpy(&value, reinterpret_cast<const std::byte*>(array) + i * stride,
              std::min(stride, sizeof(Struct)));
  return value;
}

/// One sized struct, read the same way.
template <class Struct>
Struct read_sized(const Struct* from) {
  return element_of(from, 0);
}

/// Writes a struct to a caller who may know fewer fields (or more: those keep what they hold).
template <class Struct>
void write_sized(const Struct& from, Struct* to) {
  const auto size = std::min<std::uint32_t>(to->size ? to->size : sizeof(Struct), sizeof(Struct));
  std::memcpy(to, &from, size);
  to->size = size;
}

/// Writes text to a field of characters, cut to its room and always closed.
template <std::size_t room>
void write_text(std::string_view text, char (&field)[room]) {
  const std::size_t length = std::min(room - 1, text.size());
  std::copy_n(text.data(), length, field);
  field[length] = '\0';
}

}  // namespace halyard::hal::backend
