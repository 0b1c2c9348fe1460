#pragma once

#include <halyard/base/result.h>
#include <cstddef>

/// LLVM's C API, opened at run time. Types and signatures are declared here (from llvm-c/*.h of LLVM 19), so
/// that building needs no LLVM.
namespace halyard::cpu::llvm {

using Context = struct OpaqueContext*;
using Module = struct OpaqueModule*;
using MemoryBuffer = struct OpaqueMemoryBuffer*;
using Target = struct OpaqueTarget*;
using TargetMachine = struct OpaqueTargetMachine*;
using TargetData = struct OpaqueTargetData*;
using PassOptions = struct OpaquePassBuilderOptions*;
using ErrorRef = struct OpaqueError*;
using DiagnosticInfo = struct OpaqueDiagnosticInfo*;
using DiagnosticHandler = void (*)(DiagnosticInfo, void*);

// Values of llvm-c/TargetMachine.h, Analysis.h and Core.h.
inline constexpr int code_gen_level_default = 2;
inline constexpr int code_gen_level_aggressive = 3;
inline constexpr int reloc_pic = 2;
inline constexpr int code_model_small = 3;
inline constexpr int object_file = 1;
inline constexpr int return_status_action = 2;
inline constexpr int diagnostic_error = 0;

}  // namespace halyard::cpu::llvm

// One row per function: mark, result, name, parameters. A required one that is missing makes the library
// unusable.
#define HALYARD_LLVM_FUNCTIONS(required, optional)                                                           \
  required(Context, LLVMContextCreate, (void)) required(void, LLVMContextDispose, (Context)) required(       \
      void, LLVMContextSetDiagnosticHandler,                                                                 \
      (Context, DiagnosticHandler, void*)) required(char*, LLVMGetDiagInfoDescription, (DiagnosticInfo))     \
      required(int, LLVMGetDiagInfoSeverity, (DiagnosticInfo)) required(                                     \
          void, LLVMDisposeMessage, (char*)) required(MemoryBuffer,                                          \
                                                      LLVMCreateMemoryBufferWithMemoryRangeCopy,             \
                                                      (const char*, std::size_t, const char*))               \
          required(const char*, LLVMGetBufferStart, (MemoryBuffer)) required(                                \
              std::size_t, LLVMGetBufferSize, (MemoryBuffer)) required(void, LLVMDisposeMemoryBuffer,        \
                                                                       (MemoryBuffer))                       \
              required(int, LLVMParseIRInContext, (Context, MemoryBuffer, Module*, char**)) required(        \
                  void, LLVMDisposeModule, (Module)) required(int, LLVMVerifyModule, (Module, int, char**))  \
                  required(void, LLVMSetTarget, (Module, const char*)) required(                             \
                      void, LLVMSetModuleDataLayout, (Module, TargetData))                                   \
                      required(char*, LLVMGetDefaultTargetTriple, (void)) required(                          \
                          char*, LLVMGetHostCPUName, (void)) required(char*, LLVMGetHostCPUFeatures, (void)) \
                          required(int, LLVMGetTargetFromTriple, (const char*, Target*, char**)) required(   \
                              TargetMachine, LLVMCreateTargetMachine,                                        \
                              (Target, const char*, const char*, const char*, int, int, int))                \
                              required(void, LLVMDisposeTargetMachine, (TargetMachine)) required(            \
                                  TargetData, LLVMCreateTargetDataLayout, (TargetMachine))                   \
                                  required(void, LLVMDisposeTargetData, (TargetData)) required(              \
                                      int, LLVMTargetMachineEmitToMemoryBuffer,                              \
                                      (TargetMachine, Module, int, char**, MemoryBuffer*))                   \
                                      required(PassOptions, LLVMCreatePassBuilderOptions, (void)) required(  \
                                          void, LLVMDisposePassBuilderOptions, (PassOptions))                \
                                          required(ErrorRef, LLVMRunPasses,                                  \
                                                   (Module, const char*, TargetMachine, PassOptions))        \
                                              required(char*, LLVMGetErrorMessage, (ErrorRef)) required(     \
                                                  void, LLVMDisposeErrorMessage,                             \
                                                  (char*)) optional(void, LLVMGetVersion,                    \
                                                                    (unsigned*, unsigned*, unsigned*))       \
                                                  optional(void, LLVMInitializeX86TargetInfo, (void))        \
                                                      optional(void, LLVMInitializeX86Target, (void))        \
                                                          optional(void, LLVMInitializeX86TargetMC, (void))  \
                                                              optional(void, LLVMInitializeX86AsmPrinter,    \
                                                                       (void))

namespace halyard::cpu::llvm {

struct Library {
#define HALYARD_LLVM_MEMBER(result, name, parameters) result(*name) parameters = nullptr;
  HALYARD_LLVM_FUNCTIONS(HALYARD_LLVM_MEMBER, HALYARD_LLVM_MEMBER)
#undef HALYARD_LLVM_MEMBER
};

/// Opens LLVM 19 at the first call and keeps it open. Errors: `unsupported`, with what was tried and the
/// remedy; a later call tries again. Thread-safe.
Result<const Library*> library();

/// Whether the library is open already; never opens it.
bool library_is_open();

}  // namespace halyard::cpu::llvm
