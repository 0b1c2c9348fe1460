#include "llvm_compiler.h"
#include <fmt/format.h>
#include <memory>
#include <string>
#include "llvm_library.h"

namespace halyard::cpu {
namespace {

/// Programs come with their vectors and loops as they should be, so no vectorizer runs: common
/// subexpressions, invariant code out of loops, unrolling of short and of marked loops, and cleaning after
/// it. Unrolling of unmarked loops by LLVM's own lights doubled compile times and gained nothing; so did GVN.
constexpr std::string_view default_passes =
    "function(early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm<allowspeculation>)"
    ","
    "loop(indvars,loop-unroll-full),loop-unroll<O2;no-runtime;no-peeling>,early-cse<memssa>,"
    "instcombine<no-verify-fixpoint>,simplifycfg)";

/// The pass pipeline that a module's options ask for: "passes=PIPELINE", in LLVM's syntax, or the default.
Result<std::string> passes_of(std::string_view options, std::string_view label) {
  constexpr std::string_view key = "passes=";
  if (options.empty()) return std::string(default_passes);
  if (!options.starts_with(key))
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("cpu: module {}: option \"{}\" is not known; there is passes=PIPELINE", label, options));
  return std::string(options.substr(key.size()));
}

/// What LLVM says of one compilation.
struct Diagnostics {
  const llvm::Library* library;
  std::string errors;
  static void collect(llvm::DiagnosticInfo information, void* self_pointer) {
    auto* self = static_cast<Diagnostics*>(self_pointer);
    if (self->library->LLVMGetDiagInfoSeverity(information) != llvm::diagnostic_error) return;
    char* text = self->library->LLVMGetDiagInfoDescription(information);
    self->errors += std::string(self->errors.empty() ? "" : "\n") + text;
    self->library->LLVMDisposeMessage(text);
  }
};

struct HostTarget {
  std::string triple, cpu, features;
  llvm::Target target = nullptr;
};

std::string take_message(const llvm::Library& library, char* message) {
  std::string text = message ? message : "no reason given";
  if (message) library.LLVMDisposeMessage(message);
  return text;
}

/// This machine as LLVM sees it; found once.
Result<const HostTarget*> host_target(const llvm::Library& library) {
  static const Result<HostTarget> host = [&]() -> Result<HostTarget> {
    HostTarget found;
    found.triple = take_message(library, library.LLVMGetDefaultTargetTriple());
    found.cpu = take_message(library, library.LLVMGetHostCPUName());
    found.features = take_message(library, library.LLVMGetHostCPUFeatures());
    char* message = nullptr;
    if (library.LLVMGetTargetFromTriple(found.triple.c_str(), &found.target, &message))
      return fail(ErrorCode::unsupported, fmt::format("cpu: LLVM has no target for {}: {}", found.triple,
                                                      take_message(library, message)));
    return found;
  }();
  if (!host) return tl::unexpected<Error>(host.error());
  return &*host;
}

/// Owns one of LLVM's objects, with the library's function that disposes of it.
template <class Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, void (*)(Handle)>;

tl::unexpected<Error> refused(std::string_view label, std::string_view step, const std::string& reason) {
  return fail(ErrorCode::compile_error, fmt::format("cpu: module {}: {}: {}", label, step, reason));
}

}  // namespace

Result<std::vector<std::byte>> compile_llvm_ir(std::string_view text, std::string_view label,
                                               std::string_view options) {
  HALYARD_ASSIGN(std::string passes, passes_of(options, label));
  HALYARD_ASSIGN(const llvm::Library* opened, llvm::library());
  const llvm::Library& library = *opened;
  HALYARD_ASSIGN(const HostTarget* host, host_target(library));

  Owned<llvm::Context> context(library.LLVMContextCreate(), library.LLVMContextDispose);
  Diagnostics diagnostics{&library, {}};
  library.LLVMContextSetDiagnosticHandler(context.get(), &Diagnostics::collect, &diagnostics);

  // The parser takes the buffer over, also when it fails.
  llvm::MemoryBuffer source =
      library.LLVMCreateMemoryBufferWithMemoryRangeCopy(text.data(), text.size(), std::string(label).c_str());
  llvm::Module parsed = nullptr;
  char* message = nullptr;
  if (library.LLVMParseIRInContext(context.get(), source, &parsed, &message))
    return refused(label, "LLVM cannot read the text", take_message(library, message));
  Owned<llvm::Module> module(parsed, library.LLVMDisposeModule);
  message = nullptr;
  if (library.LLVMVerifyModule(module.get(), llvm::return_status_action, &message))
    return refused(label, "LLVM's verifier refuses it", take_message(library, message));
  library.LLVMDisposeMessage(message);

  Owned<llvm::TargetMachine> machine(
      library.LLVMCreateTargetMachine(host->target, host->triple.c_str(), host->cpu.c_str(),
                                      host->features.c_str(), llvm::code_gen_level_default, llvm::reloc_pic,
                                      llvm::code_model_small),
      library.LLVMDisposeTargetMachine);
  if (!machine) return refused(label, "LLVM makes no target machine", host->triple + " " + host->cpu);
  library.LLVMSetTarget(module.get(), host->triple.c_str());
  Owned<llvm::TargetData> layout(library.LLVMCreateTargetDataLayout(machine.get()),
                                 library.LLVMDisposeTargetData);
  library.LLVMSetModuleDataLayout(module.get(), layout.get());

  Owned<llvm::PassOptions> pass_options(library.LLVMCreatePassBuilderOptions(),
                                        library.LLVMDisposePassBuilderOptions);
  if (llvm::ErrorRef error =
          library.LLVMRunPasses(module.get(), passes.c_str(), machine.get(), pass_options.get())) {
    char* words = library.LLVMGetErrorMessage(error);
    std::string reason = words;
    library.LLVMDisposeErrorMessage(words);
    return refused(label, "LLVM's passes fail", reason);
  }

  llvm::MemoryBuffer object = nullptr;
  message = nullptr;
  if (library.LLVMTargetMachineEmitToMemoryBuffer(machine.get(), module.get(), llvm::object_file, &message,
                                                  &object))
    return refused(label, "LLVM generates no code", take_message(library, message));
  Owned<llvm::MemoryBuffer> owned_object(object, library.LLVMDisposeMemoryBuffer);
  if (!diagnostics.errors.empty()) return refused(label, "LLVM reports", diagnostics.errors);
  const auto* begin = reinterpret_cast<const std::byte*>(library.LLVMGetBufferStart(object));
  return std::vector<std::byte>(begin, begin + library.LLVMGetBufferSize(object));
}

}  // namespace halyard::cpu
