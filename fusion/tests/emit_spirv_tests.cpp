#include "spirv_sample_programs.h"

#include <doctest/doctest.h>
#include <halyard/fusion/emit_spirv.h>
#include <halyard/program/builder.h>
#include <halyard/program/interpret.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <type_traits>

#include <spirv-tools/libspirv.hpp>
#include <spirv/unified1/spirv.hpp>

using namespace halyard;
using namespace halyard::fusion;
using halyard::fusion::testing::Sample;
using halyard::fusion::testing::sample_programs;

namespace {

constexpr ElementTypes every_type = (1u << element_type_facts.size()) - 1;
constexpr ElementTypes words_only = (1u << 0) | (1u << 3) | (1u << 7) | (1u << 11);  // bool, i32, u32, f32

/// What is offered by a rich device, one that trusts its f16, and one with 32-bit types alone.
std::vector<std::pair<const char*, DeviceFacts>> devices() {
  return {{"all types", {every_type, every_type, false}},
          {"all types, trusted f16", {every_type, every_type, true}},
          {"words only", {words_only, words_only, false}},
          {"inexact division", {every_type, every_type, false, false, false}}};
}

std::string validate(const std::vector<std::uint32_t>& words) {
  std::string messages;
  spvtools::SpirvTools tools(SPV_ENV_VULKAN_1_2);
  tools.SetMessageConsumer(
      [&](spv_message_level_t, const char*, const spv_position_t& where, const char* text) {
        messages += std::to_string(where.index) + ": " + text + "\n";
      });
  if (tools.Validate(words)) return {};
  std::string text;
  tools.Disassemble(words, &text);
  return messages + text.substr(0, 20000);
}

std::vector<std::vector<std::byte>> interpreted(const Sample& sample, const program::Program& program) {
  auto interpreter = program::Interpreter::prepare(program);
  if (!interpreter) FAIL(program.name << ": " << interpreter.error().message);
  auto buffers = sample.buffers;
  std::vector<program::BufferView> views;
  for (auto& bytes : buffers) views.push_back({bytes.data(), bytes.size()});
  auto ran = interpreter->run(sample.grid, views, sample.scalars);
  if (!ran) FAIL(program.name << ": " << ran.error().message);
  return buffers;
}

bool has_opcode(const std::vector<std::uint32_t>& words, spv::Op opcode) {
  for (std::size_t at = 5; at < words.size(); at += words[at] >> 16)
    if ((words[at] & 0xffffu) == static_cast<std::uint32_t>(opcode)) return true;
  return false;
}

}  // namespace

TEST_CASE("every sample program becomes valid SPIR-V, for each device and binding model") {
  for (const auto& [label, facts] : devices()) {
    for (SpirvBinding binding : {SpirvBinding::descriptors, SpirvBinding::device_addresses}) {
      for (const Sample& sample : sample_programs(8)) {
        if (sample.needs_f64 && !contains(facts.arithmetic_types, ElementType::f64)) continue;
        CAPTURE(label);
        CAPTURE(sample.program.name);
        SpirvOptions options{.binding = binding,
                             .facts = facts,
                             .keeps_subnormals = every_type,
                             .rounds_to_even = every_type,
                             .keeps_nan = every_type};
        auto words = emit_spirv(sample.program, options);
        REQUIRE_MESSAGE(words.has_value(), words.error().message);
        CHECK(validate(*words) == "");
      }
    }
  }
}

TEST_CASE("a legalized program computes the same bits as the original") {
  for (const auto& [label, facts] : devices()) {
    for (const Sample& sample : sample_programs(8)) {
      if (sample.needs_f64 && !contains(facts.arithmetic_types, ElementType::f64)) continue;
      CAPTURE(label);
      CAPTURE(sample.program.name);
      auto legal = legalize(sample.program, facts);
      REQUIRE_MESSAGE(legal.has_value(), legal.error().message);
      CHECK(interpreted(sample, sample.program) == interpreted(sample, *legal));
    }
  }
}

