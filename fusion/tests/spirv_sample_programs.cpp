#include "spirv_sample_programs.h"

#include <halyard/base/half.h>
#include <halyard/program/builder.h>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

namespace halyard::fusion::testing {
namespace {

using program::Access;
using program::Builder;
using program::Builtin;
using program::MemoryRef;
using program::Op;
using program::Scope;
using program::Type;
using program::ValueId;
using Bytes = std::vector<std::byte>;

constexpr std::uint32_t workgroup = 32;
constexpr ElementType all_types[] = {
    ElementType::boolean, ElementType::i8,  ElementType::i16, ElementType::i32, ElementType::i64,
    ElementType::u8,      ElementType::u16, ElementType::u32, ElementType::u64, ElementType::f16,
    ElementType::bf16,    ElementType::f32, ElementType::f64,
};

void append(Bytes& bytes, std::uint64_t bits, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) bytes.push_back(static_cast<std::byte>(bits >> (8 * i)));
}

std::uint64_t float_bits(ElementType type, double value) {
  switch (type) {
    case ElementType::f16:
      return f16_from_double(value);
    case ElementType::bf16:
      return bf16_from_double(value);
    case ElementType::f32:
      return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    default:
      return std::bit_cast<std::uint64_t>(value);
  }
}

/// Numbers of one type: small and large ones, zeros, ties; no NaN and nothing subnormal in f32.
Bytes numbers(ElementType type, std::size_t count, unsigned seed, double largest = 3e4) {
  std::mt19937_64 random(seed);
  Bytes bytes;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t raw = random();
    if (type == ElementType::boolean) {
      append(bytes, raw & 1, 1);
    } else if (is_float(type)) {
      double magnitude = std::ldexp(static_cast<double>(raw >> 40) / 0x1p23, static_cast<int>(raw % 25) - 12);
      double value = std::fmin(magnitude, largest) * ((raw >> 20) & 1 ? -1 : 1);
      if (i % 7 == 3) value = std::trunc(value) + std::copysign(0.5, value);
      append(bytes, float_bits(type, i % 17 == 0 ? 0.0 : value), byte_size(type));
    } else {
      append(bytes, raw >> (raw % 5 == 0 ? 0 : (raw >> 8) % 60), byte_size(type));
    }
  }
  return bytes;
}

Bytes zeros(ElementType type, std::size_t count) {
  return Bytes(count * byte_size(type));
}

ValueId global_lane(Builder& b) {
  ValueId first = b.mul(b.builtin(Builtin::workgroup_x), b.i32(workgroup));
  return b.add(first, b.builtin(Builtin::lane));
}

Builder start(const std::string& name) {
  Builder b(name);
  b.program().workgroup_size[0] = workgroup;
  b.program().note = "a test kernel";
  return b;
}

/// a = b * c + d, `lanes` at a time, the last vector masked.
Sample triad(std::uint16_t lanes) {
  constexpr std::int32_t count = 1003;
  Builder b = start("triad" + std::to_string(lanes));
  MemoryRef a = b.buffer("a", ElementType::f32, Access::write);
  MemoryRef in[3] = {b.buffer("b", ElementType::f32, Access::read),
                     b.buffer("c", ElementType::f32, Access::read),
                     b.buffer("d", ElementType::f32, Access::read)};
  ValueId n = b.parameter("n", ElementType::i32);
  ValueId first = b.mul(global_lane(b), b.i32(lanes));
  ValueId within = b.add(b.splat(first, lanes), b.iota({ElementType::i32, lanes}));
  ValueId mask = b.compare(Op::lt, lanes == 1 ? first : within, b.splat(n, lanes));
  b.comment("masked on the last vector");
  ValueId x[3];
  for (int k = 0; k < 3; ++k) x[k] = b.load(in[k], first, lanes, mask, 4u * lanes);
  ValueId result = b.add(b.mul(x[0], x[1]), x[2]);
  b.note("the triad");
  b.store(a, first, result, mask, 4u * lanes);
  Sample s{std::move(b).finish()};
  s.grid[0] = (count + lanes * workgroup - 1) / (lanes * workgroup);
  s.buffers = {zeros(ElementType::f32, count)};
  for (unsigned k = 0; k < 3; ++k) s.buffers.push_back(numbers(ElementType::f32, count, k));
  append(s.scalars, count, 8);
  return s;
}

