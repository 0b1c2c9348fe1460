#pragma once

#include <halyard/base/element_type.h>
#include <halyard/base/half.h>
#include <cstdint>
#include <type_traits>

namespace halyard::program {

/// How an element is stored and in which type it is computed.
template <class T>
struct Plain {
  using Stored = T;
  using Computed = T;
  static constexpr T get(T stored) { return stored; }
  static constexpr T put(T computed) { return computed; }
};
struct Boolean {
  using Stored = std::uint8_t;
  using Computed = bool;
  static constexpr bool get(std::uint8_t stored) { return stored != 0; }
  static constexpr std::uint8_t put(bool computed) { return computed; }
};
/// One operation of + - x / sqrt on binary32 rounded to binary16 or bfloat16 is correctly rounded there, as
/// 24 >= 2 * 11 + 2 (S. Figueroa, "When is double rounding innocuous?", 1995).
struct F16 {
  using Stored = std::uint16_t;
  using Computed = float;
  static constexpr float get(std::uint16_t stored) { return float_from_f16(stored); }
  static constexpr std::uint16_t put(float computed) { return f16_from_float(computed); }
};
struct BF16 {
  using Stored = std::uint16_t;
  using Computed = float;
  static constexpr float get(std::uint16_t stored) { return float_from_bf16(stored); }
  static constexpr std::uint16_t put(float computed) { return bf16_from_float(computed); }
};

/// Calls `visit` with the element's representation (a `Plain<…>`, `Boolean`, `F16` or `BF16`).
template <class Visit>
auto with_element(ElementType element, Visit visit) {
  switch (element) {
    case ElementType::boolean:
      return visit(Boolean{});
    case ElementType::i8:
      return visit(Plain<std::int8_t>{});
    case ElementType::i16:
      return visit(Plain<std::int16_t>{});
    case ElementType::i32:
      return visit(Plain<std::int32_t>{});
    case ElementType::i64:
      return visit(Plain<std::int64_t>{});
    case ElementType::u8:
      return visit(Plain<std::uint8_t>{});
    case ElementType::u16:
      return visit(Plain<std::uint16_t>{});
    case ElementType::u32:
      return visit(Plain<std::uint32_t>{});
    case ElementType::u64:
      return visit(Plain<std::uint64_t>{});
    case ElementType::f16:
      return visit(F16{});
    case ElementType::bf16:
      return visit(BF16{});
    case ElementType::f32:
      return visit(Plain<float>{});
    case ElementType::f64:
      return visit(Plain<double>{});
  }
  __builtin_unreachable();
}

}  // namespace halyard::program
