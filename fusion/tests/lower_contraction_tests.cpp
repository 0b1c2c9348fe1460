#include <doctest/doctest.h>
#include <fmt/format.h>
#include <halyard/fusion/lower.h>
#include <halyard/ops/reduction_order.h>
#include <halyard/program/interpret.h>
#include <halyard/program/serialize.h>
#include <halyard/program/text.h>
#include <halyard/program/verify.h>

#include <cmath>
#include <cstring>
#include <random>

#include "lowering_harness.h"

using namespace halyard;
using namespace halyard::fusion;

namespace {

std::vector<DeviceProfile> profiles() {
  std::vector<DeviceProfile> all;
  for (const std::string& name : test::profile_names()) all.push_back(test::profile(name));
  return all;
}

struct Sizes {
  std::int64_t batch, m, n, k;
};

/// y[b, m, n] = relu(sum over k of x[b, m, k] * w + bias[n]) with w [b, k, n] or, transposed, [b, n, k].
TileBuilder::Finished product_kernel(bool transposed, bool prologue) {
  TileBuilder kernel("product");
  Axis b = kernel.axis("batch"), m = kernel.axis("m"), n = kernel.axis("n"), k = kernel.axis("k");
  Tile x = kernel.input("x", ElementType::f32, {b, m, k});
  if (prologue) x = x * 0.75 + 0.5;
  Tile w = transposed ? kernel.input("w", ElementType::f32, {b, n, k})
                      : kernel.input("w", ElementType::f32, {b, k, n});
  Tile y = kernel.dot(x, w, {k});
  kernel.output(
      "y", maximum(y + kernel.input("bias", ElementType::f32, {n}), kernel.constant(ElementType::f32, 0)),
      {b, m, n});
  auto finished = std::move(kernel).finish();
  REQUIRE_MESSAGE(finished.has_value(), finished.error().message);
  return *finished;
}

std::vector<float> random_values(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(generator);
  return values;
}

struct Inputs {
  std::vector<float> x, w, bias;
};

Inputs inputs_for(const Sizes& s) {
  return {random_values(static_cast<std::size_t>(s.batch * s.m * s.k), 1),
          random_values(static_cast<std::size_t>(s.batch * s.k * s.n), 2),
          random_values(static_cast<std::size_t>(s.n), 3)};
}

std::vector<float> expected(const Sizes& s, const Inputs& in, bool transposed, bool prologue, bool fused) {
  std::vector<float> y;
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t i = 0; i < s.m; ++i)
      for (std::int64_t j = 0; j < s.n; ++j) {
        auto x_at = [&](std::int64_t k) {
          float x = in.x[static_cast<std::size_t>((b * s.m + i) * s.k + k)];
          return prologue ? x * 0.75f + 0.5f : x;
        };
        auto w_at = [&](std::int64_t k) {
          return in
              .w[static_cast<std::size_t>(transposed ? (b * s.n + j) * s.k + k : (b * s.k + k) * s.n + j)];
        };
        float sum = ops::order::dot<float>(s.k, x_at, w_at, fused) + in.bias[static_cast<std::size_t>(j)];
        y.push_back(sum > 0 ? sum : 0.0f);
      }
  return y;
}

std::vector<float> run(const LoweredKernel& kernel, std::vector<program::BufferView> operands,
                       std::size_t results) {
  std::vector<float> y(results, -12345.0f);
  operands.push_back({y.data(), y.size() * sizeof(float)});
  std::vector<program::BufferView> buffers;
  for (std::uint32_t operand : kernel.buffers) buffers.push_back(operands[operand]);
  Status verified = program::verify(kernel.program);
  REQUIRE_MESSAGE(verified.has_value(), verified.error().message);
  auto interpreter = program::Interpreter::prepare(kernel.program, {.report_shared_races = true});
  REQUIRE_MESSAGE(interpreter.has_value(), interpreter.error().message);
  Status ran = interpreter->run(kernel.grid, buffers, kernel.scalars);
  REQUIRE_MESSAGE(ran.has_value(), ran.error().message);
  return y;
}

