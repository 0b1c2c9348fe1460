#include <doctest/doctest.h>
#include <halyard/fusion/lower.h>
#include <halyard/program/serialize.h>
#include <cmath>
#include <limits>

#include "lowering_harness.h"

using namespace halyard;
using namespace halyard::fusion;
using namespace halyard::fusion::test;
using ops::Primitive;

namespace {

constexpr auto f32 = ElementType::f32;

Case softmax(std::int64_t rows, std::int64_t columns, ElementType type = f32) {
  TileBuilder k("softmax");
  Axis r = k.axis("row", rows), c = k.axis("col", columns);
  Tile x = cast(k.input("x", type, {r, c}), f32);
  Tile e = exp(x - k.max(x, {c}));
  k.output("y", cast(e / k.sum(e, {c}), type));
  return make_case(std::move(k));
}

Case layer_norm(std::int64_t rows, std::int64_t columns) {
  TileBuilder k("layer_norm");
  Axis r = k.axis("row", rows), c = k.axis("col", columns);
  Tile h = k.input("x", f32, {r, c}) + k.input("residual", f32, {r, c});
  Tile n = k.extent({c}, f32);
  Tile centred = h - k.sum(h, {c}) / n;
  Tile variance = k.sum(centred * centred, {c}) / n;
  k.output("sum", h);
  k.output("y", centred * rsqrt(variance + 1e-5) * k.input("weight", f32, {c}) + k.input("bias", f32, {c}));
  k.output("variance", variance);
  return make_case(std::move(k));
}

/// One reduction of [outer, reduced] to [outer].
Case reduction(Reduction kind, ElementType type, std::int64_t outer, std::int64_t reduced) {
  TileBuilder k("reduction");
  Axis r = k.axis("row", outer), c = k.axis("col", reduced);
  k.output("y", k.reduce(kind, k.input("x", type, {r, c}), {c}));
  return make_case(std::move(k));
}

Case column_reduction(Reduction kind, ElementType type, std::int64_t reduced, std::int64_t kept) {
  TileBuilder k("column_reduction");
  Axis r = k.axis("row", reduced), c = k.axis("col", kept);
  k.output("y", k.reduce(kind, k.input("x", type, {r, c}), {r}, false));
  return make_case(std::move(k));
}

}  // namespace

TEST_CASE("row sums follow the canonical order at every length") {
  for (std::int64_t columns : {1,   2,   5,   8,   16,  31,   32,   33,   60,   64,   65,   100,  127,
                               128, 129, 200, 255, 256, 1000, 1024, 4095, 4096, 4097, 8192, 10000})
    CHECK_MESSAGE(disagreements(reduction(Reduction::sum, f32, 3, columns)) == "", columns);
}

TEST_CASE("rows beyond 128 chunks wrap around the canonical lanes") {
  CHECK(disagreements(reduction(Reduction::sum, f32, 1, 4096 * 131 + 17)) == "");
}

TEST_CASE("an empty reduction gives its identity") {
  CHECK(disagreements(reduction(Reduction::sum, f32, 5, 0)) == "");
  CHECK(disagreements(reduction(Reduction::max, f32, 5, 0)) == "");
  CHECK(disagreements(column_reduction(Reduction::sum, f32, 0, 5)) == "");
}

TEST_CASE("no rows, no work") {
  CHECK(disagreements(reduction(Reduction::sum, f32, 0, 5)) == "");
  CHECK(disagreements(column_reduction(Reduction::sum, f32, 5, 0)) == "");
}

TEST_CASE("every reduction of every kind of type agrees") {
  for (Reduction kind : {Reduction::sum, Reduction::prod, Reduction::max, Reduction::min, Reduction::argmax,
                         Reduction::argmin})
    for (ElementType type :
         {f32, ElementType::f64, ElementType::f16, ElementType::bf16, ElementType::i32, ElementType::i64}) {
      CHECK_MESSAGE(disagreements(reduction(kind, type, 4, 75)) == "", static_cast<int>(kind), " ",
                    name(type));
      CHECK_MESSAGE(disagreements(column_reduction(kind, type, 75, 12)) == "", static_cast<int>(kind), " ",
                    name(type));
    }
  for (Reduction kind : {Reduction::any, Reduction::all}) {
    CHECK(disagreements(reduction(kind, ElementType::boolean, 4, 3)) == "");
    CHECK(disagreements(reduction(kind, ElementType::boolean, 4, 75)) == "");
    CHECK(disagreements(column_reduction(kind, ElementType::boolean, 3, 75)) == "");
  }
}

TEST_CASE("NaN wins a maximum, and the first NaN an argmax; ties go to the lowest index") {
  Case made = reduction(Reduction::argmax, f32, 3, 300);
  Case greatest = reduction(Reduction::max, f32, 3, 300);
  auto set = [](Case& c, std::int64_t at, float value) {
    c.operands[0].set_bits_at(at, ops::HostTensor::scalar(f32, value).bits_at(0));
  };
  for (Case* c : {&made, &greatest}) {
    set(*c, 290, std::nanf(""));  // row 0: NaN late and later
    set(*c, 150, std::nanf(""));
    set(*c, 300 + 131, 100.0f);  // row 1: the same maximum twice
    set(*c, 300 + 3, 100.0f);
    for (std::int64_t i = 600; i < 900; ++i) set(*c, i, -std::numeric_limits<float>::infinity());
  }
  CHECK(disagreements(made) == "");
  CHECK(disagreements(greatest) == "");
}

