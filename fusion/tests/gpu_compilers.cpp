#include "gpu_compilers.h"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <algorithm>
#include <cstdlib>

namespace halyard::fusion::testing {
namespace {

void* open_first(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  return nullptr;
}

/// NVRTC and HIPRTC have the same functions under two prefixes.
struct RuntimeCompiler {
  int (*create)(void** program, const char* source, const char* name, int headers, const char* const* sources,
                const char* const* names) = nullptr;
  int (*compile)(void* program, int options, const char* const* option) = nullptr;
  int (*log_size)(void* program, std::size_t* bytes) = nullptr;
  int (*log)(void* program, char* log) = nullptr;
  int (*binary_size)(void* program, std::size_t* bytes) = nullptr;
  int (*binary)(void* program, char* bytes) = nullptr;
  int (*assembly_size)(void* program, std::size_t* bytes) = nullptr;
  int (*assembly)(void* program, char* bytes) = nullptr;
  int (*destroy)(void** program) = nullptr;
  std::string missing;

  template <class Function>
  void resolve(void* library, const std::string& symbol, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, symbol.c_str()));
    if (!function) missing += symbol + " ";
  }

  Result<GpuCompiler::Code> run(const std::string& source, const std::vector<std::string>& options) const {
    void* program = nullptr;
    if (int code = create(&program, source.c_str(), "kernel", 0, nullptr, nullptr))
      return fail(ErrorCode::compile_error, fmt::format("creating the program: code {}", code));
    std::vector<const char*> pointers;
    for (const std::string& option : options) pointers.push_back(option.c_str());
    int code = compile(program, static_cast<int>(pointers.size()), pointers.data());
    std::string words = text(program, log_size, log);
    GpuCompiler::Code result;
    if (code == 0) {
      result.binary = text(program, binary_size, binary);
      if (assembly) result.assembly = text(program, assembly_size, assembly);
    }
    destroy(&program);
    if (code != 0 || result.binary.empty())
      return fail(ErrorCode::compile_error, fmt::format("code {}: {}\n{}", code, words, source));
    return result;
  }

  static std::string text(void* program, int (*size)(void*, std::size_t*), int (*get)(void*, char*)) {
    std::size_t bytes = 0;
    if (size(program, &bytes) != 0 || bytes == 0) return "";
    std::string result(bytes, '\0');
    get(program, result.data());
    return result;
  }
};

class Nvrtc : public GpuCompiler {
 public:
  explicit Nvrtc(RuntimeCompiler compiler) : compiler_(std::move(compiler)) {}
  CLanguage language() const override { return CLanguage::cuda; }
  std::vector<std::string> architectures() const override { return {"sm_75", "sm_80", "sm_90"}; }
  std::uint32_t subgroup_size(std::string_view) const override { return 32; }
  Result<Code> compile(const std::string& source, std::string_view architecture) override {
    std::vector<std::string> options{fmt::format("--gpu-architecture={}", architecture), "--no-cache"};
    for (std::string_view option : c_compile_options(CLanguage::cuda)) options.emplace_back(option);
    return compiler_.run(source, options);
  }

 private:
  RuntimeCompiler compiler_;
};

class Hiprtc : public GpuCompiler {
 public:
  Hiprtc(RuntimeCompiler compiler, std::vector<std::string> architectures)
      : compiler_(std::move(compiler)), architectures_(std::move(architectures)) {}
  CLanguage language() const override { return CLanguage::hip; }
  std::vector<std::string> architectures() const override { return architectures_; }
  std::uint32_t subgroup_size(std::string_view architecture) const override {
    return architecture.starts_with("gfx9") ? 64 : 32;
  }
  Result<Code> compile(const std::string& source, std::string_view architecture) override {
    std::vector<std::string> options{fmt::format("--offload-arch={}", architecture)};
    for (std::string_view option : c_compile_options(CLanguage::hip)) options.emplace_back(option);
    return compiler_.run(source, options);
  }

 private:
  RuntimeCompiler compiler_;
  std::vector<std::string> architectures_;
};

}  // namespace