program::BufferView view(std::vector<float>& values) {
  return {values.data(), values.size() * sizeof(float)};
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("a product has the canonical order's bits under every schedule of every device") {
  const Sizes sizes[] = {{1, 1, 1, 1},     {1, 7, 20, 5}, {2, 13, 32, 40}, {1, 70, 48, 33},  {1, 5, 35, 530},
                         {1, 3, 16, 1100}, {1, 2, 4, 0},  {3, 33, 1, 64},  {1, 1, 70, 1100}, {2, 3, 20, 37}};
  for (bool transposed : {false, true})
    for (bool prologue : {false, true}) {
      TileBuilder::Finished kernel = product_kernel(transposed, prologue);
      for (const Sizes& s : sizes) {
        Inputs in = inputs_for(s);
        auto binding = contiguous_binding(kernel, {s.batch, s.m, s.n, s.k});
        REQUIRE(binding.has_value());
        for (const DeviceProfile& profile : profiles()) {
          std::vector<float> wanted = expected(s, in, transposed, prologue, profile.fused_fma);
          auto schedules = candidate_schedules(kernel.program, *binding, profile);
          REQUIRE_MESSAGE(schedules.has_value(), schedules.error().message);
          for (const Schedule& schedule : *schedules) {
            CAPTURE(profile.name);
            CAPTURE(to_text(schedule));
            CAPTURE(fmt::format("{}x{}x{}x{} transposed {} prologue {}", s.batch, s.m, s.n, s.k, transposed,
                                prologue));
            auto lowered = lower(kernel.program, *binding, schedule, profile);
            REQUIRE_MESSAGE(lowered.has_value(), lowered.error().message);
            CHECK(same_bits(run(*lowered, {view(in.x), view(in.w), view(in.bias)}, wanted.size()), wanted));
          }
        }
      }
    }
}

TEST_CASE("two sizes of one shape class share the thread program of a product") {
  TileBuilder::Finished kernel = product_kernel(false, false);
  for (const DeviceProfile& profile : profiles()) {
    std::vector<std::vector<std::byte>> programs, scalars;
    for (std::int64_t m : {200, 250}) {
      auto binding = contiguous_binding(kernel, {1, m, 384, 1536});
      REQUIRE(binding.has_value());
      auto schedules = candidate_schedules(kernel.program, *binding, profile);
      REQUIRE(schedules.has_value());
      auto lowered = lower(kernel.program, *binding, schedules->front(), profile);
      REQUIRE(lowered.has_value());
      programs.push_back(program::serialize(lowered->program));
      scalars.push_back(lowered->scalars);
    }
    CHECK(programs[0] == programs[1]);
    CHECK(scalars[0] != scalars[1]);
  }
}

namespace {

struct Heads {
  std::int64_t batch, rows, keys, width;
};

TileBuilder::Finished attention_kernel() {
  TileBuilder kernel("attention");
  Axis b = kernel.axis("batch"), i = kernel.axis("row"), j = kernel.axis("key"), d = kernel.axis("width"),
       e = kernel.axis("value");
  Tile q = kernel.input("q", ElementType::f32, {b, i, d});
  Tile k = kernel.input("k", ElementType::f32, {b, j, d});
  Tile v = kernel.input("v", ElementType::f32, {b, j, e});
  Tile mask = kernel.input("mask", ElementType::f32, {b, j});
  Tile scores = kernel.dot(q, k, {d}) * 0.25 + mask;
  Tile shifted = exp(scores - kernel.max(scores, {j}));
  Tile weights = shifted / kernel.sum(shifted, {j});
  kernel.output("y", kernel.dot(weights, v, {j}), {b, i, e});
  auto finished = std::move(kernel).finish();
  REQUIRE_MESSAGE(finished.has_value(), finished.error().message);
  return *finished;
}

/// The same in separate kernels: every stage written to memory and read again.
std::vector<float> separate_attention(const Heads& s, std::vector<float> q, std::vector<float> k,
                                      std::vector<float> v, std::vector<float> mask,
                                      const DeviceProfile& profile) {
  auto best = [&](TileBuilder&& builder, const std::vector<std::int64_t>& extents,
                  std::vector<program::BufferView> operands, std::size_t results) {
    auto kernel = std::move(builder).finish();
    REQUIRE_MESSAGE(kernel.has_value(), kernel.error().message);
    auto binding = contiguous_binding(*kernel, extents);
    auto schedules = candidate_schedules(kernel->program, *binding, profile);
    REQUIRE_MESSAGE(schedules.has_value(), schedules.error().message);
    auto lowered = lower(kernel->program, *binding, schedules->front(), profile);
    REQUIRE_MESSAGE(lowered.has_value(), lowered.error().message);
    return run(*lowered, std::move(operands), results);
  };
  auto cells = static_cast<std::size_t>(s.batch * s.rows * s.keys);
  TileBuilder first("scores");
  Axis b = first.axis("batch"), i = first.axis("row"), j = first.axis("key"), d = first.axis("width");
  Tile q_in = first.input("q", ElementType::f32, {b, i, d});
  Tile k_in = first.input("k", ElementType::f32, {b, j, d});
  first.output("y", first.dot(q_in, k_in, {d}), {b, i, j});
  std::vector<float> scores =
      best(std::move(first), {s.batch, s.rows, s.keys, s.width}, {view(q), view(k)}, cells);

  TileBuilder second("softmax");
  Axis b2 = second.axis("batch"), i2 = second.axis("row"), j2 = second.axis("key");
  Tile raw = second.input("x", ElementType::f32, {b2, i2, j2});
  Tile x = raw * 0.25 + second.input("mask", ElementType::f32, {b2, j2});
  Tile shifted = exp(x - second.max(x, {j2}));
  second.output("y", shifted / second.sum(shifted, {j2}), {b2, i2, j2});
  std::vector<float> weights =
      best(std::move(second), {s.batch, s.rows, s.keys}, {view(scores), view(mask)}, cells);

  TileBuilder third("values");
  Axis b3 = third.axis("batch"), i3 = third.axis("row"), j3 = third.axis("key"), e3 = third.axis("value");
  Tile p_in = third.input("p", ElementType::f32, {b3, i3, j3});
  Tile v_in = third.input("v", ElementType::f32, {b3, j3, e3});
  third.output("y", third.dot(p_in, v_in, {j3}), {b3, i3, e3});
  return best(std::move(third), {s.batch, s.rows, s.keys, s.width}, {view(weights), view(v)},
              static_cast<std::size_t>(s.batch * s.rows * s.width));
}

}  // namespace

TEST_CASE("attention on chip has the bits of its parts in separate kernels") {
  TileBuilder::Finished kernel = attention_kernel();
  for (const Heads& s : {Heads{1, 1, 1, 4}, Heads{2, 9, 9, 32}, Heads{1, 40, 70, 32}, Heads{1, 3, 300, 16},
                         Heads{1, 5, 130, 7}}) {
    auto q = random_values(static_cast<std::size_t>(s.batch * s.rows * s.width), 1);
    auto k = random_values(static_cast<std::size_t>(s.batch * s.keys * s.width), 2);
    auto v = random_values(static_cast<std::size_t>(s.batch * s.keys * s.width), 3);
    auto mask = random_values(static_cast<std::size_t>(s.batch * s.keys), 4);
    mask[0] = -3.4028234663852886e+38f;
    auto binding = contiguous_binding(kernel, {s.batch, s.rows, s.keys, s.width, s.width});
    REQUIRE(binding.has_value());
    for (const DeviceProfile& profile : profiles()) {
      CAPTURE(profile.name);
      CAPTURE(fmt::format("{} x {} rows x {} keys x {}", s.batch, s.rows, s.keys, s.width));
      auto schedules = candidate_schedules(kernel.program, *binding, profile);
      REQUIRE_MESSAGE(schedules.has_value(), schedules.error().message);
      std::vector<float> wanted = separate_attention(s, q, k, v, mask, profile);
      for (const Schedule& schedule : *schedules) {
        auto lowered = lower(kernel.program, *binding, schedule, profile);
        REQUIRE_MESSAGE(lowered.has_value(), lowered.error().message);
        CHECK(same_bits(run(*lowered, {view(q), view(k), view(v), view(mask)}, wanted.size()), wanted));
      }
    }
  }
}
