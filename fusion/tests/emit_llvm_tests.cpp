// Values: arithmetic, comparisons, casts.
#include <doctest/doctest.h>
#include <cmath>
#include <random>
#include <string>
#include "emit_llvm_harness.h"

using namespace halyard;
using namespace halyard::program;
using namespace halyard::fusion::tests;

namespace {

std::string test_name(const char* stem, Op op, ElementType element, unsigned lanes) {
  return std::string(stem) + std::to_string(static_cast<unsigned>(op)) + "_" + std::string(name(element)) +
         "_" + std::to_string(lanes);
}

constexpr std::size_t element_count = 320;

void check_binary(Op op, ElementType element, std::uint16_t lanes) {
  bool division = is_integer(element) && (op == Op::div || op == Op::rem);
  bool shift = op == Op::shl || op == Op::shr;
  Case what = lane_wise(
      test_name("binary", op, element, lanes), {element, element}, element, lanes, element_count,
      [&](Builder& b, const std::vector<ValueId>& v) {
        ValueId right = v[1];
        Type t = b.type(right);
        if (division)
          right = b.binary(Op::bit_or, b.binary(Op::bit_and, right, b.constant(t, 63)), b.constant(t, 1));
        if (shift)
          right =
              b.binary(Op::bit_and, right, b.constant(t, static_cast<double>(8 * byte_size(element) - 1)));
        return b.binary(op, v[0], right);
      });
  check_agrees(what);
}

}  // namespace

TEST_CASE("arithmetic on every type has the interpreter's bits") {
  for (ElementType element : all_elements) {
    if (element == ElementType::boolean) continue;
    for (Op op : {Op::add, Op::sub, Op::mul, Op::div, Op::rem}) {
      if (is_float(element) && op == Op::rem) continue;
      check_binary(op, element, 8);
    }
  }
}

TEST_CASE("vectors of 1, 2, 4, 16, 32 and 64 lanes compute as scalars do") {
  for (std::uint16_t lanes : {1, 2, 4, 16, 32, 64})
    for (ElementType element :
         {ElementType::f32, ElementType::f16, ElementType::bf16, ElementType::i32, ElementType::i64})
      check_binary(Op::add, element, lanes);
}

TEST_CASE("bits and shifts of integers") {
  for (ElementType element : all_elements) {
    if (is_float(element)) continue;
    for (Op op : {Op::bit_and, Op::bit_or, Op::bit_xor}) check_binary(op, element, 16);
    if (element == ElementType::boolean) continue;
    for (Op op : {Op::shl, Op::shr}) check_binary(op, element, 4);
  }
}

TEST_CASE("the upper half of a product") {
  for (ElementType element : {ElementType::i32, ElementType::u32, ElementType::i64, ElementType::u64})
    for (std::uint16_t lanes : {1, 8}) check_binary(Op::mul_high, element, lanes);
}

TEST_CASE("unary operations on every type that has them") {
  for (ElementType element : all_elements) {
    std::vector<Op> ops;
    if (is_float(element)) ops = {Op::neg, Op::abs, Op::sqrt, Op::floor, Op::ceil, Op::trunc, Op::round_even};
    if (is_integer(element)) ops = {Op::neg, Op::abs, Op::bit_not};
    if (is_integer(element) && !is_signed(element)) ops = {Op::bit_not};
    if (element == ElementType::boolean) ops = {Op::bit_not};
    for (Op op : ops)
      for (std::uint16_t lanes : {1, 8})
        check_agrees(lane_wise(test_name("unary", op, element, lanes), {element}, element, lanes,
                               element_count,
                               [&](Builder& b, const std::vector<ValueId>& v) { return b.unary(op, v[0]); }));
  }
}

TEST_CASE("fma rounds once in every float type, with and without the instruction") {
  for (ElementType element : {ElementType::f16, ElementType::bf16, ElementType::f32, ElementType::f64})
    for (std::uint16_t lanes : {1, 8}) {
      Case what =
          lane_wise(test_name("fma", Op::fma, element, lanes), {element, element, element}, element, lanes,
                    1920, [&](Builder& b, const std::vector<ValueId>& v) { return b.fma(v[0], v[1], v[2]); });
      if (element == ElementType::f64) what.program.note = "needs fma";
      check_agrees(what);
    }
}

