// Device names come from users and from the environment.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "halyard/hal/device.h"

using namespace halyard::hal;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto uri = DeviceUri::parse(text);
  if (uri && uri->text() != text) std::abort();
  return 0;
}
