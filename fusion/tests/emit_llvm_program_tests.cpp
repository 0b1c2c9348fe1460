// Whole programs: memory, control, grids; and the text itself.
#include <doctest/doctest.h>
#include <cstring>
#include <string>
#include "emit_llvm_harness.h"

using namespace halyard;
using namespace halyard::program;
using namespace halyard::fusion::tests;
using fusion::emit_llvm;

TEST_CASE("a triad with a masked tail touches nothing beyond it") {
  Builder b("triad");
  MemoryRef x = b.buffer("b", ElementType::f32, Access::read);
  MemoryRef y = b.buffer("c", ElementType::f32, Access::read);
  MemoryRef z = b.buffer("d", ElementType::f32, Access::read);
  MemoryRef out = b.buffer("a", ElementType::f32, Access::write);
  ValueId n = b.parameter("n", ElementType::i64);
  ValueId first = b.mul(b.cast(ElementType::i64, b.builtin(Builtin::workgroup_x)), b.i64(8));
  ValueId lanes = b.add(b.splat(first, 8), b.iota({ElementType::i64, 8}));
  ValueId mask = b.compare(Op::lt, lanes, b.splat(n, 8));
  auto read = [&](MemoryRef memory) { return b.load(memory, first, 8, mask); };
  b.store(out, first, b.add(b.mul(read(x), read(y)), read(z)), mask);
  Program program = std::move(b).finish();
  const std::size_t count = 1003;
  Case what{program, {}, {126, 1, 1}, bytes_of(std::vector<std::int64_t>{static_cast<std::int64_t>(count)})};
  for (unsigned i = 0; i < 3; ++i) what.buffers.push_back(interesting(ElementType::f32, count, i + 1));
  what.buffers.push_back(zeros(ElementType::f32, count));
  check_agrees(what);
}

TEST_CASE(
    "masked loads give zero and masked stores leave memory alone, for every type and also for one lane") {
  for (ElementType element : all_elements)
    for (std::uint16_t lanes : {1, 4, 16}) {
      Builder b("masked_" + std::string(name(element)) + std::to_string(lanes));
      MemoryRef in = b.buffer("in", element, Access::read);
      MemoryRef keep = b.buffer("mask", ElementType::boolean, Access::read);
      MemoryRef out = b.buffer("out", element, Access::write);
      MemoryRef loaded = b.buffer("loaded", element, Access::write);
      ValueId first = b.mul(b.builtin(Builtin::workgroup_x), b.i32(lanes));
      ValueId mask = b.load(keep, first, lanes);
      ValueId value = b.load(in, first, lanes, mask);
      b.store(loaded, first, value);
      b.store(out, first, b.load(in, first, lanes), mask);
      b.store(out, first, value, b.boolean(false, lanes));
      check_agrees({std::move(b).finish(),
                    {interesting(element, 64), interesting(ElementType::boolean, 64), zeros(element, 64),
                     zeros(element, 64)},
                    {64u / lanes, 1, 1},
                    {}});
    }
}

TEST_CASE("a mask known when printing costs nothing") {
  Builder b("known_mask");
  MemoryRef in = b.buffer("in", ElementType::f32, Access::read);
  MemoryRef out = b.buffer("out", ElementType::f32, Access::write);
  b.store(out, b.i64(0), b.load(in, b.i64(0), 8, b.boolean(true, 8)), b.boolean(true, 8));
  Program program = std::move(b).finish();
  auto text = emit_llvm(program, device().options());
  REQUIRE(text);
  CHECK_EQ(text->find("masked"), std::string::npos);
}

