#include <doctest/doctest.h>
#include <halyard/base/half.h>
#include <halyard/program/builder.h>
#include <halyard/program/interpret.h>
#include <halyard/program/text.h>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "sample_programs.h"

namespace halyard::program {
namespace {

template <class T>
BufferView view(std::vector<T>& values) {
  return {values.data(), values.size() * sizeof(T)};
}

/// A scalar block: each value at the next multiple of its size.
class Scalars {
 public:
  template <class T>
  Scalars& add(T value) {
    bytes_.resize((bytes_.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T));
    std::byte raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    bytes_.insert(bytes_.end(), raw, raw + sizeof(T));
    return *this;
  }
  std::vector<std::byte> block() const {
    std::vector<std::byte> block = bytes_;
    block.resize((block.size() + 7) / 8 * 8);
    return block;
  }

 private:
  std::vector<std::byte> bytes_;
};

Status run(Program program, std::array<std::uint32_t, 3> grid, std::vector<BufferView> buffers,
           const Scalars& scalars = {}, InterpreterOptions options = {}) {
  std::string text = to_text(program);
  CAPTURE(text);
  Result<Interpreter> interpreter = Interpreter::prepare(std::move(program), options);
  REQUIRE_MESSAGE(interpreter, interpreter.error().message);
  return interpreter->run(grid, buffers, scalars.block());
}

std::vector<float> random_floats(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-2, 2);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(random);
  return values;
}

bool mentions(const Status& status, std::string_view what) {
  if (status) return false;
  CAPTURE(status.error().message);
  INFO(status.error().message);
  return status.error().message.find(what) != std::string::npos;
}

/// One instruction on scalars of one element type: out[0] = op(in0[0], in1[0], in2[0]).
template <class T>
T compute(Op op, ElementType element, std::vector<T> operands) {
  Builder b("k");
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < operands.size(); ++i)
    values.push_back(b.load(b.buffer(std::string("in") + char('0' + i), element, Access::read), b.i32(0)));
  MemoryRef out = b.buffer("out", element, Access::write);
  ValueId result = values.size() == 1   ? b.unary(op, values[0])
                   : values.size() == 2 ? b.binary(op, values[0], values[1])
                                        : b.fma(values[0], values[1], values[2]);
  b.store(out, b.i32(0), result);
  std::vector<BufferView> views;
  for (T& operand : operands) views.push_back({&operand, sizeof(T)});
  T answer{};
  views.push_back({&answer, sizeof(T)});
  Status status = run(std::move(b).finish(), {1, 1, 1}, views);
  REQUIRE_MESSAGE(status, status.error().message);
  return answer;
}

template <class From, class To>
To convert(ElementType from, ElementType to, From value) {
  Builder b("k");
  MemoryRef in = b.buffer("in", from, Access::read);
  MemoryRef out = b.buffer("out", to, Access::write);
  b.store(out, b.i32(0), b.cast(to, b.load(in, b.i32(0))));
  To answer{};
  Status status = run(std::move(b).finish(), {1, 1, 1}, {{&value, sizeof value}, {&answer, sizeof answer}});
  REQUIRE_MESSAGE(status, status.error().message);
  return answer;
}

}  // namespace

TEST_CASE("lanes beyond the end take no part, and a product is rounded before it is added") {
  std::vector<float> x = random_floats(1000, 1);
  std::vector<float> y = random_floats(1000, 2);
  std::vector<float> expected = y;
  for (std::size_t i = 0; i < 900; ++i) {
    volatile float product = 1.7f * x[i];
    expected[i] = product + y[i];
  }
  Status status = run(samples::scaled_sum(), {16, 1, 1}, {view(x), view(y)}, Scalars().add(1.7f).add(900));
  REQUIRE_MESSAGE(status, status.error().message);
  CHECK(y == expected);
}

