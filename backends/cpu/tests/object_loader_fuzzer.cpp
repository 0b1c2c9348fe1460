// Loads arbitrary bytes as an object and asks for a function; never runs it.
#include <cstddef>
#include <cstdint>
#include <span>
#include "../object_loader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto loaded = halyard::cpu::LoadedObject::load(std::as_bytes(std::span(data, size)));
  if (loaded) (void)loaded->function("kernel");
  return 0;
}