TEST_CASE("mended division and square root are exact for any operands, subnormal and special ones too") {
  constexpr std::uint32_t count = 1 << 15;
  program::Builder b("exact");
  auto x = b.buffer("x", ElementType::f32, program::Access::read);
  auto y = b.buffer("y", ElementType::f32, program::Access::read);
  auto quotients = b.buffer("quotients", ElementType::f32, program::Access::write);
  auto roots = b.buffer("roots", ElementType::f32, program::Access::write);
  auto place = b.mul(b.builtin(program::Builtin::workgroup_x), b.i32(8));
  auto p = b.load(x, place, 8);
  b.store(quotients, place, b.div(p, b.load(y, place, 8)));
  b.store(roots, place, b.unary(program::Op::sqrt, p));
  Sample sample{std::move(b).finish()};
  sample.grid[0] = count / 8;
  sample.buffers.assign(4, std::vector<std::byte>(4 * count));
  std::mt19937 random(7);
  const std::uint32_t specials[] = {0,          0x80000000, 1,          0x807fffff, 0x00800000, 0x7f7fffff,
                                    0x7f800000, 0xff800000, 0x7fc00000, 0x3f800000, 0x3f7fffff, 0x3f800001};
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t bits[2] = {static_cast<std::uint32_t>(random()), static_cast<std::uint32_t>(random())};
    if (i < 144) {
      bits[0] = specials[i / 12];
      bits[1] = specials[i % 12];
    } else if (i % 4 == 0) {  // quotients near and below the smallest normal number
      bits[0] = (bits[0] & 0x80ffffff) | 0x10000000;
      bits[1] = (bits[1] & 0x80ffffff) | 0x46000000 | (i % 32) << 23;
    } else if (i % 4 == 1) {
      bits[0] &= 0x7fffffff;
    }
    for (std::size_t k = 0; k < 2; ++k) std::memcpy(sample.buffers[k].data() + 4 * i, &bits[k], 4);
  }
  auto legal = legalize(sample.program, {every_type, every_type, false, false, false});
  REQUIRE(legal.has_value());
  auto expected = interpreted(sample, sample.program);
  auto mended = interpreted(sample, *legal);
  std::size_t wrong = 0;
  for (std::size_t buffer : {2, 3})
    for (std::uint32_t i = 0; i < count; ++i) {
      float a, c;
      std::memcpy(&a, expected[buffer].data() + 4 * i, 4);
      std::memcpy(&c, mended[buffer].data() + 4 * i, 4);
      bool same =
          std::isnan(a) ? std::isnan(c) : std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(c);
      wrong += same ? 0 : 1;
    }
  CHECK(wrong == 0);
}

TEST_CASE_TEMPLATE("an fma computed in integers rounds once, for any operands", T, float, double) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr ElementType element = sizeof(T) == 4 ? ElementType::f32 : ElementType::f64;
  constexpr std::uint32_t count = 1 << 16;
  program::Builder b("fma");
  program::MemoryRef in[3];
  for (int k = 0; k < 3; ++k) in[k] = b.buffer(std::string(1, "xyz"[k]), element, program::Access::read);
  auto out = b.buffer("out", element, program::Access::write);
  auto place = b.mul(b.builtin(program::Builtin::workgroup_x), b.i32(8));
  b.store(out, place, b.fma(b.load(in[0], place, 8), b.load(in[1], place, 8), b.load(in[2], place, 8)));
  Sample sample{std::move(b).finish()};
  sample.grid[0] = count / 8;

  using Limits = std::numeric_limits<T>;
  std::vector<T> specials{0,
                          Limits::denorm_min(),
                          Limits::min(),
                          1,
                          Limits::epsilon(),
                          1 + Limits::epsilon(),
                          Limits::max(),
                          Limits::infinity(),
                          Limits::quiet_NaN()};
  for (std::size_t i = 0, n = specials.size(); i < n; ++i) specials.push_back(-specials[i]);
  std::mt19937_64 random(11);
  std::vector<T> operands[3];
  for (std::uint32_t i = 0; i < count; ++i) {
    T x[3];
    for (T& each : x) each = std::bit_cast<T>(static_cast<Bits>(random()));
    const std::size_t n = specials.size();
    if (i < n * n * n) {
      x[0] = specials[i / (n * n)], x[1] = specials[i / n % n], x[2] = specials[i % n];
    } else if (i % 4 >
               0) {  // the addend near the product, from far above to far below and to what cancels it
      const int apart = static_cast<int>(random() % (4 * Limits::digits)) - 2 * Limits::digits;
      x[2] = i % 4 == 1 ? -(x[0] * x[1]) : std::ldexp(x[0] * x[1], apart) * (i % 4 == 2 ? T{1} : T{-0.75f});
    }
    if (i % 8 == 7) {  // a product among the subnormals
      const int exponent = Limits::min_exponent - static_cast<int>(random() % Limits::digits);
      x[0] = std::ldexp(T{1} + std::ldexp(T(random() % 1000003), -21), exponent / 2);
      x[1] = std::ldexp(T{1} + std::ldexp(T(random() % 1000003), -21), exponent - exponent / 2);
    }
    for (int k = 0; k < 3; ++k) operands[k].push_back(x[k]);
  }
  for (const std::vector<T>& each : operands) {
    const auto bytes = std::as_bytes(std::span(each));
    sample.buffers.emplace_back(bytes.begin(), bytes.end());
  }
  sample.buffers.emplace_back(count * sizeof(T));
  DeviceFacts facts{every_type, every_type};
  facts.fused_fma = facts.fused_fma_f64 = false;
  auto legal = legalize(sample.program, facts);
  REQUIRE_MESSAGE(legal.has_value(), legal.error().message);
  const auto computed = interpreted(sample, *legal)[3];
  std::size_t wrong = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    T got;
    std::memcpy(&got, computed.data() + i * sizeof(T), sizeof(T));
    const T exact = std::fma(operands[0][i], operands[1][i], operands[2][i]);
    const bool same =
        std::isnan(exact) ? std::isnan(got) : std::bit_cast<Bits>(exact) == std::bit_cast<Bits>(got);
    if (!same && ++wrong < 4)
      MESSAGE("fma(" << operands[0][i] << ", " << operands[1][i] << ", " << operands[2][i] << ") gave " << got
                     << ", not " << exact);
  }
  CHECK(wrong == 0);
}

