#include <doctest/doctest.h>
#include <halyard/program/text.h>
#include <halyard/program/verify.h>

#include "program_equality.h"
#include "sample_programs.h"

namespace halyard::program {

TEST_CASE("text reads back to the same program, field by field") {
  for (const Program& program : samples::all()) {
    std::string text = to_text(program);
    CAPTURE(text);
    Result<Program> back = parse_text(text);
    REQUIRE_MESSAGE(back, back.error().message);
    CHECK(same(program, *back));
    CHECK(to_text(*back) == text);
  }
}

TEST_CASE("notes of any bytes survive the text form") {
  Program program = samples::scaled_sum();
  program.note = "two\nlines \\ and\ttab \x01 \xc3\xa9\n\nend\n";
  program.body.body[0].note = "a */ note \\";
  program.body.body[1].note = " # leading space, trailing ";
  Result<Program> back = parse_text(to_text(program));
  REQUIRE_MESSAGE(back, back.error().message);
  CHECK(same(program, *back));
}

TEST_CASE("a value without a definition keeps its type") {
  Program program = samples::scaled_sum();
  program.values.push_back({ElementType::bf16, 4});
  Result<Program> back = parse_text(to_text(program));
  REQUIRE_MESSAGE(back, back.error().message);
  CHECK(same(program, *back));
}

TEST_CASE("the text form of a small kernel is what the documentation shows") {
  Result<Program> program = parse_text(R"(# y = 2 x
kernel twice workgroup(64, 1, 1) subgroup(0)
buffer x : f32 read
buffer y : f32 write
scalar n : i32
{
  %0 : i32 = parameter n
  %1 : i32 = builtin lane
  %2 : bool = lt %1, %0  # inside
  %3 : f32 = constant 0x40000000 (2)
  if %2 {
    %4 : f32 = load x[%1]
    %5 : f32 = mul %4, %3
    store y[%1], %5 : f32
    yield
  } else {
    yield
  }
}
)");
  REQUIRE_MESSAGE(program, program.error().message);
  CHECK(verify(*program));
  CHECK(program->note == "y = 2 x");
  CHECK(program->body.body[2].note == "inside");
  CHECK(parse_text(to_text(*program)));
}

TEST_CASE("a fault in the text is told with its line") {
  auto message = [](std::string_view text) {
    Result<Program> program = parse_text(text);
    REQUIRE_FALSE(program);
    CHECK(program.error().code == ErrorCode::invalid_argument);
    return program.error().message;
  };
  const std::string head = "kernel k workgroup(1, 1, 1) subgroup(0)\n";
  CHECK(message("").find("expected `kernel`") != std::string::npos);
  CHECK(message(head + "{\n  %0 : i32 = frobnicate\n}\n").find("line 3") != std::string::npos);
  CHECK(message(head + "{\n  %0 : i33 = constant 1\n}\n").find("`i33` is not a type") != std::string::npos);
  CHECK(message(head + "{\n  %0 : i32 = constant 1\n  %0 : i32 = constant 1\n}\n").find("twice") !=
        std::string::npos);
  CHECK(message(head + "{\n  %0 : f32 = load x[%1]\n}\n").find("no buffer") != std::string::npos);
  CHECK(message(head + "{\n").find("closing brace") != std::string::npos);
  CHECK(message(head + "{\n  %4000000000 : i32 = constant 1\n}\n").find("beyond") != std::string::npos);
  CHECK(message(head + "{\n  # \\").find("escape") != std::string::npos);
}

TEST_CASE("every prefix of a text is refused or read, never worse") {
  std::string text = to_text(samples::vector_chain());
  for (std::size_t size = 0; size < text.size(); ++size)
    (void)parse_text(std::string_view(text).substr(0, size));
}

TEST_CASE("thousands of nested blocks are refused") {
  std::string text = "kernel k workgroup(1, 1, 1) subgroup(0)\n{\n  %0 : bool = constant 0x1\n";
  for (int i = 0; i < 100000; ++i) text += "if %0 {\n";
  CHECK_FALSE(parse_text(text));
}

}  // namespace halyard::program