TEST_CASE("a row sum through shared memory, shuffles and barriers has the order the program states") {
  constexpr int rows = 3;
  for (int columns : {1, 100, 128, 1000}) {
    std::vector<float> x = random_floats(static_cast<std::size_t>(rows * columns), 3);
    std::vector<float> y(x.size(), -1);
    Status status = run(samples::subtract_row_sum(), {rows, 1, 1}, {view(x), view(y)}, Scalars().add(columns),
                        {.report_uninitialized_shared = true, .report_shared_races = true});
    REQUIRE_MESSAGE(status, status.error().message);
    for (int row = 0; row < rows; ++row) {
      float lanes[128] = {};
      for (int i = 0; i < columns; ++i) lanes[i % 128] += x[static_cast<std::size_t>(row * columns + i)];
      for (int width = 64; width > 0; width /= 2)
        for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
      for (int i = 0; i < columns; ++i) {
        auto at = static_cast<std::size_t>(row * columns + i);
        REQUIRE(y[at] == x[at] - lanes[0]);
      }
    }
  }
}

TEST_CASE("vectors: masked tails, swapped carried values, shuffles and nested control flow") {
  std::vector<std::uint16_t> x;
  for (int i = 0; i < 37; ++i) x.push_back(f16_from_float(static_cast<float>(i) * 0.25f));
  std::vector<float> y(37, -1);
  Status status =
      run(samples::vector_chain(), {1, 1, 1}, {view(x), view(y)}, Scalars().add(std::int64_t{37}));
  REQUIRE_MESSAGE(status, status.error().message);
  for (std::size_t i = 0; i < 37; ++i) {
    float value = static_cast<float>(i) * 0.25f;
    // Trips 0 and 1 reverse; from the third on x * second + first with (first, second) = (0, 1), (1, 0) …
    float expected = i < 16 ? 0.25f * static_cast<float>(i - i % 8 + 7 - i % 8) : (i / 8 % 2 ? 1.f : value);
    CHECK(y[i] == expected);
  }
}

TEST_CASE("each lane leaves a loop by its own bound and keeps what it carried") {
  Builder b("collatz_like");
  b.program().workgroup_size[0] = 64;
  MemoryRef out = b.buffer("out", ElementType::i32, Access::write);
  ValueId lane = b.builtin(Builtin::lane);
  std::vector<ValueId> results = b.for_loop(
      b.i32(0), lane, b.i32(1), {b.i32(0), b.i32(1)}, [&](ValueId i, std::span<const ValueId> pair) {
        ValueId odd = b.compare(Op::eq, b.binary(Op::bit_and, i, b.i32(1)), b.i32(1));
        ValueId next = b.if_else(
            odd, [&] { return std::vector{b.add(pair[0], pair[1])}; },
            [&] {
              return std::vector{b.for_loop(b.i32(0), lane, b.i32(16), {pair[1]},
                                            [&](ValueId, std::span<const ValueId> inner) {
                                              return std::vector{b.add(inner[0], b.i32(1))};
                                            })[0]};
            })[0];
        return std::vector{pair[1], next};
      });
  b.store(out, lane, b.add(results[0], b.mul(results[1], b.i32(1000))));
  std::vector<std::int32_t> answer(64, -1);
  Status status = run(std::move(b).finish(), {1, 1, 1}, {view(answer)});
  REQUIRE_MESSAGE(status, status.error().message);
  for (int lane_number = 0; lane_number < 64; ++lane_number) {
    std::uint32_t first = 0;
    std::uint32_t second = 1;
    for (int i = 0; i < lane_number; ++i) {
      std::uint32_t next = i % 2 ? first + second : second;
      if (i % 2 == 0)
        for (int k = 0; k < lane_number; k += 16) ++next;
      first = second;
      second = next;
    }
    CHECK(answer[static_cast<std::size_t>(lane_number)] == static_cast<std::int32_t>(first + second * 1000));
  }
}

TEST_CASE("a constant inside a loop survives every trip and every workgroup") {
  Result<Program> program = parse_text(R"(kernel k workgroup(4, 1, 1) subgroup(0)
buffer y : f32 read_write
{
  %0 : i32 = builtin lane
  %1 : i32 = constant 0x0
  %2 : i32 = constant 0x3
  %3 : i32 = constant 0x1
  for %4 : i32 = %1 to %2 step %3 {
    %5 : f32 = load y[%0]
    %6 : f32 = add %5, %5
    %7 : f32 = sub %6, %5
    %8 : f32 = constant 0x40400000
    %9 : f32 = add %7, %8
    store y[%0], %9 : f32
    yield
  }
}
)");
  REQUIRE_MESSAGE(program, program.error().message);
  std::vector<float> y(4, 1);
  REQUIRE(run(*program, {5, 1, 1}, {view(y)}));
  CHECK(y == std::vector<float>(4, 1 + 15 * 3));
}

