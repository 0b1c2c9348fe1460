#include <doctest/doctest.h>
#include <halyard/fusion/lower.h>
#include <halyard/program/serialize.h>

#include "lowering_harness.h"

using namespace halyard;
using namespace halyard::fusion;
using namespace halyard::fusion::test;
using ops::Primitive;

namespace {

constexpr auto f32 = ElementType::f32;

/// gelu-like chain on [rows, columns] with a bias over the columns.
Case biased_chain(std::int64_t rows, std::int64_t columns) {
  TileBuilder k("biased_chain");
  Axis r = k.axis("row", rows), c = k.axis("col", columns);
  Tile x = k.input("x", f32, {r, c}) + k.input("bias", f32, {c});
  k.output("y", x * sigmoid(x) + k.constant(f32, 0.5));
  return make_case(std::move(k));
}

}  // namespace

TEST_CASE("an elementwise chain has the reference's bits at every size, tails included") {
  for (std::int64_t rows : {1, 3, 40})
    for (std::int64_t columns : {1, 2, 7, 8, 12, 31, 32, 33, 64, 100, 1000})
      CHECK_MESSAGE(disagreements(biased_chain(rows, columns)) == "", rows, " x ", columns);
}

TEST_CASE("one long axis is dealt out to many workgroups") {
  TileBuilder k("scale");
  Axis n = k.axis("n", 50021);
  k.output("y", k.input("x", f32, {n}) * 3.0);
  CHECK(disagreements(make_case(std::move(k))) == "");
}

TEST_CASE("a scalar has no axes") {
  TileBuilder k("scalar");
  k.output("y", exp(k.input("x", f32, {})));
  CHECK(disagreements(make_case(std::move(k))) == "");
}

TEST_CASE("an empty tensor is left alone") {
  TileBuilder k("nothing");
  Axis r = k.axis("row", 0), c = k.axis("col", 12);
  k.output("y", k.input("x", f32, {r, c}) * 2.0);
  CHECK(disagreements(make_case(std::move(k))) == "");
}

TEST_CASE("a transpose reads or writes along the other axis") {
  for (std::int64_t extent : {5, 48}) {
    TileBuilder k("transpose");
    Axis r = k.axis("row", extent), c = k.axis("col", 40);
    k.output("y", k.input("x", f32, {r, c}), {c, r});
    CHECK(disagreements(make_case(std::move(k))) == "");
  }
}

TEST_CASE("negative strides and offsets reverse a tensor") {
  TileBuilder k("reverse");
  Axis n = k.axis("n", 77);
  std::uint32_t x = k.operand({.name = "x"}, 200);
  std::uint32_t y = k.operand({.name = "y", .written = true}, 77);
  Tile loaded = k.load(x, {{{.axis = n}}}, {.offset = 180, .strides = {-2}, .divisors = {1}, .moduli = {0}});
  k.store(y, loaded, {{{.axis = n}}}, {.offset = 0, .strides = {1}, .divisors = {1}, .moduli = {0}});
  CHECK(disagreements(make_case(std::move(k))) == "");
}

TEST_CASE("divided and wrapped positions unravel a reshape") {
  for (std::int64_t inner : {3, 8, 64}) {
    TileBuilder k("reshape");
    Axis n = k.axis("n", 6 * inner);
    std::uint32_t x = k.operand({.name = "x"}, 1000);
    std::uint32_t y = k.operand({.name = "y", .written = true}, 6 * inner);
    Access access{{{.axis = n, .divided = true}, {.axis = n, .wrapped = true}}};
    Tile loaded =
        k.load(x, access, {.offset = 5, .strides = {100, 1}, .divisors = {inner, 1}, .moduli = {0, inner}});
    k.store(y, loaded * 2.0, {{{.axis = n}}}, {.offset = 0, .strides = {1}, .divisors = {1}, .moduli = {0}});
    CHECK(disagreements(make_case(std::move(k))) == "");
  }
}

