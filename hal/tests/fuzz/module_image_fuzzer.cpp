// What stands between a damaged plug-in and the system's loader. The bytes are checked, never loaded.
#include <cstdint>

#include "backend_module.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)halyard::hal::check_module_image({reinterpret_cast<const std::byte*>(data), size}, "fuzz");
  return 0;
}