/// Every lane of each subgroup ends with the sum, folded by halving, of one value per lane.
Sample subgroup_sum(std::uint32_t size, ElementType type) {
  Builder b = start("subgroup_sum_" + std::string(name(type)));
  b.program().subgroup_size = size;
  MemoryRef x = b.buffer("x", type, Access::read);
  MemoryRef y = b.buffer("y", type, Access::write);
  ValueId place = global_lane(b);
  ValueId sum = b.load(x, place);
  for (std::uint32_t step = size / 2; step > 0; step /= 2) sum = b.add(sum, b.shuffle_xor(sum, step));
  ValueId last = b.broadcast_lane(sum, size - 1);
  ValueId turned = b.sub(b.i32(static_cast<std::int32_t>(size) - 1), b.builtin(Builtin::subgroup_lane));
  b.barrier(Scope::subgroup);
  b.store(y, place, b.add(b.add(sum, last), b.shuffle_lane(b.load(x, place), turned)));
  Sample s{std::move(b).finish()};
  s.grid[0] = 3;
  s.buffers = {numbers(type, 3 * workgroup, 5, 100), zeros(type, 3 * workgroup)};
  s.needs_f64 = type == ElementType::f64;
  return s;
}

/// Nested loops with carried values, a branch with results and one without.
Sample control(ElementType index) {
  Builder b = start("control_" + std::string(name(index)));
  MemoryRef y = b.buffer("y", ElementType::f32, Access::write);
  MemoryRef z = b.buffer("z", ElementType::i32, Access::write);
  ValueId n = b.parameter("n", index);
  ValueId place = global_lane(b);
  auto number = [&](std::int64_t v) { return b.constant_bits({index, 1}, static_cast<std::uint64_t>(v)); };
  ValueId two = b.splat(b.f32(1.0f), 8);
  auto result = b.for_loop(
      number(0), b.add(n, b.cast(index, place)), number(3), {two, b.i32(0)},
      [&](ValueId i, std::span<const ValueId> outer) -> std::vector<ValueId> {
        auto inner = b.for_loop(number(1), i, number(2), {outer[1]},
                                [&](ValueId j, std::span<const ValueId> sum) -> std::vector<ValueId> {
                                  return {b.add(sum[0], b.cast(ElementType::i32, j))};
                                });
        ValueId odd =
            b.compare(Op::ne, b.binary(Op::bit_and, b.cast(ElementType::i32, i), b.i32(1)), b.i32(0));
        auto chosen = b.if_else(
            odd,
            [&]() -> std::vector<ValueId> { return {b.mul(outer[0], b.splat(b.f32(1.5f), 8)), inner[0]}; },
            [&]() -> std::vector<ValueId> {
              return {b.add(outer[0], b.splat(b.cast(ElementType::f32, i), 8)), b.add(inner[0], b.i32(7))};
            });
        return {chosen[0], chosen[1]};
      });
  b.store(y, b.mul(place, b.i32(8)), result[0], program::no_value, 32);
  b.if_then(b.compare(Op::lt, place, b.i32(40)), [&] { b.store(z, place, result[1]); });
  Sample s{std::move(b).finish()};
  s.grid[0] = 2;
  s.buffers = {zeros(ElementType::f32, 2 * workgroup * 8), zeros(ElementType::i32, 2 * workgroup)};
  append(s.scalars, 10, 8);
  return s;
}

/// Each workgroup reverses its piece through shared memory.
Sample shared_reverse(ElementType type, std::uint16_t lanes) {
  Builder b = start("shared_reverse_" + std::string(name(type)) + "_x" + std::to_string(lanes));
  MemoryRef x = b.buffer("x", type, Access::read);
  MemoryRef y = b.buffer("y", type, Access::write);
  MemoryRef held = b.shared("held", type, workgroup * lanes);
  ValueId lane = b.builtin(Builtin::lane);
  auto alignment = static_cast<std::uint32_t>(lanes * byte_size(type));
  ValueId place = b.mul(global_lane(b), b.i32(lanes));
  b.store(held, b.mul(lane, b.i32(lanes)), b.load(x, place, lanes, program::no_value, alignment),
          program::no_value, alignment);
  b.barrier(Scope::workgroup);
  ValueId other = b.sub(b.i32(workgroup - 1), lane);
  b.store(y, place, b.load(held, b.mul(other, b.i32(lanes)), lanes, program::no_value, alignment),
          program::no_value, alignment);
  Sample s{std::move(b).finish()};
  s.grid[0] = 3;
  s.buffers = {numbers(type, 3 * workgroup * lanes, 9), zeros(type, 3 * workgroup * lanes)};
  s.needs_f64 = type == ElementType::f64;
  return s;
}