TEST_CASE("gathers and scatters, whole and masked") {
  for (ElementType element : {ElementType::f32, ElementType::bf16, ElementType::boolean, ElementType::i64})
    for (ElementType index_element : {ElementType::i32, ElementType::i64})
      for (bool masked : {false, true}) {
        Builder b("gather_" + std::string(name(element)));
        MemoryRef in = b.buffer("in", element, Access::read);
        MemoryRef where = b.buffer("where", index_element, Access::read);
        MemoryRef keep = b.buffer("mask", ElementType::boolean, Access::read);
        MemoryRef out = b.buffer("out", element, Access::write);
        MemoryRef spread = b.buffer("spread", element, Access::write);
        ValueId first = b.mul(b.builtin(Builtin::workgroup_x), b.i32(8));
        ValueId indices = b.load(where, first, 8);
        ValueId mask = masked ? b.load(keep, first, 8) : no_value;
        ValueId value = b.gather(in, indices, mask);
        b.store(out, first, value);
        b.scatter(spread, indices, value, mask);
        std::vector<std::int32_t> order32;
        std::vector<std::int64_t> order64;
        for (int i = 0; i < 32; ++i) {
          order32.push_back((i * 11 + 5) % 32);
          order64.push_back((i * 11 + 5) % 32);
        }
        check_agrees({std::move(b).finish(),
                      {interesting(element, 32),
                       index_element == ElementType::i32 ? bytes_of(order32) : bytes_of(order64),
                       interesting(ElementType::boolean, 32), zeros(element, 32), zeros(element, 32)},
                      {4, 1, 1},
                      {}});
      }
}

TEST_CASE("shuffles, folds, inserts and extracts move lanes as they say") {
  Builder b("lanes");
  MemoryRef in = b.buffer("in", ElementType::f32, Access::read);
  MemoryRef out = b.buffer("out", ElementType::f32, Access::write);
  ValueId v = b.load(in, b.i32(0), 16);
  ValueId low = b.slice(v, 0, 8);
  ValueId high = b.slice(v, 8, 8);
  b.store(out, b.i32(0), b.shuffle(low, high, {7, 15, 0, 8, 3, 3, 12, 1}));
  b.store(out, b.i32(8), b.concat(high, low));
  ValueId folded = b.add(low, high);
  for (std::uint16_t lanes : {4, 2, 1})
    folded = b.add(b.slice(folded, 0, lanes), b.slice(folded, lanes, lanes));
  b.store(out, b.i32(24), folded);
  b.store(out, b.i32(25), b.insert(b.splat(b.extract(v, 5), 4), folded, 2));
  b.store(out, b.i32(29), b.concat(b.extract(v, 3), folded));
  b.store(out, b.i32(31), b.shuffle(b.extract(v, 1), b.extract(v, 2), {1}));
  check_agrees({std::move(b).finish(),
                {interesting(ElementType::f32, 16), zeros(ElementType::f32, 32)},
                {1, 1, 1},
                {}});
}

TEST_CASE("loops carry vectors, nest, and may run zero times") {
  Builder b("carried");
  MemoryRef in = b.buffer("in", ElementType::f32, Access::read);
  MemoryRef out = b.buffer("out", ElementType::f32, Access::write);
  ValueId rows = b.parameter("rows", ElementType::i32);
  ValueId columns = b.parameter("columns", ElementType::i32);
  ValueId zero = b.constant({ElementType::f32, 8}, 0);
  auto sums = b.for_loop(b.i32(0), rows, b.i32(1), {zero, b.f32(1)}, [&](ValueId row, auto carried) {
    auto inner = b.for_loop(
        b.i32(0), columns, b.i32(8), {carried[0]},
        [&](ValueId column, auto sum) {
          ValueId at = b.add(b.mul(row, columns), column);
          return std::vector<ValueId>{b.add(sum[0], b.load(in, at, 8))};
        },
        4);
    return std::vector<ValueId>{inner[0], b.mul(carried[1], b.f32(0.5f))};
  });
  b.store(out, b.i32(0), sums[0]);
  b.store(out, b.i32(8), sums[1]);
  Program program = std::move(b).finish();
  auto scalars = [](std::int32_t r, std::int32_t c) { return bytes_of(std::vector<std::int32_t>{r, c}); };
  check_agrees(
      {program, {interesting(ElementType::f32, 320), zeros(ElementType::f32, 9)}, {1, 1, 1}, scalars(5, 64)});
  check_agrees(
      {program, {interesting(ElementType::f32, 320), zeros(ElementType::f32, 9)}, {1, 1, 1}, scalars(0, 64)});
  check_agrees(
      {program, {interesting(ElementType::f32, 320), zeros(ElementType::f32, 9)}, {1, 1, 1}, scalars(3, 0)});
}