TEST_CASE("one value may have a thousand lanes") {
  Builder b("wide");
  MemoryRef x = b.buffer("x", ElementType::f32, Access::read);
  MemoryRef y = b.buffer("y", ElementType::f32, Access::write);
  ValueId at = b.mul(b.builtin(Builtin::workgroup_x), b.i32(1024));
  ValueId value = b.load(x, at, 1024);
  ValueId positive = b.compare(Op::gt, value, b.constant_like(value, 0));
  b.store(y, at, b.select(positive, b.unary(Op::sqrt, value), b.constant_like(value, 0)));
  std::vector<float> in = random_floats(4096, 5);
  std::vector<float> out(4096, -1);
  REQUIRE(run(std::move(b).finish(), {4, 1, 1}, {view(in), view(out)}));
  for (std::size_t i = 0; i < in.size(); ++i) REQUIRE(out[i] == (in[i] > 0 ? std::sqrt(in[i]) : 0.f));
}

TEST_CASE("a split grid gives the same as a whole one, and workgroups count x first") {
  Builder b("coordinates");
  MemoryRef out = b.buffer("out", ElementType::i32, Access::write);
  ValueId x = b.builtin(Builtin::workgroup_x);
  ValueId y = b.builtin(Builtin::workgroup_y);
  ValueId z = b.builtin(Builtin::workgroup_z);
  ValueId linear =
      b.add(x, b.mul(b.builtin(Builtin::grid_x), b.add(y, b.mul(b.builtin(Builtin::grid_y), z))));
  b.store(out, linear, b.add(x, b.add(b.mul(y, b.i32(10)), b.mul(z, b.i32(100)))));
  Result<Interpreter> interpreter = Interpreter::prepare(std::move(b).finish());
  REQUIRE(interpreter);
  std::vector<std::int32_t> whole(24, -1);
  std::vector<std::int32_t> parts(24, -1);
  BufferView views[] = {view(whole), view(parts)};
  REQUIRE(interpreter->run({2, 3, 4}, std::span(views, 1), {}));
  for (std::uint64_t i = 0; i < 24; i += 6)
    REQUIRE(interpreter->run({2, 3, 4}, std::span(views + 1, 1), {}, Interpreter::Range{i, i + 6}));
  CHECK(whole == parts);
  CHECK(whole[7] == 1 + 100);
  CHECK(interpreter->run({0, 3, 4}, std::span(views, 1), {}));
  CHECK_FALSE(interpreter->run({2, 3, 4}, std::span(views, 1), {}, Interpreter::Range{0, 25}));
}

TEST_CASE("integers wrap, shift and multiply high by their own width and sign") {
  using enum ElementType;
  CHECK(compute<std::int8_t>(Op::add, i8, {127, 1}) == -128);
  CHECK(compute<std::uint16_t>(Op::mul, u16, {65535, 65535}) == 1);
  CHECK(compute<std::int32_t>(Op::neg, i32, {INT32_MIN}) == INT32_MIN);
  CHECK(compute<std::int32_t>(Op::abs, i32, {INT32_MIN}) == INT32_MIN);
  CHECK(compute<std::int64_t>(Op::sub, i64, {INT64_MIN, 1}) == INT64_MAX);
  CHECK(compute<std::int32_t>(Op::div, i32, {-7, 2}) == -3);
  CHECK(compute<std::int32_t>(Op::rem, i32, {-7, 2}) == -1);
  CHECK(compute<std::uint32_t>(Op::div, u32, {0xfffffff0u, 2}) == 0x7ffffff8u);
  CHECK(compute<std::int16_t>(Op::shr, i16, {-256, 4}) == -16);
  CHECK(compute<std::uint16_t>(Op::shr, u16, {0xff00u, 4}) == 0x0ff0u);
  CHECK(compute<std::int32_t>(Op::shl, i32, {-1, 31}) == INT32_MIN);
  CHECK(compute<std::uint32_t>(Op::mul_high, u32, {0xffffffffu, 0xffffffffu}) == 0xfffffffeu);
  CHECK(compute<std::int32_t>(Op::mul_high, i32, {INT32_MIN, INT32_MIN}) == 0x40000000);
  CHECK(compute<std::int64_t>(Op::mul_high, i64, {-1, 1}) == -1);
  CHECK(compute<std::uint64_t>(Op::mul_high, u64, {~0ull, ~0ull}) == ~0ull - 1);
  CHECK(compute<std::uint8_t>(Op::bit_not, boolean, {1}) == 0);
  CHECK(compute<std::uint8_t>(Op::bit_not, u8, {1}) == 254);
}