/// Floats that any integer type of the target can hold.
double largest_for(ElementType to) {
  if (is_float(to) || to == ElementType::boolean) return 6e4;
  return byte_size(to) == 1 ? 120 : 3e4;
}

Sample cast(ElementType from, ElementType to, std::uint16_t lanes) {
  Builder b = start("cast_" + std::string(name(from)) + "_" + std::string(name(to)));
  MemoryRef x = b.buffer("x", from, Access::read);
  MemoryRef y = b.buffer("y", to, Access::write);
  ValueId place = b.mul(global_lane(b), b.i32(lanes));
  ValueId value =
      b.load(x, place, lanes, program::no_value, static_cast<std::uint32_t>(lanes * byte_size(from)));
  if (is_float(from) && is_integer(to) && !is_signed(to)) value = b.unary(Op::abs, value);
  b.store(y, place, b.cast(to, value), program::no_value, static_cast<std::uint32_t>(lanes * byte_size(to)));
  Sample s{std::move(b).finish()};
  s.buffers = {numbers(from, workgroup * lanes, 21, largest_for(to)), zeros(to, workgroup * lanes)};
  s.needs_f64 = from == ElementType::f64 || to == ElementType::f64;
  return s;
}

/// There and back: compilers like to drop both conversions.
Sample round_trip(ElementType wide, ElementType narrow) {
  Builder b = start("round_trip_" + std::string(name(wide)) + "_" + std::string(name(narrow)));
  MemoryRef x = b.buffer("x", wide, Access::read);
  MemoryRef y = b.buffer("y", wide, Access::write);
  ValueId place = global_lane(b);
  b.store(y, place, b.cast(wide, b.cast(narrow, b.load(x, place))));
  Sample s{std::move(b).finish()};
  s.buffers = {{}, zeros(wide, workgroup)};
  for (std::uint32_t i = 0; i < workgroup; ++i)
    append(s.buffers[0],
           is_float(wide) ? float_bits(wide, 1.0 + (i + 1) * 0x1.000001p-9)
                          : (std::uint64_t{1} << (byte_size(wide) == 8 ? 40 : 27)) + 3 * i + 1,
           byte_size(wide));
  s.needs_f64 = wide == ElementType::f64 || narrow == ElementType::f64;
  return s;
}

/// Every lane-wise operation that an element type has, into one row each.
Sample arithmetic(ElementType type, std::uint16_t lanes) {
  Builder b = start("arithmetic_" + std::string(name(type)) + "_x" + std::to_string(lanes));
  MemoryRef x = b.buffer("x", type, Access::read);
  MemoryRef y = b.buffer("y", type, Access::read);
  MemoryRef out = b.buffer("out", type, Access::write);
  MemoryRef truth = b.buffer("truth", ElementType::boolean, Access::write);
  auto row = static_cast<std::int32_t>(workgroup * lanes);
  ValueId place = b.mul(b.builtin(Builtin::lane), b.i32(lanes));
  auto alignment = static_cast<std::uint32_t>(lanes * byte_size(type));
  ValueId p = b.load(x, place, lanes, program::no_value, alignment);
  ValueId q = b.load(y, place, lanes, program::no_value, alignment);
  std::vector<ValueId> results, truths;
  for (Op op : {Op::eq, Op::ne, Op::lt, Op::le, Op::gt, Op::ge}) truths.push_back(b.compare(op, p, q));
  if (is_float(type)) {
    for (Op op : {Op::add, Op::sub, Op::mul, Op::div}) results.push_back(b.binary(op, p, q));
    for (Op op : {Op::neg, Op::abs, Op::floor, Op::ceil, Op::trunc, Op::round_even})
      results.push_back(b.unary(op, p));
    results.push_back(b.unary(Op::sqrt, b.unary(Op::abs, p)));
    if (type == ElementType::f16 || type == ElementType::bf16) results.push_back(b.fma(p, q, p));
  } else {
    ValueId one = b.constant({type, lanes}, 1);
    ValueId small = b.constant({type, lanes}, 8 * static_cast<double>(byte_size(type)) - 1);
    ValueId amount = b.binary(Op::bit_and, q, small);
    // |q| | 1, kept away from MIN: neither zero nor -1 with MIN.
    ValueId divisor = b.binary(Op::bit_or, q, one);
    ValueId most = b.constant_bits({type, lanes}, ~std::uint64_t{0} >> (65 - 8 * byte_size(type)));
    ValueId dividend = is_signed(type) ? b.binary(Op::bit_and, p, most) : p;
    for (Op op : {Op::add, Op::sub, Op::mul, Op::bit_and, Op::bit_or, Op::bit_xor})
      results.push_back(b.binary(op, p, q));
    results.push_back(b.binary(Op::div, dividend, divisor));
    results.push_back(b.binary(Op::rem, dividend, divisor));
    results.push_back(b.binary(Op::rem, b.unary(Op::neg, dividend), b.binary(Op::bit_and, divisor, most)));
    for (Op op : {Op::neg, Op::abs, Op::bit_not}) results.push_back(b.unary(op, p));
    for (Op op : {Op::shl, Op::shr}) results.push_back(b.binary(op, p, amount));
    if (byte_size(type) >= 4) results.push_back(b.binary(Op::mul_high, p, q));
  }
  results.push_back(b.select(truths[2], p, q));
  for (std::size_t i = 0; i < results.size(); ++i)
    b.store(out, b.add(place, b.i32(static_cast<std::int32_t>(i) * row)), results[i], program::no_value,
            alignment);
  for (std::size_t i = 0; i < truths.size(); ++i)
    b.store(truth, b.add(place, b.i32(static_cast<std::int32_t>(i) * row)), truths[i], program::no_value,
            lanes);
  auto count = static_cast<std::size_t>(row);
  Sample s{std::move(b).finish()};
  s.buffers = {numbers(type, count, 31, 200), numbers(type, count, 32, 200),
               zeros(type, results.size() * count), zeros(ElementType::boolean, truths.size() * count)};
  if (is_float(type))  // no division by zero here: infinities are tested elsewhere
    for (std::size_t i = 0; i < count; i += 17)
      std::memcpy(s.buffers[1].data() + i * byte_size(type), s.buffers[1].data() + byte_size(type),
                  byte_size(type));
  s.needs_f64 = type == ElementType::f64;
  return s;
}

