#include "byte_text.h"

#include <fmt/format.h>

namespace halyard::hal {

std::string byte_text(std::uint64_t bytes) {
  static constexpr const char* units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  return fmt::format("{:.1f} {} ({} bytes)", value, units[unit], bytes);
}

}  // namespace halyard::hal
