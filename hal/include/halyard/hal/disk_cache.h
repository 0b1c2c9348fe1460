#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halyard/base/result.h"

namespace halyard::hal {

/// A 128-bit hash over everything that can change the value: xxh3-128 of the parts, each preceded by its
/// length.
struct CacheKey {
  std::array<std::uint8_t, 16> bytes{};
  std::string hex() const;
  bool operator==(const CacheKey&) const = default;
};

/// Collects the parts of a key. Every part is length-prefixed, so ("ab", "c") and ("a", "bc") differ.
class CacheKeyBuilder {
 public:
  explicit CacheKeyBuilder(
      std::string_view domain);  ///< what kind of entry, e.g. "module", "probe", "tuning"
  CacheKeyBuilder& add(std::string_view text);
  CacheKeyBuilder& add(std::span<const std::byte> bytes);
  CacheKeyBuilder& add(std::uint64_t number);
  CacheKey key() const;

 private:
  std::vector<std::byte> parts_;
};

struct DiskCacheStatistics {
  std::uint64_t hits = 0, misses = 0, stores = 0, damaged = 0, evicted = 0, failed_stores = 0;
};

struct DiskCacheContents {
  std::filesystem::path folder;
  std::uint64_t entries = 0, bytes = 0, bound_bytes = 0;
};

/// Entries on disk, each in a file named by its key. Written to a temporary file and renamed, so that readers
/// (other processes too) see an entry whole or not at all; a header carries key and checksum, so that a
/// damaged one is a miss and is removed. When the size passes the bound, the least recently used go. A folder
/// that cannot be written, or a full disk, gives one warning and is then worked without. Safe from any
/// thread.
class DiskCache {
 public:
  struct Options {
    std::filesystem::path folder;  ///< empty: caching is off
    std::uint64_t bound_bytes = std::uint64_t{1} << 30;
  };
  explicit DiskCache(Options options);
  ~DiskCache();

  /// The process's cache: HALYARD_CACHE_DIR (empty or "off": none), else $XDG_CACHE_HOME/halyard, else
  /// ~/.cache/halyard. HALYARD_CACHE_BYTES sets the bound.
  static DiskCache& shared();

  bool enabled() const;
  const std::filesystem::path& folder() const;
  /// A miss (nothing) is ordinary; damage is removed and is a miss too.
  std::optional<std::vector<std::byte>> load(const CacheKey& key);
  /// Never fails the caller: what cannot be stored is worked without, after one warning.
  void store(const CacheKey& key, std::span<const std::byte> value);
  void remove(const CacheKey& key);

  Result<DiskCacheContents> contents() const;
  /// Removes every entry; returns how many.
  Result<std::uint64_t> clear();
  DiskCacheStatistics statistics() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// One entry's file: header (magic, version, key, length, checksum) and value. Pure functions, for tests and
/// fuzzing.
std::vector<std::byte> encode_cache_entry(const CacheKey& key, std::span<const std::byte> value);
/// `corrupt_data` unless every byte of the header fits `key` and the value fits its checksum.
Result<std::vector<std::byte>> decode_cache_entry(const CacheKey& key, std::span<const std::byte> file);

}  // namespace halyard::hal
