#include "emit_llvm_harness.h"

#include <doctest/doctest.h>
#include <halyard/base/half.h>
#include <halyard/program/interpret.h>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace halyard::fusion::tests {

using namespace program;

namespace {

std::uint64_t element_bits(const Bytes& bytes, ElementType element, std::size_t i) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + i * byte_size(element), byte_size(element));
  return bits;
}

bool is_nan(ElementType element, std::uint64_t bits) {
  switch (element) {
    case ElementType::f16:
      return (bits & 0x7fff) > 0x7c00;
    case ElementType::bf16:
      return (bits & 0x7fff) > 0x7f80;
    case ElementType::f32:
      return (bits & 0x7fffffff) > 0x7f800000;
    case ElementType::f64:
      return (bits & 0x7fffffffffffffff) > 0x7ff0000000000000;
    default:
      return false;
  }
}

void compare(const Case& what, const std::vector<Bytes>& expected, const std::vector<Bytes>& actual) {
  for (std::size_t b = 0; b < expected.size(); ++b) {
    ElementType element = what.program.buffers[b].element;
    std::size_t count = expected[b].size() / byte_size(element);
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t want = element_bits(expected[b], element, i);
      std::uint64_t got = element_bits(actual[b], element, i);
      if (want == got || (is_nan(element, want) && is_nan(element, got))) continue;
      INFO("buffer ", what.program.buffers[b].name, " element ", i, " of type ", std::string(name(element)));
      REQUIRE_EQ(got, want);
    }
  }
}

}  // namespace

CpuDevice& device() {
  static CpuDevice opened;
  return opened;
}

void check_agrees(const Case& what) {
  CAPTURE(what.program.name);
  auto interpreter = Interpreter::prepare(what.program);
  REQUIRE_MESSAGE(interpreter.has_value(), interpreter.error().message);
  std::vector<Bytes> expected = what.buffers;
  std::vector<BufferView> views;
  for (Bytes& bytes : expected) views.push_back({bytes.data(), bytes.size()});
  Status interpreted = interpreter->run(what.grid, views, what.scalars);
  REQUIRE_MESSAGE(interpreted.has_value(), interpreted.error().message);

  LlvmOptions plain = device().options();
  plain.has_fma = plain.has_half_conversion = false;
  bool needs_fma = what.program.note == "needs fma";
  for (const LlvmOptions& options : {device().options(), plain}) {
    if (needs_fma && !options.has_fma) continue;
    auto text = emit_llvm(what.program, options);
    REQUIRE_MESSAGE(text.has_value(), text.error().message);
    std::vector<Bytes> actual = what.buffers;
    Status ran = device().run(what.program, *text, what.grid, actual, what.scalars);
    if (!ran) MESSAGE(*text);
    REQUIRE_MESSAGE(ran.has_value(), ran.error().message);
    compare(what, expected, actual);
  }
}

Bytes interesting(ElementType element, std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed * 7919 + static_cast<unsigned>(element));
  std::vector<std::uint64_t> special;
  switch (element) {
    case ElementType::f16:
      special = {0, 0x8000, 0x3c00, 0xbc00, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 1, 0x03ff, 0x0400, 0x8001};
      break;
    case ElementType::bf16:
      special = {0, 0x8000, 0x3f80, 0xbf80, 0x7f7f, 0x7f80, 0xff80, 0x7fc0, 1, 0x007f, 0x0080, 0x8001};
      break;
    case ElementType::f32:
      for (float value : {0.0f,
                          -0.0f,
                          1.0f,
                          -1.5f,
                          2.5f,
                          0.5f,
                          65519.0f,
                          65520.0f,
                          65536.0f,
                          1e-45f,
                          1e-38f,
                          3.4e38f,
                          6e-8f,
                          2.98e-8f,
                          2.9e-8f,
                          1.00048828125f,
                          1.00390625f,
                          8388609.0f,
                          std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN()})
        special.push_back(std::bit_cast<std::uint32_t>(value));
      break;
    case ElementType::f64:
      for (double value :
           {0.0, -0.0, 1.0, -1.5, 1.0 + 0x1p-11 + 0x1p-40, 1.0 + 0x1p-8 + 0x1p-40, 65520.0, 65519.9999999,
            1e-320, 5e-324, 1e308, 3.4028235677973366e38, 0x1p-25, 0x1p-25 + 0x1p-60,
            std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
        special.push_back(std::bit_cast<std::uint64_t>(value));
      break;
    case ElementType::boolean:
      special = {0, 1};
      break;
    default:
      special = {0,
                 1,
                 ~0ull,
                 0x7f,
                 0x80,
                 0x7fff,
                 0x8000,
                 0x7fffffff,
                 0x80000000,
                 16777217,
                 (1ull << 53) + 1,
                 0x7fffffffffffffff,
                 1ull << 63,
                 65519,
                 65520,
                 65536,
                 0x0100800000000001ull,
                 0x0100800000000000ull,
                 0xfeff7fffffffffffull,
                 257,
                 0x8080000001};
  }
  Bytes bytes(count * byte_size(element));
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t bits = i < special.size() ? special[i] : random();
    if (element == ElementType::boolean) bits &= 1;
    bool moderate =
        is_float(element) && i >= special.size() && i % 3 != 0;  // of middling size, so that sums round
    if (moderate) {
      double value =
          std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), -62) * (1 << (random() % 8));
      bits = element == ElementType::f64   ? std::bit_cast<std::uint64_t>(value)
             : element == ElementType::f32 ? std::bit_cast<std::uint32_t>(static_cast<float>(value))
             : element == ElementType::f16 ? f16_from_double(value)
                                           : bf16_from_double(value);
    }
    std::memcpy(bytes.data() + i * byte_size(element), &bits, byte_size(element));
  }
  return bytes;
}

Bytes zeros(ElementType element, std::size_t count) {
  return Bytes(count * byte_size(element), std::byte{0x5a});
}

Case lane_wise(const std::string& name, std::vector<ElementType> inputs, ElementType output,
               std::uint16_t lanes, std::size_t count,
               const std::function<ValueId(Builder&, const std::vector<ValueId>&)>& compute) {
  Builder b(name);
  std::vector<MemoryRef> memory;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    memory.push_back(b.buffer("in" + std::to_string(i), inputs[i], Access::read));
  MemoryRef out = b.buffer("out", output, Access::write);
  ValueId first = b.mul(b.builtin(Builtin::workgroup_x), b.i32(lanes));
  std::vector<ValueId> values;
  for (MemoryRef input : memory) values.push_back(b.load(input, first, lanes));
  b.store(out, first, compute(b, values));
  Case result{std::move(b).finish(), {}, {static_cast<std::uint32_t>(count / lanes), 1, 1}, {}};
  for (std::size_t i = 0; i < inputs.size(); ++i)
    result.buffers.push_back(interesting(inputs[i], count, static_cast<unsigned>(i + 1)));
  result.buffers.push_back(zeros(output, count));
  return result;
}

}  // namespace halyard::fusion::tests
