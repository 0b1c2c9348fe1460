#include "values.h"

#include <halyard/ops/primitive.h>
#include <xxhash.h>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "real.h"

namespace halyard::conformance {
namespace {

using ops::HostTensor;

std::uint64_t bits_of(ElementType element, double value) {
  return HostTensor::scalar(element, value).bits_at(0);
}

std::vector<std::uint64_t> special_floats(ElementType element) {
  const FloatFormat format = format_of(element);
  const double least = std::ldexp(1.0, format.least_exponent);
  const double unit = std::ldexp(1.0, 1 - format.digits);
  const double greatest = std::ldexp(2.0 - unit, format.greatest_exponent);
  std::vector<std::uint64_t> values;
  for (double magnitude : {0.0, 1.0, 0.5, 1.5, 2.5, 3.0, 1 + unit, 1 - unit / 2, least, 2 * least, greatest,
                           1 / unit, 2 / unit, 100.0, 65504.0, std::numeric_limits<double>::infinity()})
    for (double sign : {1.0, -1.0}) values.push_back(bits_of(element, sign * magnitude));
  for (double subnormal : {std::ldexp(unit, format.least_exponent), least * (1 - unit), least / 2})
    for (double sign : {1.0, -1.0}) values.push_back(bits_of(element, sign * subnormal));
  values.push_back(bits_of(element, std::numeric_limits<double>::quiet_NaN()));
  return values;
}

std::vector<std::uint64_t> special_integers(ElementType element) {
  const int width = static_cast<int>(8 * byte_size(element));
  const std::uint64_t mask = width == 64 ? ~0ull : (1ull << width) - 1;
  const std::uint64_t half = 1ull << (width - 1);
  std::vector<std::uint64_t> values;
  for (std::uint64_t base : {std::uint64_t{0}, half})
    for (std::int64_t step : {0, 1, 2, 3, 7, -1, -2, -3, -7})
      values.push_back((base + static_cast<std::uint64_t>(step)) & mask);
  for (int shift : {width / 2, width - 2, width})
    values.push_back((shift == width ? static_cast<std::uint64_t>(width) : 1ull << shift) & mask);
  return values;
}

std::vector<std::uint64_t> special_values(ElementType element) {
  if (element == ElementType::boolean) return {0, 1};
  return is_float(element) ? special_floats(element) : special_integers(element);
}

/// Two thirds lie around 1, the rest anywhere below 2^40 and above 2^-40 (as far as the type goes).
double ordinary_float(ElementType element, Random& random) {
  const FloatFormat format = format_of(element);
  const double sign = random.bits() % 2 == 0 ? 1 : -1;
  if (random.bits() % 3 != 0) return sign * 4 * random.unit();
  const int range = std::min(40, format.greatest_exponent - 1);
  return sign * std::ldexp(1 + random.unit(), static_cast<int>(random.below(2 * range)) - range);
}

std::uint64_t random_bits(ElementType element, Values values, Random& random) {
  if (element == ElementType::boolean) return random.bits() & 1;
  if (values == Values::small) {
    const auto value =
        static_cast<double>(random.below(is_signed(element) ? 7 : 4) - (is_signed(element) ? 3 : 0));
    return bits_of(element, value);
  }
  if (!is_float(element)) {
    const int width = static_cast<int>(8 * byte_size(element));
    const std::uint64_t bits = random.bits();
    // Half of them small, so that divisions and shifts meet their usual cases.
    if (bits % 2 == 0)
      return bits_of(element, static_cast<double>(random.below(20) - (is_signed(element) ? 10 : 0)));
    return width == 64 ? bits : bits >> (64 - width);
  }
  if (values == Values::moderate) return bits_of(element, 4 * random.unit() - 2);
  if (values == Values::factors) {
    const double sign = random.bits() % 2 == 0 ? 1 : -1;
    return bits_of(element, sign * std::exp2((random.unit() - 0.5) / 4));
  }
  return bits_of(element, ordinary_float(element, random));
}

/// Whether a value is subnormal, or so small that what a formula multiplies it with may be. f16 is computed
/// in f32, where none of its values is.
bool is_tiny(ElementType element, std::uint64_t bits) {
  if (!is_float(element) || element == ElementType::f16) return false;
  const FloatFormat format = format_of(ops::accumulator(element));
  const double value = std::fabs(HostTensor::scalar_bits(element, bits).at(0));
  return value != 0 && value < std::ldexp(1.0, format.least_exponent + format.digits);
}

}  // namespace

std::uint64_t seed_of(std::string_view text, std::uint64_t seed) {
  return XXH64(text.data(), text.size(), seed);
}

std::uint64_t Random::bits() {
  state_ += 0x9e3779b97f4a7c15ull;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

std::optional<Values> parse_values(std::string_view name) {
  constexpr std::string_view names[] = {"ordinary", "moderate",   "factors", "small",
                                        "special",  "minus-zero", "sparse",  "all"};
  for (std::size_t i = 0; i < std::size(names); ++i)
    if (name == names[i]) return static_cast<Values>(i);
  return std::nullopt;
}

std::int64_t special_count(ElementType element) {
  return static_cast<std::int64_t>(special_values(element).size());
}

Result<HostTensor> make_values(ElementType element, const ops::Shape& shape, Values values, int operand,
                               Random& random, bool avoid_subnormals) {
  HALYARD_ASSIGN(HostTensor tensor, HostTensor::allocate(element, shape));
  if (values == Values::sparse) {
    for (std::int64_t i = tensor.count() - 1; i >= 0; i -= sparse_step)
      tensor.set_bits_at(i, random_bits(element, Values::ordinary, random));
    return tensor;
  }
  const std::vector<std::uint64_t> special = special_values(element);
  const auto count = static_cast<std::int64_t>(special.size());
  std::int64_t stride = 1;
  for (int i = 0; i < operand; ++i) stride *= count;
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    std::uint64_t bits = 0;
    if (values == Values::special)
      bits = special[static_cast<std::size_t>((i / stride) % count)];
    else if (values == Values::minus_zero)
      bits = bits_of(element, operand == 0 ? -0.0 : 1.0);
    else if (values == Values::all)
      bits = static_cast<std::uint64_t>(i) & 0xffff;
    else
      bits = random_bits(element, values, random);
    if (avoid_subnormals && is_tiny(element, bits)) bits = 0;
    tensor.set_bits_at(i, bits);
  }
  return tensor;
}

}  // namespace halyard::conformance