/// Elements moved one by one and in unaligned vectors, with masks, by 64-bit numbers.
Sample movement(ElementType type, ElementType index) {
  Builder b = start("movement_" + std::string(name(type)) + "_" + std::string(name(index)));
  MemoryRef x = b.buffer("x", type, Access::read);
  MemoryRef order = b.buffer("order", index, Access::read);
  MemoryRef y = b.buffer("y", type, Access::write);
  MemoryRef z = b.buffer("z", type, Access::write);
  ValueId place = b.mul(global_lane(b), b.i32(4));
  ValueId places =
      b.load(order, place, 4, program::no_value, static_cast<std::uint32_t>(4 * byte_size(index)));
  ValueId three = b.constant({index, 4}, 3);
  ValueId mask = b.compare(Op::ne, b.binary(Op::bit_and, places, three), three);
  b.scatter(y, places, b.gather(x, places, mask), mask);
  ValueId unaligned = b.add(b.cast(index, place), b.constant({index, 1}, 1));
  b.store(z, unaligned, b.load(x, unaligned, 4, mask), mask);
  Sample s{std::move(b).finish()};
  s.grid[0] = 2;
  std::uint32_t count = 2 * workgroup * 4;
  s.buffers = {numbers(type, count + 1, 41), {}, zeros(type, count + 1), zeros(type, count + 1)};
  for (std::uint32_t i = 0; i < count; ++i) append(s.buffers[1], (i * 37 + 5) % count, byte_size(index));
  s.needs_f64 = type == ElementType::f64;
  return s;
}