TEST_CASE("comparisons are false on NaN, but for ne; selects choose per lane") {
  for (ElementType element : all_elements)
    for (Op op : {Op::eq, Op::ne, Op::lt, Op::le, Op::gt, Op::ge}) {
      if (element == ElementType::boolean && op != Op::eq && op != Op::ne) continue;
      check_agrees(lane_wise(
          test_name("compare", op, element, 8), {element, element}, ElementType::boolean, 8, element_count,
          [&](Builder& b, const std::vector<ValueId>& v) { return b.compare(op, v[0], v[1]); }));
      check_agrees(lane_wise(test_name("select", op, element, 8), {element, element}, element, 8,
                             element_count, [&](Builder& b, const std::vector<ValueId>& v) {
                               return b.select(b.compare(op, v[0], v[1]), v[1], v[0]);
                             }));
    }
}

TEST_CASE("casts between all pairs of types round once") {
  for (ElementType from : all_elements)
    for (ElementType to : all_elements) {
      if (from == to) continue;
      for (std::uint16_t lanes : {1, 8}) {
        bool bounded = is_float(from) && is_integer(to);
        std::string name = "cast_" + std::string(halyard::name(from)) + "_" + std::string(halyard::name(to)) +
                           "_" + std::to_string(lanes);
        Case what =
            lane_wise(name, {from}, to, lanes, element_count, [&](Builder& b, const std::vector<ValueId>& v) {
              if (!bounded) return b.cast(to, v[0]);
              // out of range is undefined: keep to values that every integer type holds
              ValueId value = v[0];
              Type t = b.type(value);
              ValueId inside =
                  b.binary(Op::bit_and, b.compare(Op::gt, value, b.constant(t, is_signed(to) ? -120 : -0.5)),
                           b.compare(Op::lt, value, b.constant(t, 120)));
              return b.cast(to, b.select(inside, value, b.constant(t, 3)));
            });
        check_agrees(what);
      }
    }
}

TEST_CASE("large floats become integers exactly") {
  for (ElementType to : {ElementType::i32, ElementType::u32, ElementType::i64, ElementType::u64}) {
    Case what = lane_wise("large_" + std::string(name(to)), {ElementType::f64}, to, 8, 64,
                          [&](Builder& b, const std::vector<ValueId>& v) { return b.cast(to, v[0]); });
    double limit = std::ldexp(1.0, static_cast<int>(8 * byte_size(to)) - (is_signed(to) ? 1 : 0));
    std::vector<double> values;
    std::mt19937_64 random(5);
    for (int i = 0; i < 64; ++i)
      values.push_back(limit * (static_cast<double>(random() >> 11) * 0x1p-53) *
                       (is_signed(to) && i % 2 ? -1 : 1));
    what.buffers[0] = bytes_of(values);
    check_agrees(what);
  }
}

TEST_CASE("bitcasts keep the bits, and a boolean is a byte") {
  auto check = [](ElementType from, std::uint16_t from_lanes, ElementType to, std::uint16_t to_lanes) {
    Builder b("bitcast_" + std::string(name(from)) + "_" + std::string(name(to)));
    MemoryRef in = b.buffer("in", from, Access::read);
    MemoryRef out = b.buffer("out", to, Access::write);
    b.store(out, b.i64(0), b.bitcast({to, to_lanes}, b.load(in, b.i64(0), from_lanes)));
    check_agrees(
        {std::move(b).finish(), {interesting(from, from_lanes), zeros(to, to_lanes)}, {1, 1, 1}, {}});
  };
  check(ElementType::f32, 8, ElementType::i32, 8);
  check(ElementType::i64, 4, ElementType::u16, 16);
  check(ElementType::f16, 8, ElementType::i32, 4);
  check(ElementType::bf16, 1, ElementType::u16, 1);
  check(ElementType::f64, 1, ElementType::u32, 2);
  check(ElementType::u8, 4, ElementType::f32, 1);
}