TEST_CASE("floats: signs, rounding and the square root") {
  using enum ElementType;
  CHECK(std::signbit(compute<float>(Op::neg, f32, {0.f})));
  CHECK(!std::signbit(compute<float>(Op::abs, f32, {-0.f})));
  CHECK(compute<float>(Op::round_even, f32, {2.5f}) == 2.f);
  CHECK(compute<double>(Op::round_even, f64, {-3.5}) == -4.);
  CHECK(compute<float>(Op::trunc, f32, {-1.9f}) == -1.f);
  CHECK(compute<float>(Op::floor, f32, {-1.1f}) == -2.f);
  CHECK(compute<float>(Op::ceil, f32, {1.1f}) == 2.f);
  CHECK(compute<float>(Op::sqrt, f32, {2.f}) == std::sqrt(2.f));
  CHECK(std::isnan(compute<float>(Op::sqrt, f32, {-1.f})));
  CHECK(compute<float>(Op::fma, f32, {1.f + 0x1p-12f, 1.f + 0x1p-12f, -1.f}) ==
        std::fma(1.f + 0x1p-12f, 1.f + 0x1p-12f, -1.f));
}

TEST_CASE("16-bit floats round once per operation") {
  std::mt19937 random(7);
  auto near = [&](ElementType element) {
    // Exponents in the middle of the range, so that fma's three terms interact.
    std::uint16_t bits = static_cast<std::uint16_t>(random());
    return element == ElementType::f16
               ? static_cast<std::uint16_t>((bits & 0x83ffu) | ((8 + bits % 14) << 10))
               : static_cast<std::uint16_t>((bits & 0x807fu) | ((120 + bits % 14) << 7));
  };
  for (ElementType element : {ElementType::f16, ElementType::bf16}) {
    auto wide = [&](std::uint16_t bits) {
      return element == ElementType::f16 ? float_from_f16(bits) : float_from_bf16(bits);
    };
    // The nearest of a candidate and its neighbours to an exact value.
    auto nearest = [&](std::uint16_t candidate, __float128 exact) {
      std::uint16_t best = candidate;
      auto distance = [&](std::uint16_t bits) {
        __float128 d = static_cast<__float128>(wide(bits)) - exact;
        return d < 0 ? -d : d;
      };
      for (int step : {-1, 1}) {
        auto other = static_cast<std::uint16_t>(candidate + step);
        if (distance(other) < distance(best) || (distance(other) == distance(best) && !(other & 1)))
          best = other;
      }
      return best;
    };
    for (int i = 0; i < 300; ++i) {
      std::uint16_t a = near(element), b = near(element), c = near(element);
      __float128 x = wide(a), y = wide(b), z = wide(c);
      std::uint16_t sum = compute<std::uint16_t>(Op::add, element, {a, b});
      if ((sum & 0x7fffu) != 0) CHECK(sum == nearest(sum, x + y));
      std::uint16_t product = compute<std::uint16_t>(Op::mul, element, {a, b});
      CHECK(product == nearest(product, x * y));
      std::uint16_t fused = compute<std::uint16_t>(Op::fma, element, {a, b, c});
      if ((fused & 0x7fffu) != 0) CHECK(fused == nearest(fused, x * y + z));
    }
  }
  // 1 + 2^-11 is a tie in binary16; the product's tail decides, far below what a binary32 sum could see.
  std::uint16_t one = f16_from_float(1.f);
  std::uint16_t tiny = f16_from_float(0x1p-14f);
  CHECK(compute<std::uint16_t>(Op::fma, ElementType::f16, {tiny, tiny, one}) == one);
  std::uint16_t a = f16_from_float(0x1p-6f * (1 + 0x1p-10f));
  std::uint16_t b = f16_from_float(0x1p-5f);
  CHECK(compute<std::uint16_t>(Op::fma, ElementType::f16, {a, b, one}) == f16_from_float(1 + 0x1p-10f));
}

