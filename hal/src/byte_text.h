#pragma once

#include <cstdint>
#include <string>

namespace halyard::hal {

/// "512 bytes", "1.5 MiB (1572864 bytes)".
std::string byte_text(std::uint64_t bytes);

}  // namespace halyard::hal