Result<std::unique_ptr<GpuCompiler>> open_nvrtc() {
  void* library = open_first({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"});
  if (!library)
    return fail(ErrorCode::not_found,
                "libnvrtc.so not found: install the CUDA toolkit's NVRTC to run this check");
  RuntimeCompiler compiler;
  compiler.resolve(library, "nvrtcCreateProgram", compiler.create);
  compiler.resolve(library, "nvrtcCompileProgram", compiler.compile);
  compiler.resolve(library, "nvrtcGetProgramLogSize", compiler.log_size);
  compiler.resolve(library, "nvrtcGetProgramLog", compiler.log);
  compiler.resolve(library, "nvrtcGetCUBINSize", compiler.binary_size);
  compiler.resolve(library, "nvrtcGetCUBIN", compiler.binary);
  compiler.resolve(library, "nvrtcGetPTXSize", compiler.assembly_size);
  compiler.resolve(library, "nvrtcGetPTX", compiler.assembly);
  compiler.resolve(library, "nvrtcDestroyProgram", compiler.destroy);
  if (!compiler.missing.empty()) return fail(ErrorCode::not_found, "libnvrtc.so lacks " + compiler.missing);
  return std::make_unique<Nvrtc>(std::move(compiler));
}

Result<std::unique_ptr<GpuCompiler>> open_hiprtc() {
  void* manager = open_first({"libamd_comgr.so.2", "libamd_comgr.so.3"});
  if (!manager)
    return fail(ErrorCode::not_found, "libamd_comgr.so.2 not found: install libamd-comgr2 to run this check");
  using Count = int (*)(std::size_t*);
  using Name = int (*)(std::size_t, const char**);
  auto isa_count = reinterpret_cast<Count>(dlsym(manager, "amd_comgr_get_isa_count"));
  auto isa_name = reinterpret_cast<Name>(dlsym(manager, "amd_comgr_get_isa_name"));
  if (!isa_count || !isa_name) return fail(ErrorCode::not_found, "libamd_comgr lists no architectures");
  std::vector<std::string> known;
  std::size_t count = 0;
  isa_count(&count);
  for (std::size_t i = 0; i < count; ++i) {
    const char* name = nullptr;
    if (isa_name(i, &name) != 0 || !name) continue;
    for (std::string_view wanted : {"gfx90a", "gfx1030"})
      if (std::string_view(name).ends_with(wanted)) known.emplace_back(wanted);
  }
  if (known.empty()) return fail(ErrorCode::not_found, "libamd_comgr knows neither gfx90a nor gfx1030");

  void* library = open_first({"libhiprtc.so.7", "libhiprtc.so.6", "libamdhip64.so.5"});
  if (!library)
    return fail(
        ErrorCode::not_found,
        "libamdhip64.so.5 not found: install libamdhip64-5, libhiprtc-builtins5 and rocm-device-libs to run "
        "this check");
  RuntimeCompiler compiler;
  compiler.resolve(library, "hiprtcCreateProgram", compiler.create);
  compiler.resolve(library, "hiprtcCompileProgram", compiler.compile);
  compiler.resolve(library, "hiprtcGetProgramLogSize", compiler.log_size);
  compiler.resolve(library, "hiprtcGetProgramLog", compiler.log);
  compiler.resolve(library, "hiprtcGetCodeSize", compiler.binary_size);
  compiler.resolve(library, "hiprtcGetCode", compiler.binary);
  compiler.resolve(library, "hiprtcDestroyProgram", compiler.destroy);
  if (!compiler.missing.empty())
    return fail(ErrorCode::not_found, "libamdhip64.so.5 lacks " + compiler.missing);
  return std::make_unique<Hiprtc>(std::move(compiler), std::move(known));
}

std::unique_ptr<GpuCompiler> present(Result<std::unique_ptr<GpuCompiler>> compiler) {
  if (compiler) return std::move(*compiler);
  if (std::getenv("HALYARD_TEST_GPU_COMPILERS"))
    FAIL(compiler.error().message);
  else
    MESSAGE("skipped: ", compiler.error().message);
  return nullptr;
}

}  // namespace halyard::fusion::testing