TEST_CASE("a gather takes rows by index") {
  for (ElementType index_type : {ElementType::i32, ElementType::i64}) {
    TileBuilder k("take");
    Axis r = k.axis("row", 9), c = k.axis("col", 40);
    std::uint32_t table = k.operand({.name = "table"}, 20 * 40);
    Tile which = k.input("which", index_type, {r});
    Tile loaded = k.load(table, {{{.value = which.id}, {.axis = c}}},
                         {.offset = 0, .strides = {40, 1}, .divisors = {1, 1}, .moduli = {0, 0}});
    k.output("y", loaded + 1.0);
    CHECK(disagreements(make_case(std::move(k), 1, 20)) == "");
  }
}

TEST_CASE("a masked load gives zero where the mask is false and reads nothing there") {
  TileBuilder k("pad");
  Axis n = k.axis("n", 50);
  std::uint32_t x = k.operand({.name = "x"}, 40);
  std::uint32_t y = k.operand({.name = "y", .written = true}, 50);
  Tile inside = k.elementwise(Primitive::ge, {k.position(n), k.constant(ElementType::i64, 10)});
  Tile loaded =
      k.load(x, {{{.axis = n}}}, {.offset = -10, .strides = {1}, .divisors = {1}, .moduli = {0}}, inside);
  Tile padded = select(inside, loaded, k.constant(f32, -1));
  k.store(y, padded, {{{.axis = n}}}, {.offset = 0, .strides = {1}, .divisors = {1}, .moduli = {0}});
  CHECK(disagreements(make_case(std::move(k))) == "");
}

TEST_CASE("stores over different axes are nests of one kernel") {
  TileBuilder k("two_spaces");
  Axis r = k.axis("row", 6), c = k.axis("col", 70);
  Tile a = k.input("a", f32, {r});
  k.output("b", exp(a));
  k.output("d", a * k.input("x", f32, {r, c}));
  CHECK(disagreements(make_case(std::move(k))) == "");
}

TEST_CASE("every element type passes through") {
  for (ElementType type : {ElementType::f16, ElementType::bf16, ElementType::f64, ElementType::i32,
                           ElementType::i64, ElementType::u8, ElementType::i16}) {
    TileBuilder k("typed");
    Axis r = k.axis("row", 3), c = k.axis("col", 45);
    Tile x = k.input("x", type, {r, c});
    k.output("y", x * x + k.input("b", type, {c}));
    k.output("less", k.elementwise(Primitive::lt, {x, k.constant(type, 3)}));
    CHECK_MESSAGE(disagreements(make_case(std::move(k))) == "", name(type));
  }
}

TEST_CASE("casts, scalars, extents and positions are values like others") {
  TileBuilder k("values");
  Axis r = k.axis("row", 4), c = k.axis("col", 50);
  std::uint32_t number = k.scalar_parameter({.name = "alpha", .type = f32}, 0x3fc00000);
  Tile x = cast(k.input("i", ElementType::i32, {r, c}), f32);
  Tile y = x * k.scalar(number) / k.extent({r, c}, f32) + cast(k.position(c), f32) * cast(k.position(r), f32);
  k.output("y", y);
  CHECK(disagreements(make_case(std::move(k))) == "");
}

TEST_CASE("two bindings of one shape class share the thread program and differ in the scalars") {
  for (const std::string& name : profile_names()) {
    DeviceProfile device = profile(name);
    Case a = biased_chain(40, 1024), b = biased_chain(56, 2048);
    Schedule schedule = candidate_schedules(a.program, a.binding, device)->front();
    Result<LoweredKernel> first = lower(a.program, a.binding, schedule, device);
    Result<LoweredKernel> second = lower(b.program, b.binding, schedule, device);
    REQUIRE(first);
    REQUIRE(second);
    CHECK_MESSAGE(program::serialize(first->program) == program::serialize(second->program), name);
    CHECK(first->scalars.size() == second->scalars.size());
    CHECK(first->scalars != second->scalars);
  }
}