TEST_CASE("conversions round once and saturate where undefined") {
  using enum ElementType;
  CHECK(convert<float, std::int32_t>(f32, i32, -1.9f) == -1);
  CHECK(convert<float, std::int32_t>(f32, i32, 3e9f) == INT32_MAX);
  CHECK(convert<float, std::int32_t>(f32, i32, NAN) == 0);
  CHECK(convert<double, std::uint64_t>(f64, u64, 0x1p63) == std::uint64_t{1} << 63);
  CHECK(convert<std::int64_t, float>(i64, f32, (1ll << 24) + 1) == 0x1p24f);
  CHECK(convert<std::int32_t, std::int8_t>(i32, i8, 300) == 44);
  CHECK(convert<std::int8_t, std::uint32_t>(i8, u32, -1) == 0xffffffffu);
  CHECK(convert<float, std::uint8_t>(f32, boolean, NAN) == 1);
  CHECK(convert<float, std::uint8_t>(f32, boolean, -0.f) == 0);
  CHECK(convert<std::uint8_t, float>(boolean, f32, 2) == 1.f);
  // Halfway between two bfloat16 but for the last bit of 64.
  CHECK(convert<std::int64_t, std::uint16_t>(i64, bf16, (1ll << 62) + (1ll << 54) + 1) ==
        bf16_from_float(0x1p62f + 0x1p55f));
  CHECK(convert<double, std::uint16_t>(f64, f16, 1 + 0x1p-11 + 0x1p-40) == f16_from_float(1 + 0x1p-10f));
  CHECK(convert<float, std::uint16_t>(f32, f16, 65520.f) == 0x7c00u);
}

TEST_CASE("subnormals are kept and the caller's floating-point mode comes back") {
#if defined(__x86_64__)
  unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040u | 0x6000u);  // flush to zero, denormals are zero, round toward zero
  float tiny = compute<float>(Op::mul, ElementType::f32, {0x1p-130f, 0.5f});
  float rounded = compute<float>(Op::add, ElementType::f32, {1.f, 0x1.8p-24f});
  unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  CHECK((after & 0xe040u) == 0xe040u);
  CHECK(std::bit_cast<std::uint32_t>(tiny) == std::bit_cast<std::uint32_t>(0x1p-131f));
  CHECK(rounded == 1 + 0x1p-23f);
#endif
}

TEST_CASE(
    "an access out of bounds is reported with instruction, workgroup and lane, and nothing is touched") {
  std::vector<float> x(900, 1);
  std::vector<float> y(899, 2);
  Status status = run(samples::scaled_sum(), {16, 1, 1}, {view(x), view(y)}, Scalars().add(1.f).add(900));
  CHECK(status.error().code == ErrorCode::invalid_argument);
  CHECK(mentions(status, "load y["));
  CHECK(mentions(status, "element 899"));
  CHECK(mentions(status, "workgroup (14, 0, 0), lane 3"));

  Builder b("negative");
  MemoryRef out = b.buffer("out", ElementType::f32, Access::write);
  b.store(out, b.i64(-1), b.f32(0));
  CHECK(mentions(run(std::move(b).finish(), {1, 1, 1}, {view(y)}), "element -1"));
}

TEST_CASE("masked-off lanes may point anywhere") {
  Builder b("masked");
  MemoryRef x = b.buffer("x", ElementType::i32, Access::read_write);
  ValueId lanes = b.iota({ElementType::i32, 4});
  ValueId mask = b.compare(Op::lt, lanes, b.constant({ElementType::i32, 4}, 2));
  ValueId far = b.mul(lanes, b.constant({ElementType::i32, 4}, 1000000));
  ValueId near = b.select(mask, lanes, far);
  ValueId first = b.load(x, b.i32(0), 4, mask);
  b.scatter(x, near, b.add(b.gather(x, near, mask), b.add(first, b.constant({ElementType::i32, 4}, 1))),
            mask);
  std::vector<std::int32_t> values{10, 20};
  Status status = run(std::move(b).finish(), {1, 1, 1}, {view(values)});
  REQUIRE_MESSAGE(status, status.error().message);
  CHECK(values == std::vector<std::int32_t>{21, 41});
}

