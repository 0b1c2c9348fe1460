#pragma once

#include <halyard/base/result.h>
#include <halyard/hal/plugin.h>
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <string>

namespace halyard::interpreter {

/// Fills a caller's HyError, which may be NULL or of another version, and gives its status.
HyStatus report(HyError* out, const Error& error);

/// The border of the C interface: a `Status` becomes a HyStatus, and no exception crosses.
template <class Body>
HyStatus at_border(HyError* out, Body&& body) noexcept {
  try {
    Status status = body();
    return status ? static_cast<HyStatus>(HY_OK) : report(out, status.error());
  } catch (const std::bad_alloc&) {
    return report(out, {ErrorCode::out_of_memory, "interpreter: the host is out of memory"});
  } catch (const std::exception& exception) {
    return report(out, {ErrorCode::internal, std::string("interpreter: ") + exception.what()});
  }
}

/// Element `i` of an array of sized structs from a caller of any version: fields it did not know read as
/// zero.
template <class Struct>
Struct element_of(const Struct* array, std::size_t i) {
  std::size_t stride = array->size ? array->size : sizeof(Struct);
  Struct value{};
  std::memcpy(&value, reinterpret_cast<const std::byte*>(array) + i * stride,
              std::min(stride, sizeof(Struct)));
  return value;
}
template <class Struct>
Struct read_sized(const Struct* from) {
  return element_of(from, 0);
}

/// Writes a struct to a caller who may know fewer fields (or more: those keep what they hold).
template <class Struct>
void write_sized(const Struct& from, Struct* to) {
  std::uint32_t size = std::min<std::uint32_t>(to->size ? to->size : sizeof(Struct), sizeof(Struct));
  std::memcpy(to, &from, size);
  to->size = size;
}

}  // namespace halyard::interpreter