TEST_CASE("branches give results, within loops too") {
  Builder b("branches");
  MemoryRef in = b.buffer("in", ElementType::i32, Access::read);
  MemoryRef out = b.buffer("out", ElementType::i32, Access::read_write);
  auto total = b.for_loop(b.i32(0), b.i32(64), b.i32(1), {b.i32(0)}, [&](ValueId i, auto sum) {
    ValueId value = b.load(in, i);
    ValueId positive = b.compare(Op::gt, value, b.i32(0));
    auto chosen = b.if_else(
        positive, [&] { return std::vector<ValueId>{b.add(sum[0], value)}; },
        [&] {
          b.if_then(b.compare(Op::eq, b.rem(i, b.i32(3)), b.i32(0)), [&] { b.store(out, i, value); });
          return std::vector<ValueId>{b.sub(sum[0], b.i32(1))};
        });
    return std::vector<ValueId>{chosen[0]};
  });
  b.store(out, b.i32(0), total[0]);
  check_agrees({std::move(b).finish(),
                {interesting(ElementType::i32, 64), zeros(ElementType::i32, 64)},
                {1, 1, 1},
                {}});
}

TEST_CASE("shared arrays are the task's scratch") {
  Builder b("scratch");
  MemoryRef in = b.buffer("in", ElementType::f32, Access::read);
  MemoryRef out = b.buffer("out", ElementType::f32, Access::write);
  MemoryRef row = b.shared("row", ElementType::f32, 24);
  MemoryRef flags = b.shared("flags", ElementType::boolean, 24);
  MemoryRef wide = b.shared("wide", ElementType::f64, 24);
  ValueId first = b.mul(b.builtin(Builtin::workgroup_x), b.i32(24));
  b.for_loop(b.i32(0), b.i32(24), b.i32(1), {}, [&](ValueId i, auto) {
    ValueId value = b.load(in, b.add(first, i));
    b.store(row, i, value);
    b.store(flags, i, b.compare(Op::gt, value, b.f32(0)));
    b.store(wide, i, b.cast(ElementType::f64, value));
    return std::vector<ValueId>{};
  });
  b.barrier(Scope::workgroup);
  b.for_loop(b.i32(0), b.i32(24), b.i32(8), {}, [&](ValueId i, auto) {
    ValueId reversed = b.gather(row, b.sub(b.splat(b.sub(b.i32(23), i), 8), b.iota({ElementType::i32, 8})));
    ValueId twice = b.cast(ElementType::f32, b.load(wide, i, 8));
    b.store(out, b.add(first, i), b.select(b.load(flags, i, 8), reversed, twice));
    return std::vector<ValueId>{};
  });
  check_agrees({std::move(b).finish(),
                {interesting(ElementType::f32, 24 * 50), zeros(ElementType::f32, 24 * 50)},
                {50, 1, 1},
                {}});
}

TEST_CASE("a workgroup knows its place in a grid of three dimensions, however the grid is split") {
  Builder b("places");
  MemoryRef out = b.buffer("out", ElementType::i32, Access::write);
  auto builtin = [&](Builtin which) { return b.builtin(which); };
  ValueId x = builtin(Builtin::workgroup_x), y = builtin(Builtin::workgroup_y),
          z = builtin(Builtin::workgroup_z);
  ValueId gx = builtin(Builtin::grid_x), gy = builtin(Builtin::grid_y), gz = builtin(Builtin::grid_z);
  ValueId linear = b.add(x, b.mul(gx, b.add(y, b.mul(gy, z))));
  ValueId at = b.mul(linear, b.i32(4));
  b.store(out, at, x);
  b.store(out, b.add(at, b.i32(1)), y);
  b.store(out, b.add(at, b.i32(2)), z);
  b.store(out, b.add(at, b.i32(3)), b.add(gz, builtin(Builtin::lane)));
  Program program = std::move(b).finish();
  check_agrees({program, {zeros(ElementType::i32, 4 * 7 * 5 * 3)}, {7, 5, 3}, {}});
  check_agrees({program, {zeros(ElementType::i32, 4 * 97)}, {1, 97, 1}, {}});
  check_agrees({program, {zeros(ElementType::i32, 4)}, {1, 1, 1}, {}});
}

