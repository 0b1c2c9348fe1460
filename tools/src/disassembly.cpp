#include "disassembly.h"

#ifdef HALYARD_HAS_SPIRV_TOOLS

#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <spirv-tools/libspirv.hpp>
#include <string>
#include <vector>

namespace halyard::tools {

Status disassemble_spirv(const std::filesystem::path& folder) {
  const spvtools::SpirvTools tools(SPV_ENV_VULKAN_1_2);
  constexpr std::uint32_t layout = SPV_BINARY_TO_TEXT_OPTION_INDENT |
                                   SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES |
                                   SPV_BINARY_TO_TEXT_OPTION_COMMENT;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".spv") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    std::vector<std::uint32_t> words(bytes.size() / sizeof(std::uint32_t));
    bytes.copy(reinterpret_cast<char*>(words.data()), words.size() * sizeof(std::uint32_t));
    std::string text;
    if (!tools.Disassemble(words, &text, layout))
      return fail(ErrorCode::internal, fmt::format("emit: {} is no SPIR-V module", entry.path().string()));
    std::filesystem::path target = entry.path();
    target.replace_extension(".spvasm");
    std::ofstream out(target);
    out << text;
    out.close();
    if (!out) return fail(ErrorCode::io_error, fmt::format("emit: cannot write {}", target.string()));
  }
  return {};
}

}  // namespace halyard::tools

#else

namespace halyard::tools {

Status disassemble_spirv(const std::filesystem::path&) {
  return {};
}

}  // namespace halyard::tools

#endif
