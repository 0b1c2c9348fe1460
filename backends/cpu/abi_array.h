#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace halyard::cpu {

/// Element `i` of an array of sized structures that a caller of another version may have compiled: its
/// elements lie as far apart as their own `size` says, and fields that the caller did not know read as zero.
template <class Struct>
Struct element_of(const Struct* array, std::size_t i) {
  std::size_t stride = array->size ? array->size : sizeof(Struct);
  Struct value{};
  std::memcpy(&value, reinterpret_cast<const std::byte*>(array) + i * stride,
              std::min(stride, sizeof(Struct)));
  return value;
}

/// One sized structure, read the same way.
template <class Struct>
Struct read_sized(const Struct* from) {
  return element_of(from, 0);
}

}  // namespace halyard::cpu