TEST_CASE("scalar parameters of every type arrive") {
  Builder b("parameters");
  MemoryRef out = b.buffer("out", ElementType::f64, Access::write);
  int i = 0;
  for (ElementType element : all_elements)
    b.store(out, b.i32(i++),
            b.cast(ElementType::f64, b.parameter("p" + std::string(name(element)), element)));
  Program program = std::move(b).finish();
  std::vector<std::uint32_t> offsets = scalar_offsets(program);
  Bytes scalars(offsets.back());
  for (std::size_t k = 0; k < std::size(all_elements); ++k) {
    Bytes value = interesting(all_elements[k], 3);
    std::memcpy(scalars.data() + offsets[k], value.data() + 2 * byte_size(all_elements[k]),
                byte_size(all_elements[k]));
  }
  scalars[offsets[0]] = std::byte{1};
  check_agrees({program, {zeros(ElementType::f64, std::size(all_elements))}, {1, 1, 1}, scalars});
}

TEST_CASE("lane exchanges of a subgroup of one lane give the value itself") {
  Builder b("alone");
  MemoryRef in = b.buffer("in", ElementType::f32, Access::read);
  MemoryRef out = b.buffer("out", ElementType::f32, Access::write);
  ValueId v = b.load(in, b.i32(0), 4);
  b.barrier(Scope::subgroup);
  b.store(out, b.i32(0), b.broadcast_lane(b.shuffle_lane(v, b.i32(0)), 0));
  Program program = std::move(b).finish();
  auto text = emit_llvm(program, device().options());
  REQUIRE(text);
  std::vector<Bytes> buffers{interesting(ElementType::f32, 4), zeros(ElementType::f32, 4)};
  REQUIRE(device().run(program, *text, {1, 1, 1}, buffers, {}));
  CHECK(buffers[0] == buffers[1]);
}

TEST_CASE("a 6 by 16 register tile accumulates k in ascending order") {
  Builder b("register_tile");
  MemoryRef a = b.buffer("a", ElementType::f32, Access::read);
  MemoryRef w = b.buffer("b", ElementType::f32, Access::read);
  MemoryRef c = b.buffer("c", ElementType::f32, Access::write);
  ValueId depth = b.parameter("k", ElementType::i64);
  std::vector<ValueId> zero(12, b.constant({ElementType::f32, 8}, 0));
  auto sums = b.for_loop(b.i64(0), depth, b.i64(1), zero, [&](ValueId k, auto carried) {
    std::vector<ValueId> next;
    ValueId row = b.mul(k, b.i64(16));
    ValueId low = b.load(w, row, 8);
    ValueId high = b.load(w, b.add(row, b.i64(8)), 8);
    for (int i = 0; i < 6; ++i) {
      ValueId x = b.splat(b.load(a, b.add(b.mul(k, b.i64(6)), b.i64(i))), 8);
      next.push_back(b.fma(x, low, carried[static_cast<std::size_t>(2 * i)]));
      next.push_back(b.fma(x, high, carried[static_cast<std::size_t>(2 * i + 1)]));
    }
    return next;
  });
  for (int i = 0; i < 12; ++i) b.store(c, b.i64(8 * i), sums[static_cast<std::size_t>(i)]);
  check_agrees({std::move(b).finish(),
                {interesting(ElementType::f32, 6 * 100), interesting(ElementType::f32, 16 * 100, 9),
                 zeros(ElementType::f32, 96)},
                {1, 1, 1},
                bytes_of(std::vector<std::int64_t>{100})});
}

