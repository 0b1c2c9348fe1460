#include <halyard/ops/npy.h>
#include <cstdint>
#include <cstdlib>

/// Any bytes give a tensor or an error; a tensor survives being written and read again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto tensor = halyard::ops::parse_npy(std::as_bytes(std::span(data, size)));
  if (!tensor) return 0;
  auto again = halyard::ops::parse_npy(halyard::ops::format_npy(*tensor));
  if (!again || !halyard::ops::same_bits(*tensor, *again)) std::abort();
  return 0;
}