TEST_CASE("undefined integer divisions are reported, but not for lanes that are elsewhere") {
  Builder b("divide");
  b.program().workgroup_size[0] = 8;
  MemoryRef out = b.buffer("out", ElementType::i32, Access::write);
  ValueId lane = b.builtin(Builtin::lane);
  b.if_then(b.compare(Op::gt, lane, b.i32(0)), [&] { b.store(out, lane, b.div(b.i32(100), lane)); });
  std::vector<std::int32_t> values(8, 0);
  Status status = run(std::move(b).finish(), {1, 1, 1}, {view(values)});
  REQUIRE_MESSAGE(status, status.error().message);
  CHECK(values[3] == 33);

  Builder c("divide_by_zero");
  MemoryRef answer = c.buffer("out", ElementType::i32, Access::read_write);
  ValueId zero = c.load(answer, c.i32(0));
  c.store(answer, c.i32(0), c.div(zero, zero));
  values[0] = 0;
  CHECK(mentions(run(std::move(c).finish(), {1, 1, 1}, {view(values)}), "divides by zero"));
}

TEST_CASE("promised alignment is checked") {
  Builder b("aligned");
  MemoryRef x = b.buffer("x", ElementType::f32, Access::read_write);
  b.store(x, b.i32(4), b.load(x, b.i32(2), 4, no_value, 16), no_value, 16);
  std::vector<float> values(16, 0);
  CHECK(mentions(run(std::move(b).finish(), {1, 1, 1}, {view(values)}), "not aligned to 16 bytes"));
}

TEST_CASE("shared memory: uninitialized reads and missing barriers are reported on request") {
  auto neighbour = [](bool stores, bool barrier) {
    Builder b("neighbour");
    b.program().workgroup_size[0] = 32;
    MemoryRef out = b.buffer("out", ElementType::f32, Access::write);
    MemoryRef tile = b.shared("tile", ElementType::f32, 32);
    ValueId lane = b.builtin(Builtin::lane);
    if (stores) b.store(tile, lane, b.cast(ElementType::f32, lane));
    if (barrier) b.barrier(Scope::workgroup);
    b.store(out, lane, b.load(tile, b.binary(Op::bit_xor, lane, b.i32(1))));
    return std::move(b).finish();
  };
  std::vector<float> out(32, -1);
  InterpreterOptions strict{.report_uninitialized_shared = true, .report_shared_races = true};
  CHECK(run(neighbour(true, true), {2, 1, 1}, {view(out)}, {}, strict));
  CHECK(out[4] == 5);
  CHECK(mentions(run(neighbour(false, true), {1, 1, 1}, {view(out)}, {}, strict), "no lane has written"));
  CHECK(mentions(run(neighbour(true, false), {1, 1, 1}, {view(out)}, {}, strict),
                 "races: lane 1 wrote element 1"));
  CHECK(run(neighbour(true, false), {1, 1, 1}, {view(out)}));
  CHECK(run(neighbour(false, true), {1, 1, 1}, {view(out)}));
  CHECK(std::isnan(out[0]));
}

TEST_CASE("a subgroup's barrier orders its own lanes only") {
  auto exchange = [](std::int32_t distance) {
    Builder b("exchange");
    b.program().workgroup_size[0] = 32;
    b.program().subgroup_size = 8;
    MemoryRef out = b.buffer("out", ElementType::i32, Access::write);
    MemoryRef tile = b.shared("tile", ElementType::i32, 32);
    ValueId lane = b.builtin(Builtin::lane);
    b.store(tile, lane, lane);
    b.barrier(Scope::subgroup);
    b.store(out, lane, b.load(tile, b.binary(Op::bit_xor, lane, b.i32(distance))));
    return std::move(b).finish();
  };
  std::vector<std::int32_t> out(32, -1);
  InterpreterOptions strict{.report_shared_races = true};
  CHECK(run(exchange(4), {1, 1, 1}, {view(out)}, {}, strict));
  CHECK(mentions(run(exchange(8), {1, 1, 1}, {view(out)}, {}, strict), "races"));
}

