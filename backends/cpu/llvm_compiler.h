#pragma once

#include <halyard/base/result.h>
#include <cstddef>
#include <string_view>
#include <vector>

namespace halyard::cpu {

/// Compiles LLVM IR text for this machine's processor into an ELF relocatable object. Opens LLVM if it is not
/// open yet. `options` are empty or "passes=" and a pipeline in LLVM's syntax. Errors: `unsupported` without
/// LLVM, `compile_error` with LLVM's words. Thread-safe; calls run side by side.
Result<std::vector<std::byte>> compile_llvm_ir(std::string_view text, std::string_view label,
                                               std::string_view options);

}  // namespace halyard::cpu
