#include <halyard/fusion/probe.h>

#include <halyard/base/half.h>
#include <halyard/program/builder.h>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <random>
#include <vector>
#include "probe_run.h"

namespace halyard::fusion {
namespace {

using hal::Fact;
using program::Builder;
using program::Op;
using program::ValueId;

Fact fact(bool holds) {
  return holds ? Fact::yes : Fact::no;
}

/// Numbers that rounding is hard on: random significands over a range of exponents, and a few special ones.
template <class Float, class Bits>
std::vector<Float> hard_numbers(std::size_t count, int exponents) {
  std::mt19937_64 random(7);
  std::vector<Float> numbers{Float(1), Float(-0.0), Float(3), Float(-7)};
  while (numbers.size() < count) {
    auto bits = static_cast<Bits>(random());
    Float mantissa =
        Float(1) + static_cast<Float>(bits >> 8) / static_cast<Float>(std::numeric_limits<Bits>::max());
    int exponent = static_cast<int>(random() % static_cast<std::uint64_t>(2 * exponents)) - exponents;
    numbers.push_back(std::ldexp(random() % 2 ? mantissa : -mantissa, exponent));
  }
  return numbers;
}

template <class Float>
struct FloatFacts {
  Fact fused_fma, keeps_subnormals, exact_add_multiply, exact_division, exact_sqrt, keeps_signed_zero;
};

/// What one lane computes for each pair (a, b): a + b, a * b, a / b, sqrt(|a|), fma(a, b, -round(a * b)), a -
/// b.
constexpr int results_per_pair = 6;

program::Program arithmetic_program(ElementType type) {
  Builder build("probe_arithmetic");
  auto in = build.buffer("pairs", type, program::Access::read);
  auto out = build.buffer("results", type, program::Access::write);
  ValueId count = build.parameter("count", ElementType::i32);
  build.for_loop(build.i32(0), count, build.i32(1), {}, [&](ValueId i, std::span<const ValueId>) {
    ValueId a = build.load(in, build.mul(i, build.i32(2)));
    ValueId b = build.load(in, build.add(build.mul(i, build.i32(2)), build.i32(1)));
    ValueId product = build.mul(a, b);
    const ValueId results[results_per_pair] = {build.add(a, b),
                                               product,
                                               build.div(a, b),
                                               build.unary(Op::sqrt, build.unary(Op::abs, a)),
                                               build.fma(a, b, build.unary(Op::neg, product)),
                                               build.sub(a, b)};
    ValueId base = build.mul(i, build.i32(results_per_pair));
    for (int k = 0; k < results_per_pair; ++k) build.store(out, build.add(base, build.i32(k)), results[k]);
    return std::vector<ValueId>{};
  });
  return std::move(build).finish();
}

template <class Float, class Bits>
Result<FloatFacts<Float>> probe_float(const std::shared_ptr<hal::Device>& device, ElementType type) {
  std::vector<Float> numbers = hard_numbers<Float, Bits>(256, 8);
  std::size_t normal_pairs = numbers.size() / 2;
  const Float least = std::numeric_limits<Float>::min();
  // Results below the least normal number, and operands below it.
  const Float subnormal[][2] = {
      {least, Float(0.5)}, {Float(1.5) * least, least}, {least / 4, Float(8)}, {least / 8, least / 8}};
  for (const auto& pair : subnormal) numbers.insert(numbers.end(), {pair[0], pair[1]});
  const Float zeros[][2] = {{Float(-0.0), Float(1)}, {Float(-0.0), Float(-0.0)}, {Float(0.0), Float(-3)}};
  for (const auto& pair : zeros) numbers.insert(numbers.end(), {pair[0], pair[1]});
  std::size_t pairs = numbers.size() / 2, subnormal_end = normal_pairs + std::size(subnormal);
  std::vector<Float> results(pairs * results_per_pair);
  HALYARD_TRY(run_probe(device, arithmetic_program(type), std::as_bytes(std::span(numbers)),
                        std::as_writable_bytes(std::span(results)), static_cast<std::int32_t>(pairs)));
  auto same = [](Float a, Float b) {
    return std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b) || (std::isnan(a) && std::isnan(b));
  };
  bool fused = false, exact = true, divides = true, roots = true, keeps = true, signs = true;
  for (std::size_t i = 0; i < pairs; ++i) {
    volatile Float a = numbers[2 * i], b = numbers[2 * i + 1];
    const Float* got = &results[i * results_per_pair];
    Float sum = a + b, product = a * b, quotient = a / b, root = std::sqrt(std::fabs(a)), difference = a - b;
    bool arithmetic = same(got[0], sum) && same(got[1], product) && same(got[5], difference);
    if (i < normal_pairs) {
      exact = exact && arithmetic;
      divides = divides && same(got[2], quotient);
      roots = roots && same(got[3], root);
      Float rest = std::fma(Float(a), Float(b), -product);
      if (rest != 0) fused = same(got[4], rest);
    } else if (i < subnormal_end) {
      keeps = keeps && arithmetic;
    } else {
      signs = signs && arithmetic;
    }
  }
  return FloatFacts<Float>{fact(fused), fact(keeps), fact(exact), fact(divides), fact(roots), fact(signs)};
}

/// How conversions to f16 round, and whether their subnormals survive.
struct HalfFacts {
  Fact rounds, keeps_subnormals;
};

Result<HalfFacts> probe_f16_rounding(const std::shared_ptr<hal::Device>& device) {
  Builder build("probe_f16_rounding");
  auto in = build.buffer("values", ElementType::f32, program::Access::read);
  auto out = build.buffer("results", ElementType::f32, program::Access::write);
  ValueId count = build.parameter("count", ElementType::i32);
  build.for_loop(build.i32(0), count, build.i32(1), {}, [&](ValueId i, std::span<const ValueId>) {
    ValueId narrow = build.cast(ElementType::f16, build.load(in, i));
    build.store(out, i, build.cast(ElementType::f32, narrow));
    return std::vector<ValueId>{};
  });
  std::vector<float> values = hard_numbers<float, std::uint32_t>(128, 18);
  for (float value :
       {1.0f + 0x1p-11f, 1.0f + 3 * 0x1p-11f, 65519.0f, 65520.0f, 0x1p-25f, 0x1.8p-25f, 0x1p-24f, 1e30f})
    values.push_back(value);
  std::vector<float> results(values.size());
  HALYARD_TRY(run_probe(device, std::move(build).finish(), std::as_bytes(std::span(values)),
                        std::as_writable_bytes(std::span(results)), static_cast<std::int32_t>(values.size()),
                        true));
  bool rounds = true, keeps = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    float expected = float_from_f16(f16_from_float(values[i]));
    bool subnormal = std::fabs(expected) < 0x1p-14f;
    bool same = std::bit_cast<std::uint32_t>(results[i]) == std::bit_cast<std::uint32_t>(expected);
    (subnormal ? keeps : rounds) &= same;
  }
  return HalfFacts{fact(rounds && keeps), fact(keeps)};
}

