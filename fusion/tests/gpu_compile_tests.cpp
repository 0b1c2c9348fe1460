#include <doctest/doctest.h>
#include <halyard/fusion/emit_c.h>
#include <halyard/program/builder.h>
#include <halyard/program/text.h>
#include <halyard/program/verify.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "gpu_compilers.h"
#include "sample_programs.h"

namespace halyard::fusion {
namespace {

using program::Builder;
using program::Builtin;
using program::MemoryRef;
using program::Op;
using program::Program;
using program::Scope;
using program::ValueId;

/// Aligned vectors of every element type, loaded and stored whole.
Program aligned_copies(std::uint16_t lanes) {
  Builder b("aligned_copies");
  b.program().workgroup_size[0] = 64;
  ValueId at = b.mul(b.builtin(Builtin::lane), b.i32(lanes));
  for (std::size_t i = 0; i < element_type_facts.size(); ++i) {
    auto element = static_cast<ElementType>(i);
    MemoryRef x = b.buffer("x_" + std::string(name(element)), element, program::Access::read);
    MemoryRef y = b.buffer("y_" + std::string(name(element)), element, program::Access::write);
    auto alignment = static_cast<std::uint32_t>(lanes * byte_size(element));
    b.store(y, at, b.load(x, at, lanes, program::no_value, alignment), program::no_value, alignment);
  }
  return std::move(b).finish();
}

/// Casts between every two element types.
Program every_cast() {
  Builder b("every_cast");
  std::vector<MemoryRef> inputs;
  std::vector<MemoryRef> outputs;
  for (std::size_t i = 0; i < element_type_facts.size(); ++i) {
    auto element = static_cast<ElementType>(i);
    inputs.push_back(b.buffer("in_" + std::string(name(element)), element, program::Access::read));
    outputs.push_back(b.buffer("out_" + std::string(name(element)), element, program::Access::write));
  }
  for (std::size_t from = 0; from < inputs.size(); ++from)
    for (std::size_t to = 0; to < outputs.size(); ++to) {
      ValueId value = b.load(inputs[from], b.i32(static_cast<std::int32_t>(to)));
      b.store(outputs[to], b.i32(static_cast<std::int32_t>(from)),
              b.cast(static_cast<ElementType>(to), value));
    }
  return std::move(b).finish();
}

/// Exchanges of every element type in subgroups of 8 and a three-dimensional workgroup; bits regrouped.
Program every_exchange() {
  Builder b("every_exchange");
  b.program().workgroup_size[0] = 4;
  b.program().workgroup_size[1] = 4;
  b.program().workgroup_size[2] = 4;
  b.program().subgroup_size = 8;
  ValueId lane = b.builtin(Builtin::lane);
  ValueId other = b.builtin(Builtin::subgroup_lane);
  for (std::size_t i = 0; i < element_type_facts.size(); ++i) {
    auto element = static_cast<ElementType>(i);
    MemoryRef memory = b.buffer("memory_" + std::string(name(element)), element, program::Access::read_write);
    ValueId value = b.shuffle_xor(b.load(memory, lane), 4);
    b.barrier(Scope::subgroup);
    b.store(memory, lane, b.broadcast_lane(b.shuffle_lane(value, other), 3));
  }
  MemoryRef bytes = b.buffer("bytes", ElementType::i8, program::Access::read_write);
  MemoryRef doubles = b.buffer("doubles", ElementType::f64, program::Access::read_write);
  ValueId eight = b.load(bytes, b.i32(0), 8);
  ValueId floats = b.bitcast({ElementType::f32, 2}, eight);
  ValueId wide = b.bitcast({ElementType::f64, 1}, floats);
  b.store(doubles, b.builtin(Builtin::subgroup), wide);
  b.store(bytes, b.i32(0), b.bitcast({ElementType::i8, 8}, b.load(doubles, b.i32(1))));
  return std::move(b).finish();
}

std::vector<Program> hand_built() {
  std::vector<Program> programs{program::samples::scaled_sum(), program::samples::subtract_row_sum(),
                                program::samples::vector_chain(), every_cast(), every_exchange()};
  for (std::uint16_t lanes : {std::uint16_t{2}, std::uint16_t{4}, std::uint16_t{8}})
    programs.push_back(aligned_copies(lanes));
  for (std::size_t i = 0; i < element_type_facts.size(); ++i)
    programs.push_back(program::samples::every_operation(static_cast<ElementType>(i), 2));
  return programs;
}

/// Thread programs in text form from the folder HALYARD_KERNEL_FOLDER (files *.thread): what the lowering
/// tests leave behind, or `halyard explain --emit` writes. None if it is not set.
std::vector<Program> recorded() {
  std::vector<Program> programs;
  const char* folder = std::getenv("HALYARD_KERNEL_FOLDER");
  if (!folder) return programs;
  REQUIRE_MESSAGE(std::filesystem::is_directory(folder), folder);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".thread") continue;
    std::ifstream file(entry.path());
    std::ostringstream text;
    text << file.rdbuf();
    Result<Program> parsed = program::parse_text(text.str());
    REQUIRE_MESSAGE(parsed, entry.path().string() << ": " << parsed.error().message);
    programs.push_back(std::move(*parsed));
  }
  CHECK(!programs.empty());
  return programs;
}

