#include <doctest/doctest.h>
#include <halyard/fusion/lower.h>
#include <cmath>

#include "lowering_harness.h"

using namespace halyard;
using namespace halyard::fusion;
using namespace halyard::fusion::test;

namespace {

constexpr auto f32 = ElementType::f32;

TileBuilder::Finished residual_rms_norm() {
  TileBuilder k("residual_rms_norm");
  Axis row = k.axis("row"), col = k.axis("col");
  Tile h = k.input("x", f32, {row, col}) + k.input("residual", f32, {row, col});
  Tile mean_square = k.sum(h * h, {col}) / k.extent({col}, f32);
  k.output("y", h * rsqrt(mean_square + 1e-6) * k.input("weight", f32, {col}));
  k.output("sum", h);
  return *std::move(k).finish();
}

}  // namespace

TEST_CASE("a kernel written by hand takes its extents when it is bound") {
  TileBuilder::Finished kernel = residual_rms_norm();
  CHECK(*classify(kernel.program) == Pattern::rows);
  Result<Binding> binding = contiguous_binding(kernel, {4, 96});
  REQUIRE(binding);
  CHECK(verify(kernel.program, *binding));
  Case made{kernel.program, *binding, {}};
  for (std::int64_t elements : binding->operand_elements) {
    ops::HostTensor tensor = *ops::HostTensor::allocate(f32, ops::Shape{elements});
    for (std::int64_t i = 0; i < elements; ++i)
      tensor.set_bits_at(i, ops::HostTensor::scalar(f32, std::sin(static_cast<double>(i))).bits_at(0));
    made.operands.push_back(tensor);
  }
  CHECK(disagreements(made) == "");
}

TEST_CASE("binding needs an extent for every axis") {
  Result<Binding> few = contiguous_binding(residual_rms_norm(), {4});
  REQUIRE_FALSE(few);
  CHECK(few.error().message.find("2 axes") != std::string::npos);
  CHECK_FALSE(contiguous_binding(residual_rms_norm(), {4, -1}));
}

TEST_CASE("the text names axes, operands and every value") {
  TileBuilder::Finished kernel = residual_rms_norm();
  std::string text = to_text(kernel.program);
  CHECK(text.find("tile residual_rms_norm\naxis row\naxis col\n") == 0);
  CHECK(text.find(") over (col)") != std::string::npos);
  CHECK(text.find("store y[offset + row*stride0 + col*stride1]") != std::string::npos);
  Result<Binding> binding = contiguous_binding(kernel, {4, 96});
  CHECK(to_text(kernel.program, *binding).find("load x[row*96 + col*1]") != std::string::npos);
}

TEST_CASE("a mistake while building is told by finish, in words") {
  TileBuilder k("mistaken");
  Axis r = k.axis("row", 3), c = k.axis("col", 4);
  k.output("y", k.sum(k.input("x", f32, {r}), {c}));
  auto finished = std::move(k).finish();
  REQUIRE_FALSE(finished);
  CHECK(finished.error().message.find("mistaken") != std::string::npos);
  CHECK(finished.error().message.find("reduction") != std::string::npos);
}

TEST_CASE("mixed types are refused with the primitive's rule") {
  TileBuilder k("mixed");
  Axis r = k.axis("row", 3);
  k.output("y", k.input("x", f32, {r}) + k.input("z", ElementType::i32, {r}));
  CHECK_FALSE(std::move(k).finish());
}

TEST_CASE("a program that stores nothing is refused") {
  TileBuilder k("silent");
  Axis r = k.axis("row", 3);
  k.input("x", f32, {r});
  CHECK_FALSE(std::move(k).finish());
}

TEST_CASE("an index map that leaves its operand is refused") {
  TileBuilder k("outside");
  Axis r = k.axis("row", 3);
  std::uint32_t x = k.operand({.name = "x"}, 5);
  Tile loaded = k.load(x, {{{.axis = r}}}, {.offset = 0, .strides = {3}, .divisors = {1}, .moduli = {0}});
  k.output("y", loaded);
  auto finished = std::move(k).finish();
  REQUIRE_FALSE(finished);
  CHECK(finished.error().message.find("reaches elements 0 to 6") != std::string::npos);
}

TEST_CASE("reductions over different axes do not fuse") {
  TileBuilder k("different");
  Axis r = k.axis("row", 3), c = k.axis("col", 4);
  Tile x = k.input("x", f32, {r, c});
  k.output("a", k.sum(x, {c}));
  k.output("b", k.sum(x, {r}));
  auto finished = std::move(k).finish();
  REQUIRE(finished);
  auto pattern = classify(finished->program);
  REQUIRE_FALSE(pattern);
  CHECK(pattern.error().code == ErrorCode::unsupported);
}

TEST_CASE("a profile survives its JSON") {
  for (const std::string& name : profile_names()) {
    DeviceProfile device = profile(name);
    Result<DeviceProfile> again = profile_from_json(to_json(device));
    REQUIRE(again);
    CHECK(to_json(*again) == to_json(device));
  }
  CHECK_FALSE(profile_from_json("{}"));
  CHECK_FALSE(profile_from_json("not json"));
}

TEST_CASE("measured figures snap to steps of the square root of two") {
  CHECK(round_to_profile_step(64) == 64);
  CHECK(round_to_profile_step(70) == 64);
  CHECK(round_to_profile_step(85) == doctest::Approx(64 * std::sqrt(2.0)));
  CHECK(round_to_profile_step(0) == 0);
}