TEST_CASE("softmax agrees at every length") {
  for (std::int64_t columns : {1, 7, 16, 32, 48, 100, 128, 129, 384, 1000, 5000})
    CHECK_MESSAGE(disagreements(softmax(5, columns)) == "", columns);
}

TEST_CASE("softmax of 16-bit floats rounds at its edges only") {
  CHECK(disagreements(softmax(3, 70, ElementType::f16)) == "");
  CHECK(disagreements(softmax(3, 64, ElementType::bf16)) == "");
}

TEST_CASE("layer norm with a residual stores the sum, the rows and a row scalar") {
  for (std::int64_t columns : {4, 30, 64, 384, 391})
    CHECK_MESSAGE(disagreements(layer_norm(11, columns)) == "", columns);
}

TEST_CASE("a row may span several axes, whatever their strides") {
  for (std::int64_t inner : {5, 8, 40}) {
    TileBuilder k("several_axes");
    Axis b = k.axis("batch", 3), h = k.axis("h", 7), w = k.axis("w", inner), c = k.axis("c", 2);
    Tile x = k.input("x", f32,
                     {b, h, c, w});  // w innermost in memory, reduced over (h, c, w) in the order h, w, c
    Tile mean = k.sum(x, {h, w, c}) / k.extent({h, w, c}, f32);
    k.output("y", x - mean, {b, h, c, w});
    CHECK(disagreements(make_case(std::move(k))) == "");
  }
}

TEST_CASE("several reductions share a pass, sums and arguments together") {
  for (std::int64_t columns : {30, 200, 5000}) {
    TileBuilder k("together");
    Axis r = k.axis("row", 3), c = k.axis("col", columns);
    Tile x = k.input("x", f32, {r, c});
    k.output("sum", k.sum(x, {c}));
    k.output("max", k.max(x, {c}));
    k.output("argmin", k.reduce(Reduction::argmin, x, {c}));
    k.output("squares", k.sum(x * x, {c}));
    CHECK(disagreements(make_case(std::move(k))) == "");
  }
}

TEST_CASE("an embedding is gathered and normalized in one kernel") {
  TileBuilder k("embed_norm");
  Axis r = k.axis("row", 9), c = k.axis("col", 48);
  std::uint32_t table = k.operand({.name = "table"}, 30 * 48);
  Tile which = k.input("which", ElementType::i32, {r});
  Tile x = k.load(table, {{{.value = which.id}, {.axis = c}}},
                  {.offset = 0, .strides = {48, 1}, .divisors = {1, 1}, .moduli = {0, 0}});
  k.output("y", x / k.sum(x * x, {c}));
  CHECK(disagreements(make_case(std::move(k), 3, 30)) == "");
}

TEST_CASE("column sums follow the canonical order at every length") {
  for (std::int64_t rows : {1, 2, 63, 64, 65, 100, 128, 1000, 4096, 4097, 5000})
    for (std::int64_t kept : {1, 5, 40, 70})
      if (rows < 4000 || kept == 5)
        CHECK_MESSAGE(disagreements(column_reduction(Reduction::sum, f32, rows, kept)) == "", rows, " x ",
                      kept);
}

TEST_CASE("mean pooling with a mask divides column sums") {
  TileBuilder k("mean_pool");
  Axis b = k.axis("batch", 3), s = k.axis("sequence", 20), c = k.axis("col", 50);
  Tile mask = cast(k.input("mask", ElementType::i32, {b, s}), f32);
  Tile total = k.reduce(Reduction::sum, k.input("x", f32, {b, s, c}) * mask, {s}, false);
  Tile count = k.reduce(Reduction::sum, mask, {s}, false);
  k.output("y", total / maximum(count, k.constant(f32, 1e-9)));
  CHECK(disagreements(make_case(std::move(k), 1, 2)) == "");
}

TEST_CASE("softmax over a kept-last axis walks columns twice") {
  TileBuilder k("column_softmax");
  Axis b = k.axis("batch", 2), s = k.axis("sequence", 70), c = k.axis("col", 21);
  Tile x = k.input("x", f32, {b, s, c});
  Tile e = exp(x - k.reduce(Reduction::max, x, {s}, false));
  k.output("y", e / k.reduce(Reduction::sum, e, {s}, false));
  CHECK(disagreements(make_case(std::move(k))) == "");
}

TEST_CASE("two bindings of one shape class share the reduction's thread program") {
  auto same = [](const Case& a, const Case& b, const std::string& name) {
    DeviceProfile device = profile(name);
    Schedule schedule = candidate_schedules(a.program, a.binding, device)->front();
    Result<LoweredKernel> first = lower(a.program, a.binding, schedule, device);
    Result<LoweredKernel> second = lower(b.program, b.binding, schedule, device);
    REQUIRE(first);
    REQUIRE(second);
    CHECK_MESSAGE(program::serialize(first->program) == program::serialize(second->program), name);
    CHECK(first->scalars != second->scalars);
  };
  for (const std::string& name : profile_names()) {
    same(softmax(40, 384), softmax(70, 512), name);
    same(layer_norm(40, 384), layer_norm(90, 384 + 128), name);
    same(column_reduction(Reduction::sum, f32, 100, 128), column_reduction(Reduction::sum, f32, 200, 256),
         name);
  }
}
