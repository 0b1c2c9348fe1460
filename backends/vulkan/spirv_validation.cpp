#include "spirv_validation.h"
#include <fmt/format.h>
#include <cstring>
#include <string>
#ifdef HALYARD_HAS_SPIRV_TOOLS
#include <spirv-tools/libspirv.h>
#endif

namespace halyard::vulkan {

#ifdef HALYARD_HAS_SPIRV_TOOLS
Status validate_spirv(std::span<const std::uint32_t> words) {
  spv_context context = spvContextCreate(SPV_ENV_VULKAN_1_2);
  spv_diagnostic diagnostic = nullptr;
  spv_result_t result = spvValidateBinary(context, words.data(), words.size(), &diagnostic);
  Status status;
  if (result != SPV_SUCCESS)
    status = fail(ErrorCode::compile_error,
                  fmt::format("vulkan: module_create: spirv-val: {} (at word {})",
                              diagnostic && diagnostic->error ? diagnostic->error : "invalid module",
                              diagnostic ? diagnostic->position.index : 0));
  spvDiagnosticDestroy(diagnostic);
  spvContextDestroy(context);
  return status;
}
#else
Status validate_spirv(std::span<const std::uint32_t>) {
  return {};
}
#endif

Status check_entry_point(std::span<const std::uint32_t> words, std::string_view entry) {
  // SPIR-V specification, sections 2.3 (a header of 5 words, then instructions of length << 16 | opcode)
  // and 3.3 (OpEntryPoint: execution model, function, name, interface).
  constexpr std::size_t header_words = 5;
  constexpr std::uint32_t op_entry_point = 15, gl_compute = 5;
  std::string present;
  for (std::size_t at = header_words; at < words.size();) {
    const std::size_t length = words[at] >> 16;
    if (length == 0 || length > words.size() - at)
      return fail(
          ErrorCode::corrupt_data,
          fmt::format("vulkan: module_create: the instruction at word {} runs past the module's {} words", at,
                      words.size()));
    if ((words[at] & 0xffffU) == op_entry_point && length > 3 && words[at + 1] == gl_compute) {
      const auto* name = reinterpret_cast<const char*>(&words[at + 3]);
      const std::string_view found(name, strnlen(name, (length - 3) * sizeof(std::uint32_t)));
      if (found == entry) return {};
      present += (present.empty() ? "" : ", ") + std::string(found);
    }
    at += length;
  }
  return fail(ErrorCode::not_found,
              fmt::format("vulkan: module_create: no compute entry point '{}' in the module; there "
                          "{}",
                          entry, present.empty() ? "is none" : "are " + present));
}

}  // namespace halyard::vulkan