std::string emit(const Program& program, CLanguage language, std::uint32_t subgroup_size = 32) {
  Result<std::string> source = emit_c(program, {.language = language, .subgroup_size = subgroup_size});
  REQUIRE_MESSAGE(source, source.error().message);
  return *source;
}

bool contains(const std::string& text, std::string_view what) {
  return text.find(what) != std::string::npos;
}

void compile_all(testing::GpuCompiler& compiler, const std::vector<Program>& programs,
                 const std::vector<std::string>& architectures) {
  for (const std::string& architecture : architectures)
    for (const Program& program : programs) {
      std::string source = emit(program, compiler.language(), compiler.subgroup_size(architecture));
      auto code = compiler.compile(source, architecture);
      CHECK_MESSAGE(code, architecture << ": " << code.error().message);
    }
}

}  // namespace

TEST_CASE("programs of every operation compile with NVRTC for sm_75, sm_80 and sm_90") {
  if (auto compiler = testing::present(testing::open_nvrtc()))
    compile_all(*compiler, hand_built(), compiler->architectures());
}

TEST_CASE("programs of every operation compile with HIPRTC for gfx90a and gfx1030") {
  if (auto compiler = testing::present(testing::open_hiprtc()))
    compile_all(*compiler, hand_built(), compiler->architectures());
}

TEST_CASE("recorded kernels compile with NVRTC") {
  if (auto compiler = testing::present(testing::open_nvrtc())) compile_all(*compiler, recorded(), {"sm_80"});
}

TEST_CASE("recorded kernels compile with HIPRTC") {
  if (auto compiler = testing::present(testing::open_hiprtc()))
    compile_all(*compiler, recorded(), {compiler->architectures().back()});
}

TEST_CASE("CUDA code neither contracts nor flushes, and moves aligned vectors whole") {
  auto compiler = testing::present(testing::open_nvrtc());
  if (!compiler) return;
  auto assembly = [&](const Program& program) {
    auto code = compiler->compile(emit(program, CLanguage::cuda), "sm_80");
    REQUIRE_MESSAGE(code, code.error().message);
    return code->assembly;
  };
  std::string sum = assembly(program::samples::scaled_sum());
  CHECK(contains(sum, "mul.rn.f32"));
  CHECK(contains(sum, "add.rn.f32"));
  CHECK_FALSE(contains(sum, "fma.rn.f32"));
  CHECK_FALSE(contains(sum, ".ftz"));
  std::string all = assembly(program::samples::every_operation(ElementType::f32, 4));
  CHECK(contains(all, "div.rn.f32"));
  CHECK(contains(all, "sqrt.rn.f32"));
  CHECK_FALSE(contains(all, ".ftz"));
  std::string copy = assembly(aligned_copies(4));
  CHECK(contains(copy, ".v4.f32"));
  CHECK(contains(copy, ".v4.u16"));
}

TEST_CASE("the printed kernel reads in the order of its parts") {
  std::string source = emit(program::samples::scaled_sum(), CLanguage::cuda);
  CAPTURE(source);
  CHECK(contains(source, "// y = a x + y\n// one element per lane\n"));
  CHECK(contains(source,
                 "extern \"C\" __global__ void __launch_bounds__(64) scaled_sum(\n"
                 "    const float* __restrict__ x,\n"
                 "    float* __restrict__ y,\n"
                 "    const float a,\n"
                 "    const int n) {\n"
                 "  const int lane = (int)threadIdx.x;\n"
                 "  const int workgroup_x = (int)blockIdx.x;\n"));
  CHECK(contains(source, "// two roundings, never contracted\n"));
  CHECK(contains(source, "__fmul_rn("));
  CHECK_FALSE(contains(source, "#include"));
}

TEST_CASE(
    "names that mean something to the compiler are changed, and notes cannot break out of their comment") {
  Builder b("kernel");
  b.program().note = "ends in a backslash \\\n*/ #error \r second";
  MemoryRef x = b.buffer("float4", ElementType::f32, program::Access::read_write);
  ValueId v = b.parameter("v1", ElementType::f32);
  b.parameter("lane", ElementType::i32);
  b.store(x, b.builtin(Builtin::lane), v);
  b.comment("a line that would go on \\");
  std::string source = emit(std::move(b).finish(), CLanguage::hip);
  CAPTURE(source);
  CHECK(contains(source, "* __restrict__ p_float4,"));
  CHECK(contains(source, "const float p_v1,"));
  CHECK(contains(source, "const int lane_"));
  CHECK_FALSE(contains(source, "\\"));
  CHECK_FALSE(contains(source, "\r"));
  CHECK_FALSE(emit_c(std::move(Builder("float")).finish(), {}));
}

TEST_CASE("a program that relies on a larger subgroup than the device has is refused") {
  Result<std::string> source = emit_c(program::samples::subtract_row_sum(), {.subgroup_size = 8});
  REQUIRE_FALSE(source);
  CHECK(source.error().code == ErrorCode::unsupported);
}

}  // namespace halyard::fusion
