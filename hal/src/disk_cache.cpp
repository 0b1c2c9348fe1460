#include "halyard/hal/disk_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "halyard/hal/log.h"

namespace halyard::hal {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view entry_suffix = ".entry";
constexpr std::string_view temporary_prefix = "writing-";
/// A temporary file this old was left by a process that died.
constexpr auto temporary_lifetime = std::chrono::hours(1);
/// Eviction goes down to this share of the bound, so that it does not happen at every store.
constexpr double kept_share = 0.9;

struct FileDescriptor {
  int value = -1;
  ~FileDescriptor() {
    if (value >= 0) ::close(value);
  }
};

std::string folder_from_environment() {
  if (const char* folder = std::getenv("HALYARD_CACHE_DIR")) {
    const std::string_view text = folder;
    return text == "off" ? std::string() : std::string(text);
  }
  if (const char* folder = std::getenv("XDG_CACHE_HOME"); folder != nullptr && folder[0] == '/')
    return std::string(folder) + "/halyard";
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] != '\0')
    return std::string(home) + "/.cache/halyard";
  return {};
}

std::uint64_t bound_from_environment() {
  const std::uint64_t standard = DiskCache::Options{}.bound_bytes;
  const char* text = std::getenv("HALYARD_CACHE_BYTES");
  if (text == nullptr) return standard;
  std::uint64_t bound = 0;
  const auto [end, code] = std::from_chars(text, text + std::strlen(text), bound);
  if (code == std::errc{} && *end == '\0') return bound;
  log(LogLevel::warning, "cache",
      fmt::format("HALYARD_CACHE_BYTES='{}' is not a number of bytes; using {}", text, standard));
  return standard;
}

// Whole file contents, or the error number.
int read_file(const fs::path& path, std::vector<std::byte>& bytes) {
  const FileDescriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
  if (file.value < 0) return errno;
  struct stat facts{};
  if (::fstat(file.value, &facts) != 0) return errno;
  if (!S_ISREG(facts.st_mode)) return EINVAL;
  bytes.resize(static_cast<std::size_t>(facts.st_size));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::read(file.value, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  bytes.resize(done);
  // The time of the last use, by which eviction chooses; failure only makes that choice worse.
  const timespec times[2] = {{0, UTIME_NOW}, {0, UTIME_NOW}};
  (void)::futimens(file.value, times);
  return 0;
}

int write_file(const fs::path& path, std::span<const std::byte> bytes) {
  FileDescriptor file{::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (file.value < 0) return errno;
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::write(file.value, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    done += static_cast<std::size_t>(count);
  }
  // Some file systems tell only here that the disk is full.
  const int closed = ::close(std::exchange(file.value, -1));
  return closed == 0 ? 0 : errno;
}

struct FoundEntry {
  fs::path path;
  std::uint64_t bytes;
  fs::file_time_type used;
};

std::vector<FoundEntry> scan(const fs::path& folder) {
  std::vector<FoundEntry> entries;
  std::error_code code;
  for (fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, code), end;
       !code && it != end; it.increment(code)) {
    std::error_code gone;  // another process may remove what was just listed
    if (!it->is_regular_file(gone) || gone) continue;
    const auto used = it->last_write_time(gone);
    const auto bytes = gone ? 0 : it->file_size(gone);
    if (gone) continue;
    const std::string name = it->path().filename().string();
    if (name.ends_with(entry_suffix)) entries.push_back({it->path(), bytes, used});
    if (name.starts_with(temporary_prefix) && used + temporary_lifetime < fs::file_time_type::clock::now())
      fs::remove(it->path(), gone);
  }
  return entries;
}

}  // namespace

struct DiskCache::State {
  Options options;
  std::mutex mutex;
  DiskCacheStatistics statistics;
  bool warned = false;
  bool stores = true;                       // off after a store failed: what failed once would fail each time
  std::optional<std::uint64_t> held_bytes;  // counted at the first store; other processes make it drift

  fs::path path_of(const CacheKey& key) const {
    const std::string hex = key.hex();
    return options.folder / hex.substr(0, 2) / (hex + std::string(entry_suffix));
  }
  void give_up(const fs::path& path, int error) {
    stores = false;
    ++statistics.failed_stores;
    if (std::exchange(warned, true)) return;
    log(LogLevel::warning, "cache",
        fmt::format(
            "cannot write {}: {}. Going on without storing; free some space or set HALYARD_CACHE_DIR to a "
            "folder that can be written, or to 'off'",
            path.string(), std::strerror(error)));
  }
  void evict();
};

