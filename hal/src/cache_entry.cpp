#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <fmt/format.h>

#include "halyard/hal/disk_cache.h"

namespace halyard::hal {
namespace {

constexpr char entry_magic[8] = {'H', 'a', 'l', 'y', 'C', 'a', 'c', 'h'};
constexpr std::uint32_t entry_version = 1;

/// The header of an entry's file, in host byte order (a cache is of one machine).
struct EntryHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint8_t key[16];
  std::uint64_t value_bytes;
  std::uint64_t reserved;
  std::uint8_t checksum[16];  // xxh3-128 of the value
};
static_assert(sizeof(EntryHeader) == 64);

std::array<std::uint8_t, 16> hash(std::span<const std::byte> bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  std::array<std::uint8_t, 16> result{};
  std::memcpy(result.data(), canonical.digest, result.size());
  return result;
}

}  // namespace

std::string CacheKey::hex() const {
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

CacheKeyBuilder::CacheKeyBuilder(std::string_view domain) {
  add(domain);
}

CacheKeyBuilder& CacheKeyBuilder::add(std::string_view text) {
  return add(std::as_bytes(std::span(text)));
}

CacheKeyBuilder& CacheKeyBuilder::add(std::span<const std::byte> bytes) {
  const std::uint64_t length = bytes.size();
  const auto* first = reinterpret_cast<const std::byte*>(&length);
  parts_.insert(parts_.end(), first, first + sizeof length);
  parts_.insert(parts_.end(), bytes.begin(), bytes.end());
  return *this;
}

CacheKeyBuilder& CacheKeyBuilder::add(std::uint64_t number) {
  return add(std::as_bytes(std::span(&number, 1)));
}

CacheKey CacheKeyBuilder::key() const {
  return CacheKey{hash(parts_)};
}

std::vector<std::byte> encode_cache_entry(const CacheKey& key, std::span<const std::byte> value) {
  EntryHeader header{};
  std::memcpy(header.magic, entry_magic, sizeof entry_magic);
  header.version = entry_version;
  header.header_bytes = sizeof header;
  std::memcpy(header.key, key.bytes.data(), sizeof header.key);
  header.value_bytes = value.size();
  const auto checksum = hash(value);
  std::memcpy(header.checksum, checksum.data(), sizeof header.checksum);
  std::vector<std::byte> file(sizeof header + value.size());
  std::memcpy(file.data(), &header, sizeof header);
  if (!value.empty()) std::memcpy(file.data() + sizeof header, value.data(), value.size());
  return file;
}

Result<std::vector<std::byte>> decode_cache_entry(const CacheKey& key, std::span<const std::byte> file) {
  const auto damaged = [&](std::string_view what) {
    return fail(ErrorCode::corrupt_data, fmt::format("cache entry {}: {}", key.hex(), what));
  };
  EntryHeader header{};
  if (file.size() < sizeof header) return damaged("shorter than its header");
  std::memcpy(&header, file.data(), sizeof header);
  if (std::memcmp(header.magic, entry_magic, sizeof entry_magic) != 0) return damaged("not a cache entry");
  if (header.version != entry_version || header.header_bytes != sizeof header || header.reserved != 0)
    return damaged("of another version");
  if (std::memcmp(header.key, key.bytes.data(), sizeof header.key) != 0)
    return damaged("the entry of another key");
  const auto value = file.subspan(sizeof header);
  if (value.size() != header.value_bytes) return damaged("truncated or too long");
  const auto checksum = hash(value);
  if (std::memcmp(header.checksum, checksum.data(), sizeof header.checksum) != 0)
    return damaged("wrong checksum");
  return std::vector<std::byte>(value.begin(), value.end());
}

}  // namespace halyard::hal