Result<Fact> probe_integer_conversion(const std::shared_ptr<hal::Device>& device) {
  Builder build("probe_integer_conversion");
  auto in = build.buffer("values", ElementType::i32, program::Access::read);
  auto out = build.buffer("results", ElementType::f32, program::Access::write);
  ValueId count = build.parameter("count", ElementType::i32);
  build.for_loop(build.i32(0), count, build.i32(1), {}, [&](ValueId i, std::span<const ValueId>) {
    build.store(out, i, build.cast(ElementType::f32, build.load(in, i)));
    return std::vector<ValueId>{};
  });
  std::vector<std::int32_t> values{0,        -1,         16777217,    16777219,  -16777217,
                                   33554434, 2147483647, -2147483647, 2147483583};
  std::vector<float> results(values.size());
  HALYARD_TRY(run_probe(device, std::move(build).finish(), std::as_bytes(std::span(values)),
                        std::as_writable_bytes(std::span(results)),
                        static_cast<std::int32_t>(values.size())));
  bool same = true;
  for (std::size_t i = 0; i < values.size(); ++i) same = same && results[i] == static_cast<float>(values[i]);
  return fact(same);
}

}  // namespace

Result<hal::NumericFacts> probe_numeric_facts(const std::shared_ptr<hal::Device>& device) {
  hal::NumericFacts facts;
  HALYARD_ASSIGN(auto single, (probe_float<float, std::uint32_t>(device, ElementType::f32)));
  facts.fused_fma = single.fused_fma;
  facts.keeps_subnormals = single.keeps_subnormals;
  facts.exact_add_multiply = single.exact_add_multiply;
  facts.exact_division = single.exact_division;
  facts.exact_sqrt = single.exact_sqrt;
  facts.keeps_signed_zero = single.keeps_signed_zero;
  HALYARD_ASSIGN(facts.converts_integers, probe_integer_conversion(device));
  // What follows is asked of devices that claim the type; a refusal leaves the fact unknown.
  const hal::DeviceInfo& info = device->info();
  if (info.arithmetic_types.has(ElementType::f64) && info.storage_types.has(ElementType::f64))
    if (auto twice = probe_float<double, std::uint64_t>(device, ElementType::f64)) {
      facts.fused_fma_f64 = twice->fused_fma;
      facts.keeps_subnormals_f64 = twice->keeps_subnormals;
    }
  if (info.arithmetic_types.has(ElementType::f16))
    if (auto half = probe_f16_rounding(device)) {
      facts.rounds_f16 = half->rounds;
      facts.keeps_subnormals_f16 = half->keeps_subnormals;
    }
  return facts;
}

void register_probes() {
  static std::once_flag once;
  std::call_once(once, [] {
    hal::set_prober({.version = "2", .run = probe_numeric_facts});
    hal::set_measurer({.version = "7", .run = measure_device});
  });
}

}  // namespace halyard::fusion
