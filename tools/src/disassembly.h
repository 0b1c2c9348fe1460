#pragma once

#include <halyard/base/result.h>
#include <filesystem>

namespace halyard::tools {

/// Writes FILE.spvasm, the text of the module, beside each FILE.spv of `folder`. Does nothing where the
/// command was built without SPIRV-Tools.
Status disassemble_spirv(const std::filesystem::path& folder);

}  // namespace halyard::tools
