#include <fmt/format.h>

#include <algorithm>

#include "halyard/hal/device.h"

namespace halyard::hal {

Result<DeviceUri> DeviceUri::parse(std::string_view text) {
  const auto malformed = [&](std::string_view why) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format(
            "'{}' does not name a device: {}. Write a backend and, if need be, one of its devices: cpu, "
            "cuda:0, vulkan:llvmpipe, cuda:GPU-<uuid>, or auto",
            text.substr(0, 200), why));
  };
  const std::size_t colon = text.find(':');
  DeviceUri uri;
  uri.backend = std::string(text.substr(0, colon));
  if (colon != std::string_view::npos) uri.selector = std::string(text.substr(colon + 1));
  if (uri.backend.empty()) return malformed("the backend's name is missing");
  const auto in_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  if (!std::all_of(uri.backend.begin(), uri.backend.end(), in_name))
    return malformed("a backend's name has lower-case letters, digits, '-' and '_' only");
  if (colon != std::string_view::npos && uri.selector.empty()) return malformed("nothing follows the colon");
  if (std::any_of(uri.selector.begin(), uri.selector.end(),
                  [](char c) { return static_cast<unsigned char>(c) < 32; }))
    return malformed("it holds control characters");
  if (uri.backend == "auto" && !uri.selector.empty()) return malformed("auto takes no selector");
  return uri;
}

}  // namespace halyard::hal