TEST_CASE("an f64 fma without 64-bit integers is refused with a remedy") {
  program::Builder b("fma");
  auto x = b.buffer("x", ElementType::f64, program::Access::read_write);
  auto value = b.load(x, b.i32(0), 1);
  b.store(x, b.i32(0), b.fma(value, value, value));
  DeviceFacts facts{every_type, words_only | element_bit(ElementType::f64)};
  facts.fused_fma_f64 = false;
  auto refused = legalize(std::move(b).finish(), facts);
  REQUIRE(!refused.has_value());
  CHECK(refused.error().code == ErrorCode::unsupported);
  CHECK(refused.error().message.find("numerics mode 'standard'") != std::string::npos);
}

TEST_CASE("a program that needs f64 is refused where the device has none, with a remedy") {
  for (const Sample& sample : sample_programs(8)) {
    if (!sample.needs_f64) continue;
    SpirvOptions options{.facts = {words_only, words_only, false}};
    auto words = emit_spirv(sample.program, options);
    REQUIRE(!words.has_value());
    CHECK(words.error().code == ErrorCode::unsupported);
    CHECK(words.error().message.find("f64") != std::string::npos);
    break;
  }
}

TEST_CASE("emission is deterministic and names do not change what runs") {
  Sample sample = sample_programs(8)[2];
  SpirvOptions options{.facts = {every_type, every_type, false}};
  auto first = emit_spirv(sample.program, options);
  auto second = emit_spirv(sample.program, options);
  REQUIRE(first.has_value());
  CHECK(*first == *second);
  CHECK(has_opcode(*first, spv::OpName));
  options.names = false;
  auto bare = emit_spirv(sample.program, options);
  CHECK(!has_opcode(*bare, spv::OpName));
  CHECK(bare->size() < first->size());
}

TEST_CASE("a workgroup that is one subgroup needs no workgroup barrier") {
  for (const Sample& sample : sample_programs(32)) {
    if (sample.program.name != "shared_reverse_f32_x4") continue;
    SpirvOptions options{.facts = {every_type, every_type, false}};
    program::Program program = sample.program;
    program.subgroup_size = 32;
    spvtools::SpirvTools tools(SPV_ENV_VULKAN_1_2);
    std::string narrow, wide;
    tools.Disassemble(*emit_spirv(program, options), &narrow);
    program.subgroup_size = 8;
    tools.Disassemble(*emit_spirv(program, options), &wide);
    CHECK(narrow.find("OpControlBarrier %uint_3 %uint_3") != std::string::npos);
    CHECK(wide.find("OpControlBarrier %uint_2 %uint_2") != std::string::npos);
  }
}
