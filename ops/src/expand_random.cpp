#include <utility>
#include "scalar_expression.h"

/// Philox 4×32-10 (J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as
/// 1, 2, 3", SC 2011): a counter-based generator of integer operations alone, so its bits are the same
/// everywhere.
namespace halyard::ops::expansion {
namespace {

constexpr int rounds = 10;
constexpr std::uint64_t multipliers[] = {0xd2511f53, 0xcd9e8d57};
constexpr std::uint64_t key_steps[] = {0x9e3779b9, 0xbb67ae85};  // the golden ratio, √3 − 1

Expr low_word(Expr x) {
  return x.cast(ElementType::u32);
}
Expr high_word(Expr x) {
  return (x >> 32).cast(ElementType::u32);
}

}  // namespace

Expr philox(Expr counter, Expr key) {
  Expr c[] = {low_word(counter), high_word(counter), low_word(counter).like_bits(0),
              low_word(counter).like_bits(0)};
  Expr k[] = {low_word(key), high_word(key)};
  for (int round = 0; round < rounds; ++round) {
    const Expr first = c[0].like_bits(multipliers[0]), second = c[0].like_bits(multipliers[1]);
    const Expr high_first = first.binary(program::Op::mul_high, c[0]), low_first = first * c[0];
    const Expr high_second = second.binary(program::Op::mul_high, c[2]), low_second = second * c[2];
    const Expr next[] = {high_second ^ c[1] ^ k[0], low_second, high_first ^ c[3] ^ k[1], low_first};
    for (int i = 0; i < 4; ++i) c[i] = next[i];
    for (int i = 0; i < 2; ++i) k[i] = k[i] + k[i].like_bits(key_steps[i]);
  }
  return c[0].cast(ElementType::u64) | (c[1].cast(ElementType::u64) << 32);
}

}  // namespace halyard::ops::expansion