void DiskCache::State::evict() {
  auto entries = scan(options.folder);
  std::uint64_t total = 0;
  for (const FoundEntry& entry : entries) total += entry.bytes;
  if (total > options.bound_bytes) {
    std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.used < b.used; });
    const auto target = static_cast<std::uint64_t>(static_cast<double>(options.bound_bytes) * kept_share);
    for (const FoundEntry& entry : entries) {
      if (total <= target) break;
      std::error_code code;
      if (fs::remove(entry.path, code)) ++statistics.evicted;
      total -= entry.bytes;
    }
  }
  held_bytes = total;
}

DiskCache::DiskCache(Options options) : state_(std::make_unique<State>()) {
  state_->options = std::move(options);
}
DiskCache::~DiskCache() = default;

DiskCache& DiskCache::shared() {
  // Never destroyed: devices may outlive static objects.
  static auto* instance = new DiskCache({folder_from_environment(), bound_from_environment()});
  return *instance;
}

bool DiskCache::enabled() const {
  return !state_->options.folder.empty();
}
const fs::path& DiskCache::folder() const {
  return state_->options.folder;
}

std::optional<std::vector<std::byte>> DiskCache::load(const CacheKey& key) {
  if (!enabled()) return std::nullopt;
  const fs::path path = state_->path_of(key);
  std::vector<std::byte> file;
  const int error = read_file(path, file);
  auto value = error == 0 ? decode_cache_entry(key, file)
                          : Result<std::vector<std::byte>>(fail(ErrorCode::not_found, "no entry"));
  std::lock_guard lock(state_->mutex);
  if (value) {
    ++state_->statistics.hits;
    return std::move(*value);
  }
  ++state_->statistics.misses;
  if (value.error().code == ErrorCode::corrupt_data) {
    ++state_->statistics.damaged;
    log(LogLevel::info, "cache", value.error().message + "; it is removed and will be rebuilt");
    std::error_code code;
    fs::remove(path, code);
  }
  return std::nullopt;
}

void DiskCache::store(const CacheKey& key, std::span<const std::byte> value) {
  static std::atomic<std::uint64_t> counter{0};
  if (!enabled()) return;
  const fs::path path = state_->path_of(key);
  const fs::path temporary =
      path.parent_path() / fmt::format("{}{}-{}", temporary_prefix, ::getpid(), counter.fetch_add(1));
  const std::vector<std::byte> file = encode_cache_entry(key, value);
  {
    std::lock_guard lock(state_->mutex);
    if (!state_->stores || file.size() > state_->options.bound_bytes) return;
  }
  std::error_code code;
  fs::create_directories(path.parent_path(), code);
  int error = code ? code.value() : write_file(temporary, file);
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) fs::remove(temporary, code);

  std::lock_guard lock(state_->mutex);
  if (error != 0) return state_->give_up(temporary, error);
  ++state_->statistics.stores;
  if (state_->held_bytes) *state_->held_bytes += file.size();
  if (!state_->held_bytes || *state_->held_bytes > state_->options.bound_bytes) state_->evict();
}

void DiskCache::remove(const CacheKey& key) {
  if (!enabled()) return;
  std::error_code code;
  fs::remove(state_->path_of(key), code);
}

Result<DiskCacheContents> DiskCache::contents() const {
  DiskCacheContents contents;
  contents.folder = state_->options.folder;
  contents.bound_bytes = state_->options.bound_bytes;
  if (!enabled()) return contents;
  for (const FoundEntry& entry : scan(state_->options.folder)) {
    ++contents.entries;
    contents.bytes += entry.bytes;
  }
  return contents;
}

Result<std::uint64_t> DiskCache::clear() {
  std::uint64_t removed = 0;
  if (!enabled()) return removed;
  for (const FoundEntry& entry : scan(state_->options.folder)) {
    std::error_code code;
    if (fs::remove(entry.path, code)) ++removed;
    if (code)
      return fail(ErrorCode::io_error,
                  fmt::format("cache: clear: cannot remove {}: {}", entry.path.string(), code.message()));
  }
  std::lock_guard lock(state_->mutex);
  state_->held_bytes.reset();
  return removed;
}

DiskCacheStatistics DiskCache::statistics() const {
  std::lock_guard lock(state_->mutex);
  return state_->statistics;
}

}  // namespace halyard::hal
