#pragma once

#include <halyard/ops/host_tensor.h>
#include <cstdint>
#include <optional>
#include <string_view>

/// The values that operands hold: fixed by a seed, the same on every machine.
namespace halyard::conformance {

/// A 64-bit hash of a text and a seed (xxHash).
std::uint64_t seed_of(std::string_view text, std::uint64_t seed);

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  /// splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
  std::uint64_t bits();
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(limit));
  }
  /// In [0, 1).
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

enum class Values : std::uint8_t {
  ordinary,    ///< floats of both signs around 1, and some of any magnitude; any integers; booleans
  moderate,    ///< floats in [−2, 2): for long sums
  factors,     ///< floats of both signs, of magnitudes around 1: long products neither overflow nor vanish
  small,       ///< integers in [−3, 3] (unsigned [0, 3]): sums of them are exact in every type
  special,     ///< zeros, infinities, NaN, extremes, halves, powers of two, and neighbours of those
  minus_zero,  ///< −0 in the first operand, 1 in all others: sums and products of nothing but −0
  sparse,  ///< zeros but for the last element and each `sparse_step`-th before it: for tensors of gigabytes
  all,     ///< every bit pattern in turn (16-bit types)
};

/// The values of that name, or nothing: `minus_zero` is called "minus-zero".
std::optional<Values> parse_values(std::string_view name);

/// A prime: what `sparse` touches falls on every row and column sooner or later.
inline constexpr std::int64_t sparse_step = 65521;

/// Fills a new tensor. `operand` and `operands` spread the special values, so that operand i of n takes every
/// value against every value of the others.
Result<ops::HostTensor> make_values(ElementType element, const ops::Shape& shape, Values values, int operand,
                                    Random& random, bool avoid_subnormals);
/// How many special values there are for a type.
std::int64_t special_count(ElementType element);

}  // namespace halyard::conformance