TEST_CASE("notes are comments and can never become code") {
  Builder b("noted");
  MemoryRef out = b.buffer("out\nret void", ElementType::f32, Access::write);
  b.comment("first\n  call void @abort()");
  b.store(out, b.i32(0), b.add(b.f32(1), b.f32(2)));
  b.note("one\rand a half\n}");
  Program program = std::move(b).finish();
  program.note = "line one\nline two\r}";
  auto text = emit_llvm(program, device().options());
  REQUIRE(text);
  CHECK_NE(text->find("; line two"), std::string::npos);
  CHECK_NE(text->find("; one and a half"), std::string::npos);
  std::vector<Bytes> buffers{zeros(ElementType::f32, 1)};
  REQUIRE(device().run(program, *text, {1, 1, 1}, buffers, {}));
}

TEST_CASE("the text declares nothing but LLVM's intrinsics and carries no fast-math") {
  Case what =
      lane_wise("plain", {ElementType::f16, ElementType::f16, ElementType::f16}, ElementType::f16, 8, 64,
                [&](Builder& b, const std::vector<ValueId>& v) { return b.fma(v[0], v[1], v[2]); });
  auto text = emit_llvm(what.program, device().options());
  REQUIRE(text);
  for (std::size_t at = text->find("declare"); at != std::string::npos; at = text->find("declare", at + 1))
    CHECK_EQ(text->substr(text->find('@', at), 6), "@llvm.");
  for (const char* flag : {"fast", "contract", "reassoc", "nnan", "ninf", "nsz", "arcp", "afn"})
    CHECK_EQ(text->find(std::string(" ") + flag + " "), std::string::npos);
}

TEST_CASE("index arithmetic is marked as not wrapping, and arithmetic that anything else sees is not") {
  Builder b("indices");
  MemoryRef in = b.buffer("in", ElementType::i32, Access::read);
  MemoryRef out = b.buffer("out", ElementType::i32, Access::write);
  ValueId at = b.add(b.mul(b.builtin(Builtin::workgroup_x), b.i32(8)), b.i32(1));
  ValueId value = b.mul(b.load(in, at), b.i32(77));
  b.store(out, at, value);
  b.store(out, b.binary(Op::bit_and, b.mul(value, b.i32(99)), b.i32(7)), value);
  auto text = emit_llvm(std::move(b).finish(), device().options());
  REQUIRE(text);
  CHECK_NE(text->find("mul nsw i32 %workgroup_x, 8"), std::string::npos);
  CHECK_NE(text->find(", 77"), std::string::npos);
  std::size_t hashed = text->find(", 99");
  REQUIRE_NE(hashed, std::string::npos);
  CHECK_EQ(text->substr(text->rfind('=', hashed), 9), "= mul i32");
  std::size_t computed = text->find(", 77");
  CHECK_EQ(text->substr(text->rfind('=', computed), 9), "= mul i32");
}

TEST_CASE("what cannot be printed is an error that names the kernel and the remedy") {
  Builder wide("wide_group");
  Program program = std::move(wide).finish();
  program.workgroup_size[0] = 64;
  auto text = emit_llvm(program, {});
  REQUIRE_FALSE(text);
  CHECK_EQ(text.error().code, ErrorCode::unsupported);
  CHECK_NE(text.error().message.find("wide_group"), std::string::npos);

  Case exact = lane_wise("double_fma", {ElementType::f64}, ElementType::f64, 1, 8,
                         [&](Builder& b, const std::vector<ValueId>& v) { return b.fma(v[0], v[0], v[0]); });
  CHECK_EQ(emit_llvm(exact.program, {}).error().code, ErrorCode::unsupported);
  Case rounding =
      lane_wise("rounding", {ElementType::f32}, ElementType::f32, 1, 8,
                [&](Builder& b, const std::vector<ValueId>& v) { return b.unary(Op::floor, v[0]); });
  CHECK_EQ(emit_llvm(rounding.program, {}).error().code, ErrorCode::unsupported);

  Program unnamed;
  unnamed.name = "no name";
  CHECK_EQ(emit_llvm(unnamed, {}).error().code, ErrorCode::invalid_argument);
}
