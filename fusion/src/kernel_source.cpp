#include <halyard/fusion/kernel_source.h>

#include <fmt/format.h>
#include <halyard/fusion/emit_c.h>
#include <halyard/fusion/emit_llvm.h>
#include <halyard/fusion/emit_spirv.h>
#include <halyard/hal/quirks.h>
#include <halyard/program/serialize.h>
#include <algorithm>
#include <cstring>

namespace halyard::fusion {
namespace {

hal::KernelDesc describe(const program::Program& program) {
  hal::KernelDesc desc;
  desc.entry = program.name;
  for (std::size_t i = 0; i < 3; ++i) desc.workgroup_size[i] = program.workgroup_size[i];
  desc.required_subgroup_size = program.subgroup_size;
  desc.buffer_count = static_cast<std::uint32_t>(program.buffers.size());
  desc.scalar_bytes = program::scalar_offsets(program).back();
  for (std::size_t i = 0; i < program.buffers.size() && i < 64; ++i) {
    auto access = static_cast<unsigned>(program.buffers[i].access);
    if (access & static_cast<unsigned>(program::Access::read)) desc.read_buffers |= std::uint64_t{1} << i;
    if (access & static_cast<unsigned>(program::Access::write)) desc.written_buffers |= std::uint64_t{1} << i;
  }
  return desc;
}

std::vector<std::byte> bytes_of(const void* data, std::size_t count) {
  std::vector<std::byte> bytes(count);
  std::memcpy(bytes.data(), data, count);
  return bytes;
}

Result<KernelSource> print_llvm(const program::Program& program, const hal::DeviceInfo& info) {
  KernelSource source;
  LlvmOptions options = llvm_options(info.isa_features, info.vector_register_bytes);
  HALYARD_ASSIGN(source.text, emit_llvm(program, options));
  source.module.bytes = bytes_of(source.text.data(), source.text.size());
  hal::KernelDesc desc = describe(program);
  desc.scratch_bytes = program::shared_bytes(program);
  source.module.kernels.push_back(std::move(desc));
  return source;
}

Result<KernelSource> print_spirv(const program::Program& program, const hal::DeviceInfo& info,
                                 const PrintOptions& print) {
  SpirvOptions options;
  options.max_scalar_bytes = info.max_scalar_bytes;
  options.facts.storage_types = info.storage_types.bits;
  options.facts.arithmetic_types = info.arithmetic_types.bits;
  options.facts.trusted_f16 = print.trust_f16 || (info.numeric.rounds_f16 == hal::Fact::yes &&
                                                  !info.quirk(hal::quirk::elides_round_trips));
  options.facts.exact_division = info.numeric.exact_division != hal::Fact::no;
  options.facts.exact_sqrt = info.numeric.exact_sqrt != hal::Fact::no;
  options.facts.fused_fma = info.numeric.fused_fma != hal::Fact::no;
  options.facts.fused_fma_f64 = info.numeric.fused_fma_f64 != hal::Fact::no;
  options.keeps_subnormals = info.declares_keeps_subnormals.bits;
  options.rounds_to_even = info.declares_rounds_to_even.bits;
  options.keeps_nan = info.declares_keeps_nan.bits;
  options.loads_in_pairs = info.quirk(hal::quirk::loads_cost_per_element).value_or(0) != 0 &&
                           info.arithmetic_types.has(ElementType::u64);
  options.names = print.for_readers;
  auto emitted = emit_spirv(program, options);
  if (!emitted) return fail(emitted.error().code, fmt::format("{}: {}", info.name, emitted.error().message));
  const std::vector<std::uint32_t>& words = *emitted;
  KernelSource source;
  source.module.bytes = bytes_of(words.data(), words.size() * sizeof(std::uint32_t));
  hal::KernelDesc desc = describe(program);
  desc.static_shared_bytes = static_cast<std::uint32_t>(program::shared_bytes(program));
  source.module.kernels.push_back(std::move(desc));
  return source;
}

Result<KernelSource> print_c(const program::Program& program, CLanguage language,
                             const hal::DeviceInfo& info) {
  KernelSource source;
  COptions options{.language = language, .subgroup_size = std::max(info.lanes_per_subgroup, 1u)};
  HALYARD_ASSIGN(source.text, emit_c(program, options));
  source.module.bytes = bytes_of(source.text.data(), source.text.size());
  for (std::string_view option : c_compile_options(language))
    source.module.options += (source.module.options.empty() ? "" : " ") + std::string(option);
  hal::KernelDesc desc = describe(program);
  desc.static_shared_bytes = static_cast<std::uint32_t>(program::shared_bytes(program));
  source.module.kernels.push_back(std::move(desc));
  return source;
}

KernelSource serialized(const program::Program& program, const hal::DeviceInfo& info) {
  KernelSource source;
  source.module.bytes = program::serialize(program);
  hal::KernelDesc desc = describe(program);
  if (info.one_lane_per_workgroup)
    desc.scratch_bytes = program::shared_bytes(program);
  else
    desc.static_shared_bytes = static_cast<std::uint32_t>(program::shared_bytes(program));
  source.module.kernels.push_back(std::move(desc));
  return source;
}

}  // namespace

bool has_emitter(std::string_view format) {
  return format == "llvm-ir" || format == "spirv" || format == "cuda-c++" || format == "hip-c++" ||
         format == "thread-program";
}

Result<KernelSource> print_kernel(const program::Program& program, std::string_view format,
                                  const hal::DeviceInfo& info, const PrintOptions& options) {
  KernelSource source;
  if (format == "llvm-ir") {
    HALYARD_ASSIGN(source, print_llvm(program, info));
  } else if (format == "spirv") {
    HALYARD_ASSIGN(source, print_spirv(program, info, options));
  } else if (format == "cuda-c++" || format == "hip-c++") {
    CLanguage language = format == "cuda-c++" ? CLanguage::cuda : CLanguage::hip;
    HALYARD_ASSIGN(source, print_c(program, language, info));
  } else if (format == "thread-program") {
    source = serialized(program, info);
  } else {
    return fail(ErrorCode::unsupported,
                fmt::format("kernel {}: no emitter writes the module format '{}' (there are llvm-ir, spirv, "
                            "cuda-c++, hip-c++ and thread-program)",
                            program.name, format));
  }
  source.module.format = std::string(format);
  source.module.label = program.name;
  return source;
}

}  // namespace halyard::fusion