TEST_CASE("an element that a subgroup has read may be written by it after its barrier, not by another one") {
  auto reuse = [](std::int32_t writer, bool barrier) {
    Builder b("reuse");
    b.program().workgroup_size[0] = 16;
    b.program().subgroup_size = 8;
    MemoryRef out = b.buffer("out", ElementType::i32, Access::write);
    MemoryRef tile = b.shared("tile", ElementType::i32, 2);
    ValueId lane = b.builtin(Builtin::lane);
    ValueId mine = b.builtin(Builtin::subgroup);
    b.if_then(b.compare(Op::eq, b.builtin(Builtin::subgroup_lane), b.i32(0)),
              [&] { b.store(tile, mine, lane); });
    b.barrier(Scope::workgroup);
    b.store(out, lane, b.load(tile, mine));
    if (barrier) b.barrier(Scope::subgroup);
    b.if_then(b.compare(Op::eq, lane, b.i32(writer)), [&] { b.store(tile, b.i32(0), lane); });
    return std::move(b).finish();
  };
  std::vector<std::int32_t> out(16, -1);
  InterpreterOptions strict{.report_shared_races = true};
  CHECK(run(reuse(3, true), {1, 1, 1}, {view(out)}, {}, strict));
  CHECK(mentions(run(reuse(3, false), {1, 1, 1}, {view(out)}, {}, strict), "races"));
  CHECK(mentions(run(reuse(9, true), {1, 1, 1}, {view(out)}, {}, strict), "races"));
}

TEST_CASE("lanes of a subgroup exchange values") {
  Builder b("exchange");
  b.program().workgroup_size[0] = 16;
  b.program().subgroup_size = 8;
  MemoryRef out = b.buffer("out", ElementType::i32, Access::write);
  ValueId lane = b.builtin(Builtin::lane);
  ValueId next = b.binary(Op::bit_and, b.add(b.builtin(Builtin::subgroup_lane), b.i32(1)), b.i32(7));
  b.store(out, lane, b.shuffle_lane(lane, next));
  b.store(out, b.add(lane, b.i32(16)), b.broadcast_lane(lane, 3));
  b.store(out, b.add(lane, b.i32(32)), b.builtin(Builtin::subgroup));
  std::vector<std::int32_t> values(48, -1);
  REQUIRE(run(std::move(b).finish(), {1, 1, 1}, {view(values)}));
  for (int i = 0; i < 16; ++i) {
    CHECK(values[static_cast<std::size_t>(i)] == i / 8 * 8 + (i + 1) % 8);
    CHECK(values[static_cast<std::size_t>(i + 16)] == i / 8 * 8 + 3);
    CHECK(values[static_cast<std::size_t>(i + 32)] == i / 8);
  }
}

TEST_CASE("arguments that do not fit are refused") {
  Result<Interpreter> interpreter = Interpreter::prepare(samples::scaled_sum());
  REQUIRE(interpreter);
  std::vector<float> x(64, 1);
  BufferView overlapping[] = {{x.data(), 128}, {x.data() + 16, 128}};
  std::vector<std::byte> scalars = Scalars().add(1.f).add(16).block();
  CHECK(mentions(interpreter->run({1, 1, 1}, overlapping, scalars), "overlap"));
  CHECK(mentions(interpreter->run({1, 1, 1}, std::span(overlapping, 1), scalars), "1 buffers"));
  BufferView apart[] = {{x.data(), 128}, {x.data() + 32, 128}};
  CHECK(mentions(interpreter->run({1, 1, 1}, apart, std::span(scalars).first(4)), "scalar bytes"));
  CHECK(interpreter->run({1, 1, 1}, apart, scalars));
  Program broken = samples::scaled_sum();
  broken.body.body[0].immediate = 9;
  CHECK_FALSE(Interpreter::prepare(std::move(broken)));
}

TEST_CASE("a loop's step must be positive when it runs, and a bound at the type's end still ends it") {
  Builder b("steps");
  MemoryRef out = b.buffer("out", ElementType::i32, Access::write);
  ValueId step = b.parameter("step", ElementType::i32);
  ValueId trips =
      b.for_loop(b.i32(INT32_MAX - 5), b.i32(INT32_MAX), step, {b.i32(0)},
                 [&](ValueId, std::span<const ValueId> n) { return std::vector{b.add(n[0], b.i32(1))}; })[0];
  b.store(out, b.i32(0), trips);
  Program program = std::move(b).finish();
  std::vector<std::int32_t> values(1, -1);
  CHECK(mentions(run(program, {1, 1, 1}, {view(values)}, Scalars().add(0)), "must be positive"));
  REQUIRE(run(program, {1, 1, 1}, {view(values)}, Scalars().add(2)));
  CHECK(values[0] == 3);
}

}  // namespace halyard::program