Sample vectors() {
  Builder b = start("vectors");
  MemoryRef x = b.buffer("x", ElementType::u32, Access::read);
  MemoryRef y = b.buffer("y", ElementType::u32, Access::write);
  ValueId lane = b.builtin(Builtin::lane);
  ValueId place = b.mul(lane, b.i32(8));
  ValueId v = b.load(x, place, 8, program::no_value, 32);
  std::vector<ValueId> results;
  results.push_back(b.shuffle(v, v, {7, 6, 5, 4, 3, 2, 1, 0}));
  results.push_back(b.shuffle(v, results[0], {0, 8, 1, 9, 2, 10, 3, 11}));
  results.push_back(b.insert(v, b.extract(v, 6), 1));
  results.push_back(b.concat(b.slice(v, 4, 4), b.slice(v, 2, 4)));
  ValueId bytes = b.bitcast({ElementType::u8, 32}, v);
  results.push_back(b.bitcast({ElementType::u32, 8}, b.add(bytes, b.constant({ElementType::u8, 32}, 200))));
  ValueId halves = b.bitcast({ElementType::i16, 16}, v);
  results.push_back(
      b.bitcast({ElementType::u32, 8}, b.binary(Op::shr, halves, b.constant({ElementType::i16, 16}, 3))));
  ValueId wide = b.bitcast({ElementType::i64, 4}, v);
  results.push_back(b.bitcast({ElementType::u32, 8}, b.mul(wide, b.iota({ElementType::i64, 4}, -2))));
  results.push_back(b.bitcast({ElementType::u32, 8}, b.bitcast({ElementType::f32, 8}, v)));
  for (std::size_t i = 0; i < results.size(); ++i)
    b.store(y, b.add(place, b.i32(static_cast<std::int32_t>(i * workgroup * 8))), results[i],
            program::no_value, 32);
  Sample s{std::move(b).finish()};
  s.buffers = {numbers(ElementType::u32, workgroup * 8, 51),
               zeros(ElementType::u32, results.size() * workgroup * 8)};
  return s;
}

/// Scalar parameters of every type; with `padding` more of them than push constants hold.
Sample parameters(std::uint32_t padding) {
  Builder b = start("parameters" + std::to_string(padding));
  MemoryRef y = b.buffer("y", ElementType::i64, Access::write);
  Sample s;
  std::vector<ValueId> values;
  for (std::uint32_t i = 0; i < padding; ++i) b.parameter("padding" + std::to_string(i), ElementType::f32);
  s.scalars.resize(4 * padding, std::byte{0x55});
  unsigned seed = 60;
  for (ElementType type : all_types) {
    if (type == ElementType::f64) continue;
    values.push_back(b.cast(ElementType::i64, b.parameter("p_" + std::string(name(type)), type)));
    while (s.scalars.size() % byte_size(type) != 0) s.scalars.push_back({});
    Bytes one = is_float(type) ? Bytes{} : numbers(type, 1, ++seed);
    if (is_float(type)) append(one, float_bits(type, -300.75), byte_size(type));
    s.scalars.insert(s.scalars.end(), one.begin(), one.end());
  }
  while (s.scalars.size() % 8 != 0) s.scalars.push_back({});
  ValueId lane = b.builtin(Builtin::lane);
  b.if_then(b.compare(Op::eq, lane, b.i32(0)), [&] {
    for (std::size_t i = 0; i < values.size(); ++i)
      b.store(y, b.i32(static_cast<std::int32_t>(i)), values[i]);
  });
  s.buffers = {zeros(ElementType::i64, values.size())};
  s.program = std::move(b).finish();
  return s;
}

}  // namespace

std::vector<Sample> sample_programs(std::uint32_t subgroup_size) {
  std::vector<Sample> samples;
  for (std::uint16_t lanes : {1, 2, 4, 8}) samples.push_back(triad(lanes));
  for (ElementType type : {ElementType::f32, ElementType::i32, ElementType::i64, ElementType::f16})
    samples.push_back(subgroup_sum(subgroup_size, type));
  for (ElementType type : {ElementType::i32, ElementType::i64}) samples.push_back(control(type));
  for (ElementType type : all_types) {
    samples.push_back(shared_reverse(type, type == ElementType::f32 ? 4 : 1));
    samples.push_back(movement(type, ElementType::i32));
    samples.push_back(movement(type, ElementType::i64));
    if (type != ElementType::boolean) samples.push_back(arithmetic(type, 1));
    for (ElementType to : all_types)
      if (to != type) samples.push_back(cast(type, to, to == ElementType::f32 ? 1 : 4));
  }
  for (ElementType type : {ElementType::f32, ElementType::f16, ElementType::i64, ElementType::u8})
    samples.push_back(arithmetic(type, 8));
  for (ElementType narrow : {ElementType::f16, ElementType::bf16})
    samples.push_back(round_trip(ElementType::f32, narrow));
  samples.push_back(round_trip(ElementType::f64, ElementType::f32));
  samples.push_back(round_trip(ElementType::f64, ElementType::bf16));
  for (ElementType wide : {ElementType::i32, ElementType::u32, ElementType::i64, ElementType::u64})
    samples.push_back(round_trip(wide, ElementType::f32));
  samples.push_back(vectors());
  samples.push_back(parameters(0));
  samples.push_back(parameters(100));
  return samples;
}

}  // namespace halyard::fusion::testing
