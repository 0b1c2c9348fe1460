#include <doctest/doctest.h>
#include <halyard/program/builder.h>
#include <halyard/program/text.h>
#include <halyard/program/verify.h>

#include "sample_programs.h"

namespace halyard::program {
namespace {

/// A kernel with a usual interface around `body`, a few instructions in text form.
std::string fault(std::string body, std::string head = "kernel k workgroup(64, 1, 1) subgroup(32)\n") {
  std::string text = std::move(head) +
                     "buffer x : f32 read\nbuffer y : f32 write\nbuffer z : i32 read_write\nscalar n : i32\n"
                     "shared s : f32[64]\n{\n"
                     "%0 : i32 = parameter n\n%1 : i32 = builtin lane\n%2 : f32 = constant 0x0\n"
                     "%3 : bool = lt %1, %0\n%4 : i32 = constant 0x4\n%5 : bool = lt %4, %0\n" +
                     std::move(body) + "}\n";
  Result<Program> program = parse_text(text);
  REQUIRE_MESSAGE(program, program.error().message);
  Status status = verify(*program);
  if (status) return "";
  CHECK(status.error().code == ErrorCode::invalid_argument);
  return status.error().message;
}

bool mentions(const std::string& message, std::string_view what) {
  CAPTURE(message);
  return message.find(what) != std::string::npos;
}

}  // namespace

TEST_CASE("the sample programs keep every rule") {
  for (const Program& program : samples::all()) {
    Status status = verify(program);
    CHECK_MESSAGE(status, status.error().message);
  }
}

TEST_CASE("operands must have the operation's type") {
  CHECK(fault("%6 : f32 = add %2, %2\n") == "");
  CHECK(mentions(fault("%6 : f32 = add %2, %1\n"), "operand 1 (%1) is i32 but must be f32"));
  CHECK(mentions(fault("%6 : f32 = rem %2, %2\n"), "takes integers"));
  CHECK(mentions(fault("%6 : i32 = sqrt %1\n"), "takes floats"));
  CHECK(mentions(fault("%6 : bool = add %3, %3\n"), "takes integers or floats"));
  CHECK(mentions(fault("%6 : f32 = lt %2, %2\n"), "boolean lanes"));
  CHECK(mentions(fault("%6 : bool = lt %3, %3\n"), "takes integers or floats"));
  CHECK(fault("%6 : bool = eq %3, %3\n") == "");
  CHECK(mentions(fault("%6 : f32 = add %2\n"), "has 1 operands"));
  CHECK(mentions(fault("%6 : f32 = select %2, %2, %2\n"), "must be bool"));
  CHECK(mentions(fault("%6 : f32x4 = splat %2\n%7 : f32 = cast %6\n"), "keeps the number of lanes"));
  CHECK(mentions(fault("%6 : f64 = bitcast %2\n"), "keeps the number of bits"));
}

TEST_CASE("a message quotes the instruction and its kernel") {
  std::string message = fault("%6 : f32 = add %2, %1\n");
  CHECK(mentions(message, "verify `k`"));
  CHECK(mentions(message, "`%6 : f32 = add %2, %1`"));
}

TEST_CASE("constants fit their element") {
  CHECK(mentions(fault("%6 : i8 = constant 0x100\n"), "beyond its element"));
  CHECK(mentions(fault("%6 : bool = constant 0x2\n"), "0 or 1"));
  CHECK(mentions(fault("%6 : f32x4 = iota 0\n"), "integers"));
}

TEST_CASE("lanes are powers of two and constant lane numbers in range") {
  CHECK(mentions(fault("%6 : f32x3 = splat %2\n"), "power of two"));
  CHECK(mentions(fault("%6 : f32x4 = splat %2\n%7 : f32 = extract %6 lane 4\n"), "lane 4"));
  CHECK(mentions(fault("%6 : f32x4 = splat %2\n%7 : f32x2 = shuffle %6, %6 [0, 8]\n"), "index 8"));
  CHECK(mentions(fault("%6 : f32x4 = splat %2\n%7 : f32x2 = shuffle %6, %6 [0, -1]\n"), "index -1"));
  CHECK(mentions(fault("%6 : f32x4 = splat %2\n%7 : f32x4 = insert %6, %1 lane 0\n"), "must be f32"));
}

TEST_CASE("values are used only where they are in scope") {
  CHECK(mentions(fault("%6 : f32 = add %7, %2\n%7 : f32 = add %2, %2\n"), "before it is defined"));
  CHECK(mentions(fault("if %5 {\n%6 : f32 = add %2, %2\nyield\n} else {\nyield\n}\n%7 : f32 = add %6, %2\n"),
                 "outside the block"));
  CHECK(mentions(fault("%6 : f32 = for %7 : i32 = %4 to %0 step %4 carry (%8 : f32 = %6) {\nyield %8\n}\n"),
                 "before it is defined"));
}

TEST_CASE("loops and branches carry what they yield") {
  CHECK(fault("%6 : f32 = for %7 : i32 = %4 to %0 step %4 carry (%8 : f32 = %2) {\nyield %8\n}\n") == "");
  CHECK(mentions(fault("%6 : f32 = for %7 : i32 = %4 to %0 step %4 carry (%8 : f32 = %2) {\nyield %7\n}\n"),
                 "yields %7 of i32"));
  CHECK(mentions(fault("%6 : f32 = for %7 : i32 = %4 to %0 step %4 {\nyield\n}\n"), "do not match"));
  CHECK(mentions(fault("for %6 : f32 = %2 to %2 step %2 {\nyield\n}\n"), "i32 or i64"));
  CHECK(
      mentions(fault("%6 : i32 = constant 0x0\nfor %7 : i32 = %4 to %0 step %6 {\nyield\n}\n"), "positive"));
  CHECK(mentions(fault("%6 : f32 = if %5 {\nyield %2\n} else {\nyield\n}\n"), "yields 0 values"));
  CHECK(mentions(fault("if %2 {\nyield\n} else {\nyield\n}\n"), "boolean scalar"));
  CHECK(mentions(fault("if %5 {\n} else {\nyield\n}\n"), "does not end with `yield`"));
  CHECK(mentions(fault("yield\n"), "ends the block"));
}

TEST_CASE("memory is accessed as declared") {
  CHECK(fault("%6 : f32 = load x[%1] mask %3 align 4\nstore s[%1], %6 : f32\n") == "");
  CHECK(mentions(fault("store x[%1], %2 : f32\n"), "only read"));
  CHECK(mentions(fault("%6 : f32 = load y[%1]\n"), "only written"));
  CHECK(mentions(fault("%6 : f32 = load z[%1]\n"), "holds i32"));
  CHECK(mentions(fault("%6 : f32 = load x[%2]\n"), "index (%2)"));
  CHECK(mentions(fault("%6 : f32x4 = load x[%1] mask %3\n"), "boolx4"));
  CHECK(mentions(fault("%6 : f32x4 = gather x[%1]\n"), "4 lanes"));
  CHECK(mentions(fault("%6 : f32 = load x[%1] align 2\n"), "alignment 2"));
  CHECK(mentions(fault("%6 : f32 = load x[%1] align 48\n"), "alignment 48"));
}

TEST_CASE("barriers and subgroup operations need all lanes of their scope") {
  CHECK(fault("barrier workgroup\nbarrier subgroup\n") == "");
  CHECK(fault("if %5 {\nbarrier workgroup\nyield\n} else {\nyield\n}\n") == "");
  CHECK(mentions(fault("if %3 {\nbarrier workgroup\nyield\n} else {\nyield\n}\n"), "divergent"));
  CHECK(mentions(fault("for %6 : i32 = %1 to %0 step %4 {\nbarrier workgroup\nyield\n}\n"), "divergent"));
  const std::string by_subgroup = "%6 : i32 = builtin subgroup\n%7 : bool = lt %6, %0\nif %7 {\n";
  const std::string end = "yield\n} else {\nyield\n}\n";
  CHECK(fault(by_subgroup + "%8 : f32 = shuffle_xor %2 xor 1\nbarrier subgroup\n" + end) == "");
  CHECK(mentions(fault(by_subgroup + "barrier workgroup\n" + end), "divergent"));
  CHECK(mentions(fault("if %3 {\n%6 : f32 = shuffle_xor %2 xor 1\n" + end), "divergent"));
}

TEST_CASE("divergence is carried around a loop") {
  const std::string loop =
      "%6 : i32, %10 : i32 = for %7 : i32 = %4 to %0 step %4 carry (%8 : i32 = %4, %9 : i32 = %4) {\nyield "
      "%9, ";
  const std::string barrier =
      "\n}\n%11 : bool = lt %6, %0\nif %11 {\nbarrier workgroup\nyield\n} else {\nyield\n}\n";
  CHECK(fault(loop + "%0" + barrier) == "");
  CHECK(mentions(fault(loop + "%1" + barrier), "divergent"));
}

TEST_CASE("subgroup operations need subgroups") {
  const std::string no_subgroups = "kernel k workgroup(64, 1, 1) subgroup(0)\n";
  const std::string one_lane = "kernel k workgroup(1, 1, 1) subgroup(1)\n";
  CHECK(mentions(fault("%6 : f32 = shuffle_xor %2 xor 1\n", no_subgroups), "needs Program::subgroup_size"));
  CHECK(mentions(fault("%6 : i32 = builtin subgroup_lane\n", no_subgroups), "needs Program::subgroup_size"));
  CHECK(mentions(fault("barrier subgroup\n", no_subgroups), "needs Program::subgroup_size"));
  CHECK(mentions(fault("%6 : f32 = broadcast_lane %2 lane 0\n", one_lane), "no other lanes"));
  CHECK(mentions(fault("%6 : f32 = broadcast_lane %2 lane 32\n"), "lane 32"));
}

TEST_CASE("sizes and names are sound") {
  CHECK(mentions(fault("", "kernel k workgroup(0, 1, 1) subgroup(0)\n"), "workgroup size"));
  CHECK(mentions(fault("", "kernel k workgroup(1024, 1024, 1024) subgroup(0)\n"), "workgroup size"));
  CHECK(mentions(fault("", "kernel k workgroup(48, 1, 1) subgroup(32)\n"), "do not fill"));
  CHECK(mentions(fault("", "kernel k workgroup(64, 1, 1) subgroup(3)\n"), "power of two"));
  CHECK(mentions(fault("", "kernel 7k workgroup(64, 1, 1) subgroup(32)\n"), "C identifier"));
  CHECK(mentions(fault("", "kernel x workgroup(64, 1, 1) subgroup(32)\n"), "two things are named"));
}

TEST_CASE("fields that an operation does not use keep their defaults") {
  Program program = samples::scaled_sum();
  program.body.body[2].alignment = 4;
  CHECK_FALSE(verify(program));
  program = samples::scaled_sum();
  program.body.body[0].indices = {1};
  CHECK_FALSE(verify(program));
  program = samples::scaled_sum();
  program.body.body.back().type.lanes = 2;
  CHECK_FALSE(verify(program));
}

}  // namespace halyard::program
