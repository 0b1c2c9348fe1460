#include "spirv_validation.h"
#include <fmt/format.h>
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

}  // namespace halyard::vulkan
