// The cache reader on hostile bytes: it must answer, and believe only what is whole.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "halyard/hal/disk_cache.h"

using namespace halyard::hal;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> file(reinterpret_cast<const std::byte*>(data), size);
  CacheKey key;
  if (size >= 32)
    std::memcpy(key.bytes.data(), data + 16, key.bytes.size());  // so that the key's check is passed
  if (const auto value = decode_cache_entry(key, file)) {
    const auto again = encode_cache_entry(key, *value);
    if (again.size() != size || std::memcmp(again.data(), data, size) != 0) std::abort();
  }
  const auto entry = encode_cache_entry(key, file);
  const auto back = decode_cache_entry(key, entry);
  if (!back || back->size() != size) std::abort();
  return 0;
}
