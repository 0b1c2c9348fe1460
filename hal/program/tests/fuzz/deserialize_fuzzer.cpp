// Any bytes given to `deserialize`, with the header repaired so that the payload's reader is reached; what it
// accepts must print, parse and serialize back to itself.
#include <halyard/program/serialize.h>
#include <halyard/program/text.h>
#include <halyard/program/verify.h>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace halyard::program;
  std::span<const std::byte> given(reinterpret_cast<const std::byte*>(data), size);
  (void)deserialize(given);

  constexpr std::size_t header_bytes = 24;
  std::span<const std::byte> payload = given.subspan(size > header_bytes ? header_bytes : size);
  std::vector<std::byte> repaired(header_bytes);
  const unsigned char head[8] = {
      'H', 'y', 'T', 'P', thread_program_version & 0xff, thread_program_version >> 8};
  std::uint64_t count = payload.size();
  std::uint64_t checksum = XXH64(payload.data(), payload.size(), 0);
  std::memcpy(repaired.data(), head, 8);
  std::memcpy(repaired.data() + 8, &count, 8);
  std::memcpy(repaired.data() + 16, &checksum, 8);
  repaired.insert(repaired.end(), payload.begin(), payload.end());

  halyard::Result<Program> program = deserialize(repaired);
  if (!program) return 0;
  std::string text = to_text(*program);
  halyard::Result<Program> parsed = parse_text(text);
  if (!parsed || to_text(*parsed) != text || serialize(*parsed) != serialize(*program)) std::abort();
  return 0;
}
