#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace halyard {

/// The type of one element of a tensor or of one lane of a value. The numbers are stable: files and the C ABI
/// carry them.
enum class ElementType : std::uint8_t {
  boolean = 0,  ///< stored as one byte, 0 or 1
  i8 = 1,
  i16 = 2,
  i32 = 3,
  i64 = 4,
  u8 = 5,
  u16 = 6,
  u32 = 7,
  u64 = 8,
  f16 = 9,    ///< IEEE 754 binary16
  bf16 = 10,  ///< the upper half of a binary32
  f32 = 11,
  f64 = 12,
};

struct ElementTypeFacts {
  std::string_view name;
  std::uint8_t bytes;
  bool is_float;
  bool is_signed;  ///< integers and floats with a sign
};

/// One row per `ElementType`, in the order of its numbers.
inline constexpr std::array<ElementTypeFacts, 13> element_type_facts{{
    {"bool", 1, false, false},
    {"i8", 1, false, true},
    {"i16", 2, false, true},
    {"i32", 4, false, true},
    {"i64", 8, false, true},
    {"u8", 1, false, false},
    {"u16", 2, false, false},
    {"u32", 4, false, false},
    {"u64", 8, false, false},
    {"f16", 2, true, true},
    {"bf16", 2, true, true},
    {"f32", 4, true, true},
    {"f64", 8, true, true},
}};

constexpr const ElementTypeFacts& facts(ElementType type) {
  return element_type_facts[static_cast<std::size_t>(type)];
}
constexpr std::string_view name(ElementType type) {
  return facts(type).name;
}
/// Bytes that one element takes in memory.
constexpr std::size_t byte_size(ElementType type) {
  return facts(type).bytes;
}
constexpr bool is_float(ElementType type) {
  return facts(type).is_float;
}
constexpr bool is_integer(ElementType type) {
  return !is_float(type) && type != ElementType::boolean;
}
constexpr bool is_signed(ElementType type) {
  return facts(type).is_signed;
}

/// The type named `text` ("f32", "bool", …), or nothing.
constexpr std::optional<ElementType> parse_element_type(std::string_view text) {
  for (std::size_t i = 0; i < element_type_facts.size(); ++i)
    if (element_type_facts[i].name == text) return static_cast<ElementType>(i);
  return std::nullopt;
}

}  // namespace halyard
