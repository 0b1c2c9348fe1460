#include "llvm_library.h"
#include <dlfcn.h>
#include <fmt/format.h>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

namespace halyard::cpu::llvm {
namespace {

std::mutex opening;
Library functions;
bool is_open = false;

/// Names under which distributions ship LLVM 19's library; HALYARD_LLVM_LIBRARY comes first.
std::vector<std::string> candidate_names() {
  std::vector<std::string> names;
  if (const char* chosen = std::getenv("HALYARD_LLVM_LIBRARY"); chosen && *chosen) return {chosen};
  for (const char* name : {"libLLVM.so.19.1", "libLLVM-19.so.1", "libLLVM-19.so"}) names.emplace_back(name);
  return names;
}

Result<void*> open_any() {
  std::string tried;
  for (const std::string& name : candidate_names()) {
    // Local symbols: a Vulkan driver may have brought another LLVM into this process.
    if (void* handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL)) return handle;
    const char* reason = dlerror();
    tried += fmt::format("\n  {}", reason ? reason : name);
  }
  return fail(
      ErrorCode::unsupported,
      "cpu: compiling a kernel needs LLVM 19, which was not found: install it (Debian: apt-get install "
      "libllvm19) or name the library in HALYARD_LLVM_LIBRARY; kernels compiled before load without it. "
      "Tried:" +
          tried);
}

Status resolve(void* handle, Library& library) {
  std::string missing;
#define HALYARD_LLVM_RESOLVE(result, name, parameters) \
  library.name = reinterpret_cast<result(*) parameters>(dlsym(handle, #name));
#define HALYARD_LLVM_REQUIRE(result, name, parameters) \
  HALYARD_LLVM_RESOLVE(result, name, parameters)       \
  if (!library.name) missing += " " #name;
  HALYARD_LLVM_FUNCTIONS(HALYARD_LLVM_REQUIRE, HALYARD_LLVM_RESOLVE)
#undef HALYARD_LLVM_REQUIRE
#undef HALYARD_LLVM_RESOLVE
  if (!missing.empty())
    return fail(ErrorCode::unsupported, "cpu: the LLVM library found lacks functions of LLVM 19's C API:" +
                                            missing + "; install libllvm19");
  if (!library.LLVMInitializeX86TargetInfo || !library.LLVMInitializeX86Target ||
      !library.LLVMInitializeX86TargetMC || !library.LLVMInitializeX86AsmPrinter)
    return fail(ErrorCode::unsupported, "cpu: the LLVM library found cannot generate code for x86-64");
  unsigned major = 0, minor = 0, patch = 0;
  if (library.LLVMGetVersion) library.LLVMGetVersion(&major, &minor, &patch);
  if (major < 19)
    return fail(ErrorCode::unsupported,
                fmt::format("cpu: the LLVM library found is version {}.{}.{}; kernels need 19 or later",
                            major, minor, patch));
  return {};
}

}  // namespace

Result<const Library*> library() {
  std::lock_guard lock(opening);
  if (is_open) return &functions;
  HALYARD_ASSIGN(void* handle, open_any());
  Library found;
  if (Status status = resolve(handle, found); !status) {
    dlclose(handle);
    return tl::unexpected<Error>(status.error());
  }
  found.LLVMInitializeX86TargetInfo();
  found.LLVMInitializeX86Target();
  found.LLVMInitializeX86TargetMC();
  found.LLVMInitializeX86AsmPrinter();
  functions = found;
  is_open = true;
  return &functions;
}

bool library_is_open() {
  std::lock_guard lock(opening);
  return is_open;
}

}  // namespace halyard::cpu::llvm
