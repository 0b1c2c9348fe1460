#include <fmt/format.h>
#include <halyard/hal/disk_cache.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "commands.h"

namespace halyard::tools {
namespace {

void information() {
  hal::DiskCache& cache = hal::DiskCache::shared();
  if (!cache.enabled()) {
    fmt::print("the cache is off (HALYARD_CACHE_DIR is empty or \"off\", or no folder can be used)\n");
    return;
  }
  hal::DiskCacheContents contents = value_or_exit(cache.contents());
  fmt::print("folder  {}\nentries {}\nbytes   {} of at most {}\n", contents.folder.string(), contents.entries,
             contents.bytes, contents.bound_bytes);
}

void clear() {
  hal::DiskCache& cache = hal::DiskCache::shared();
  if (!cache.enabled()) return information();
  fmt::print("removed {} entries from {}\n", value_or_exit(cache.clear()), cache.folder().string());
}

}  // namespace

void add_cache_command(CLI::App& application) {
  CLI::App* command = application.add_subcommand(
      "cache", "Show or clear the disk cache of compiled kernels and measurements");
  CLI::App* info = command->add_subcommand("info", "Where it is and how much it holds (the default)");
  CLI::App* remove = command->add_subcommand("clear", "Remove every entry");
  command->require_subcommand(0, 1);
  command->callback([info, remove] {
    (void)info;
    if (remove->parsed()) return clear();
    information();
  });
}

}  // namespace halyard::tools
