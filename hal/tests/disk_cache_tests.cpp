#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "fixture.h"
#include "halyard/hal/disk_cache.h"

using namespace halyard;
using namespace halyard::hal;
using namespace halyard::hal::testing;
namespace fs = std::filesystem;

namespace {

CacheKey key(std::uint64_t number) {
  return CacheKeyBuilder("test").add(number).key();
}

std::vector<std::byte> bytes(std::size_t count, int value = 7) {
  return std::vector<std::byte>(count, std::byte(value));
}

std::vector<fs::path> files(const fs::path& folder) {
  std::vector<fs::path> result;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) result.push_back(entry.path());
  return result;
}

}  // namespace

TEST_CASE("what was stored is loaded, by this process's cache and by another") {
  TemporaryFolder folder;
  DiskCache cache({.folder = folder.path / "made" / "here"});
  CHECK(!cache.load(key(1)));
  cache.store(key(1), bytes(1000));
  cache.store(key(2), {});
  CHECK(cache.load(key(1)) == bytes(1000));
  DiskCache other({.folder = folder.path / "made" / "here"});
  CHECK(other.load(key(1)) == bytes(1000));
  CHECK(other.load(key(2)) == bytes(0));
  CHECK(!other.load(key(3)));
  CHECK(cache.statistics().hits == 1);
  CHECK(cache.statistics().misses == 1);
  const auto contents = value_of(cache.contents());
  CHECK(contents.entries == 2);
  CHECK(contents.bytes == 2 * 64 + 1000);
  CHECK(value_of(cache.clear()) == 2);
  CHECK(value_of(cache.contents()).entries == 0);
  CHECK(!cache.load(key(1)));
}

TEST_CASE("a key's parts are prefixed by their lengths") {
  const auto of = [](std::string_view a, std::string_view b) {
    return CacheKeyBuilder("test").add(a).add(b).key();
  };
  CHECK(of("ab", "c") != of("a", "bc"));
  CHECK(of("ab", "") != of("", "ab"));
  CHECK(of("ab", "c") == of("ab", "c"));
  CHECK(CacheKeyBuilder("module").add("x").key() != CacheKeyBuilder("probe").add("x").key());
  CHECK(of("a", "b").hex().size() == 32);
}

TEST_CASE("a truncated or altered entry is a miss, is removed, and is stored anew") {
  TemporaryFolder folder;
  DiskCache cache({.folder = folder.path});
  const auto damage = [&](auto&& change) {
    cache.store(key(1), bytes(100));
    const auto path = files(folder.path).at(0);
    change(path);
    CHECK(!cache.load(key(1)));
    CHECK(files(folder.path).empty());
  };
  damage([](const fs::path& path) { fs::resize_file(path, 100); });
  damage([](const fs::path& path) { fs::resize_file(path, 0); });
  damage([](const fs::path& path) { fs::resize_file(path, 30); });
  damage([](const fs::path& path) { fs::resize_file(path, 1000); });
  for (const std::streamoff at : {0, 9, 17, 33, 41, 50, 64, 163})
    damage([at](const fs::path& path) {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(at);
      file.put('\x55');
    });
  CHECK(cache.statistics().damaged == 12);
  cache.store(key(1), bytes(100));
  CHECK(cache.load(key(1)) == bytes(100));
}

TEST_CASE("an entry under another key's name is not trusted") {
  TemporaryFolder folder;
  DiskCache cache({.folder = folder.path});
  cache.store(key(1), bytes(10));
  const auto one = files(folder.path).at(0);
  cache.store(key(2), bytes(20));
  for (const auto& path : files(folder.path))
    if (path != one) fs::copy_file(one, path, fs::copy_options::overwrite_existing);
  CHECK(!cache.load(key(2)));
  CHECK(cache.load(key(1)) == bytes(10));
}

TEST_CASE("beyond its bound the cache forgets what was used longest ago") {
  TemporaryFolder folder;
  DiskCache cache({.folder = folder.path, .bound_bytes = 10 * 1064});
  for (std::uint64_t i = 0; i < 10; ++i) cache.store(key(i), bytes(1000));
  CHECK(value_of(cache.contents()).entries == 10);
  const auto past = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (const auto& path : files(folder.path)) fs::last_write_time(path, past);
  CHECK(cache.load(key(3)));
  cache.store(key(10), bytes(1000));
  CHECK(value_of(cache.contents()).bytes <= 10 * 1064);
  CHECK(cache.load(key(3)));
  CHECK(cache.load(key(10)));
  CHECK(cache.statistics().evicted >= 1);
  cache.store(key(11), bytes(20 * 1064));
  CHECK(!cache.load(key(11)));
}

TEST_CASE("without a folder the cache is off") {
  DiskCache cache(DiskCache::Options{});
  CHECK(!cache.enabled());
  cache.store(key(1), bytes(10));
  CHECK(!cache.load(key(1)));
  CHECK(value_of(cache.clear()) == 0);
}

TEST_CASE("a folder that cannot be made gives one warning and is worked without") {
  TemporaryFolder folder;
  std::ofstream(folder.path / "file") << "in the way";
  DiskCache cache({.folder = folder.path / "file" / "cache"});
  LogRecorder log;
  for (std::uint64_t i = 0; i < 5; ++i) cache.store(key(i), bytes(10));
  CHECK(!cache.load(key(1)));
  CHECK(log.lines.size() == 1);
  CHECK(log.has("set HALYARD_CACHE_DIR"));
}

TEST_CASE("a disk that is full while an entry is written gives one warning and leaves nothing behind") {
  TemporaryFolder folder;
  // In a process of its own: a limit on file sizes stands for the full disk.
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{500, 500};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    DiskCache cache({.folder = folder.path});
    std::size_t warnings = 0;
    set_log_sink([&](LogLevel, std::string_view, std::string_view) { ++warnings; });
    cache.store(key(1), bytes(100));
    cache.store(key(2), bytes(10000));
    cache.store(key(3), bytes(10000));
    const bool right =
        warnings == 1 && cache.load(key(1)) && !cache.load(key(2)) && files(folder.path).size() == 1;
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
}

TEST_CASE("processes and threads store, load and evict at once, and every load is whole") {
  TemporaryFolder folder;
  const auto work = [&](std::uint64_t seed) {
    DiskCache cache({.folder = folder.path, .bound_bytes = 40 * 1024});
    bool right = true;
    for (std::uint64_t round = 0; round < 300; ++round) {
      const std::uint64_t number = (seed * 7 + round * 13) % 20;
      if (round % 3 == 0) cache.store(key(number), bytes(1000 + 200 * number, static_cast<int>(number)));
      if (const auto value = cache.load(key(number)))
        right = right && *value == bytes(1000 + 200 * number, static_cast<int>(number));
    }
    return right && cache.statistics().damaged == 0;
  };
  std::vector<pid_t> children;
  for (std::uint64_t i = 0; i < 3; ++i) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) ::_exit(work(i) ? 0 : 1);
    children.push_back(child);
  }
  bool first = false;
  std::thread thread([&] { first = work(10); });
  CHECK(work(11));
  thread.join();
  CHECK(first);
  for (const pid_t child : children) {
    int status = 1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }
}
