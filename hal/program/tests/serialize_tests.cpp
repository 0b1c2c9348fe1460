#include <doctest/doctest.h>
#include <halyard/program/serialize.h>
#include <halyard/program/verify.h>
#include <random>

#include "program_equality.h"
#include "sample_programs.h"

namespace halyard::program {
namespace {

/// The checksum fits whatever the program holds, so that what it guards is reached.
Result<Program> through_bytes(const Program& program) {
  return deserialize(serialize(program));
}

}  // namespace

TEST_CASE("serialized programs read back the same, field by field") {
  for (const Program& program : samples::all()) {
    Result<Program> back = through_bytes(program);
    REQUIRE_MESSAGE(back, back.error().message);
    CHECK(same(program, *back));
  }
}

TEST_CASE("serialized bytes do not change from build to build") {
  std::vector<std::byte> bytes = serialize(samples::scaled_sum());
  const unsigned char head[] = {'H', 'y', 'T', 'P', 1, 0, 0, 0};
  for (std::size_t i = 0; i < sizeof head; ++i) CHECK(static_cast<unsigned char>(bytes[i]) == head[i]);
  CHECK(bytes == serialize(samples::scaled_sum()));
}

TEST_CASE("each damaged byte and each cut is corrupt data") {
  const std::vector<std::byte> good = serialize(samples::subtract_row_sum());
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::vector<std::byte> bad = good;
    bad[i] ^= std::byte{0x41};
    Result<Program> back = deserialize(bad);
    REQUIRE_FALSE(back);
    bool version_byte = i == 4 || i == 5;
    CHECK(back.error().code == (version_byte ? ErrorCode::unsupported : ErrorCode::corrupt_data));
    Result<Program> cut = deserialize(std::span(good).first(i));
    REQUIRE_FALSE(cut);
    CHECK(cut.error().code == ErrorCode::corrupt_data);
  }
}

TEST_CASE("an ill-formed program with a right checksum is corrupt data") {
  Program program = samples::scaled_sum();
  program.body.body[0].operands.push_back(ValueId{7});
  Result<Program> back = through_bytes(program);
  REQUIRE_FALSE(back);
  CHECK(back.error().code == ErrorCode::corrupt_data);

  program = samples::scaled_sum();
  program.body.body[3].op = static_cast<Op>(65000);
  CHECK_FALSE(through_bytes(program));

  program = samples::scaled_sum();
  program.values[0].lanes = 0;
  CHECK_FALSE(through_bytes(program));
}

TEST_CASE("random changes of a program's fields never crash the reader") {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    Program program = samples::subtract_row_sum();
    for (int change = 0; change < 3; ++change) {
      Instruction& victim = program.body.body[random() % program.body.body.size()];
      switch (random() % 7) {
        case 0:
          victim.op = static_cast<Op>(random() % 110);
          break;
        case 1:
          victim.immediate = random();
          break;
        case 2:
          victim.operands.push_back(ValueId{static_cast<std::uint32_t>(random() % 200)});
          break;
        case 3:
          if (!victim.operands.empty()) victim.operands[0] = ValueId{static_cast<std::uint32_t>(random())};
          break;
        case 4:
          victim.results.clear();
          break;
        case 5:
          victim.memory.index = static_cast<std::uint32_t>(random() % 4);
          break;
        default:
          victim.blocks.resize(random() % 3);
          break;
      }
    }
    (void)through_bytes(program);
  }
}

TEST_CASE("deep nesting is refused, not overflowed") {
  Program program;
  program.name = "deep";
  Block* at = &program.body;
  program.values = {{ElementType::boolean, 1}};
  at->body.push_back({.op = Op::constant, .type = {ElementType::boolean, 1}, .results = {ValueId{0}}});
  for (int i = 0; i < 200; ++i) {
    at->body.push_back({.op = Op::if_else, .operands = {ValueId{0}}, .blocks = {Block{}, Block{}}});
    at = &at->body.back().blocks[0];
  }
  Result<Program> back = through_bytes(program);
  REQUIRE_FALSE(back);
  CHECK(back.error().message.find("nested") != std::string::npos);
}

}  // namespace halyard::program
